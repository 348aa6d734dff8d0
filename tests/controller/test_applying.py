"""``ctx.apply``: the whole intent, owner references, and no request when nothing would change."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kubewright import Context, Controller, Metadata, Operator
from kubewright.errors import AlreadyOwned, ApplyConflict, KubewrightError, WasRead
from kubewright.kinds.core_v1 import ConfigMap, Namespace
from kubewright.testing import elapse, running, virtual_time
from tests.controller.sites import Site, card, operator_of, site, write_card


@virtual_time()
async def test_a_field_dropped_from_the_intent_is_removed() -> None:
    async def reconcile(obj: Site, ctx: Context) -> None:
        data = {"text": obj.spec.text, "config": obj.spec.config}
        made = ConfigMap(metadata=Metadata(name=obj.name), data={key: value for key, value in data.items() if value})
        await ctx.apply(made)

    async with running(operator_of(reconcile, owns=[ConfigMap])) as cluster:
        await cluster.client.create(site(text="hi", config="x"))
        await cluster.wait_until(ConfigMap, "a", lambda found: found.data == {"text": "hi", "config": "x"})
        await cluster.client.modify(Site, "a", lambda obj: setattr(obj.spec, "config", ""))

        await cluster.wait_until(ConfigMap, "a", lambda found: found.data == {"text": "hi"})


@virtual_time()
async def test_a_field_dropped_while_the_operator_was_down_is_removed_too() -> None:
    async def without(obj: Site, ctx: Context) -> None:
        await ctx.apply(ConfigMap(metadata=Metadata(name=obj.name)))

    async with running(operator_of(write_card, owns=[ConfigMap])) as cluster:
        await cluster.client.create(site(text="hi"))
        await cluster.wait_until(ConfigMap, "a", lambda found: found.data == {"text": "hi"})
        server = cluster.server
        await elapse(timedelta(seconds=1))
        await cluster.operator.__aexit__(None, None, None)
        async with running(operator_of(without, owns=[ConfigMap]), server=server) as second:
            await second.wait_until(ConfigMap, "a", lambda found: not found.data)


@virtual_time()
async def test_fields_of_others_stay() -> None:
    async with running(operator_of(write_card, owns=[ConfigMap])) as cluster:
        await cluster.client.create(site(text="hi"))
        await cluster.wait_until(ConfigMap, "a", lambda _: True)
        await cluster.client.modify(ConfigMap, "a", lambda found: found.data.update(other="mine"))
        await cluster.client.modify(Site, "a", lambda obj: setattr(obj.spec, "text", "bye"))

        found = await cluster.wait_until(ConfigMap, "a", lambda found: found.data["text"] == "bye")

    assert found.data == {"text": "bye", "other": "mine"}


@virtual_time()
async def test_nothing_is_sent_when_nothing_would_change_also_after_a_restart() -> None:
    operator = operator_of(write_card, owns=[ConfigMap])
    async with running(operator) as cluster:
        for name in ("a", "b", "c"):
            await cluster.client.create(site(name, text="hi"))
        await elapse(timedelta(seconds=5))
        server = cluster.server
        await cluster.operator.__aexit__(None, None, None)
        server.requests.clear()
        async with operator.running(cluster.client) as again:
            await again.wait_ready()
            await elapse(timedelta(minutes=20))

            asked = [(request.verb, request.resource) for request in server.requests]

    assert all(verb in ("list", "watch") for verb, _ in asked)


@virtual_time()
async def test_fields_of_owned_children_are_taken_back_and_that_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    async with running(operator_of(write_card, owns=[ConfigMap])) as cluster:
        await cluster.client.create(site(text="hi"))
        await cluster.wait_until(ConfigMap, "a", lambda _: True)
        await cluster.client.using(field_manager="thief").apply(card("a", "stolen"), force=True)

        await cluster.wait_until(ConfigMap, "a", lambda found: found.data == {"text": "hi"})

    assert 'ConfigMap "default/a": taking over .data.text of thief' in caplog.text


@virtual_time()
async def test_a_conflict_elsewhere_is_an_error() -> None:
    errors: list[Exception] = []

    async def reconcile(obj: Site, ctx: Context) -> None:
        try:
            await ctx.apply(card("shared", "ours"))
        except ApplyConflict as error:
            errors.append(error)

    async with running(operator_of(reconcile)) as cluster:
        await cluster.client.using(field_manager="other").apply(card("shared", "theirs"))
        await cluster.client.create(site())
        await elapse(timedelta(seconds=1))

        assert (await cluster.client.get(ConfigMap, "shared")).data == {"text": "theirs"}
    assert len(errors) == 1


@virtual_time()
async def test_a_child_that_another_controls_is_not_taken() -> None:
    errors: list[str] = []

    async def reconcile(obj: Site, ctx: Context) -> None:
        try:
            await ctx.apply(card("shared", obj.name))
        except AlreadyOwned as error:
            errors.append(str(error))

    async with running(operator_of(reconcile, owns=[ConfigMap])) as cluster:
        await cluster.client.create(site("a"))
        await elapse(timedelta(seconds=1))
        await cluster.client.create(site("b"))
        await elapse(timedelta(seconds=1))

    assert errors == [
        'ConfigMap "default/shared" is controlled by Site "a", so Site "default/b" cannot own it; '
        "choose another name or delete it"
    ]


@virtual_time()
async def test_a_child_in_another_namespace_cannot_be_owned() -> None:
    errors: list[str] = []

    async def reconcile(obj: Site, ctx: Context) -> None:
        far = card("far", "x")
        far.metadata.namespace = "other"
        try:
            await ctx.apply(far)
        except KubewrightError as error:
            errors.append(str(error))

    async with running(operator_of(reconcile, owns=[ConfigMap])) as cluster:
        await cluster.client.create(Namespace(metadata=Metadata(name="other")))
        await cluster.client.create(site())
        await elapse(timedelta(seconds=1))

    assert "lives in namespace other" in errors[0]
    assert "Put ConfigMap into tracks=" in errors[0]


@virtual_time()
async def test_an_object_that_was_read_is_not_applied() -> None:
    errors: list[Exception] = []

    async def reconcile(obj: Site, ctx: Context) -> None:
        made = await ctx.apply(card(obj.name, "hi"))
        try:
            made.data["text"] = "other"
            await ctx.apply(made)
        except WasRead as error:
            errors.append(error)

    async with running(operator_of(reconcile, owns=[ConfigMap])) as cluster:
        await cluster.client.create(site())
        await elapse(timedelta(seconds=1))

    assert len(errors) == 1


@virtual_time()
async def test_a_part_is_a_second_intent_on_the_same_object() -> None:
    async def reconcile(obj: Site, ctx: Context) -> None:
        await ctx.apply(ConfigMap(metadata=Metadata(name="a"), data={"one": "1"}))
        await ctx.apply(ConfigMap(metadata=Metadata(name="a"), data={"two": "2"}), part="second")

    async with running(operator_of(reconcile, owns=[ConfigMap])) as cluster:
        await cluster.client.create(site())
        found = await cluster.wait_until(ConfigMap, "a", lambda found: len(found.data) == 2)

    managers = sorted(entry.manager or "" for entry in found.metadata.managed_fields)
    assert managers == ["sites/site", "sites/site/second"]


@virtual_time()
async def test_a_normalised_value_is_not_sent_again_and_again() -> None:
    from kubewright import Quantity
    from kubewright.kinds.core_v1 import Container, Pod, PodSpec, ResourceRequirements

    async def reconcile(obj: Site, ctx: Context) -> timedelta:
        limits = ResourceRequirements(limits={"cpu": Quantity("1000m")})
        container = Container(name="main", image="busybox", resources=limits)
        await ctx.apply(Pod(metadata=Metadata(name="a"), spec=PodSpec(containers=[container])))
        return timedelta(seconds=10)

    async with running(operator_of(reconcile, owns=[Pod])) as cluster:
        await cluster.client.create(site())
        await elapse(timedelta(minutes=2))

        writes = [request for request in cluster.server.requests.writes() if request.resource == "pods"]

    assert len(writes) == 1


def test_a_namespaced_kind_cannot_own_a_cluster_scoped_one() -> None:
    with pytest.raises(ValueError, match="it cannot own Namespace, which does not; put it into tracks="):
        Operator("x", [Controller(Site, write_card, owns=[Namespace])])
