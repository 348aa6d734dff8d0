"""A new server holds what every cluster has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kubewright_apiserver.server import ApiServer

MAPS = "/api/v1/namespaces/kube-system/configmaps"
PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"


async def get(server: ApiServer, path: str) -> Any:
    _, _, chunks = await server.handle("GET", path, [], b"")
    return json.loads(b"".join([chunk async for chunk in chunks]))


async def names(server: ApiServer, path: str) -> list[str]:
    return [item["metadata"]["name"] for item in (await get(server, path))["items"]]


async def test_priorities_of_the_system_are_there():
    async with ApiServer(listens=False) as server:
        found = await get(server, PRIORITIES)

    assert {item["metadata"]["name"]: item["value"] for item in found["items"]} == {
        "system-cluster-critical": 2_000_000_000,
        "system-node-critical": 2_000_001_000,
    }
    assert all(item["metadata"]["uid"] and item["metadata"]["creationTimestamp"] for item in found["items"])


async def test_a_version_that_is_not_served_is_not_registered():
    async with ApiServer(listens=False) as server:
        stable = await names(server, SERVICES)
    async with ApiServer(listens=False, runtime_config={"networking.k8s.io/v1beta1": True}) as server:
        more = await names(server, SERVICES)

    assert "v1.networking.k8s.io" in stable
    assert set(more) - set(stable) == {"v1beta1.networking.k8s.io"}


async def test_what_was_deleted_comes_back_at_the_next_start_and_the_rest_stays(tmp_path: Path):
    data = tmp_path / "cluster.db"
    async with ApiServer(listens=False, data=data) as server:
        before = await get(server, f"{PRIORITIES}/system-node-critical")
        await server.handle("DELETE", f"{PRIORITIES}/system-cluster-critical", [], b"")

    async with ApiServer(listens=False, data=data) as server:
        assert await names(server, PRIORITIES) == ["system-cluster-critical", "system-node-critical"]
        assert await get(server, f"{PRIORITIES}/system-node-critical") == before


async def test_the_authority_of_clients_is_told_anew_at_every_start(tmp_path: Path):
    data, path = tmp_path / "cluster.db", f"{MAPS}/extension-apiserver-authentication"
    async with ApiServer(data=data) as server:
        first = (await get(server, path))["data"]

    async with ApiServer(data=data) as server:
        second = (await get(server, path))["data"]

    assert first["client-ca-file"].startswith("-----BEGIN CERTIFICATE-----\n")
    assert second.keys() == {"client-ca-file"}
    assert first != second


async def test_a_server_without_sockets_has_no_authority_to_tell():
    async with ApiServer(listens=False) as server:
        assert await names(server, MAPS) == ["kube-apiserver-legacy-service-account-token-tracking"]
