"""Writes that take several steps, given up by their client or cut short by a kill: they are carried out in the end."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kubewright_apiserver import ApiServer

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
SERVICES = "/api/v1/namespaces/default/services"
ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses"
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
CRD = {
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": ANYTHING}}],
    },
}


def service(name: str, address: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"clusterIP": address, "ports": [{"port": 80}]}}


def widget(name: str) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}}


async def ask(server: ApiServer, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    data = b"" if body is None else json.dumps(body).encode()
    status, _, chunks = await server.handle(method, path, [("Content-Type", "application/json")], data)
    text = b"".join([chunk async for chunk in chunks])
    return status, json.loads(text) if text.startswith(b"{") else text


async def items(server: ApiServer, path: str) -> list[Any]:
    status, found = await ask(server, "GET", path)
    assert status == 200, found
    listed: list[Any] = found["items"]
    return listed


async def give_up(server: ApiServer, method: str, path: str, body: Any = None) -> None:
    """Ask, and do not wait for the answer once the first step is on its way to the disk."""
    asking = asyncio.create_task(ask(server, method, path, body))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not asking.done()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


@asynccontextmanager
async def started(file: Path) -> AsyncIterator[ApiServer]:
    async with ApiServer(data=file, listens=False) as server:
        yield server


async def test_a_crd_is_established_though_its_client_gave_up(tmp_path: Path):
    async with started(tmp_path / "cluster.db") as server:
        await give_up(server, "POST", CRDS, CRD)
    async with started(tmp_path / "cluster.db") as server:
        found = await items(server, WIDGETS)

    assert found == []


async def test_a_service_keeps_its_address_though_its_client_gave_up(tmp_path: Path):
    async with started(tmp_path / "cluster.db") as server:
        await give_up(server, "POST", SERVICES, service("first", "10.0.0.9"))
        await asyncio.wait_for(server.app.finish(), 20)

        status, refusal = await ask(server, "POST", SERVICES, service("second", "10.0.0.9"))
        addresses = [found["metadata"]["name"] for found in await items(server, ADDRESSES)]

    assert (status, "provided IP is already allocated" in refusal["message"]) == (422, True)
    assert "10.0.0.9" in addresses


async def test_a_server_that_ends_carries_out_what_was_begun(tmp_path: Path):
    async with started(tmp_path / "cluster.db") as server:
        await give_up(server, "POST", SERVICES, service("first", "10.0.0.9"))
    async with started(tmp_path / "cluster.db") as server:
        names = [found["metadata"]["name"] for found in await items(server, SERVICES)]

    assert names == ["first", "kubernetes"]


async def make_history(file: Path) -> tuple[int, int]:
    """The revisions before and after writes that take several steps each."""
    async with started(file) as server:
        first = server.app.engine.store.rev
        for method, path, body in (
            ("POST", CRDS, CRD),
            ("POST", WIDGETS, widget("one")),
            ("POST", WIDGETS, widget("two")),
            ("POST", SERVICES, service("web", "10.0.0.9")),
            ("DELETE", f"{CRDS}/widgets.example.com", None),
            ("DELETE", f"{SERVICES}/web", None),
        ):
            status, answer = await ask(server, method, path, body)
            assert status in (200, 201), answer
        return first, server.app.engine.store.rev


def cut(file: Path, rev: int) -> None:
    """Leave what a server that was killed after that revision would have left."""
    connection = sqlite3.connect(file)
    connection.execute("DELETE FROM log WHERE rev > ?", (rev,))
    connection.commit()
    connection.close()


async def test_a_server_finishes_at_its_start_what_a_kill_cut_short_at_any_revision(tmp_path: Path):
    first, last = await make_history(tmp_path / "whole.db")
    assert last - first >= 10

    for rev in range(first, last + 1):
        file = tmp_path / f"cut-{rev}.db"
        shutil.copy(tmp_path / "whole.db", file)
        cut(file, rev)
        async with started(file) as server:
            crds = await items(server, CRDS)
            services = await items(server, "/api/v1/services")
            addresses = await items(server, ADDRESSES)
            status, _ = await ask(server, "GET", WIDGETS)
            widgets = len(server.app.engine.store.table("example.com/widgets"))

        assert status == (200 if crds else 404), rev
        assert crds or not widgets, rev
        assert not any("deletionTimestamp" in crd["metadata"] for crd in crds), rev
        held = {found["metadata"]["name"] for found in addresses}
        assert held == {found["spec"]["clusterIP"] for found in services}, rev
