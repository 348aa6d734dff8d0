"""Loops that are killed at each of their writes in turn: whatever was half done, the end is the same."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Literal, TypeAlias, TypeVar

from kubewright.client import Client, InProcessTransport, Request, Response, Send
from kubewright.controlplane import Loop, operator_of
from kubewright.testing import VirtualTime, elapse, embedded_server
from kubewright.testing.faults import WRITES, Incarnation
from kubewright_apiserver import ApiServer
from tests.controlplane.clusters import client_of

T = TypeVar("T")
When: TypeAlias = Literal["before", "after"]


class _Strike:
    """An interceptor that holds the n-th write, before or after it reached the server, until its sender is killed."""

    def __init__(self, n: int, when: When) -> None:
        self._left = n
        self._when = when
        self.struck = asyncio.Event()

    async def __call__(self, request: Request, send: Send) -> Response:
        is_event = request.resource is not None and request.resource.plural == "events"
        if request.verb not in WRITES or is_event:
            return await send(request)
        self._left -= 1
        if self._left != 0:
            return await send(request)
        if self._when == "after":
            await send(request)
        self.struck.set()
        await asyncio.Event().wait()
        raise AssertionError


def _live(server: ApiServer, loops: Sequence[Loop], name: str, *interceptors: _Strike) -> Incarnation:
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
        strike = _Strike(n, when)
        lives = [_live(server, loops(), "first", strike)]

        async def revive() -> None:
            await strike.struck.wait()
            await lives[0].crash()
            lives.append(_live(server, loops(), "second"))

        reviving = asyncio.create_task(revive())
        await script(client)
        await elapse(patience)
        reviving.cancel()
        await asyncio.gather(reviving, return_exceptions=True)
        found = await look(client)
        await lives[-1].crash()
        return found, strike.struck.is_set()
