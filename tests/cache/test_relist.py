"""A periodic relist repairs what the watch did not tell, and only that."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from kubewright.api import Metadata
from kubewright.cache import Informer, Scope
from kubewright.kinds.core_v1 import ConfigMap, Namespace
from kubewright.metrics import Registry
from kubewright.testing import VirtualTime, elapse, virtual_time
from tests.cache.objects import config
from tests.cache.wire import Cluster, Log, cluster, held, refusal

EVERY = timedelta(minutes=10)


def relists(made: Cluster) -> int:
    """How often everything was listed; a watch that resumes asks for one object only."""
    return sum(request.verb == "list" and "limit=500" in request.target for request in made.wire.requests)


def informer_of(made: Cluster, registry: Registry | None = None) -> Informer[ConfigMap]:
    dice = VirtualTime.current().dice_of("cache")
    return Informer(made.client, ConfigMap, scope=Scope(relist=EVERY), metrics=registry, dice=dice)


@virtual_time()
async def test_events_that_were_lost_are_repaired_and_counted_as_drift():
    async with cluster() as made:
        for name in ("changed", "deleted", "same"):
            await made.direct.create(config(name))
        registry = Registry()
        async with informer_of(made, registry) as informer:
            await informer.wait_synced()
            log = Log(informer)
            log.take()
            made.wire.loses = lambda event: event["type"] != "BOOKMARK"
            changed = await made.direct.get(ConfigMap, "changed")
            changed.data["k"] = "v"
            await made.direct.update(changed)
            await made.direct.delete(ConfigMap, "deleted")
            await made.direct.create(config("created"))

            await elapse(EVERY + timedelta(minutes=2))

            assert held(informer) == await made.truth()
            assert sorted(log.take()) == [
                ("changed", "updated", "relist"),
                ("created", "added", "relist"),
                ("deleted", "deleted", "relist"),
            ]
            assert informer.health.drift == 3
            assert 'kubewright_cache_drift_total{resource="configmaps"} 3' in registry.render()


@virtual_time()
async def test_a_watch_that_only_lags_is_no_drift():
    async with cluster() as made, informer_of(made) as informer:
        await informer.wait_synced()
        for round in range(60):
            for name in "abc":
                await made.direct.create(config(name, k=str(round)))
            await elapse(timedelta(seconds=20))
            for name in "abc":
                await made.direct.delete(ConfigMap, name)
            await elapse(timedelta(seconds=20))

        assert informer.health.drift == 0
        assert held(informer) == {}
        assert relists(made) > 3


@virtual_time()
async def test_a_relist_that_fails_is_tried_again():
    async with cluster() as made, informer_of(made) as informer:
        await informer.wait_synced()
        made.wire.loses = lambda event: event["type"] != "BOOKMARK"
        await made.direct.create(config("a"))
        made.wire.list_answers += [refusal(500, "InternalError")] * 3

        await elapse(3 * EVERY + timedelta(minutes=3))

        assert held(informer) == await made.truth()
        assert informer.health.drift == 1


@virtual_time()
async def test_what_changes_while_a_relist_is_under_way_stays_as_the_watch_tells_it():
    async with cluster() as made, informer_of(made) as informer:
        await informer.wait_synced()
        await made.direct.create(config("a"))
        await made.direct.create(config("b"))

        async def meddle(lists: int) -> None:
            while relists(made) == lists:
                await elapse(timedelta(seconds=1))
            await made.direct.delete(ConfigMap, "a")
            await made.direct.create(config("a", again="1"))
            await made.direct.delete(ConfigMap, "b")
            await made.direct.create(config("c"))

        await meddle(relists(made))
        await elapse(timedelta(minutes=3))

        found: Any = held(informer)
        assert found == await made.truth()
        assert informer.health.drift == 0


async def until_relisted(made: Cluster) -> None:
    """Return when a list is under way and the server is ahead of the watch, until the next bookmark."""
    lists = relists(made)
    while relists(made) == lists:
        await made.direct.create(Namespace(metadata=Metadata(generate_name="n-")))
        await elapse(timedelta(seconds=1))


@virtual_time()
async def test_what_goes_after_the_list_and_before_the_watch_is_as_far_is_no_drift():
    async with cluster() as made, informer_of(made) as informer:
        log = Log(informer)
        await made.direct.create(config("a"))
        await informer.wait_synced()
        await until_relisted(made)

        await made.direct.delete(ConfigMap, "a")
        await elapse(timedelta(minutes=2))

        assert informer.health.drift == 0
        assert [change.type for change in log.changes] == ["added", "deleted"]


@virtual_time()
async def test_a_watch_that_is_behind_the_list_is_waited_for():
    async with cluster() as made, informer_of(made) as informer:
        await informer.wait_synced()
        await elapse(EVERY * 0.8 - timedelta(seconds=30))
        made.wire.is_silent = True
        await made.direct.create(config("a"))
        await until_relisted(made)
        made.wire.is_silent = False

        await elapse(timedelta(minutes=5))

        assert informer.health.drift == 0
        assert held(informer) == await made.truth()


@virtual_time()
async def test_a_list_that_the_watch_has_overtaken_by_beginning_anew_is_not_believed():
    async with cluster() as made, informer_of(made) as informer:
        log = Log(informer)
        await made.direct.create(config("a"))
        await informer.wait_synced()
        await until_relisted(made)
        made.wire.cuts = 1
        made.wire.watch_answers.append(refusal(410, "Expired"))

        await made.direct.delete(ConfigMap, "a")
        await elapse(timedelta(minutes=2))

        assert held(informer) == {}
        assert [change.type for change in log.changes] == ["added", "deleted"]
        assert informer.health.drift == 0
