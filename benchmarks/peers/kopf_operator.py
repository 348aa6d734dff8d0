"""A contestant of the loop's benchmarks, on kopf: ``kopf_operator.py informer PODS UPDATES | reconcile N | latency``.

It tells what it does as lines of JSON, with the monotonic clock and its own CPU time in nanoseconds.
"""

from __future__ import annotations

import base64
import json
import ssl
import sys
import tempfile
import time
from typing import Any

import aiohttp
import kopf

THINGS = ("loop.example.com", "v1", "things")
MAPS = "{server}/api/v1/namespaces/{namespace}/configmaps"


def tell(what: str, text: str = "") -> None:
    """One line."""
    line = {"what": what, "at": time.monotonic_ns(), "cpu": time.process_time_ns(), "text": text}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def log_in(**arguments: Any) -> Any:
    """The administrator of the kubeconfig."""
    return kopf.login_with_kubeconfig(**arguments)


class Pods:
    """All pods in a dict by hand: kopf's own index is quadratic."""

    def __init__(self, count: int, updates: int) -> None:
        self._count, self._updates = count, updates
        self._seen = 0
        self.pods: dict[tuple[str, str], Any] = {}

    async def changed(self, type: str | None, name: str, namespace: str, body: Any, **_: Any) -> None:
        """What is there has no type; what comes later has that of the watch event."""
        self.pods[namespace, name] = dict(body)
        if type is None and len(self.pods) == self._count:
            tell("synced")
        if type == "MODIFIED":
            self._seen += 1
            if self._seen == self._updates:
                tell("updated")


class Reconciler:
    """Keeps a ConfigMap for each Thing, with the HTTP client that kopf itself stands on."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._done: set[str] = set()
        self._has_begun = False
        self._session: aiohttp.ClientSession
        self._server = ""

    async def connect(self, **arguments: Any) -> None:
        """Called before anything is watched."""
        info = kopf.login_with_kubeconfig(**arguments)
        context = ssl.create_default_context(cadata=base64.b64decode(info.ca_data).decode())
        with tempfile.NamedTemporaryFile() as file:
            file.write(base64.b64decode(info.certificate_data) + b"\n" + base64.b64decode(info.private_key_data))
            file.flush()
            context.load_cert_chain(file.name)
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context))
        self._server = info.server

    async def disconnect(self, **_: Any) -> None:
        """Called at the end."""
        await self._session.close()

    async def reconcile(self, name: str, namespace: str, body: Any, spec: Any, patch: Any, **_: Any) -> None:
        """Get, then create or patch; the status is written by kopf."""
        if not self._has_begun:
            self._has_begun = True
            tell("first")
        await self._keep_map(name, namespace, body, spec["text"])
        if body.get("status", {}).get("text") != spec["text"]:
            patch.status["text"] = spec["text"]
        if name not in self._done:
            self._done.add(name)
            if len(self._done) == self._wanted:
                tell("all")

    async def _keep_map(self, name: str, namespace: str, body: Any, text: str) -> None:
        maps = MAPS.format(server=self._server, namespace=namespace)
        async with self._session.get(f"{maps}/{name}") as response:
            found = await response.json() if response.status == 200 else None
        if found is None:
            wanted = {"metadata": {"name": name}, "data": {"text": text}}
            kopf.append_owner_reference(wanted, owner=body)
            async with self._session.post(maps, json=wanted) as response:
                response.raise_for_status()
        elif found["data"]["text"] != text:
            headers = {"Content-Type": "application/merge-patch+json"}
            body = json.dumps({"data": {"text": text}})
            async with self._session.patch(f"{maps}/{name}", data=body, headers=headers) as response:
                response.raise_for_status()


async def mark(spec: Any, **_: Any) -> None:
    """Only tell that a Thing was seen, and with which text."""
    tell("entered", spec["text"])


def handle(handler: Any) -> None:
    """Have the handler called for each Thing that is there or changes."""
    for event in (kopf.on.create, kopf.on.update, kopf.on.resume):
        event(*THINGS)(handler)


def main(words: list[str]) -> None:
    """Run until terminated."""
    kopf.on.login()(log_in)
    if words[0] == "informer":
        kopf.on.event("pods")(Pods(int(words[1]), int(words[2])).changed)
        tell("starting")
    elif words[0] == "reconcile":
        reconciler = Reconciler(int(words[1]))
        kopf.on.startup()(reconciler.connect)
        kopf.on.cleanup()(reconciler.disconnect)
        handle(reconciler.reconcile)
    else:
        handle(mark)
    kopf.run(standalone=True, clusterwide=True)


if __name__ == "__main__":
    main(sys.argv[1:])
