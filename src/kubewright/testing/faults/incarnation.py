"""``Incarnation``: one life of a program that shares the loop with others, to be paused or killed as a process is."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Coroutine, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from kubewright.api import using_clock
from kubewright.client import Request, Response, Send, Transport, WebSocket
from kubewright.errors import ConnectError
from kubewright.testing.faults.line import Line
from kubewright.testing.jumping_loop import HOME
from kubewright.testing.stream import Relay
from kubewright.testing.virtual_time import VirtualTime

__all__ = ["Cut", "Incarnation"]

T = TypeVar("T")


class Cut:
    """An interceptor that can cut the connection: what is under way breaks, and nothing comes through until mended."""

    def __init__(self) -> None:
        self._line = Line("the connection was cut")
        self.is_cut: bool = False
        """Whether nothing comes through."""

    def cut(self) -> None:
        """Break requests and streams that are under way, and let no others begin."""
        self.is_cut = True
        self._line.break_all()

    def mend(self) -> None:
        """Let requests through again."""
        self.is_cut = False

    async def __call__(self, request: Request, send: Send) -> Response:
        """Send the request, unless and until the connection is cut."""
        if self.is_cut:
            raise ConnectError(f"{request}: no connection, because it was cut")
        async with self._line.under_way():
            response = await send(request)
        if response.stream is not None:
            response.stream = Relay(response.stream, self._line.passage)
        return response


class Incarnation:
    """One life of a program in virtual time: the tasks that it starts, and the way in which it reaches the server.

    Everything started by ``start``, and by what that starts, belongs to it. Give ``transport`` to its clients. A new
    life is a new Incarnation, made with what the program would be started with, so that nothing is remembered but
    what is in the cluster. ``skew`` is by how much its wall clock is ahead.
    """

    def __init__(self, transport: Transport, *, skew: timedelta = timedelta(), name: str = "incarnation") -> None:
        self._virtual = VirtualTime.current()
        self._cut = Cut()
        self._skew = skew
        self.name: str = name
        self.transport: Transport = _Boundary(transport, self._cut)
        """The server as this life reaches it, as long as it lives."""

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """The task of this work, as a part of this life."""
        context = contextvars.copy_context()
        context.run(HOME.set, self)
        task = self._virtual.loop.create_task(self._living(work), name=self.name, context=context)
        # One that is killed before its first step never awaits what it was given.
        task.add_done_callback(lambda _: work.close())
        return task

    async def _living(self, work: Coroutine[Any, Any, T]) -> T:
        with using_clock(self._clock):
            return await work

    def _clock(self) -> datetime:
        return self._virtual.now() + self._skew

    def pause(self) -> None:
        """Let it do nothing until ``resume``, as a process that is stopped; what it has sent takes effect."""
        self._virtual.loop.hold(self)

    def resume(self) -> None:
        """Let it go on, not knowing that time has passed."""
        self._virtual.loop.release(self)

    async def crash(self) -> None:
        """End it: first cut its connection, then cancel its tasks; return when all have ended.

        What its tasks try in their last moments reaches nobody.
        """
        self._cut.cut()
        self.resume()
        while tasks := self._virtual.loop.pending_at(self):
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


class _Boundary:
    """A transport out of an incarnation: what is beyond it is neither paused nor cancelled with it."""

    def __init__(self, transport: Transport, cut: Cut) -> None:
        self._transport = transport
        self._cut = cut
        self._outside = contextvars.copy_context()

    async def send(self, request: Request) -> Response:
        return await self._cut(request, self._sent)

    async def _sent(self, request: Request) -> Response:
        sending = self._transport.send(request)
        return await asyncio.get_running_loop().create_task(sending, context=self._outside.copy())

    async def connect(self, request: Request, subprotocols: Sequence[str]) -> WebSocket:
        return await self._transport.connect(request, subprotocols)

    async def aclose(self) -> None:
        await self._transport.aclose()
