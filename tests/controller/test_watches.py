"""Other kinds: owned, watched with a mapping, tracked, read."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kubewright import Context, Controller, Key, Metadata, MetadataOnly, Operator, Watch
from kubewright.cache import Cache
from kubewright.controller import generation_changed, labels_changed, where
from kubewright.errors import NotCached
from kubewright.kinds.core_v1 import ConfigMap, Namespace, Secret
from kubewright.operator import Cached
from kubewright.testing import elapse, running, virtual_time
from tests.controller.sites import Site, card, operator_of, site, write_card


async def nothing(obj: Site, ctx: Context) -> None:
    pass


def sites_reading(config: ConfigMap, cache: Cache) -> list[Site]:
    return [obj for obj in cache.list(Site, namespace=config.namespace) if obj.spec.config == config.name]


class Rounds:
    """A reconcile that notes which objects it saw, and why."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, tuple[str, ...]]] = []

    async def __call__(self, obj: Site, ctx: Context) -> None:
        self.seen.append((obj.name, ctx.reasons))


@virtual_time()
async def test_a_change_of_a_watched_object_wakes_who_it_maps_to() -> None:
    rounds = Rounds()
    async with running(operator_of(rounds, watches=[Watch(ConfigMap, sites_reading)])) as cluster:
        await cluster.client.create(site("a", config="colours"))
        await cluster.client.create(site("b", config="sizes"))
        await elapse(timedelta(seconds=1))
        rounds.seen.clear()
        await cluster.client.create(card("colours", "red"))
        await elapse(timedelta(seconds=1))

    assert rounds.seen == [("a", ("ConfigMap default/colours added",))]


@virtual_time()
async def test_a_mapping_is_asked_about_the_old_object_too() -> None:
    def site_named(config: ConfigMap, cache: Cache) -> list[Key]:
        return [Key(config.namespace, config.data["text"])]

    rounds = Rounds()
    async with running(operator_of(rounds, watches=[Watch(ConfigMap, site_named)])) as cluster:
        await cluster.client.create(site("a"))
        await cluster.client.create(site("b"))
        made = await cluster.client.create(card("who", "a"))
        await elapse(timedelta(seconds=1))
        rounds.seen.clear()
        made.data["text"] = "b"
        await cluster.client.update(made)
        await elapse(timedelta(seconds=1))

    assert sorted(name for name, _ in rounds.seen) == ["a", "b"]


@virtual_time()
async def test_a_watch_passes_only_what_its_predicate_lets_pass() -> None:
    rounds = Rounds()
    watch = Watch(ConfigMap, sites_reading, where(lambda config: config.data["text"] == "loud") & labels_changed)
    async with running(operator_of(rounds, watches=[watch])) as cluster:
        await cluster.client.create(site("a", config="c"))
        await cluster.client.create(card("c", "quiet"))
        await elapse(timedelta(seconds=1))
        rounds.seen.clear()
        await cluster.client.modify(ConfigMap, "c", lambda config: config.data.update(text="loud"))
        await elapse(timedelta(seconds=1))
        assert rounds.seen == []
        await cluster.client.modify(ConfigMap, "c", lambda config: config.metadata.labels.update(x="y"))
        await elapse(timedelta(seconds=1))

    assert [name for name, _ in rounds.seen] == ["a"]


@virtual_time()
async def test_a_mapping_that_raises_is_told_and_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    def broken(config: ConfigMap, cache: Cache) -> list[Key]:
        raise RuntimeError("no such field")

    rounds = Rounds()
    async with running(operator_of(rounds, watches=[Watch(ConfigMap, broken)])) as cluster:
        await cluster.client.create(card("c", "x"))
        await cluster.client.create(site("a"))
        await elapse(timedelta(seconds=1))

    assert [name for name, _ in rounds.seen] == ["a"]
    assert "RuntimeError: no such field" in caplog.text


@virtual_time()
async def test_generation_changed_ignores_labels_and_status_but_not_the_spec() -> None:
    rounds = Rounds()
    async with running(operator_of(rounds, predicates=[generation_changed])) as cluster:
        await cluster.client.create(site("a"))
        await elapse(timedelta(seconds=1))
        rounds.seen.clear()
        await cluster.client.modify(Site, "a", lambda obj: obj.metadata.labels.update(x="y"))
        await elapse(timedelta(seconds=1))
        assert rounds.seen == []
        await cluster.client.modify(Site, "a", lambda obj: setattr(obj.spec, "text", "new"))
        await elapse(timedelta(seconds=1))

    assert [name for name, _ in rounds.seen] == ["a"]


@virtual_time()
async def test_predicates_combine_with_and_or_and_not() -> None:
    rounds = Rounds()
    either = (generation_changed | labels_changed) & ~where(lambda obj: obj.name == "b")
    async with running(operator_of(rounds, predicates=[either])) as cluster:
        for name in ("a", "b"):
            await cluster.client.create(site(name))
            await elapse(timedelta(seconds=1))
            await cluster.client.modify(Site, name, lambda obj: obj.metadata.labels.update(x="y"))
            await elapse(timedelta(seconds=1))
            await cluster.client.modify(Site, name, lambda obj: obj.metadata.annotations.update(x="y"))
            await elapse(timedelta(seconds=1))

    assert [name for name, _ in rounds.seen] == ["a", "a"]


@virtual_time()
async def test_a_kind_that_was_not_named_is_not_read_from_the_cache() -> None:
    errors: list[str] = []

    async def reconcile(obj: Site, ctx: Context) -> None:
        try:
            ctx.cache.get(Secret, "x")
        except NotCached as error:
            errors.append(str(error))

    async with running(operator_of(reconcile)) as cluster:
        await cluster.client.create(site("a"))
        await elapse(timedelta(seconds=1))

    assert "add it to owns=[Secret], watches=[Watch(Secret, …)] or reads=[Secret]" in errors[0]


@virtual_time()
async def test_the_cache_looks_into_the_objects_namespace_unless_told_otherwise() -> None:
    found: list[Any] = []

    async def reconcile(obj: Site, ctx: Context) -> None:
        found.append(ctx.cache.get(ConfigMap, "x"))
        found.append(len(ctx.cache.list(ConfigMap)))
        found.append(len(ctx.cache.list(ConfigMap, namespace="*")))

    async with running(operator_of(reconcile, reads=[ConfigMap])) as cluster:
        await cluster.client.create(Namespace(metadata=Metadata(name="other")))
        far = card("x", "far")
        far.metadata.namespace = "other"
        await cluster.client.create(far)
        await elapse(timedelta(seconds=1))
        await cluster.client.create(site("a"))
        await elapse(timedelta(seconds=1))

    everywhere = found[2]
    assert found == [None, everywhere - 1, everywhere] or found[0] is None


@virtual_time()
async def test_an_index_finds_what_a_mapping_needs() -> None:
    def by_index(config: ConfigMap, cache: Cache) -> list[Site]:
        return cache.list(Site, namespace=config.namespace, where={"config": config.name})

    rounds = Rounds()
    operator = Operator(
        "sites",
        [Controller(Site, rounds, watches=[Watch(ConfigMap, by_index)])],
        cached=[Cached(Site, indexes={"config": lambda obj: [obj.spec.config]})],
    )
    async with running(operator) as cluster:
        await cluster.client.create(site("a", config="c"))
        await cluster.client.create(site("b", config="d"))
        await elapse(timedelta(seconds=1))
        rounds.seen.clear()
        await cluster.client.create(card("c", "x"))
        await elapse(timedelta(seconds=1))

    assert [name for name, _ in rounds.seen] == ["a"]


@virtual_time()
async def test_metadata_alone_can_be_watched() -> None:
    heads: list[str] = []

    def any_site(secret: MetadataOnly, cache: Cache) -> list[Key]:
        heads.append(secret.name)
        return cache.keys(Site)

    rounds = Rounds()
    async with running(operator_of(rounds, watches=[Watch(MetadataOnly.of(Secret), any_site)])) as cluster:
        await cluster.client.create(site("a"))
        await elapse(timedelta(seconds=1))
        await cluster.client.create(Secret(metadata=Metadata(name="s"), string_data={"password": "hidden"}))
        await elapse(timedelta(seconds=1))

    assert heads == ["s"]
    assert [name for name, _ in rounds.seen] == ["a", "a"]


@virtual_time()
async def test_a_deleted_child_wakes_its_owner_and_is_made_again() -> None:
    async with running(operator_of(write_card, owns=[ConfigMap])) as cluster:
        await cluster.client.create(site("a", text="hi"))
        first = await cluster.wait_until(ConfigMap, "a", lambda _: True)
        await cluster.client.delete(ConfigMap, "a")

        second = await cluster.wait_until(ConfigMap, "a", lambda found: found.metadata.uid != first.metadata.uid)

    assert second.data == {"text": "hi"}


@virtual_time()
async def test_a_built_in_kind_can_be_the_primary() -> None:
    async def label(namespace: Namespace, ctx: Context) -> None:
        await ctx.apply(Namespace(metadata=Metadata(name=namespace.name, labels={"team": "web"})))

    async with running(Operator("labels", [Controller(Namespace, label)])) as cluster:
        await cluster.client.create(Namespace(metadata=Metadata(name="n")))

        await cluster.wait_until(Namespace, "n", lambda found: found.metadata.labels.get("team") == "web")


@virtual_time()
async def test_what_is_tracked_in_another_namespace_wakes_its_owner() -> None:
    async def reconcile(obj: Site, ctx: Context) -> None:
        far = card("far", obj.spec.text)
        far.metadata.namespace = "other"
        await ctx.apply(far)

    async def cleanup(obj: Site, ctx: Context) -> None:
        await ctx.client.delete(ConfigMap, "far", namespace="other")

    operator = operator_of(reconcile, tracks=[ConfigMap], cleanup=cleanup)
    async with running(operator) as cluster:
        client = cluster.client
        await client.create(Namespace(metadata=Metadata(name="other")))
        await client.create(site("a", text="hi"))
        await cluster.wait_until(ConfigMap, "far", lambda found: found.data == {"text": "hi"}, namespace="other")
        await client.modify(ConfigMap, "far", lambda found: found.data.update(text="spoilt"), namespace="other")
        await cluster.wait_until(ConfigMap, "far", lambda found: found.data == {"text": "hi"}, namespace="other")
        await client.delete(Site, "a")

        await cluster.wait_gone(ConfigMap, "far", namespace="other")
        await cluster.wait_gone(Site, "a")
