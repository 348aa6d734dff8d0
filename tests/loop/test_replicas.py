"""Two replicas, one Lease: killed, paused, cut off, with wrong clocks, or robbed of the Lease."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from kubewright import Client, Context, InProcessTransport
from kubewright.election import Election
from kubewright.kinds.coordination_v1 import Lease
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.testing import elapse, embedded_server, run_virtual, virtual_time
from kubewright.testing.faults import delay_answer, lose_answer, refuse
from tests.loop.reference import Flock, FlockStatus, Garden, flock, garden
from tests.loop.replicas import TIMES, WRITE_LIMIT, Replica, pair
from tests.loop.world import children_made, wait_converged

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


async def begin(client: Client, first: Replica, second: Replica) -> None:
    """Let the first lead and the second stand by, both with something to do."""
    first.start()
    await elapse(5 * SECOND)
    second.start()
    await client.create(flock(size=3))
    await client.create(garden())
    await elapse(5 * SECOND)
    assert first.is_leader
    assert not second.is_leader


@virtual_time()
async def test_another_goes_on_when_the_leader_is_killed() -> None:
    async with pair() as (client, first, second, outside):
        await begin(client, first, second)
        await wait_converged(client, outside, within=MINUTE)
        await client.modify(Flock, "a", lambda obj: setattr(obj.spec, "size", 6))
        await first.crash()

        await wait_converged(client, outside, within=TIMES.duration + 2 * TIMES.retry_period)

        assert children_made(first.server) == 6


@virtual_time()
async def test_another_goes_on_at_once_when_the_leader_ends_in_order() -> None:
    async with pair() as (client, first, second, outside):
        await begin(client, first, second)
        await first.end()
        await client.modify(Flock, "a", lambda obj: setattr(obj.spec, "size", 6))

        await wait_converged(client, outside, within=2 * TIMES.retry_period)

        assert second.is_leader


@virtual_time()
async def test_a_leader_that_is_cut_off_stops_before_another_begins_and_stands_by_later() -> None:
    async with pair() as (client, first, second, outside):
        await begin(client, first, second)
        first.network.cut.cut()
        await client.modify(Flock, "a", lambda obj: setattr(obj.spec, "size", 6))
        await wait_converged(client, outside, within=MINUTE)
        first.network.cut.mend()
        await client.modify(Garden, "a", lambda obj: setattr(obj.spec, "text", "bye"))
        await elapse(MINUTE)

        await wait_converged(client, outside, within=MINUTE)

        assert second.is_leader
        assert not first.is_leader
        last = max(sent.at for sent in first.network.writes)
        assert min(sent.at for sent in second.network.writes) > last + WRITE_LIMIT


@pytest.mark.parametrize("skews", [(3600, 0), (0, 3600), (-3600, 3600)])
@virtual_time()
async def test_clocks_that_are_wrong_make_no_second_leader(skews: tuple[int, int]) -> None:
    ahead, behind = (timedelta(seconds=skew) for skew in skews)
    async with pair(skews=(ahead, behind)) as (client, first, second, outside):
        await begin(client, first, second)
        await elapse(2 * MINUTE)
        assert second.network.writes == []
        await first.crash()
        await client.modify(Flock, "a", lambda obj: setattr(obj.spec, "size", 6))

        await wait_converged(client, outside, within=TIMES.duration + 2 * TIMES.retry_period)


@virtual_time()
async def test_a_leader_goes_on_when_its_lease_is_deleted() -> None:
    async with pair() as (client, first, second, outside):
        await begin(client, first, second)
        await second.end()
        await client.delete(Lease, "both")
        await client.modify(Flock, "a", lambda obj: setattr(obj.spec, "size", 6))

        await wait_converged(client, outside, within=SECOND)
        await elapse(MINUTE)

        assert first.is_leader


@virtual_time()
async def test_a_leader_whose_lease_is_given_to_another_stops_and_takes_it_back_later() -> None:
    async with pair() as (client, first, second, outside):
        await begin(client, first, second)
        await second.end()
        await wait_converged(client, outside, within=SECOND)
        await client.modify(Lease, "both", lambda lease: setattr(lease.spec, "holder_identity", "somebody"))
        await elapse(3 * TIMES.retry_period)
        assert not first.is_leader
        written = len(first.network.writes)
        await client.modify(Flock, "a", lambda obj: setattr(obj.spec, "size", 6))
        await elapse(5 * SECOND)
        assert len(first.network.writes) == written

        await wait_converged(client, outside, within=MINUTE)

        assert first.is_leader


@virtual_time()
async def test_many_terms_of_office_leave_nothing_behind() -> None:
    async with pair() as (client, first, second, outside):
        await begin(client, first, second)
        await second.end()
        assert first.running is not None

        def kept() -> tuple[list[int], int]:
            assert first.running is not None
            cache = first.running.cluster.cache
            handlers = [statistics.handlers for statistics in cache.statistics().values()]
            return handlers, len(first.running.metrics._collectors)

        before = kept()
        for _ in range(10):
            await client.modify(Lease, "both", lambda lease: setattr(lease.spec, "holder_identity", "somebody"))
            await elapse(MINUTE)
        await client.modify(Flock, "a", lambda obj: setattr(obj.spec, "size", 6))

        await wait_converged(client, outside, within=SECOND)

        assert kept() == before
        assert children_made(first.server) == 6


@virtual_time()
async def test_slow_and_lossy_renewals_do_not_cost_the_lead() -> None:
    async with pair() as (client, first, second, outside):
        await begin(client, first, second)
        slow = delay_answer(3 * SECOND, kind=Lease)
        with first.network.having(slow, lose_answer(kind=Lease, chance=0.3, breaks=True), refuse(500, chance=0.2)):
            await elapse(5 * MINUTE)
            assert second.network.writes == []

        await wait_converged(client, outside, within=MINUTE)


async def act(client: Client) -> None:
    await client.modify(Flock, "a", lambda obj: setattr(obj.spec, "size", 5))
    await client.modify(Garden, "a", lambda obj: setattr(obj.spec, "text", "bye"))


async def interrupted(rounds: int, how: str) -> int:
    """Pause or cut off the leader so many rounds of the loop after there is work; how many writes it had begun."""
    async with pair() as (client, first, second, outside):
        await begin(client, first, second)
        before = len(first.network.writes)
        user = asyncio.create_task(act(client))
        for _ in range(rounds):
            await asyncio.sleep(0)
        begun = len(first.network.writes) - before
        first.life.pause() if how == "paused" else first.network.cut.cut()
        await user
        await elapse(40 * SECOND)
        first.life.resume()
        first.network.cut.mend()
        await elapse(20 * SECOND)

        await wait_converged(client, outside, within=MINUTE)

        assert second.is_leader
        assert children_made(first.server) == 5
    return begun


@pytest.mark.parametrize("how", ["paused", "cut off"])
def test_a_leader_may_be_interrupted_at_every_await(how: str) -> None:
    """A round of the loop lets each task go on to its next await; after 26 the flock's reconcile has ended."""
    begun = [run_virtual(interrupted(rounds, how)) for rounds in range(6, 26)]

    assert begun[0] == 0
    assert begun[-1] >= 3


@virtual_time()
async def test_an_election_that_is_cancelled_twice_holds_the_lease_no_longer() -> None:
    async def end_slowly() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await elapse(5 * SECOND)

    async with embedded_server() as server, Client(transport=InProcessTransport(server.handle)) as client:
        election = Election(client, "work", namespace="default", identity="a")
        leading = asyncio.create_task(election.lead(end_slowly))
        await elapse(5 * SECOND)
        leading.cancel()
        await elapse(SECOND)
        leading.cancel()
        await asyncio.wait([leading])

        assert not election.is_leader


@virtual_time()
async def test_no_status_is_written_by_a_reconcile_that_outlives_its_lead() -> None:
    ended: list[float] = []

    async def reconcile(obj: Flock, ctx: Context) -> None:
        obj.status = FlockStatus(members=[ctx.client.options.field_manager])
        await elapse(25 * SECOND)
        ended.append(asyncio.get_running_loop().time())

    async with pair(reconcile=reconcile) as (client, first, _, _):
        first.start()
        await elapse(5 * SECOND)
        await client.create(flock(size=0))
        await elapse(SECOND)
        await client.modify(Lease, "flocks", lambda lease: setattr(lease.spec, "holder_identity", "somebody"))
        await elapse(30 * SECOND)
        assert first.network.writes == []
        assert len(ended) >= 1
        await elapse(MINUTE)

        assert (await client.get(Flock, "a")).status is not None
        assert [child async for child in client.list(ConfigMap)] == []
