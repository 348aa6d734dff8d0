"""The reflector: everything once, then each change; whatever breaks, it goes on, and says why it could not."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from kubewright.cache import Entry, Measures, Reflector, Scope
from kubewright.errors import TransportError, Undecodable
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.metrics import Registry
from kubewright.testing import VirtualTime, elapse, virtual_time, wait_idle
from tests.cache.objects import config
from tests.cache.wire import Cluster, cluster, refusal


class Recorder:
    """A target that remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.state: dict[str, str] = {}
        self.written = ""

    def knows(self, entry: Entry, *, deleted: bool) -> bool:
        known = self.state.get(entry.name)
        return known is None if deleted else known == entry.resource_version

    def tell_undecodable(self, error: Undecodable, entry: Entry | None) -> None:
        self.told.append(("undecodable", str(error)))

    async def replaced(self, entries: list[Entry], revision: str, namespace: str | None, *, lost: bool) -> None:
        self.state = {entry.name: entry.resource_version for entry in entries}
        self.told.append(("replaced", [entry.name for entry in entries], lost))

    async def changed(self, changes: list[tuple[Entry, bool]]) -> None:
        for entry, deleted in changes:
            self.told.append(("deleted" if deleted else "is", entry.name))
            if deleted:
                self.state.pop(entry.name, None)
            else:
                self.state[entry.name] = entry.resource_version

    def passed(self, revision: str, namespace: str | None) -> None:
        pass

    def take(self) -> list[Any]:
        found, self.told = self.told, []
        return found


class Reflected:
    def __init__(self, made: Cluster, reflector: Reflector[ConfigMap], target: Recorder, registry: Registry) -> None:
        self.made = made
        self.wire = made.wire
        self.reflector = reflector
        self.target = target
        self.registry = registry


@asynccontextmanager
async def reflecting(*objects: str, refusals: list[Any] | None = None, **scope: Any) -> AsyncIterator[Reflected]:
    async with cluster() as made:
        for name in objects:
            await made.direct.create(config(name))
        made.wire.watch_answers += refusals or []
        target, registry = Recorder(), Registry()
        reflector = Reflector(
            made.client,
            ConfigMap,
            target,
            scope=Scope(**scope),
            measures=Measures(registry, ConfigMap.api_resource),
            dice=VirtualTime.current().dice_of("cache"),
        )
        running = asyncio.create_task(reflector.run())
        try:
            yield Reflected(made, reflector, target, registry)
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


@virtual_time()
async def test_all_objects_are_told_at_once_and_then_each_change():
    async with reflecting("a", "b") as it:
        await it.reflector.synced.wait()
        await it.made.direct.create(config("c"))
        await it.made.direct.delete(ConfigMap, "a")
        await wait_idle()

        assert it.target.take() == [("replaced", ["a", "b"], False), ("is", "c"), ("deleted", "a")]
        assert it.wire.count("watch") == 1


@virtual_time()
async def test_a_stream_that_is_cut_is_resumed_and_nothing_is_lost():
    async with reflecting() as it:
        await it.reflector.synced.wait()
        it.target.take()
        it.wire.cuts = 1

        await it.made.direct.create(config("a"))
        await elapse(timedelta(seconds=1))
        await it.made.direct.create(config("b"))
        await wait_idle()

        assert it.target.take() == [("is", "a"), ("is", "b")]
        assert it.reflector.health.watching
        assert 'kubewright_cache_watch_failures_total{resource="configmaps",reason="TransportError"} 1' in (
            it.registry.render()
        )


@virtual_time()
async def test_a_first_stream_that_is_cut_tells_nothing_until_it_is_whole():
    async with reflecting("a") as it:
        it.wire.cuts = 1
        await it.reflector.synced.wait()

        assert it.target.take() == [("replaced", ["a"], False)]
        assert it.wire.count("watch") == 2


@virtual_time()
async def test_a_silent_stream_is_given_up_and_resumed():
    async with reflecting() as it:
        await it.reflector.synced.wait()
        it.target.take()
        it.wire.is_silent = True
        await it.made.direct.create(config("a"))
        await elapse(timedelta(seconds=100))
        it.wire.is_silent = False
        assert it.target.take() == []

        await elapse(timedelta(seconds=60))

        assert it.target.take() == [("is", "a")]


@virtual_time()
async def test_a_cluster_where_nothing_happens_is_no_failure():
    async with reflecting() as it:
        await it.reflector.synced.wait()

        await elapse(timedelta(hours=1))

        assert (it.reflector.health.watching, it.reflector.health.failures) == (True, 0)
        assert "kubewright_cache_watch_failures_total{" not in it.registry.render()
        assert it.reflector.lists == 1


@virtual_time()
async def test_a_forgotten_revision_is_followed_by_a_new_list():
    async with reflecting() as it:
        await it.reflector.synced.wait()
        it.target.take()
        it.wire.cuts = 1
        it.wire.watch_answers.append(refusal(410, "Expired", "too old resource version"))

        await it.made.direct.create(config("a"))
        await elapse(timedelta(seconds=2))

        assert it.target.take() == [("replaced", ["a"], False)]
        assert 'reflector_lists_total{resource="configmaps"} 2' in it.registry.render()


@virtual_time()
async def test_a_server_that_lost_its_history_is_listed_anew():
    async with reflecting() as it:
        await it.reflector.synced.wait()
        for name in "abc":
            await it.made.direct.create(config(name))
        await wait_idle()
        it.target.take()

        it.made.reset()
        await it.made.direct.create(config("after"))
        await elapse(timedelta(seconds=2))
        await it.made.direct.create(config("later"))
        await wait_idle()

        assert it.target.take() == [("replaced", ["after"], True), ("is", "later")]


@virtual_time()
async def test_events_that_come_twice_are_told_once():
    async with reflecting("a") as it:
        await it.reflector.synced.wait()
        it.target.take()
        it.wire.copies = 2

        await it.made.direct.create(config("b"))
        await wait_idle()
        await it.made.direct.delete(ConfigMap, "b")
        await wait_idle()

        assert it.target.take() == [("is", "b"), ("deleted", "b")]
        assert it.wire.count("watch") == 1


@virtual_time()
async def test_an_event_from_an_unknown_past_is_followed_by_a_new_list():
    async with reflecting() as it:
        await it.reflector.synced.wait()
        await it.made.direct.create(config("a"))
        await wait_idle()
        await it.made.direct.delete(ConfigMap, "a")
        await wait_idle()
        it.target.take()
        it.wire.repeats = 2

        await it.made.direct.create(config("b"))
        await elapse(timedelta(seconds=1))

        assert it.target.take() == [("replaced", ["b"], True)]


@virtual_time()
async def test_resuming_asks_first_whether_the_server_is_behind():
    async with reflecting("a") as it:
        await it.reflector.synced.wait()
        it.wire.cuts = 1
        await it.made.direct.create(config("b"))
        await elapse(timedelta(seconds=1))

        assert [request.verb for request in it.wire.requests] == ["watch", "list", "watch"]
        assert "limit=1" in it.wire.requests[1].target


@virtual_time()
async def test_failures_wait_longer_and_longer_but_never_more_than_half_a_minute():
    async with reflecting(refusals=[TransportError("no")] * 30) as it:
        times: list[float] = []
        loop = asyncio.get_running_loop()
        while it.wire.watch_answers:
            count = it.wire.count("watch")
            await elapse(timedelta(milliseconds=50))
            if it.wire.count("watch") > count:
                times.append(loop.time())

        gaps = [later - earlier for earlier, later in pairwise(times)]
        assert gaps[0] <= 0.3
        assert max(gaps) <= 30.1
        assert min(gaps[-10:]) >= 14.9
        assert it.reflector.health.failures == 30
        assert it.reflector.health.error == "TransportError: no"

        await it.reflector.synced.wait()
        assert (it.reflector.health.failures, it.reflector.health.error) == (0, "")


def test_what_is_missing_is_said_once_and_watched_when_it_is_there(caplog: pytest.LogCaptureFixture):
    @virtual_time()
    async def refused() -> None:
        forbidden = refusal(403, "Forbidden", 'configmaps is forbidden: User "u" cannot watch resource "configmaps"')
        async with reflecting("a", refusals=[forbidden] * 5) as it:
            await elapse(timedelta(seconds=3))
            assert not it.reflector.health.watching
            assert it.reflector.health.error.startswith("Forbidden: configmaps is forbidden")

            await it.reflector.synced.wait()
            assert it.target.take() == [("replaced", ["a"], False)]

    with caplog.at_level(logging.INFO, "kubewright.cache"):
        refused()

    warnings = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warnings) == 1
    assert "ConfigMap (v1) is not watched" in warnings[0]
    assert "needs the verbs list and watch: add them to the role" in warnings[0]
    assert any("is watched again" in record.message for record in caplog.records)


@virtual_time()
async def test_a_server_that_ends_each_watch_at_once_is_not_asked_in_a_loop():
    async with reflecting("a") as it:
        await it.reflector.synced.wait()
        table = it.made.server.app.engine.store.table("/configmaps")

        for _ in range(600):
            table.end_watches()
            await elapse(timedelta(milliseconds=100))

        assert it.wire.count("watch") < 20


@virtual_time()
async def test_a_bug_on_the_way_is_logged_and_survived():
    async with reflecting("a", refusals=[RuntimeError("a bug"), KeyError("another")]) as it:
        await it.reflector.synced.wait()

        assert it.target.take() == [("replaced", ["a"], False)]


@virtual_time()
async def test_an_object_whose_transform_fails_is_known_all_the_same():
    def fail(document: dict[str, Any]) -> dict[str, Any]:
        raise LookupError("no")

    async with reflecting("a", transform=fail) as it:
        await it.reflector.synced.wait()

        undecodable, replaced = it.target.take()
        assert "its transform failed (LookupError: no)" in undecodable[1]
        assert replaced == ("replaced", ["a"], False)


@virtual_time()
async def test_a_server_without_streaming_lists_is_listed():
    refused = refusal(422, "Invalid", "sendInitialEvents: Forbidden")
    async with reflecting("a", "b", refusals=[refused]) as it:
        await it.reflector.synced.wait()
        await it.made.direct.create(config("c"))
        await wait_idle()

        assert it.target.take() == [("replaced", ["a", "b"], False), ("is", "c")]
        assert [request.verb for request in it.wire.requests] == ["watch", "list", "watch"]


@virtual_time()
async def test_a_watch_that_was_steady_is_resumed_at_once_whatever_was_before():
    async with reflecting(refusals=[TransportError("no")] * 12) as it:
        await it.reflector.synced.wait()
        await elapse(timedelta(hours=1))
        it.target.take()
        it.wire.cuts = 1

        await it.made.direct.create(config("a"))
        await elapse(timedelta(milliseconds=200))

        assert it.target.take() == [("is", "a")]


@virtual_time()
async def test_a_list_of_an_earlier_revision_than_was_told_says_that_history_was_lost():
    async with reflecting() as it:
        await it.reflector.synced.wait()
        for name in "abc":
            await it.made.direct.create(config(name))
        await wait_idle()
        it.target.take()
        it.wire.watch_answers += [refusal(410, "Expired"), TransportError("away")]
        it.wire.cuts = 1

        await it.made.direct.create(config("d"))
        while it.wire.watch_answers:
            await elapse(timedelta(milliseconds=10))
        it.made.reset()
        await elapse(timedelta(seconds=5))

        assert it.target.take() == [("replaced", [], True)]
