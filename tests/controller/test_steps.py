"""Validate and initialise: the steps before a reconcile."""

from __future__ import annotations

from datetime import timedelta

from kubewright import Context
from kubewright.kinds.events_v1 import Event
from kubewright.testing import elapse, running, virtual_time
from tests.controller.sites import Site, operator_of, site


def refuse_odd(obj: Site) -> str | None:
    return "spec.size must be even" if (obj.spec.size or 0) % 2 else None


def fill_in(obj: Site) -> None:
    if obj.spec.size is None:
        obj.spec.size = 2
        obj.metadata.labels["initialised"] = "yes"


@virtual_time()
async def test_an_invalid_object_is_told_and_not_reconciled_until_it_changes() -> None:
    seen: list[int | None] = []

    async def reconcile(obj: Site, ctx: Context) -> None:
        seen.append(obj.spec.size)

    async with running(operator_of(reconcile, validate=refuse_odd)) as cluster:
        await cluster.client.create(site(size=1))
        await elapse(timedelta(minutes=2))
        found = await cluster.client.get(Site, "a")
        assert found.status is not None
        condition = found.status.get("Ready")
        assert condition is not None
        assert (condition.status, condition.reason, condition.message) == ("False", "Invalid", "spec.size must be even")
        assert [event.reason async for event in cluster.client.list(Event)] == ["Invalid"]
        assert seen == []

        await cluster.client.modify(Site, "a", lambda obj: setattr(obj.spec, "size", 4))
        await cluster.wait_until(Site, "a", lambda obj: obj.status is not None and obj.status.is_true("Ready"))

    assert seen == [4]


@virtual_time()
async def test_what_initialize_fills_in_is_stored_before_reconcile_sees_it() -> None:
    seen: list[tuple[int | None, str]] = []

    async def reconcile(obj: Site, ctx: Context) -> None:
        stored = await ctx.client.get(Site, obj.name)
        seen.append((stored.spec.size, stored.metadata.labels["initialised"]))
        assert obj.spec.size == 2

    async with running(operator_of(reconcile, initialize=fill_in)) as cluster:
        await cluster.client.create(site())
        await elapse(timedelta(minutes=1))

    assert seen == [(2, "yes")]


@virtual_time()
async def test_holding_and_initialising_is_one_write() -> None:
    async def nothing(obj: Site, ctx: Context) -> None:
        pass

    async with running(operator_of(nothing, initialize=fill_in, cleanup=nothing)) as cluster:
        await cluster.client.create(site())
        await elapse(timedelta(seconds=1))

        writes = [request for request in cluster.server.requests.writes() if request.resource == "sites"]

    assert [(request.verb, request.subresource) for request in writes] == [
        ("create", ""),
        ("patch", ""),
        ("patch", "status"),
    ]


@virtual_time()
async def test_an_invalid_object_that_is_deleted_is_still_cleaned_up() -> None:
    cleaned: list[str] = []

    async def reconcile(obj: Site, ctx: Context) -> None:
        pass

    async def cleanup(obj: Site, ctx: Context) -> None:
        cleaned.append(obj.name)

    async with running(operator_of(reconcile, validate=refuse_odd, cleanup=cleanup)) as cluster:
        await cluster.client.create(site(size=2))
        await elapse(timedelta(seconds=1))
        await cluster.client.modify(Site, "a", lambda obj: setattr(obj.spec, "size", 3))
        await cluster.client.delete(Site, "a")
        await cluster.wait_gone(Site, "a")

    assert cleaned == ["a"]
