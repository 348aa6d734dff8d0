"""Control loops on an API server in this process: what the tests of each loop stand on."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from kubewright.client import Client, InProcessTransport, Interceptor
from kubewright.controlplane import Loop, operator_of
from kubewright.operator import RunningOperator
from kubewright.testing import embedded_server
from kubewright_apiserver import ApiServer


def client_of(server: ApiServer, name: str, *, seed: int = 0, interceptors: Sequence[Interceptor] = ()) -> Client:
    """A client of the server, with chance of its own."""
    dice = random.Random(f"{seed}/{name}")
    return Client(transport=InProcessTransport(server.handle, server.connect), interceptors=interceptors, dice=dice)


@asynccontextmanager
async def loops_on(
    server: ApiServer, *loops: Loop, seed: int = 0, interceptors: Sequence[Interceptor] = ()
) -> AsyncIterator[RunningOperator]:
    """The loops at work on a server; ``interceptors`` stand around their requests only."""
    async with client_of(server, "loops", seed=seed, interceptors=interceptors) as inside:
        dice = random.Random(f"{seed}/operator")
        async with operator_of(loops).running(inside, dice=dice) as running:
            await running.wait_ready()
            yield running


@asynccontextmanager
async def loops_running(*loops: Loop, seed: int = 0, interceptors: Sequence[Interceptor] = ()) -> AsyncIterator[Client]:
    """The loops at work on a server of their own; gives the test's client."""
    async with (
        embedded_server(seed=seed) as server,
        client_of(server, "test", seed=seed) as client,
        loops_on(server, *loops, seed=seed, interceptors=interceptors),
    ):
        yield client
