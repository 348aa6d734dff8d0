"""What emulators of the API server got wrong, where it is about the inside of ours.

Writers that race, servers side by side, clocks and chance that are given, and histories that were cut. What can be
seen from outside is compared with the real server in ``conformance/test_emulators.py``.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
import pytest_asyncio

from kubewright_apiserver.app import App
from kubewright_apiserver.bootstrap import bootstrap
from kubewright_apiserver.engine import Engine
from kubewright_apiserver.registry import Registry
from kubewright_apiserver.server import ApiServer
from kubewright_apiserver.store import Store

MAPS = "/api/v1/namespaces/default/configmaps"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
MERGE = ("Content-Type", "application/merge-patch+json")


class Peer:
    """A client of a server in this process."""

    def __init__(self, server: ApiServer | App) -> None:
        self._server = server

    async def __call__(self, method: str, path: str, body: Any = None, *headers: tuple[str, str]) -> tuple[int, Any]:
        data = b"" if body is None else orjson.dumps(body)
        status, _, chunks = await self._server.handle(method, path, headers, data)
        text = b"".join([chunk async for chunk in chunks])
        return status, orjson.loads(text) if text else None

    async def header(self, path: str, name: str, *headers: tuple[str, str]) -> str:
        _, told, _ = await self._server.handle("GET", path, headers, b"")
        return dict(told)[name]

    async def events(self, version: int) -> list[tuple[str, str]]:
        """Type and name of the events after a revision, as far as a watch tells them without being waited for."""
        path = f"{MAPS}?watch=1&timeoutSeconds=3600&resourceVersion={version}"
        _, _, chunks = await self._server.handle("GET", path, [], b"")
        iterator: Any = aiter(chunks)
        data = b""
        with contextlib.suppress(TimeoutError, StopAsyncIteration):
            while True:
                async with asyncio.timeout(0.01):
                    data += await anext(iterator)
        await iterator.aclose()
        events = [orjson.loads(line) for line in data.splitlines()]
        return [(event["type"], event["object"].get("metadata", {}).get("name", "")) for event in events]


@pytest_asyncio.fixture(params=["memory", "file"])
async def peer(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Peer]:
    data = tmp_path / "store.db" if request.param == "file" else None
    async with ApiServer(data=data, listens=False) as server:
        yield Peer(server)


def config_map(name: str = "a", **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}


async def increase(peer: Peer, times: int) -> int:
    """Add one so many times, each with the version that was read; how often somebody else was quicker."""
    conflicts = 0
    while times:
        _, found = await peer("GET", f"{MAPS}/a")
        await asyncio.sleep(0)
        found["data"]["n"] = str(int(found["data"]["n"]) + 1)
        status, _ = await peer("PUT", f"{MAPS}/a", found)
        times -= status == 200
        conflicts += status == 409
    return conflicts


async def test_no_increment_is_lost_when_many_writers_race(peer: Peer):
    await peer("POST", MAPS, config_map(n="0"))

    conflicts = await asyncio.gather(*(increase(peer, 10) for _ in range(8)))

    _, found = await peer("GET", f"{MAPS}/a")
    assert found["data"] == {"n": "80"}
    assert sum(conflicts) > 0


async def test_of_many_writers_from_one_version_one_wins(peer: Peer):
    _, created = await peer("POST", MAPS, config_map(n="0"))

    answers = await asyncio.gather(
        *(peer("PUT", f"{MAPS}/a", created | {"data": {"n": str(index)}}) for index in range(1, 30))
    )

    statuses = [status for status, _ in answers]
    assert sorted(statuses) == [200] + [409] * 28
    _, found = await peer("GET", f"{MAPS}/a")
    assert found["data"] == {"n": str(statuses.index(200) + 1)}


async def test_a_patch_without_a_version_is_applied_to_what_is_there_when_it_is_stored(peer: Peer):
    await peer("POST", MAPS, config_map())

    answers = await asyncio.gather(
        *(peer("PATCH", f"{MAPS}/a", {"data": {f"k{index}": "v"}}, MERGE) for index in range(30))
    )

    assert {status for status, _ in answers} == {200}
    _, found = await peer("GET", f"{MAPS}/a")
    assert set(found["data"]) == {f"k{index}" for index in range(30)}


async def test_of_many_creators_and_deleters_of_one_name_each_success_is_one_event(peer: Peer):
    _, listed = await peer("GET", MAPS)

    async def churn() -> tuple[int, int]:
        created = deleted = 0
        for _ in range(10):
            created += (await peer("POST", MAPS, config_map()))[0] == 201
            await asyncio.sleep(0)
            deleted += (await peer("DELETE", f"{MAPS}/a"))[0] == 200
        return created, deleted

    counts = await asyncio.gather(*(churn() for _ in range(4)))

    events = await peer.events(int(listed["metadata"]["resourceVersion"]))
    types = [kind for kind, _ in events]
    assert types.count("ADDED") == sum(created for created, _ in counts)
    assert types.count("DELETED") == sum(deleted for _, deleted in counts)
    assert types == ["ADDED", "DELETED"] * (len(types) // 2) + ["ADDED"] * (len(types) % 2)


async def history(peer: Peer) -> tuple[list[int], list[tuple[str, str]]]:
    """Revisions, the first before anything happened, and the event that leads from each to the next."""
    _, listed = await peer("GET", MAPS)
    revisions, events = [int(listed["metadata"]["resourceVersion"])], []
    for method, name, event in (
        ("POST", "a", "ADDED"),
        ("POST", "b", "ADDED"),
        ("DELETE", "a", "DELETED"),
        ("PATCH", "b", "MODIFIED"),
        ("POST", "a", "ADDED"),
        ("DELETE", "b", "DELETED"),
        ("DELETE", "a", "DELETED"),
    ):
        path = MAPS if method == "POST" else f"{MAPS}/{name}"
        body = {"POST": config_map(name), "PATCH": {"data": {"k": "v"}}}.get(method)
        status, _ = await peer(method, path, body, *([MERGE] if method == "PATCH" else []))
        assert status < 300
        _, listed = await peer("GET", MAPS)
        revisions.append(int(listed["metadata"]["resourceVersion"]))
        events.append((event, name))
    return revisions, events


async def small_server(window: int) -> App:
    app = App(Engine(Store(window=window), Registry()))
    await bootstrap(app)
    return app


@pytest.mark.parametrize("window", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("compacted", range(8))
async def test_a_watch_hears_every_deletion_or_that_it_begins_too_early(window: int, compacted: int):
    app = await small_server(window)
    peer = Peer(app)
    revisions, events = await history(peer)

    app.engine.store.compact(revisions[compacted])

    for index, start in enumerate(revisions):
        heard = await peer.events(start)
        assert heard in (events[index:], [("ERROR", "")])
        assert heard == events[index:] or len(events) - index > window
    await app.engine.store.close()


@pytest.mark.parametrize("compacted", range(1, 8))
async def test_a_state_that_was_compacted_is_refused_and_no_other_is_given(compacted: int):
    app = await small_server(100)
    peer = Peer(app)
    revisions, _ = await history(peer)
    states = [(await peer("GET", f"{MAPS}?resourceVersion={rev}&resourceVersionMatch=Exact"))[1] for rev in revisions]

    app.engine.store.compact(revisions[compacted])

    for index, revision in enumerate(revisions):
        status, found = await peer("GET", f"{MAPS}?resourceVersion={revision}&resourceVersionMatch=Exact")
        assert (status, found) == (200, states[index]) if index >= compacted else status == 410
    await app.engine.store.close()


async def test_pages_go_on_after_their_state_was_compacted_if_the_client_takes_a_newer_one():
    app = await small_server(100)
    peer = Peer(app)
    for name in "abcd":
        await peer("POST", MAPS, config_map(name))
    _, page = await peer("GET", f"{MAPS}?limit=2")
    await peer("DELETE", f"{MAPS}/c")

    app.engine.store.compact(app.engine.store.rev)
    status, refusal = await peer("GET", f"{MAPS}?limit=2&continue={page['metadata']['continue']}")
    _, rest = await peer("GET", f"{MAPS}?limit=2&continue={refusal['metadata']['continue']}")

    assert (status, refusal["reason"]) == (410, "Expired")
    assert [item["metadata"]["name"] for item in rest["items"]] == ["d"]
    await app.engine.store.close()


def definition(most: int) -> dict[str, Any]:
    size = {"type": "integer", "maximum": most, "default": most}
    schema = {"type": "object", "properties": {"size": size}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "widgets", "kind": "Widget"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": "widgets.example.com"}, "spec": spec}


def widget(**content: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, **content}


async def test_servers_side_by_side_each_follow_their_own_definition_of_one_kind():
    async with ApiServer(listens=False) as first, ApiServer(listens=False) as second:
        one, two = Peer(first), Peer(second)
        await one("POST", CRDS, definition(5))
        await two("POST", CRDS, definition(50))

        refused, _ = await one("POST", WIDGETS, widget(size=10))
        taken, _ = await two("POST", WIDGETS, widget(size=10))
        _, filled = await one("POST", WIDGETS, widget())

    assert (refused, taken) == (422, 201)
    assert filled["size"] == 5


async def test_a_definition_of_one_server_is_not_discovered_in_another():
    accept = ("Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
    async with ApiServer(listens=False) as first, ApiServer(listens=False) as second:
        one, two = Peer(first), Peer(second)
        before = [await each.header("/apis", "ETag", accept) for each in (one, two)]
        await one("POST", CRDS, definition(5))
        after = [await each.header("/apis", "ETag", accept) for each in (one, two)]
        status, _ = await one("GET", "/apis/example.com")

    assert before[0] == before[1] == after[1]
    assert after[0] != before[0]
    assert status == 200


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = datetime(2020, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


async def test_every_time_in_an_object_is_of_the_clock_that_was_given():
    clock = Clock()
    async with ApiServer(listens=False, clock=clock) as server:
        peer = Peer(server)
        body = config_map(k="v")
        body["metadata"]["finalizers"] = ["example.com/f"]
        _, created = await peer("POST", MAPS, body)
        clock.now += timedelta(hours=1)
        _, deleted = await peer("DELETE", f"{MAPS}/a")

    assert created["metadata"]["creationTimestamp"] == "2020-01-01T00:00:00Z"
    assert created["metadata"]["managedFields"][0]["time"] == "2020-01-01T00:00:00Z"
    assert deleted["metadata"]["deletionTimestamp"] == "2020-01-01T01:00:00Z"


async def test_the_time_of_a_manager_moves_with_what_it_changes_and_not_without():
    clock = Clock()
    times = []
    async with ApiServer(listens=False, clock=clock) as server:
        peer = Peer(server)
        await peer("POST", MAPS, config_map(k="v"))
        for data in ({"k": "w"}, {"k": "w"}, {"l": "v"}):
            clock.now += timedelta(hours=1)
            _, changed = await peer("PATCH", f"{MAPS}/a", {"data": data}, MERGE)
            times.append(changed["metadata"]["managedFields"][0]["time"][11:13])

    assert times == ["01", "01", "03"]


async def test_names_and_identities_are_of_the_dice_that_were_given():
    async def made(seed: int) -> tuple[str, str]:
        async with ApiServer(listens=False, dice=random.Random(seed)) as server:
            _, created = await Peer(server)("POST", MAPS, {"metadata": {"generateName": "g-"}})
        return created["metadata"]["name"], created["metadata"]["uid"]

    assert await made(1) == await made(1)
    assert await made(1) != await made(2)
