"""A server's own ranges of addresses and ports, its forgetting, and a start that fails."""

import asyncio
import json
import sqlite3
from datetime import timedelta
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest

from kubewright_apiserver import ApiServer, LoadError

SERVICES = "/api/v1/namespaces/default/services"
JSON = [("Content-Type", "application/json")]


async def ask(server: ApiServer, method: str, path: str, body: Any = None) -> Any:
    content = json.dumps(body).encode() if body is not None else b""
    _, _, chunks = await server.handle(method, path, JSON, content)
    return json.loads(b"".join([chunk async for chunk in chunks]))


def service(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}


async def test_services_get_addresses_of_the_given_range():
    async with ApiServer(listens=False, service_ranges=["10.9.0.0/16"]) as server:
        own = await ask(server, "GET", f"{SERVICES}/kubernetes")
        made = await ask(server, "POST", SERVICES, service("a"))
        told = await ask(server, "GET", "/apis/networking.k8s.io/v1/servicecidrs/kubernetes")

    assert own["spec"]["clusterIP"] == "10.9.0.1"
    assert ip_address(made["spec"]["clusterIP"]) in ip_network("10.9.0.0/16")
    assert told["spec"]["cidrs"] == ["10.9.0.0/16"]


async def test_services_get_addresses_of_both_families():
    async with ApiServer(listens=False, service_ranges=["10.9.0.0/16", "fd00::/112"]) as server:
        made = await ask(server, "POST", SERVICES, service("a", ipFamilyPolicy="PreferDualStack"))
        told = await ask(server, "GET", "/apis/networking.k8s.io/v1/servicecidrs/kubernetes")

    assert made["spec"]["ipFamilies"] == ["IPv4", "IPv6"]
    assert told["spec"]["cidrs"] == ["10.9.0.0/16", "fd00::/112"]


async def test_node_ports_are_of_the_given_range():
    async with ApiServer(listens=False, node_ports=(40000, 40001)) as server:
        made = await ask(server, "POST", SERVICES, service("a", type="NodePort"))

    assert made["spec"]["ports"][0]["nodePort"] in (40000, 40001)


async def test_the_service_of_the_api_leads_to_the_servers_port():
    async with ApiServer(listens=False, port=7443) as server:
        own = await ask(server, "GET", f"{SERVICES}/kubernetes")

    assert own["spec"]["ports"][0]["targetPort"] == 7443


async def test_a_fork_has_the_same_ranges():
    async with ApiServer(listens=False, service_ranges=["10.9.0.0/16"]) as server:
        async with server.fork() as twin:
            made = await ask(twin, "POST", SERVICES, service("a"))

    assert ip_address(made["spec"]["clusterIP"]) in ip_network("10.9.0.0/16")


async def test_history_is_forgotten_after_the_interval():
    async with ApiServer(compaction_interval=timedelta(milliseconds=5)) as server:
        first = (await ask(server, "GET", SERVICES))["metadata"]["resourceVersion"]
        await ask(server, "POST", SERVICES, service("a"))
        path, answer = f"{SERVICES}?resourceVersion={first}&resourceVersionMatch=Exact", {}
        async with asyncio.timeout(20):
            while "code" not in answer:
                await asyncio.sleep(0)
                answer = await ask(server, "GET", path)

    assert answer["code"] == 410


async def test_a_start_that_fails_lets_go_of_the_file(tmp_path: Path):
    file = tmp_path / "cluster.db"
    with pytest.raises(LoadError):
        await ApiServer(listens=False, data=file, manifests=[tmp_path / "nowhere"]).start()

    connection = sqlite3.connect(file, timeout=0)
    connection.execute("BEGIN EXCLUSIVE")
    connection.close()
