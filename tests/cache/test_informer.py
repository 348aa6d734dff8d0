"""Informers: complete, in step, telling all handlers, whatever one of them does."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from kubewright.api import Key, Metadata
from kubewright.cache import Change, Informer, Scope
from kubewright.errors import Undecodable
from kubewright.kinds.core_v1 import ConfigMap, Namespace
from kubewright.metrics import Registry
from kubewright.testing import VirtualTime, elapse, virtual_time, wait_idle
from tests.cache.objects import config
from tests.cache.wire import Cluster, Log, cluster, held


def informer_of(cluster: Cluster, **scope: Any) -> Informer[ConfigMap]:
    return Informer(cluster.client, ConfigMap, scope=Scope(**scope), dice=VirtualTime.current().dice_of("cache"))


@virtual_time()
async def test_everything_that_is_there_is_told_before_it_is_synced():
    async with cluster() as made:
        for name in "abc":
            await made.direct.create(config(name))
        informer = informer_of(made)
        log = Log(informer)

        async with informer:
            before = informer.synced
            await informer.wait_synced()

            assert log.take() == [(name, "added", "initial") for name in "abc"]
            assert (before, informer.synced) == (False, True)
            assert held(informer) == await made.truth()


@virtual_time()
async def test_changes_are_told_as_they_happen():
    async with cluster() as made, informer_of(made) as informer:
        log = Log(informer)
        await informer.wait_synced()

        created = await made.direct.create(config("a", k="1"))
        created.data["k"] = "2"
        await wait_idle()
        await made.direct.update(created)
        await wait_idle()
        await made.direct.delete(ConfigMap, "a")
        await wait_idle()

        assert log.take() == [("a", "added", "live"), ("a", "updated", "live"), ("a", "deleted", "live")]
        assert held(informer) == {}


@virtual_time()
async def test_a_handler_added_late_is_told_what_is_there():
    async with cluster() as made, informer_of(made) as informer:
        await made.direct.create(config("a"))
        await informer.wait_synced()
        await wait_idle()

        log = Log(informer)

        assert log.take() == [("a", "added", "initial")]


@virtual_time()
async def test_a_removed_handler_is_told_nothing_more():
    async with cluster() as made, informer_of(made) as informer:
        log = Log()
        handler = informer.add_handler(log)
        await informer.wait_synced()

        handler.remove()
        handler.remove()
        await made.direct.create(config("a"))
        await wait_idle()

        assert log.take() == []


@virtual_time()
async def test_a_handler_removed_by_another_is_not_called_for_the_same_change():
    async with cluster() as made, informer_of(made) as informer:
        informer.add_handler(lambda change: second.remove())
        log = Log()
        second = informer.add_handler(log)
        await informer.wait_synced()

        await made.direct.create(config("a"))
        await wait_idle()

        assert log.take() == []


@virtual_time()
async def test_a_handler_that_raises_harms_no_other():
    def fail(change: Change[Any]) -> None:
        raise LookupError("oh")

    async with cluster() as made:
        registry = Registry()
        informer = Informer(made.client, ConfigMap, metrics=registry)
        informer.add_handler(fail)
        log = Log(informer)
        async with informer:
            await informer.wait_synced()
            await made.direct.create(config("a"))
            await wait_idle()

            assert log.take() == [("a", "added", "live")]
            assert 'kubewright_cache_handler_errors_total{resource="configmaps"} 1' in registry.render()


@virtual_time()
async def test_edge_style_handlers_get_objects():
    told: list[tuple[str, ...]] = []
    async with cluster() as made, informer_of(made) as informer:
        informer.on(
            add=lambda new: told.append(("add", new.data["k"])),
            update=lambda old, new: told.append(("update", old.data["k"], new.data["k"])),
            delete=lambda old: told.append(("delete", old.name)),
        )
        await informer.wait_synced()

        created = await made.direct.create(config("a", k="1"))
        await wait_idle()
        created.data["k"] = "2"
        await made.direct.update(created)
        await wait_idle()
        await made.direct.delete(ConfigMap, "a")
        await wait_idle()

        assert told == [("add", "1"), ("update", "1", "2"), ("delete", "a")]


@virtual_time()
async def test_a_read_object_is_the_readers_own():
    async with cluster() as made, informer_of(made) as informer:
        await made.direct.create(config("a", k="1"))
        await informer.wait_synced()

        first = informer.get(Key("default", "a"))
        assert first is not None
        first.data["k"] = "spoilt"

        second = informer.get(Key("default", "a"))
        assert second is not None
        assert second.data == {"k": "1"}
        assert informer.get(Key("default", "none")) is None


@virtual_time()
async def test_a_read_object_can_be_changed_and_sent():
    async with cluster() as made, informer_of(made) as informer:
        await made.direct.create(config("a", k="1"))
        await informer.wait_synced()

        found = informer.list()[0]
        found.data["k"] = "2"
        stored = await made.direct.update(found)

        assert stored.data == {"k": "2"}
        assert stored.metadata.managed_fields


@virtual_time()
async def test_objects_are_listed_by_namespace_label_index_and_owner():
    async with cluster() as made, informer_of(made) as informer:
        await made.direct.create(Namespace(metadata=Metadata(name="other")))
        owner = await made.direct.create(config("owner", labels={"app": "web"}))
        owned = config("owned", k="x")
        owned.metadata.owner_references = [owner.owner_reference]
        await made.direct.create(owned)
        await made.direct.create(config("far", "other", k="x"))
        informer.add_index("k", lambda found: found.data.values())
        await informer.wait_synced()

        def names(**choice: Any) -> list[str]:
            assert [obj.key for obj in informer.list(**choice)] == informer.keys(**choice)
            return [obj.name for obj in informer.list(**choice)]

        assert names() == ["owned", "owner", "far"]
        assert names(namespace="*") == ["owned", "owner", "far"]
        assert names(namespace="other") == ["far"]
        assert names(labels="app=web") == names(labels={"app": "web"}) == ["owner"]
        assert names(where={"k": "x"}) == ["owned", "far"]
        assert names(where={"k": "x"}, namespace="default") == ["owned"]
        assert names(owned_by=owner) == ["owned"]
        assert names(owned_by=config("unread")) == []


@virtual_time()
async def test_an_index_that_fails_on_an_object_finds_the_others():
    async with cluster() as made:
        registry = Registry()
        informer = Informer(made.client, ConfigMap, metrics=registry)
        informer.add_index("k", lambda found: [found.data["k"]])
        async with informer:
            await made.direct.create(config("a", k="x"))
            await made.direct.create(config("b"))
            await informer.wait_synced()
            await wait_idle()

            assert informer.keys(where={"k": "x"}) == [Key("default", "a")]
            assert 'kubewright_cache_handler_errors_total{resource="configmaps"} 1' in registry.render()


@virtual_time()
async def test_a_resync_looks_at_everything_again_without_asking_the_server():
    async with cluster() as made, informer_of(made, resync=timedelta(minutes=5)) as informer:
        for name in "ab":
            await made.direct.create(config(name))
        await informer.wait_synced()
        await wait_idle()
        log = Log(informer)
        log.take()
        requests = len(made.wire.requests)

        await elapse(timedelta(minutes=5, seconds=1))

        assert log.take() == [("a", "updated", "resync"), ("b", "updated", "resync")]
        assert len([r for r in made.wire.requests[requests:] if r.verb != "watch"]) <= 1


@virtual_time()
async def test_a_resync_does_not_come_all_at_once():
    async with cluster() as made:
        for number in range(350):
            await made.direct.create(config(f"c{number:03}"))
        informer = informer_of(made, resync=timedelta(minutes=5))
        async with informer:
            await informer.wait_synced()
            moments: dict[float, int] = {}

            def note(change: Change[Any]) -> None:
                if change.cause == "resync":
                    now = asyncio.get_running_loop().time()
                    moments[now] = moments.get(now, 0) + 1

            informer.add_handler(note)
            await elapse(timedelta(minutes=5, seconds=1))

            assert sum(moments.values()) == 350
            assert max(moments.values()) == 100


@virtual_time()
async def test_informers_resync_at_different_times():
    async with cluster() as made:
        await made.direct.create(config("a"))
        dice = VirtualTime.current().dice_of("cache")
        times: list[float] = []
        informers = [
            Informer(made.client, ConfigMap, scope=Scope(resync=timedelta(minutes=5)), dice=dice) for _ in range(3)
        ]
        for informer in informers:
            informer.start()
            await informer.wait_synced()

        def note(change: Change[Any]) -> None:
            if change.cause == "resync":
                times.append(asyncio.get_running_loop().time())

        for informer in informers:
            informer.add_handler(note)
        await elapse(timedelta(minutes=5, seconds=1))
        for informer in informers:
            await informer.stop()

        assert len(set(times)) >= 3
        assert all(240 <= at <= 301 for at in times)


@virtual_time()
async def test_one_undecodable_object_does_not_hide_the_others():
    async with cluster() as made:
        registry = Registry()

        class Narrow(ConfigMap, group="", version="v1", kind="ConfigMap"):
            data: dict[str, int] = {}  # type: ignore[assignment]

        informer = Informer(made.client, Narrow, metrics=registry)
        told: list[str] = []
        informer.on(add=lambda found: told.append(found.name))
        async with informer:
            await made.direct.create(config("bad", k="text"))
            await made.direct.create(config("good"))
            await informer.wait_synced()
            await wait_idle()

            assert told == ["good"]
            assert [found.name for found in informer.list()] == ["good"]
            assert informer.keys() == [Key("default", "bad"), Key("default", "good")]
            with pytest.raises(Undecodable, match=r'Narrow "default/bad" does not fit its Python type.*\$\.data'):
                informer.get(Key("default", "bad"))
            assert informer.health.undecodable == 1
            assert 'kubewright_cache_undecodable_total{resource="configmaps"} 1' in registry.render()

            await made.direct.delete(ConfigMap, "bad")
            await wait_idle()
            assert informer.health.undecodable == 0


@virtual_time()
async def test_who_waits_for_a_newer_revision_is_woken_by_a_change_or_the_end():
    async with cluster() as made, informer_of(made) as informer:
        created = await made.direct.create(config("a", k="1"))
        await informer.wait_synced()
        await wait_idle()
        read = created.metadata.resource_version

        async with asyncio.timeout(0):
            await informer.wait_newer(Key("default", "a"), "another")
            await informer.wait_newer(Key("default", "none"), "1")
        changed = asyncio.create_task(informer.wait_newer(Key("default", "a"), read))
        await wait_idle()
        assert not changed.done()

        created.data["k"] = "2"
        updated = await made.direct.update(created)
        await changed

        gone = asyncio.create_task(informer.wait_newer(Key("default", "a"), updated.metadata.resource_version))
        await wait_idle()
        await made.direct.delete(ConfigMap, "a")
        await gone


@virtual_time()
async def test_who_gives_up_waiting_for_a_newer_revision_leaves_nothing_behind():
    async with cluster() as made, informer_of(made) as informer:
        created = await made.direct.create(config("a"))
        await informer.wait_synced()
        await wait_idle()

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await informer.wait_newer(Key("default", "a"), created.metadata.resource_version)

        assert informer._waiting == {}


@virtual_time()
async def test_managed_fields_are_kept_only_if_asked_for():
    async with cluster() as made:
        await made.direct.using(field_manager="operator/one").create(config("a", k="v"))
        kept: list[list[str | None]] = []
        for keep in (False, True, "operator/", "other/"):
            async with informer_of(made, keep_managed_fields=keep) as informer:
                await informer.wait_synced()
                kept.append([entry.manager for entry in informer.list()[0].metadata.managed_fields])

        assert kept == [[], ["operator/one"], ["operator/one"], []]


@virtual_time()
async def test_selectors_choose_what_is_watched():
    async with cluster() as made:
        async with informer_of(made, labels="app=web", fields="metadata.name!=skipped") as informer:
            for name in ("a", "skipped"):
                await made.direct.create(config(name, labels={"app": "web"}))
            await made.direct.create(config("b"))
            await informer.wait_synced()
            await wait_idle()

            assert [key.name for key in informer] == ["a"]

            found = await made.direct.get(ConfigMap, "a")
            found.metadata.labels["app"] = "db"
            await made.direct.update(found)
            await wait_idle()

            assert informer.keys() == []


@virtual_time()
async def test_statistics_say_what_is_held():
    async with cluster() as made, informer_of(made) as informer:
        await made.direct.create(config("a", k="v"))
        Log(informer)
        await informer.wait_synced()
        await wait_idle()

        found = informer.statistics()

        raw = informer.raw(Key("default", "a"))
        assert raw is not None
        assert (found.resource, found.objects, found.bytes, found.handlers) == ("configmaps", 1, len(raw), 1)
        assert len(informer) == 1
