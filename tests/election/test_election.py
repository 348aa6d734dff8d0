"""Leader election: who leads, who takes over and when, and that no write starts too late."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Any

import pytest

from kubewright import Client, InProcessTransport, Metadata
from kubewright.client import Request, Response, Send
from kubewright.election import Election, LeaseTimes
from kubewright.errors import LeadershipLost, TransportError
from kubewright.kinds.coordination_v1 import Lease
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.testing import elapse, run_virtual, virtual_time
from kubewright.testing.embedded import embedded_server

TIMES = LeaseTimes()


class Replica:
    """One candidate: works (a write a second) while it leads, behind a network that can be cut or slowed."""

    def __init__(self, server: Any, name: str, seed: int = 0) -> None:
        self.name = name
        self.is_cut = False
        self.delay = timedelta(0)
        self.writes: list[float] = []
        self.dice = random.Random(f"{seed}/{name}")
        client = Client(transport=InProcessTransport(server.handle), interceptors=[self._network], dice=self.dice)
        self.election = Election(
            client, "work", namespace="default", identity=name, times=TIMES, dice=random.Random(f"{seed}/e/{name}")
        )
        self._guarded = client.intercepted(self.election.guard, self._note)
        self.terms = 0
        self.task: asyncio.Task[None] | None = None

    async def _network(self, request: Request, send: Send) -> Response:
        if self.delay:
            await elapse(self.delay)
        if self.is_cut:
            raise TransportError("cut")
        return await send(request)

    async def _note(self, request: Request, send: Send) -> Response:
        if request.method != "GET":
            self.writes.append(asyncio.get_running_loop().time())
        return await send(request)

    def start(self) -> None:
        self.task = asyncio.create_task(self._live(), name=self.name)

    async def stop(self) -> None:
        assert self.task is not None
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def _live(self) -> None:
        while True:
            try:
                await self.election.lead(self._work)
            except LeadershipLost:
                continue

    async def _work(self) -> None:
        self.terms += 1
        number = 0
        while True:
            number += 1
            made = ConfigMap(metadata=Metadata(generate_name=f"{self.name}-"))
            with suppress(TransportError, LeadershipLost):
                await self._guarded.create(made)
            await elapse(timedelta(seconds=self.dice.uniform(0.2, 1.5)))


@asynccontextmanager
async def replicas(*names: str, seed: int = 0) -> AsyncIterator[list[Replica]]:
    async with embedded_server() as server:
        made = [Replica(server, name, seed) for name in names]
        try:
            yield made
        finally:
            for replica in made:
                if replica.task is not None:
                    replica.is_cut, replica.delay = False, timedelta(0)
                    await replica.stop()


@virtual_time()
async def test_of_two_replicas_one_leads() -> None:
    async with replicas("a", "b") as (a, b):
        a.start()
        await elapse(timedelta(seconds=1))
        b.start()
        await elapse(timedelta(minutes=2))

        assert (a.terms, b.terms) == (1, 0)
        assert b.writes == []
        assert (a.election.is_leader, b.election.is_leader, b.election.leader) == (True, False, "a")


@virtual_time()
async def test_a_leader_that_ends_lets_another_take_over_at_once() -> None:
    async with replicas("a", "b") as (a, b):
        a.start()
        await elapse(timedelta(seconds=1))
        b.start()
        await elapse(timedelta(seconds=10))
        await a.stop()
        a.task = None
        await elapse(TIMES.retry_period * 2)

        assert b.terms == 1


@virtual_time()
async def test_a_leader_that_is_killed_is_followed_within_the_lease_time() -> None:
    async with replicas("a", "b") as (a, b):
        a.start()
        await elapse(timedelta(seconds=1))
        b.start()
        await elapse(timedelta(seconds=10))
        a.is_cut = True
        killed_at = asyncio.get_running_loop().time()
        while not b.writes:
            await elapse(timedelta(milliseconds=100))

        taken_after = b.writes[0] - killed_at
        assert taken_after <= (TIMES.duration + TIMES.retry_period * 1.2).total_seconds() + 0.1


@virtual_time()
async def test_a_leader_that_cannot_renew_stops_writing_before_another_may_lead() -> None:
    async with replicas("a", "b") as (a, b):
        a.start()
        await elapse(timedelta(seconds=1))
        b.start()
        await elapse(timedelta(seconds=10))
        a.is_cut = True
        await elapse(timedelta(minutes=1))

        assert b.terms == 1
        assert max(a.writes) < min(b.writes)
        assert a.terms == 1


@virtual_time()
async def test_a_replica_that_lost_the_lease_stands_by_and_can_lead_again() -> None:
    async with replicas("a", "b") as (a, b):
        a.start()
        await elapse(timedelta(seconds=1))
        b.start()
        await elapse(timedelta(seconds=10))
        a.is_cut = True
        await elapse(timedelta(minutes=1))
        a.is_cut = False
        await elapse(timedelta(seconds=10))
        assert a.election.leader == "b"
        await b.stop()
        b.task = None
        await elapse(timedelta(seconds=10))

        assert a.terms == 2


@virtual_time()
async def test_clocks_that_differ_do_not_matter() -> None:
    async with embedded_server() as server, Client(transport=InProcessTransport(server.handle)) as client:
        a = Replica(server, "a")
        a.start()
        await elapse(timedelta(seconds=5))
        lease = await client.get(Lease, "work")
        assert lease.spec.renew_time is not None
        lease.spec.renew_time -= timedelta(days=1)
        await client.update(lease)
        b = Replica(server, "b")
        b.start()
        await elapse(timedelta(minutes=1))

        assert b.terms == 0
        await b.stop()
        await a.stop()


@virtual_time()
async def test_a_write_under_the_guard_may_not_take_longer_than_another_needs_to_take_over() -> None:
    limits: list[timedelta | None] = []

    async def look(request: Request, send: Send) -> Response:
        limits.append(request.timeout)
        return await send(request)

    async with embedded_server() as server, Client(transport=InProcessTransport(server.handle)) as client:
        election = Election(client, "work", namespace="default", identity="a")

        async def work() -> None:
            guarded = client.intercepted(election.guard, look)
            await guarded.create(ConfigMap(metadata=Metadata(name="x")))

        await election.lead(work)

    assert limits == [timedelta(seconds=4.5)]


@virtual_time()
async def test_writes_outside_of_leadership_are_refused_and_reads_are_not() -> None:
    async with embedded_server() as server, Client(transport=InProcessTransport(server.handle)) as client:
        election = Election(client, "work", namespace="default", identity="a")
        guarded = client.intercepted(election.guard)

        assert len(await guarded.list(ConfigMap)) == 0
        with pytest.raises(LeadershipLost, match='a has not renewed Lease "default/work" in time'):
            await guarded.create(ConfigMap(metadata=Metadata(name="x")))


@virtual_time()
async def test_the_lease_is_released_with_its_history() -> None:
    async with embedded_server() as server, Client(transport=InProcessTransport(server.handle)) as client:
        for name in ("a", "b"):
            election = Election(client, "work", namespace="default", identity=name)

            async def work() -> None:
                await elapse(timedelta(seconds=5))

            await election.lead(work)

        lease = await client.get(Lease, "work")

    assert not lease.spec.holder_identity
    assert lease.spec.lease_transitions == 1


@virtual_time()
async def test_what_the_work_raises_is_raised_and_the_lease_released() -> None:
    async with embedded_server() as server, Client(transport=InProcessTransport(server.handle)) as client:
        election = Election(client, "work", namespace="default", identity="a")

        async def work() -> None:
            raise RuntimeError("boom")

        with pytest.raises(RuntimeError, match="boom"):
            await election.lead(work)
        assert not (await client.get(Lease, "work")).spec.holder_identity


def test_lease_times_that_cannot_work_are_refused() -> None:
    with pytest.raises(ValueError, match="retry_period < renew_deadline < duration"):
        LeaseTimes(duration=timedelta(seconds=5))


@pytest.mark.parametrize("seed", range(12))
def test_no_write_starts_later_than_the_deadline_in_random_schedules(seed: int) -> None:
    """Three replicas, networks cut and slowed at random: writes of different leaders never overlap."""

    async def run() -> None:
        dice = random.Random(f"schedule/{seed}")
        async with replicas("a", "b", "c", seed=seed) as several:
            for replica in several:
                replica.start()
            for _ in range(40):
                victim = dice.choice(several)
                victim.is_cut = dice.random() < 0.6
                victim.delay = timedelta(seconds=dice.choice([0, 0, 0.1, 1, 4]))
                await elapse(timedelta(seconds=dice.uniform(1, 20)))
            starts = sorted((when, replica.name) for replica in several for when in replica.writes)

        holders = [name for _, name in starts]
        changes = [index for index in range(1, len(holders)) if holders[index] != holders[index - 1]]
        assert changes, "no leader ever changed: the schedule is too tame"
        slack = (TIMES.duration - TIMES.renew_deadline).total_seconds()
        for index in changes:
            assert starts[index][0] - starts[index - 1][0] >= slack, (seed, starts[index - 1 : index + 1])

    run_virtual(run(), seed=seed)
