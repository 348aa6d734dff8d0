"""Loops that are killed at each of their writes in turn: whatever was half done, the end is the same."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Literal, TypeAlias, TypeVar

from kubewright.client import Client, InProcessTransport, Request
from kubewright.controlplane import Loop, operator_of
from kubewright.testing import VirtualTime, elapse, embedded_server
from kubewright.testing.faults import WRITES, Gate, Incarnation
from kubewright_apiserver import ApiServer
from tests.controlplane.clusters import client_of

T = TypeVar("T")
When: TypeAlias = Literal["before", "after"]


def _gate(n: int, when: When) -> Gate:
    """Where the n-th write is held, before or after it has reached the server; Events do not count."""
    return Gate("request" if when == "before" else "answer", verb=WRITES, when=_counts, skip=n - 1, times=1)


def _counts(request: Request) -> bool:
    return request.resource is None or request.resource.plural != "events"


def _live(server: ApiServer, loops: Sequence[Loop], name: str, *interceptors: Gate) -> Incarnation:
    life = Incarnation(InProcessTransport(server.handle), name=name)

    async def run() -> None:
        dice = VirtualTime.current().dice_of
        client = Client(transport=life.transport, interceptors=interceptors, dice=dice(f"client {name}"))
        async with client, operator_of(loops).running(client, dice=dice(f"operator {name}")):
            await asyncio.Event().wait()

    life.start(run())
    return life


async def end_after_crash(
    loops: Callable[[], Sequence[Loop]],
    script: Callable[[Client], Awaitable[None]],
    look: Callable[[Client], Awaitable[T]],
    *,
    n: int,
    when: When,
    patience: timedelta = timedelta(seconds=20),
) -> tuple[T, bool]:
    """What is there in the end if the loops die at their n-th write and are started anew; and whether they did."""
    async with embedded_server() as server, client_of(server, "test") as client:
        gate = _gate(n, when)
        lives = [_live(server, loops(), "first", gate)]

        async def revive() -> None:
            await gate.wait_held()
            await lives[0].crash()
            lives.append(_live(server, loops(), "second"))

        reviving = asyncio.create_task(revive())
        await script(client)
        await elapse(patience)
        reviving.cancel()
        await asyncio.gather(reviving, return_exceptions=True)
        found = await look(client)
        await lives[-1].crash()
        return found, gate.struck > 0
