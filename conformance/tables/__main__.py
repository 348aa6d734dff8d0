"""Writes the rows that the real server shows of objects of every kind: ``make golden``."""

from __future__ import annotations

import asyncio
import json
import lzma
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from conformance.round_trip.golden import read_objects
from conformance.round_trip.maker import FLAGS, RUNTIME_CONFIG
from conformance.tables.states import states
from kubewright import Config
from kubewright.client import HttpTransport, Request
from kubewright.testing import RealControlPlane

_ROOT: Final = Path(__file__).parents[2] / "apiserver"
_RESOURCES: Final = _ROOT / "src/kubewright_apiserver/data/resources.json"
_ROWS: Final = _ROOT / "tests/data/table_rows.jsonl.xz"
_TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
_MERGE: Final = "application/merge-patch+json"
_OWN: Final = ("creationTimestamp", "deletionTimestamp", "managedFields", "namespace", "resourceVersion", "uid")
_CREATED: Final = 201
_THERE: Final = 200


class _Recorder:
    """Puts objects into a server one by one, and notes what it shows of them."""

    def __init__(self, transport: HttpTransport) -> None:
        self._transport = transport
        self.rows: list[dict[str, Any]] = []

    async def record(self, number: int, obj: dict[str, Any], resource: dict[str, Any]) -> None:
        """Note the rows of an object: when it is new, with its status, and while it goes."""
        group = f"/apis/{obj['apiVersion']}" if "/" in obj["apiVersion"] else f"/api/{obj['apiVersion']}"
        path = f"{group}/{resource['name']}"
        if resource["namespaced"]:
            labels = {"resource.kubernetes.io/admin-access": "true"}
            namespace = {"metadata": {"name": f"t-{number}", "labels": labels}}
            await self._send("POST", "/api/v1/namespaces", namespace)
            path = f"{group}/namespaces/t-{number}/{resource['name']}"
        own = {key: value for key, value in obj["metadata"].items() if key not in _OWN}
        status, _ = await self._send("POST", path, {**obj, "metadata": own})
        place = f"{path}/{obj['metadata']['name']}"
        await self._note(place)
        if status != _CREATED:
            return
        if obj.get("status"):
            await self._send("PATCH", f"{place}/status", {"status": obj["status"]})
            await self._note(place)
        await self._send("DELETE", f"{place}?gracePeriodSeconds=0")
        await self._note(place)
        await self._send("PATCH", place, {"metadata": {"finalizers": None}})

    async def _note(self, place: str) -> None:
        began, ended, status = 0.0, 1.0, 0
        table: dict[str, Any] = {}
        while int(began) != int(ended):
            # Ages are in whole seconds: it must be known in which one the server looked at its clock.
            began = time.time()
            status, table = await self._send("GET", f"{place}?includeObject=Object", accept=_TABLE)
            ended = time.time()
        if status == _THERE:
            (row,) = table["rows"]
            row["object"]["metadata"].pop("managedFields", None)
            entry = {"now": int(began), **row}
            if not self.rows or self.rows[-1]["object"] != row["object"]:
                self.rows.append(entry)

    async def _send(
        self, method: str, path: str, body: Any = None, accept: str = "application/json"
    ) -> tuple[int, dict[str, Any]]:
        content = _MERGE if method == "PATCH" else "application/json"
        headers = [("Accept", accept), ("Content-Type", content), ("User-Agent", "tables")]
        data = b"" if body is None else json.dumps(body).encode()
        response = await self._transport.send(
            Request(method=method, target=path, headers=headers, body=data, verb=method.lower())
        )
        return response.status, json.loads(response.body)


def _listable() -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (f"{one['group']}/{one['version']}".strip("/"), one["kind"]): one
        for one in json.loads(_RESOURCES.read_text())["resources"]
        if "list" in one["verbs"]
    }


def _objects() -> Iterator[tuple[int, dict[str, Any], dict[str, Any]]]:
    listable = _listable()
    for number, obj in enumerate([*read_objects(), *states()]):
        resource = listable.get((obj["apiVersion"], obj["kind"]))
        if resource is not None:
            yield number, obj, resource


async def main() -> None:
    """Start a server, make everything, write down what it shows."""
    async with RealControlPlane(runtime_config=RUNTIME_CONFIG, flags=FLAGS) as plane:
        transport = HttpTransport(Config.from_kubeconfig(plane.kubeconfig))
        recorder = _Recorder(transport)
        for number, obj, resource in _objects():
            await recorder.record(number, obj, resource)
        await transport.aclose()
    text = "".join(f"{json.dumps(row, separators=(',', ':'), ensure_ascii=False)}\n" for row in recorder.rows)
    _ROWS.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    kinds = {row["object"]["kind"] for row in recorder.rows}
    sys.stdout.write(f"{len(recorder.rows)} rows of {len(kinds)} kinds\n")


if __name__ == "__main__":
    asyncio.run(main())
