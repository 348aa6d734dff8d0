"""Replicas of an operator in one virtual time: each a life of its own that can be paused, cut off and killed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import Final

from kubewright import Client, InProcessTransport, Operator
from kubewright.election import LeaseTimes
from kubewright.operator import RunningOperator, install_crds
from kubewright.testing import VirtualTime, embedded_server
from kubewright.testing.faults import Incarnation
from kubewright_apiserver import ApiServer
from tests.loop.reference import Outside, Reconcile, Rounds, both_operator, flock_operator, keep_flock
from tests.loop.world import Network

TIMES: Final = LeaseTimes()
WRITE_LIMIT: Final = (TIMES.duration - TIMES.renew_deadline).total_seconds()


class Replica:
    """One replica: its operator, its way to the server, and its life."""

    def __init__(
        self,
        server: ApiServer,
        name: str,
        *,
        outside: Outside | None = None,
        skew: timedelta = timedelta(),
        reconcile: Reconcile = keep_flock,
    ) -> None:
        self.name = name
        self.server = server
        self.life = Incarnation(InProcessTransport(server.handle), skew=skew, name=name)
        self.network = Network()
        self.rounds = [Rounds(), Rounds()]
        self.running: RunningOperator | None = None
        self._told_to_end = asyncio.Event()
        self._operator = self._made(outside, reconcile)
        self._task: asyncio.Task[None] | None = None

    def _made(self, outside: Outside | None, reconcile: Reconcile) -> Operator:
        if outside is None:
            return flock_operator(self.rounds[0], reconcile=reconcile)
        return both_operator(outside, *self.rounds)

    def start(self) -> None:
        self._task = self.life.start(self._live())

    async def _live(self) -> None:
        dice = VirtualTime.current().dice_of
        client = Client(transport=self.life.transport, interceptors=[self.network], dice=dice(f"{self.name} client"))
        async with client, self._operator.running(client, identity=self.name, dice=dice(self.name)) as self.running:
            await self._told_to_end.wait()

    async def end(self) -> None:
        """End it as a program ends that is told so."""
        self.life.resume()
        self.network.cut.mend()
        self._told_to_end.set()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def crash(self) -> None:
        """End it as a program that is killed."""
        await self.life.crash()
        self._task = None

    @property
    def is_leader(self) -> bool:
        return self.running is not None and self.running.is_leader

    def late_writes(self) -> list[float]:
        """When writes began that design D9 forbids: too long after the last renewal began."""
        deadline = TIMES.renew_deadline.total_seconds()
        return [
            sent.at
            for sent in self.network.writes
            if not any(begun <= sent.at < begun + deadline for begun in self.network.renewals)
        ]


@asynccontextmanager
async def replicas(*made: Replica, operator: Operator, server: ApiServer) -> AsyncIterator[Client]:
    """The user's client, with the CRDs in place; the replicas that were started end with the block."""
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(Client(transport=InProcessTransport(server.handle)))
        await install_crds(client.using(field_manager="kubectl"), operator)
        for replica in made:
            stack.push_async_callback(replica.end)
        yield client
    for replica in made:
        assert replica.late_writes() == []
        assert [rounds.overlaps for rounds in replica.rounds] == [[], []]


@asynccontextmanager
async def pair(
    *, skews: tuple[timedelta, timedelta] = (timedelta(), timedelta()), reconcile: Reconcile = keep_flock
) -> AsyncIterator[tuple[Client, Replica, Replica, Outside]]:
    """Two replicas of both reference operators (or of flocks with another reconcile), not yet started."""
    async with embedded_server(seed=VirtualTime.current().seed) as server:
        outside = Outside()
        whose = outside if reconcile is keep_flock else None
        first, second = (
            Replica(server, name, outside=whose, skew=skew, reconcile=reconcile)
            for name, skew in zip("ab", skews, strict=True)
        )
        operator = both_operator(outside, Rounds(), Rounds())
        async with replicas(first, second, operator=operator, server=server) as client:
            yield client, first, second, outside
