"""Writes that took effect and were never answered: nothing is made twice, nothing is taken for granted."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kubewright import Context, Metadata
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.testing import elapse, virtual_time
from kubewright.testing.faults import WRITES, delay_request, lose_answer, refuse, stall_watch
from tests.loop.reference import Flock, Garden, flock, garden
from tests.loop.world import Network, children_made, gardening, world

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


@pytest.mark.parametrize("breaks", [False, True], ids=["timed out", "broken"])
@pytest.mark.parametrize("lagging", [False, True], ids=["watch in time", "watch stalled"])
@virtual_time()
async def test_a_child_with_a_generated_name_is_not_created_again_when_the_answer_is_lost(
    breaks: bool, lagging: bool
) -> None:
    async with world() as place:
        await elapse(SECOND)
        lost = lose_answer(verb="create", kind=ConfigMap, times=3, breaks=breaks)
        with place.network.having(lost, *([stall_watch(kind=ConfigMap)] if lagging else [])):
            place.network.break_all()
            await elapse(SECOND)
            await place.client.create(flock(size=5))

            await place.wait_converged(within=2 * MINUTE)

        assert lost.struck == 3
        assert place.children_made == 5


@virtual_time()
async def test_a_creation_that_arrives_after_its_sender_gave_up_is_removed_again() -> None:
    async with world() as place:
        await elapse(SECOND)
        with place.network.having(delay_request(40 * SECOND, verb="create", kind=ConfigMap, times=2)):
            await place.client.create(flock(size=3))
            await elapse(2 * MINUTE)

        await place.wait_converged(within=MINUTE)


@pytest.mark.parametrize("verb", ["create", "apply", "patch", "update", "delete"])
@virtual_time()
async def test_the_operator_converges_when_answers_are_lost_to(verb: str) -> None:
    async with world() as place:
        await elapse(SECOND)
        with place.network.having(lose_answer(verb=verb, chance=0.5)):
            await place.live_through()
            await elapse(10 * MINUTE)

        await place.wait_converged(within=10 * MINUTE)

        assert place.children_made <= 5


@virtual_time()
async def test_a_write_that_took_effect_and_was_answered_with_500_is_not_done_again() -> None:
    async with world(lose_answer(verb="create", kind=ConfigMap, times=1, breaks=True)) as place:
        with place.network.having(refuse(500, verb="create", kind=ConfigMap, skip=1, times=1)):
            await place.client.create(flock(size=3))

            await place.wait_converged(within=MINUTE)

        assert place.children_made == 3


@virtual_time()
async def test_an_object_goes_when_the_answer_to_the_removal_of_its_finalizer_is_lost() -> None:
    async with world() as place:
        await place.client.create(garden())
        await place.wait_converged()
        rounds = place.gardens.total
        with place.network.having(lose_answer(verb=("patch", "update"), kind=Garden, times=1)):
            await place.client.delete(Garden, "a")
            await place.cluster.wait_gone(Garden, "a")
            await elapse(5 * MINUTE)

        assert place.outside.records == {}
        assert place.gardens.total == rounds + 1


@virtual_time()
async def test_a_namesake_made_after_a_lost_answer_is_reconciled_as_another_object() -> None:
    async with world() as place:
        await place.client.create(garden())
        await place.wait_converged()
        with place.network.having(lose_answer(verb=("patch", "update"), kind=Garden, times=1)):
            await place.client.delete(Garden, "a")
            await place.cluster.wait_gone(Garden, "a")
            await place.client.delete(ConfigMap, "a-card")
            await place.client.create(garden(text="again"))

            await place.wait_converged(within=2 * MINUTE)


@virtual_time()
async def test_a_finalizer_whose_answer_is_lost_is_there_once() -> None:
    async with world(lose_answer(verb=("patch", "update"), kind=Garden, subresource="", times=1)) as place:
        await place.client.create(garden())

        await place.wait_converged(within=2 * MINUTE)

        assert (await place.client.get(Garden, "a")).metadata.finalizers == ["tests.example.com/both.garden"]


@virtual_time()
async def test_a_status_whose_answer_is_lost_stands_and_is_not_taken_for_a_change_of_others() -> None:
    network, rounds = Network(lose_answer(verb="patch", subresource="status", times=1)), 0

    async def reconcile(obj: Garden, ctx: Context) -> None:
        nonlocal rounds
        rounds += 1

    async with gardening(reconcile, network) as cluster:
        await cluster.client.create(garden())
        await elapse(4 * MINUTE)
        found = await cluster.client.get(Garden, "a")

    assert rounds <= 3
    assert found.status is not None
    assert found.status.observed_generation == 1


@virtual_time()
async def test_what_cannot_be_settled_is_tried_again_and_nothing_is_created_meanwhile() -> None:
    async with world() as place:
        await elapse(SECOND)
        lost = lose_answer(verb="create", kind=ConfigMap, times=1, breaks=True)
        deaf = refuse(503, verb=("get", "list"), kind=ConfigMap)
        with place.network.having(lost, deaf):
            await place.client.create(flock(size=3))
            await elapse(5 * MINUTE)
            assert place.children_made == 1
            assert len(place.network.begun) < 300

        await place.wait_converged(within=10 * MINUTE)

        assert place.children_made == 3


@virtual_time()
async def test_a_reconcile_cut_off_by_its_time_limit_does_not_create_again_what_it_had_sent() -> None:
    network = Network()

    async def reconcile(obj: Garden, ctx: Context) -> None:
        if not ctx.owned(ConfigMap):
            await ctx.create(ConfigMap(metadata=Metadata(generate_name="card-")))

    async with gardening(reconcile, network, owns=[ConfigMap], timeout=5 * SECOND) as cluster:
        with network.having(stall_watch(kind=ConfigMap), lose_answer(verb="create", kind=ConfigMap, times=1)):
            network.break_all()
            await elapse(SECOND)
            await cluster.client.create(garden())
            await elapse(MINUTE)

        assert children_made(cluster.server) == 1


@virtual_time()
async def test_every_write_may_lose_its_answer_once() -> None:
    async with world() as place:
        for nth in range(12):
            name = f"n{nth}"
            with place.network.having(lose_answer(verb=WRITES, breaks=True, skip=nth, times=1)):
                await place.client.create(flock(name, size=2))
                await place.client.create(garden(name))
                await place.wait_converged(within=2 * MINUTE)
                await place.client.modify(Flock, name, lambda obj: setattr(obj.spec, "size", 1))
                await place.client.delete(Garden, name)
                await place.wait_converged(within=2 * MINUTE)

        assert place.children_made == 24
