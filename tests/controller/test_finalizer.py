"""``cleanup`` is the finalizer."""

from __future__ import annotations

from datetime import timedelta

from kubewright import Context, Controller, Operator
from kubewright.controller import finalizer_name
from kubewright.testing import elapse, running, virtual_time
from tests.controller.sites import Site, operator_of, site

FINALIZER = finalizer_name(Site, "sites", "site")


async def nothing(obj: Site, ctx: Context) -> None:
    pass


@virtual_time()
async def test_an_object_is_held_before_its_first_reconcile() -> None:
    seen: list[list[str]] = []

    async def reconcile(obj: Site, ctx: Context) -> None:
        seen.append(list(obj.metadata.finalizers))

    async with running(operator_of(reconcile, cleanup=nothing)) as cluster:
        await cluster.client.create(site())
        await elapse(timedelta(seconds=1))

    assert seen == [["tests.example.com/sites.site"]]


@virtual_time()
async def test_a_deleted_object_goes_to_cleanup_only_and_is_let_go() -> None:
    calls: list[str] = []

    async def reconcile(obj: Site, ctx: Context) -> None:
        calls.append("reconcile")

    async def cleanup(obj: Site, ctx: Context) -> None:
        calls.append("cleanup")

    async with running(operator_of(reconcile, cleanup=cleanup)) as cluster:
        await cluster.client.create(site())
        await elapse(timedelta(seconds=1))
        await cluster.client.delete(Site, "a")
        await cluster.wait_gone(Site, "a")
        await elapse(timedelta(minutes=10))

    assert calls == ["reconcile", "cleanup"]


@virtual_time()
async def test_a_cleanup_that_raises_or_waits_keeps_the_object() -> None:
    rounds = 0

    async def cleanup(obj: Site, ctx: Context) -> timedelta | None:
        nonlocal rounds
        rounds += 1
        if rounds == 1:
            raise RuntimeError("not yet")
        return timedelta(seconds=20) if rounds == 2 else None

    async with running(operator_of(nothing, cleanup=cleanup)) as cluster:
        await cluster.client.create(site())
        await elapse(timedelta(seconds=1))
        await cluster.client.delete(Site, "a")
        await elapse(timedelta(seconds=10))
        held = await cluster.client.get(Site, "a")
        assert held.metadata.finalizers == [FINALIZER]
        assert held.status is not None
        assert held.status.is_false("Ready")

        await cluster.wait_gone(Site, "a")

    assert rounds == 3


@virtual_time()
async def test_other_finalizers_stay() -> None:
    async with running(operator_of(nothing, cleanup=nothing)) as cluster:
        made = site()
        made.metadata.finalizers = ["other.example.com/hold"]
        await cluster.client.create(made)
        await elapse(timedelta(seconds=1))
        assert (await cluster.client.get(Site, "a")).metadata.finalizers == ["other.example.com/hold", FINALIZER]
        await cluster.client.delete(Site, "a")
        await elapse(timedelta(seconds=1))

        assert (await cluster.client.get(Site, "a")).metadata.finalizers == ["other.example.com/hold"]


@virtual_time()
async def test_a_controller_without_cleanup_strips_its_own_old_finalizer() -> None:
    async with running(operator_of(nothing)) as cluster:
        made = site()
        made.metadata.finalizers = [FINALIZER, "other.example.com/hold"]
        await cluster.client.create(made)
        await elapse(timedelta(seconds=1))

        assert (await cluster.client.get(Site, "a")).metadata.finalizers == ["other.example.com/hold"]


@virtual_time()
async def test_an_object_deleted_before_it_was_held_is_not_cleaned_up() -> None:
    calls: list[str] = []

    async def cleanup(obj: Site, ctx: Context) -> None:
        calls.append("cleanup")

    made = site()
    made.metadata.finalizers = ["other.example.com/hold"]
    operator = operator_of(nothing, cleanup=cleanup)
    async with running(Operator("none", [])) as cluster:
        from kubewright.operator import install_crds

        await install_crds(cluster.client, operator)
        await cluster.client.create(made)
        await cluster.client.delete(Site, "a")
        async with running(operator, server=cluster.server):
            await elapse(timedelta(seconds=5))

    assert calls == []


def test_two_controllers_of_one_kind_hold_under_their_own_names() -> None:
    operator = Operator(
        "sites",
        [
            Controller(Site, nothing, name="one", cleanup=nothing),
            Controller(Site, nothing, name="two", cleanup=nothing),
        ],
    )

    names = {finalizer_name(controller.kind, operator.name, controller.name) for controller in operator.controllers}

    assert names == {"tests.example.com/sites.one", "tests.example.com/sites.two"}


@virtual_time()
async def test_an_object_that_others_hold_goes_to_deleting_and_not_to_reconcile() -> None:
    calls: list[str] = []

    async def reconcile(obj: Site, ctx: Context) -> None:
        calls.append("reconcile")

    async def deleting(obj: Site, ctx: Context) -> timedelta | None:
        calls.append("deleting")
        return timedelta(minutes=1) if len(calls) < 3 else None

    async with running(operator_of(reconcile, deleting=deleting)) as cluster:
        held = site()
        held.metadata.finalizers = ["example.com/hold"]
        await cluster.client.create(held)
        await elapse(timedelta(seconds=1))
        await cluster.client.delete(Site, "a")
        await elapse(timedelta(minutes=2))
        found = await cluster.client.get(Site, "a")

    assert calls == ["reconcile", "deleting", "deleting"]
    assert found.metadata.finalizers == ["example.com/hold"]
