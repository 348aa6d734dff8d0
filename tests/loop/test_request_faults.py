"""Requests that are refused, late or lost: the operator neither gives up nor hammers, and converges."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta

import pytest

from kubewright import Context, MergePatch, Metadata
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.kinds.events_v1 import Event
from kubewright.testing import elapse, virtual_time
from kubewright.testing.faults import (
    WRITES,
    Fault,
    delay_answer,
    delay_request,
    lose_request,
    refuse,
)
from tests.loop.reference import Flock, Garden, garden
from tests.loop.world import Network, gardening, world

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)

STORMS: dict[str, Callable[[], Fault]] = {
    "409": lambda: refuse(409, verb=WRITES),
    "409 half of the time": lambda: refuse(409, verb=WRITES, chance=0.5),
    "409 AlreadyExists": lambda: refuse(409, reason="AlreadyExists", verb="create"),
    "429": lambda: refuse(429),
    "429 with Retry-After": lambda: refuse(429, retry_after=5 * SECOND),
    "500": lambda: refuse(500),
    "500 for writes": lambda: refuse(500, verb=WRITES),
    "503 half of the time": lambda: refuse(503, chance=0.5),
    "no connection": lambda: lose_request(),
    "answers after 3 s": lambda: delay_answer(3 * SECOND),
    "requests after 3 s": lambda: delay_request(3 * SECOND),
}


@pytest.mark.parametrize("storm", STORMS)
@virtual_time()
async def test_the_operator_does_not_hammer_during_a_storm_and_converges_after_it(storm: str) -> None:
    async with world() as place:
        await elapse(SECOND)
        fault = STORMS[storm]()
        with place.network.having(fault):
            await place.live_through()
            hits = await place.requests_during(10 * MINUTE)

        await place.wait_converged(within=10 * MINUTE)

        assert fault.struck
        assert hits < 2 * 600 * 1.5
        assert place.children_made <= 5


@pytest.mark.parametrize("storm", ["409", "429", "500", "500 for writes", "no connection"])
@virtual_time()
async def test_keys_are_tried_seldom_when_a_storm_lasts_long(storm: str) -> None:
    async with world() as place:
        await elapse(SECOND)
        with place.network.having(STORMS[storm]()):
            await place.live_through()
            await elapse(20 * MINUTE)

            assert await place.requests_during(2 * MINUTE) < 160


@virtual_time()
async def test_a_conflict_waits_for_the_cache_and_is_no_failure() -> None:
    network, rounds = Network(), 0

    async def reconcile(obj: Garden, ctx: Context) -> None:
        nonlocal rounds
        rounds += 1
        assert ctx.attempt == 0
        await ctx.apply(ConfigMap(metadata=Metadata(name="card")))

    async with gardening(reconcile, network, owns=[ConfigMap]) as cluster:
        with network.having(refuse(409, verb="apply", times=3)):
            await cluster.client.create(garden())
            await cluster.wait_until(ConfigMap, "card", lambda _: True, within=10 * SECOND)
        found = await cluster.wait_until(Garden, "a", lambda obj: obj.status is not None)

    assert rounds == 4
    assert found.status is not None
    assert found.status.get("Ready") is None


@virtual_time()
async def test_an_object_that_is_deleted_under_its_reconcile_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    async def reconcile(obj: Garden, ctx: Context) -> None:
        await ctx.client.delete(obj)
        obj.metadata.labels["seen"] = "yes"
        await ctx.client.update(obj)

    network = Network()
    async with gardening(reconcile, network) as cluster:
        await cluster.client.create(garden())
        await elapse(MINUTE)

        assert [request.verb for request in network.begun if request.verb in WRITES] == ["delete", "patch"]
        assert [event.reason for event in await cluster.client.list(Event)] == []
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == []


@virtual_time()
async def test_another_object_that_is_missing_is_a_failure() -> None:
    async def reconcile(obj: Garden, ctx: Context) -> None:
        await ctx.client.get(Garden, "b")

    async with gardening(reconcile, Network()) as cluster:
        await cluster.client.create(garden())
        found = await cluster.wait_until(
            Garden, "a", lambda obj: obj.status is not None and bool(obj.status.conditions)
        )

    assert found.status is not None
    assert "NotFound" in found.status.conditions[0].message


@virtual_time()
async def test_others_that_write_all_the_time_do_not_keep_the_status_from_being_written() -> None:
    async with world() as place:
        await place.client.create(garden())
        for number in range(300):
            await place.client.patch(Garden, MergePatch({"metadata": {"labels": {"n": f"{number}"}}}), name="a")
            await elapse(SECOND / 100)

        await place.wait_converged(within=5 * SECOND)


@virtual_time()
async def test_conflicts_after_the_end_leave_nothing_behind() -> None:
    network = Network(refuse(409, verb="apply"))

    async def reconcile(obj: Garden, ctx: Context) -> None:
        await elapse(2 * SECOND)
        await ctx.apply(ConfigMap(metadata=Metadata(name="card")))

    async with gardening(reconcile, network, owns=[ConfigMap]) as cluster:
        await cluster.client.create(garden())
        await elapse(SECOND)
    begun = len(network.begun)
    await elapse(MINUTE)

    assert len(network.begun) == begun


@virtual_time()
async def test_a_finalizer_that_cannot_be_added_is_added_later_and_reconcile_waits_for_it() -> None:
    async with world() as place:
        with place.network.having(refuse(500, verb=("patch", "update"), kind=Garden, subresource="")):
            await place.client.create(garden())
            await elapse(10 * SECOND)
            assert place.gardens.total == 0
            assert place.outside.records == {}

        await place.wait_converged(within=MINUTE)

        assert (await place.client.get(Garden, "a")).metadata.finalizers == ["tests.example.com/both.garden"]


@virtual_time()
async def test_an_object_goes_though_the_removal_of_its_finalizer_is_refused_for_a_while() -> None:
    async with world() as place:
        await place.client.create(garden())
        await place.wait_converged()
        with place.network.having(refuse(500, verb=("patch", "update"), kind=Garden)):
            await place.client.delete(Garden, "a")
            await elapse(10 * SECOND)
            assert place.outside.records == {}
            assert (await place.client.get(Garden, "a")).metadata.deletion_timestamp is not None

        await place.cluster.wait_gone(Garden, "a", within=MINUTE)


@virtual_time()
async def test_slow_answers_do_not_let_a_flock_grow_too_large() -> None:
    async with world(delay_answer(7 * SECOND, verb="create")) as place:
        await place.live_through()
        await place.client.modify(Flock, "a", lambda obj: setattr(obj.spec, "size", 9))

        await place.wait_converged(within=10 * MINUTE)

        assert place.children_made <= 5 + 9
