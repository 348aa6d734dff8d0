"""A server put back to where it was, and two servers from one."""

from __future__ import annotations

import asyncio
import json
import random
import urllib.request
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kubewright_apiserver import ApiServer

MAPS = "/api/v1/namespaces/default/configmaps"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
SERVICES = "/api/v1/namespaces/default/services"
EVENTS = "/api/v1/namespaces/default/events"
EVENT = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}, "reason": "Tested"}


def widgets() -> dict[str, Any]:
    names = {"plural": "widgets", "kind": "Widget"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": "widgets.example.com"}, "spec": spec}


def service(address: str) -> dict[str, Any]:
    return {"metadata": {"name": "s"}, "spec": {"clusterIP": address, "ports": [{"port": 80}]}}


async def ask(server: ApiServer, method: str, target: str, body: Any = None) -> tuple[int, Any]:
    data = b"" if body is None else json.dumps(body).encode()
    status, _, chunks = await server.handle(method, target, [("Content-Type", "application/json")], data)
    text = b"".join([chunk async for chunk in chunks])
    return status, json.loads(text) if text.startswith(b"{") else text


async def make(server: ApiServer, name: str) -> dict[str, Any]:
    status, made = await ask(server, "POST", MAPS, {"metadata": {"name": name}})
    assert status == 201
    return dict(made)


async def names(server: ApiServer) -> list[str]:
    _, found = await ask(server, "GET", MAPS)
    return [item["metadata"]["name"] for item in found["items"]]


async def test_restore_brings_back_what_the_snapshot_held():
    async with ApiServer(listens=False) as server:
        before = await make(server, "a")
        snapshot = server.snapshot()
        await ask(server, "DELETE", f"{MAPS}/a")
        await make(server, "b")

        server.restore(snapshot)

        assert await names(server) == ["a"]
        assert (await ask(server, "GET", f"{MAPS}/a"))[1] == before


async def test_restore_serves_the_definitions_of_the_snapshot_and_no_others():
    async with ApiServer(listens=False) as server:
        without = server.snapshot()
        await ask(server, "POST", CRDS, widgets())
        await ask(
            server, "POST", WIDGETS, {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
        )
        having = server.snapshot()

        server.restore(without)
        absent = await ask(server, "GET", WIDGETS), await ask(server, "GET", "/apis/example.com/v1")
        server.restore(having)
        present = await ask(server, "GET", f"{WIDGETS}/w"), await ask(server, "GET", "/apis/example.com/v1")

        assert [status for status, _ in absent] == [404, 404]
        assert [status for status, _ in present] == [200, 200]


async def test_a_definition_is_followed_after_a_restore():
    async with ApiServer(listens=False) as server:
        server.restore(server.snapshot())

        _, created = await ask(server, "POST", CRDS, widgets())
        _, found = await ask(server, "GET", f"{CRDS}/{created['metadata']['name']}")

        conditions = {entry["type"]: entry["status"] for entry in found["status"]["conditions"]}
        assert conditions["Established"] == "True"
        assert (await ask(server, "GET", WIDGETS))[0] == 200


async def test_restore_gives_addresses_of_services_back():
    async with ApiServer(listens=False) as server:
        snapshot = server.snapshot()
        assert (await ask(server, "POST", SERVICES, service("10.0.0.77")))[0] == 201

        server.restore(snapshot)

        assert (await ask(server, "POST", SERVICES, service("10.0.0.77")))[0] == 201


async def test_restore_ends_watches():
    async with ApiServer(listens=False) as server:
        _, _, lines = await server.handle("GET", f"{MAPS}?watch=1", [], b"")
        reading = asyncio.ensure_future(anext(aiter(lines)))
        await reading

        server.restore(server.snapshot())

        assert [line async for line in lines] == []


async def test_an_event_made_after_a_restore_lives_its_whole_time():
    lifetime, loop = timedelta(milliseconds=90), asyncio.get_running_loop()
    async with ApiServer(listens=False, event_lifetime=lifetime) as server:
        snapshot = server.snapshot()
        await ask(server, "POST", EVENTS, EVENT)
        half = loop.create_future()
        loop.call_later(lifetime.total_seconds() / 2, half.set_result, None)
        await half

        server.restore(snapshot)
        made_at = loop.time()
        await ask(server, "POST", EVENTS, EVENT)
        _, _, lines = await server.handle("GET", f"{EVENTS}?watch=1", [], b"")
        async for line in lines:
            if b"DELETED" in line:
                break

        assert loop.time() - made_at >= lifetime.total_seconds()


async def test_restore_leaves_the_log_of_requests():
    async with ApiServer(listens=False) as server:
        await make(server, "a")

        server.restore(server.snapshot())

        assert len(server.requests.writes()) == 1


async def test_a_server_on_a_file_cannot_be_restored_but_forked(tmp_path: Path):
    async with ApiServer(listens=False, data=tmp_path / "data.db") as server:
        await make(server, "a")

        with pytest.raises(RuntimeError, match="without data=, or restore a fork"):
            server.restore(server.snapshot())
        async with server.fork() as twin:
            await make(twin, "b")

            assert await names(server) == ["a"]
            assert await names(twin) == ["a", "b"]


def test_data_and_snapshot_exclude_each_other(tmp_path: Path):
    with ApiServer.in_thread(listens=False) as server:
        snapshot = server.snapshot()

    with pytest.raises(ValueError, match="leave out data= or snapshot="):
        ApiServer(data=tmp_path / "data.db", snapshot=snapshot)


async def test_a_fork_and_its_origin_go_their_own_ways():
    async with ApiServer(listens=False) as server:
        await make(server, "a")
        await ask(server, "POST", CRDS, widgets())

        async with server.fork() as twin:
            await make(server, "b")
            await make(twin, "c")
            await ask(server, "DELETE", f"{CRDS}/widgets.example.com")

            assert await names(server) == ["a", "b"]
            assert await names(twin) == ["a", "c"]
            assert (await ask(server, "GET", WIDGETS))[0] == 404
            assert (await ask(twin, "GET", WIDGETS))[0] == 200


async def test_what_was_deleted_before_a_fork_does_not_come_back(tmp_path: Path):
    (tmp_path / "map.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    async with ApiServer(listens=False, manifests=[tmp_path]) as server:
        await ask(server, "DELETE", f"{MAPS}/a")
        await ask(server, "DELETE", f"{SERVICES}/kubernetes")

        async with server.fork() as twin:
            assert await names(twin) == []
            assert (await ask(twin, "GET", f"{SERVICES}/kubernetes"))[0] == 404


async def test_a_fork_takes_the_same_chances_as_its_origin_would():
    async with ApiServer(listens=False, dice=random.Random(1)) as server, server.fork() as twin:
        ours, theirs = await make(server, "a"), await make(twin, "a")

    assert ours["metadata"]["uid"] == theirs["metadata"]["uid"]


async def test_a_fork_resets_to_where_it_began():
    async with ApiServer(listens=False) as server:
        await make(server, "a")
        async with server.fork() as twin:
            await make(twin, "b")

            twin.reset()

            assert await names(twin) == ["a"]


async def test_a_fork_listens_on_ports_of_its_own():
    async with ApiServer(http_port=0) as server, server.fork() as twin:
        assert len({server.url, server.http_url, twin.url, twin.http_url}) == 4


def fetch(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.loads(answer.read())


def send(url: str, body: Any) -> None:
    headers = {"Content-Type": "application/json"}
    urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers), timeout=10).close()


def test_a_server_in_a_thread_is_reset_forked_and_restored_from_outside():
    with ApiServer.in_thread(http_port=0) as server:
        send(f"{server.http_url}{EVENTS}", EVENT)
        snapshot = server.snapshot()
        server.reset()
        after_reset = fetch(f"{server.http_url}{EVENTS}")["items"]
        server.restore(snapshot)
        after_restore = fetch(f"{server.http_url}{EVENTS}")["items"]
        with ApiServer.in_thread(http_port=0, snapshot=snapshot) as twin:
            of_twin = fetch(f"{twin.http_url}{EVENTS}")["items"]

    assert after_reset == []
    assert [event["metadata"]["name"] for event in after_restore] == ["e"]
    assert of_twin == after_restore
