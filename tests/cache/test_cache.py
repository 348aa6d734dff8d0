"""The cache: which kinds, with which options, in which namespaces; nothing runs when it has stopped."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from kubewright.api import Key, Metadata, MetadataOnly, Unstructured
from kubewright.cache import Cache
from kubewright.errors import NotCached
from kubewright.kinds.core_v1 import ConfigMap, Namespace, Secret
from kubewright.metrics import Registry
from kubewright.testing import VirtualTime, elapse, virtual_time, wait_idle
from tests.cache.objects import config
from tests.cache.wire import Cluster, Log, cluster, held


def cache_of(cluster: Cluster, **options: Any) -> Cache:
    return Cache(cluster.client, dice=VirtualTime.current().dice_of("cache"), **options)


async def with_namespaces(made: Cluster, *names: str) -> None:
    for name in names:
        await made.direct.create(Namespace(metadata=Metadata(name=name)))


@virtual_time()
async def test_a_kind_that_is_not_watched_is_named_with_the_line_to_add():
    async with cluster() as made:
        with pytest.raises(NotCached, match=r"Secret is not in the cache: add it to owns=\[Secret\].*reads=\[Secret\]"):
            cache_of(made).get(Secret, "a")


@virtual_time()
async def test_the_same_kind_with_the_same_options_is_one_informer():
    async with cluster() as made:
        cache = cache_of(made)

        first = cache.watch(ConfigMap, labels="a=b", namespaces=["x", "y"])

        assert cache.watch(ConfigMap, labels={"a": "b"}, namespaces=["y", "x"]) is first
        assert cache.ensure(ConfigMap) is first
        assert cache.informer(ConfigMap) is first
        with pytest.raises(ValueError, match=r"watched already, with other options \(labels: 'a=b', now 'a=c'\)"):
            cache.watch(ConfigMap, labels="a=c", namespaces=["x", "y"])


@virtual_time()
async def test_a_kind_without_namespaces_cannot_be_watched_in_some():
    async with cluster() as made:
        with pytest.raises(ValueError, match="Namespace objects are in no namespace"):
            cache_of(made).watch(Namespace, namespaces=["a"])


@virtual_time()
async def test_objects_are_read_by_name_in_the_clients_namespace_or_another():
    async with cluster() as made:
        await with_namespaces(made, "other")
        await made.direct.create(config("a", k="here"))
        await made.direct.create(config("a", "other", k="there"))
        cache = cache_of(made)
        cache.watch(ConfigMap)
        cache.watch(Namespace)
        async with cache:
            await cache.wait_synced()

            here, there = cache.get(ConfigMap, "a"), cache.get(ConfigMap, "a", namespace="other")
            assert here is not None
            assert there is not None
            assert (here.data, there.data) == ({"k": "here"}, {"k": "there"})
            assert cache.get(Namespace, "other") is not None
            assert cache.get(Namespace, "none") is None
            assert cache.keys(ConfigMap) == [Key("default", "a"), Key("other", "a")]
            assert [found.namespace for found in cache.list(ConfigMap, namespace="other")] == ["other"]


@virtual_time()
async def test_untyped_and_metadata_only_kinds_are_cached_too():
    Partial, Untyped = MetadataOnly.of(ConfigMap), Unstructured.of("v1", "ConfigMap")
    UntypedNamespace = Unstructured.of("v1", "Namespace")
    async with cluster() as made:
        await made.direct.create(config("a", k="v"))
        cache = cache_of(made)
        for kind in (Partial, Untyped, UntypedNamespace):
            cache.ensure(kind)
        async with cache:
            await cache.wait_synced()

            partial, untyped = cache.get(Partial, "a"), cache.get(Untyped, "a")
            assert partial is not None
            assert untyped is not None
            assert partial.name == "a"
            assert b'"data"' not in (cache.informer(Partial).raw(partial.key) or b"")
            assert untyped["data"] == {"k": "v"}
            assert cache.get(UntypedNamespace, "default") is not None


@virtual_time()
async def test_a_kind_named_while_running_is_watched_at_once_and_can_go_again():
    async with cluster() as made:
        registry = Registry()
        cache = cache_of(made, metrics=registry)
        async with cache:
            await made.direct.create(config("a"))
            cache.watch(ConfigMap)
            await cache.wait_synced(ConfigMap)

            assert list(cache.kinds) == [ConfigMap]
            assert cache.get(ConfigMap, "a") is not None
            assert 'kubewright_cache_objects{resource="configmaps"} 1' in registry.render()

            await cache.unwatch(ConfigMap)
            await cache.unwatch(ConfigMap)

            assert list(cache.kinds) == []
            assert "kubewright_cache_objects{" not in registry.render()
            with pytest.raises(NotCached):
                cache.get(ConfigMap, "a")


@virtual_time()
async def test_namespaces_come_and_go_while_running():
    async with cluster() as made:
        await with_namespaces(made, "x", "y", "z")
        for namespace in "xyz":
            await made.direct.create(config("a", namespace))
        cache = cache_of(made)
        informer = cache.watch(ConfigMap, namespaces=["x"])
        log = Log(informer)
        async with cache:
            await cache.wait_synced()
            assert informer.keys() == [Key("x", "a")]

            cache.add_namespace(ConfigMap, "y")
            cache.add_namespace(ConfigMap, "y")
            assert not informer.synced
            await cache.wait_synced()
            assert informer.keys() == [Key("x", "a"), Key("y", "a")]

            log.take()
            cache.remove_namespace(ConfigMap, "x")
            assert informer.keys() == [Key("y", "a")]
            assert log.take() == [("a", "deleted", "relist")]

            await made.direct.create(config("b", "x"))
            await made.direct.create(config("b", "y"))
            await wait_idle()
            assert informer.keys() == [Key("y", "a"), Key("y", "b")]

            cache.add_namespace(ConfigMap, "x")
            await cache.wait_synced()
            assert {key.namespace for key in informer} == {"x", "y"}


@virtual_time()
async def test_namespaces_of_a_kind_watched_everywhere_cannot_be_taken_out():
    async with cluster() as made:
        cache = cache_of(made)
        cache.watch(ConfigMap)

        with pytest.raises(ValueError, match="all namespaces are watched already"):
            cache.add_namespace(ConfigMap, "x")
        with pytest.raises(ValueError, match="all namespaces are watched; name them"):
            cache.remove_namespace(ConfigMap, "x")


@virtual_time()
async def test_a_kind_watched_in_no_namespace_is_empty_and_asks_nothing():
    async with cluster() as made:
        cache = cache_of(made)
        cache.watch(ConfigMap, namespaces=[])
        async with cache:
            await cache.wait_synced()
            await wait_idle()

            assert cache.list(ConfigMap) == []
            assert made.wire.requests == []


@virtual_time()
async def test_the_options_of_the_cache_are_those_of_its_kinds():
    async with cluster() as made:
        cache = cache_of(made, resync=None, keep_managers="operator/")

        config_maps = cache.watch(ConfigMap)
        secrets = cache.watch(Secret, resync=timedelta(minutes=1), keep_managed_fields=True)

        assert (config_maps.scope.resync, config_maps.scope.keep_managed_fields) == (None, "operator/")
        assert (secrets.scope.resync, secrets.scope.keep_managed_fields) == (timedelta(minutes=1), True)


@virtual_time()
async def test_a_shard_selector_is_passed_to_the_server():
    async with cluster() as made:
        cache = cache_of(made)
        cache.watch(ConfigMap, shard_selector="shardRange(object.metadata.uid, '0x0', '0x8')")
        async with cache:
            await cache.wait_synced()

        assert "shardSelector=shardRange" in made.wire.requests[0].target


@virtual_time()
async def test_health_says_how_each_kind_is():
    async with cluster() as made:
        cache = cache_of(made)
        cache.watch(ConfigMap)
        assert not cache.health[ConfigMap].synced
        async with cache:
            await cache.wait_synced()
            await elapse(timedelta(minutes=10))

            found = cache.health[ConfigMap]
            assert (found.resource, found.synced, found.watching, found.failures) == ("configmaps", True, True, 0)
            assert found.last_event_at is not None
            assert VirtualTime.current().now() - found.last_event_at <= timedelta(seconds=150)
            assert cache.statistics()[ConfigMap].objects == 0


@virtual_time()
async def test_metrics_say_how_each_kind_is():
    async with cluster() as made:
        registry = Registry()
        cache = cache_of(made, metrics=registry)
        cache.watch(ConfigMap)
        async with cache:
            await made.direct.create(config("a"))
            await cache.wait_synced()
            await made.direct.create(config("b"))
            await wait_idle()

        lines = registry.render().splitlines()
        size = sum(len(cache.informer(ConfigMap).raw(key) or b"") for key in cache.keys(ConfigMap))
        for line in (
            'kubewright_cache_objects{resource="configmaps"} 2',
            f'kubewright_cache_bytes{{resource="configmaps"}} {size}',
            'kubewright_cache_synced{resource="configmaps"} 1',
            'kubewright_cache_events_total{resource="configmaps"} 1',
            'reflector_lists_total{resource="configmaps"} 1',
            'reflector_watches_total{resource="configmaps"} 1',
        ):
            assert line in lines
        assert any(line.startswith("kubewright_cache_last_event_timestamp_seconds{") for line in lines)


@virtual_time()
async def test_a_stopped_cache_runs_nothing_and_can_start_again():
    async with cluster() as made:
        cache = cache_of(made)
        cache.watch(ConfigMap, relist=timedelta(minutes=1))
        async with cache:
            await cache.wait_synced()
        await made.direct.create(config("a"))
        requests = len(made.wire.requests)
        await elapse(timedelta(hours=1))

        assert len(made.wire.requests) == requests
        assert cache.list(ConfigMap) == []

        async with cache:
            await wait_idle()
            assert held(cache.informer(ConfigMap)) == await made.truth()


@virtual_time()
async def test_run_watches_until_it_is_cancelled():
    async with cluster() as made:
        cache = cache_of(made)
        cache.watch(ConfigMap)
        running = asyncio.create_task(cache.run())
        await cache.wait_synced()

        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running


@pytest.mark.parametrize("rounds", range(25))
def test_a_start_that_is_cancelled_at_any_moment_leaves_nothing_behind(rounds: int):
    @virtual_time()
    async def cancelled() -> None:
        async with cluster() as made:
            await made.direct.create(config("a"))
            cache = cache_of(made)
            cache.watch(ConfigMap, relist=timedelta(minutes=1))
            running = asyncio.create_task(cache.run())
            for _ in range(rounds):
                await asyncio.sleep(0)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running

    cancelled()
