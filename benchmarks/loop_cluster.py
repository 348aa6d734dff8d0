"""The server that operators are measured against, and what is done to it meanwhile: Things, pods, counted requests."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import ssl
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import msgspec
import yaml
from yarl import URL

from kubewright.testing import RealControlPlane

__all__ = ["MAPS", "PODS", "THINGS", "Cluster", "Request", "cluster", "connected", "thing"]

THINGS = "/apis/loop.example.com/v1/namespaces/default/things"
MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_PLAIN, _MERGE = "application/json", "application/merge-patch+json"
_AT_ONCE = 16
_SETTLING = 10.0
_HEADERS = {"Accept-Encoding": "identity", "Accept": _PLAIN, "User-Agent": "benchmark"}
_COUNTED = re.compile(r'^apiserver_request_total.*,resource="(\w+)".*subresource="(\w*)",verb="(\w+)".* (\S+)$', re.M)


class Request(NamedTuple):
    """What is sent; a 2xx is expected."""

    method: str
    path: str
    document: Any = None

    @property
    def more(self) -> dict[str, Any]:
        """What aiohttp needs besides: patches are merge patches."""
        if self.document is None:
            return {}
        content_type = _MERGE if self.method == "PATCH" else _PLAIN
        return {"data": msgspec.json.encode(self.document), "headers": {"Content-Type": content_type}}


class _Text(msgspec.Struct):
    text: str = ""


class _Metadata(msgspec.Struct):
    name: str = ""


class _Thing(msgspec.Struct):
    metadata: _Metadata
    spec: _Text = msgspec.field(default_factory=_Text)
    status: _Text = msgspec.field(default_factory=_Text)


class _Event(msgspec.Struct):
    type: str
    object: _Thing


def thing(name: str, text: str) -> dict[str, Any]:
    """A Thing as JSON has it: an operator gives it a ConfigMap with that text, and the text as status."""
    metadata = {"name": name, "labels": {"app.kubernetes.io/name": "thing", "app.kubernetes.io/part-of": "loop"}}
    return {"apiVersion": "loop.example.com/v1", "kind": "Thing", "metadata": metadata, "spec": {"text": text}}


class Cluster:
    """A server and an administrator's connections to it."""

    def __init__(self, kubeconfig: Path, url: str, session: aiohttp.ClientSession) -> None:
        self.kubeconfig: Path = kubeconfig
        self._url = URL(url)
        self._session = session

    async def send(self, request: Request) -> bytes:
        """The body of the answer."""
        url = self._url.join(URL(request.path, encoded=True))
        async with self._session.request(request.method, url, **request.more) as response:
            body = await response.read()
        if response.status >= 300:
            raise RuntimeError(f"{request.method} {request.path}: {response.status} {body.decode()}")
        return body

    async def send_all(self, requests: Iterable[Request], *, at_once: int = _AT_ONCE) -> None:
        """Send them, so many at once, until all are answered."""
        waiting = iter(requests)
        await asyncio.gather(*(self._send_each(waiting) for _ in range(at_once)))

    async def _send_each(self, waiting: Iterator[Request]) -> None:
        for request in waiting:
            await self.send(request)

    async def clean(self) -> None:
        """Remove what the last operator left."""
        for path in (THINGS, MAPS):
            await self.send(Request("DELETE", path))

    async def wait_done(self, text: str, names: set[str]) -> int:
        """When each of these Things had that text as status; by the monotonic clock, in nanoseconds."""
        waiting = set(names)
        while waiting:
            # The server ends watches that are read too slowly; the next begins with all that is there.
            await self._watch(text, waiting)
        return time.monotonic_ns()

    async def _watch(self, text: str, waiting: set[str]) -> None:
        url = self._url.join(URL(f"{THINGS}?watch=true"))
        async with self._session.get(url, timeout=aiohttp.ClientTimeout(total=None)) as response:
            async for line in response.content:
                found = msgspec.json.decode(line, type=_Event).object
                if found.status.text == text:
                    waiting.discard(found.metadata.name)
                if not waiting:
                    return

    async def requests(self) -> Counter[tuple[str, str]]:
        """How many requests the server has answered, by resource and verb; those for Things and ConfigMaps."""
        counted: Counter[tuple[str, str]] = Counter()
        metrics = (await self.send(Request("GET", "/metrics"))).decode()
        for resource, subresource, verb, count in _COUNTED.findall(metrics):
            if resource in ("things", "configmaps", "events"):
                counted[f"{resource}/{subresource}" if subresource else resource, verb] += int(float(count))
        return counted

    async def wait_quiet(self, pause: float = 1.0) -> Counter[tuple[str, str]]:
        """The requests answered, once no more come for a while."""
        before = await self.requests()
        while True:
            await asyncio.sleep(pause)
            after = await self.requests()
            if after == before:
                return after
            before = after


@asynccontextmanager
async def cluster() -> AsyncIterator[Cluster]:
    """kube-apiserver and etcd, with the definition of Things."""
    async with RealControlPlane() as plane, connected(plane.kubeconfig) as found:
        await found.send(Request("POST", _CRDS, _definition()))
        while not await _is_served(found):
            pass
        # For some seconds more the server arranges itself: discovery lags behind, and watches are cut once.
        await asyncio.sleep(_SETTLING)
        yield found


@asynccontextmanager
async def connected(kubeconfig: Path) -> AsyncIterator[Cluster]:
    """A cluster that runs already."""
    url, context = _administrator(kubeconfig)
    connector = aiohttp.TCPConnector(ssl=context, limit=0)
    async with aiohttp.ClientSession(connector=connector, headers=_HEADERS, read_bufsize=2**20) as session:
        yield Cluster(kubeconfig, url, session)


def _administrator(kubeconfig: Path) -> tuple[str, ssl.SSLContext]:
    document = yaml.safe_load(kubeconfig.read_text())
    section, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
    context = ssl.create_default_context(cadata=base64.b64decode(section["certificate-authority-data"]).decode())
    with tempfile.NamedTemporaryFile() as file:
        for part in ("client-certificate-data", "client-key-data"):
            file.write(base64.b64decode(user[part]) + b"\n")
        file.flush()
        context.load_cert_chain(file.name)
    return section["server"], context


async def _is_served(found: Cluster) -> bool:
    try:
        json.loads(await found.send(Request("GET", THINGS)))
    except RuntimeError:
        return False
    return True


def _definition() -> dict[str, Any]:
    text = {"type": "object", "properties": {"text": {"type": "string"}}}
    # Some keep conditions or progress there.
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": text, "status": status}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.loop.example.com"},
        "spec": {
            "group": "loop.example.com",
            "names": {"kind": "Thing", "plural": "things", "singular": "thing"},
            "scope": "Namespaced",
            "versions": [version],
        },
    }
