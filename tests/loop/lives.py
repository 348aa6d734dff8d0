"""One life after another of an operator in virtual time, each killed as a process is."""

from __future__ import annotations

import asyncio

from kubewright import Client, InProcessTransport
from kubewright.client import Interceptor
from kubewright.testing import VirtualTime
from kubewright.testing.faults import Incarnation
from kubewright_apiserver import ApiServer
from tests.loop.reference import Outside, Rounds, both_operator
from tests.loop.world import Network


class Life:
    """Both reference operators from a start until they are killed; only the cluster and the outside survive them."""

    def __init__(self, server: ApiServer, outside: Outside, number: int = 1, *interceptors: Interceptor) -> None:
        self._outside = outside
        self._interceptors = interceptors
        self.network = Network()
        self.rounds = [Rounds(), Rounds()]
        self.incarnation = Incarnation(InProcessTransport(server.handle), name=f"life {number}")
        self.incarnation.start(self._live(number))

    async def _live(self, number: int) -> None:
        dice = VirtualTime.current().dice_of
        client = Client(
            transport=self.incarnation.transport,
            interceptors=[*self._interceptors, self.network],
            dice=dice(f"client {number}"),
        )
        operator = both_operator(self._outside, *self.rounds)
        async with client, operator.running(client, dice=dice(f"operator {number}")):
            await asyncio.Event().wait()

    async def crash(self) -> None:
        """Kill it; no key may ever have been in two of its workers."""
        await self.incarnation.crash()
        assert [rounds.overlaps for rounds in self.rounds] == [[], []]
