"""What may happen to a cluster under us: each time the cache ends with the truth, and says what it could not know."""

from __future__ import annotations

import asyncio
import gc
import logging
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from kubewright.api import Metadata, Model, Resource, Unstructured
from kubewright.cache import Cache, Change, Informer, Scope
from kubewright.kinds.core_v1 import ConfigMap, Namespace
from kubewright.testing import VirtualTime, elapse, virtual_time, wait_idle
from tests.cache.objects import config
from tests.cache.wire import Cluster, Log, cluster, held
from tests.client.scripted import Server, Stream, bookmark, line, thing


class WidgetSpec(Model):
    size: int = 0


class Widget(Resource, group="example.com", version="v1"):
    spec: WidgetSpec = WidgetSpec()


CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
                    }
                },
            }
        ],
    },
}


def widget(name: str) -> Widget:
    return Widget(metadata=Metadata(name=name, namespace="default"), spec=WidgetSpec(size=1))


def informer_of(made: Cluster, kind: type[Any] = ConfigMap, **scope: Any) -> Informer[Any]:
    return Informer(made.client, kind, scope=Scope(**scope), dice=VirtualTime.current().dice_of("cache"))


def test_a_kind_that_is_not_served_is_told_once_and_watched_when_its_crd_comes(caplog: pytest.LogCaptureFixture):
    @virtual_time()
    async def comes_later() -> None:
        async with cluster() as made, informer_of(made, Widget) as informer:
            log = Log(informer)
            await elapse(timedelta(minutes=10))
            health = informer.health
            assert (health.synced, health.watching) == (False, False)
            assert "install its CRD" in health.error
            assert made.wire.count("watch") < 40

            await made.direct.create(Unstructured.from_dict(CRD))
            await made.direct.create(widget("a"))
            await elapse(timedelta(seconds=31))

            assert informer.synced
            assert log.take() == [("a", "added", "initial")]

    with caplog.at_level(logging.WARNING, "kubewright.cache"):
        comes_later()

    assert len([record for record in caplog.records if "install its CRD" in record.message]) == 1


@virtual_time()
async def test_a_crd_that_is_deleted_and_made_again_is_followed():
    async with cluster() as made:
        definition = Unstructured.from_dict(CRD)
        await made.direct.create(definition)
        await made.direct.create(widget("a"))
        async with informer_of(made, Widget) as informer:
            log = Log(informer)
            await informer.wait_synced()
            log.take()

            await made.direct.delete(type(definition), definition.name)
            await elapse(timedelta(seconds=5))
            assert log.take() == [("a", "deleted", "live")]
            assert informer.health.error.startswith("NotServed")

            await made.direct.create(Unstructured.from_dict(CRD))
            await made.direct.create(widget("a"))
            await elapse(timedelta(seconds=31))
            assert log.take() == [("a", "added", "relist")]
            assert held(informer) == await made.truth(Widget)
            assert informer.health.watching


@virtual_time()
async def test_a_server_that_lost_its_history_is_believed():
    async with cluster() as made, informer_of(made) as informer:
        log = Log(informer)
        await made.direct.create(config("lost"))
        same = await made.direct.create(config("same"))
        snapshot = made.server.snapshot()
        same.data["k"] = "undone"
        await made.direct.update(same)
        await made.direct.create(config("undone"))
        await elapse(timedelta(seconds=1))
        log.changes.clear()

        made.server.restore(snapshot)
        await made.direct.delete(ConfigMap, "lost")
        await elapse(timedelta(seconds=2))

        assert sorted(log.take()) == [
            ("lost", "deleted", "relist"),
            ("same", "updated", "relist"),
            ("undone", "deleted", "relist"),
        ]
        assert held(informer) == await made.truth()


@virtual_time()
async def test_own_writes_that_the_server_lost_are_not_shown_any_more():
    async with cluster() as made:
        cache = Cache(made.client)
        informer = cache.watch(ConfigMap)
        async with cache:
            await cache.wait_synced()
            made.wire.is_silent = True
            await made.client.intercepted(cache.observe).create(config("lost"))
            assert len(informer) == 1
            made.reset()
            made.wire.is_silent = False

            await elapse(timedelta(minutes=5))

            assert held(informer) == {}
            assert informer.statistics().written == 0


@virtual_time()
async def test_another_server_in_the_place_of_the_first_is_believed():
    async with cluster() as made, informer_of(made) as informer:
        await informer.wait_synced()
        for name in "abc":
            await made.direct.create(config(name))
        await wait_idle()

        made.reset()
        for name in "cd":
            await made.direct.create(config(name))
        await elapse(timedelta(seconds=2))

        assert held(informer) == await made.truth()


@virtual_time()
async def test_an_object_deleted_and_made_again_between_two_looks_is_told_as_both():
    async with cluster() as made, informer_of(made) as informer:
        await made.direct.create(config("a"))
        await informer.wait_synced()
        await wait_idle()
        log = Log(informer)
        log.take()
        made.wire.loses = lambda event: event["type"] == "DELETED"

        await made.direct.delete(ConfigMap, "a")
        await made.direct.create(config("a"))
        await wait_idle()

        assert [change.type for change in log.changes] == ["deleted", "added"]
        assert log.changes[0].old is not None
        assert log.changes[1].new is not None
        assert log.changes[0].old.metadata.uid != log.changes[1].new.metadata.uid


@virtual_time()
async def test_a_namespace_that_is_emptied_under_us_is_empty_in_the_cache():
    async with cluster() as made:
        await made.direct.create(Namespace(metadata=Metadata(name="doomed")))
        for name in "abc":
            await made.direct.create(config(name, "doomed"))
        async with informer_of(made, namespaces=("doomed",)) as informer:
            await informer.wait_synced()
            log = Log(informer)
            log.take()

            await made.direct.delete_all(ConfigMap, namespace="doomed")
            await made.direct.delete(Namespace, "doomed")
            await wait_idle()

            assert log.take() == [(name, "deleted", "live") for name in "abc"]
            assert held(informer) == {}


async def test_ten_thousand_changes_at_once_are_compressed_and_none_is_missed():
    names = [f"c{number}" for number in range(50)]
    lines = [line("MODIFIED", thing(names[version % 50], version)) for version in range(101, 10_101)]
    flood = b"".join(lines)
    chunks = [flood[at : at + 100_000] for at in range(0, len(flood), 100_000)]
    initial = b"".join(line("ADDED", thing(name, 1)) for name in names)
    server = Server((200, Stream(initial, bookmark(100, synced=True), *chunks, then="silence")))
    seen: list[str] = []
    changes = 0
    is_over = asyncio.Event()

    def note(change: Change[Any]) -> None:
        nonlocal changes
        changes += 1
        seen.extend(change.revisions)
        if change.revisions[-1] == "10100":
            is_over.set()

    async with server.client() as client, Informer(client, ConfigMap) as informer:
        informer.add_handler(note)
        await is_over.wait()

        assert len(seen) == len(set(seen[50:])) + 50 == 10_050
        assert sorted(map(int, seen[50:])) == list(range(101, 10_101))
        assert changes < 5_000
        assert {head.resource_version for key in informer if (head := informer.head(key))} == {
            str(version) for version in range(10_051, 10_101)
        }


@virtual_time()
async def test_the_loop_is_not_held_up_by_a_large_list():
    async with cluster() as made:
        for number in range(1000):
            await made.direct.create(config(f"c{number:04}"))
        informer = informer_of(made)
        log = Log(informer)
        rounds: list[int] = []

        async def others() -> None:
            while not informer.synced:
                rounds.append(len(log.changes))
                await asyncio.sleep(0)

        async with informer:
            await others()
            rounds.append(len(log.changes))

        assert rounds[-1] == 1000
        assert max(later - earlier for earlier, later in pairwise(rounds)) <= 200


@pytest.mark.parametrize("rounds", range(0, 60, 3))
def test_a_cache_that_is_cancelled_at_any_moment_of_a_fault_leaves_nothing_behind(rounds: int):
    @virtual_time(seed=rounds)
    async def cancelled() -> None:
        async with cluster() as made:
            cache = Cache(made.client, dice=VirtualTime.current().dice_of("cache"))
            cache.watch(ConfigMap, relist=timedelta(seconds=1))
            async with cache:
                await cache.wait_synced()
                made.wire.cuts = 1
                await made.direct.create(config("a"))
                await elapse(timedelta(milliseconds=40))
                for _ in range(rounds):
                    await asyncio.sleep(0)

    cancelled()


def live_objects() -> int:
    gc.collect()
    homes = [str(type(found).__module__) for found in gc.get_objects()]
    return sum(home.startswith(("kubewright.", "asyncio", "_asyncio")) for home in homes)


@virtual_time()
async def test_an_hour_of_changes_leaves_no_more_objects_than_ten_minutes():
    async def hour(informer: Informer[Any], made: Cluster) -> list[int]:
        counts = []
        for minute in range(61):
            for name in "abc":
                await made.direct.create(config(name, labels={"minute": str(minute)}))
            made.wire.cuts = minute % 7 == 0
            await elapse(timedelta(seconds=30))
            for name in "abc":
                await made.direct.delete(ConfigMap, name)
            await elapse(timedelta(seconds=30))
            made.wire.requests.clear()
            if minute in (10, 60):
                counts.append(live_objects())
        return counts

    async with cluster() as made, informer_of(made, resync=timedelta(minutes=1)) as informer:
        await informer.wait_synced()

        early, late = await hour(informer, made)

        assert late <= 1.05 * early
