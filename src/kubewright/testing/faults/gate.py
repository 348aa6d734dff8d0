"""``Gate``: requests, answers or events wait until the test opens it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Literal, Unpack

from kubewright.client import Request, Response, Send
from kubewright.testing.faults.fault import Fault, Match, relaying
from kubewright.testing.faults.requests import within_limit

__all__ = ["Gate"]


class Gate(Fault):
    """An interceptor at which what matches waits until ``open()``; it is shut at first, and may be shut again.

    ``holds="request"`` keeps requests from the server, ``"answer"`` lets them take effect and keeps the answer,
    ``"events"`` keeps what comes on watches, so that a cache lags behind. A request waits no longer than its time
    limit.
    """

    def __init__(
        self,
        holds: Literal["request", "answer", "events"] = "request",
        *,
        is_open: bool = False,
        **match: Unpack[Match],
    ) -> None:
        if holds == "events":
            match.setdefault("verb", "watch")
        strikes = {"request": self._hold_request, "answer": self._hold_answer, "events": relaying(self._hold_events)}
        super().__init__(strikes[holds], **match)
        self._opened = asyncio.Event()
        if is_open:
            self._opened.set()
        self._arrived = asyncio.Condition()
        self.waiting: int = 0
        """How many requests, answers or chunks of events wait at the gate."""

    def open(self) -> None:
        """Let pass what waits, and all that comes."""
        self._opened.set()

    def shut(self) -> None:
        """Let nothing pass any more."""
        self._opened.clear()

    async def wait_held(self, count: int = 1) -> None:
        """Return when at least so many wait at the gate."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: self.waiting >= count)

    async def _hold_request(self, request: Request, send: Send) -> Response:
        async with within_limit(request):
            await self._pass()
        return await send(request)

    async def _hold_answer(self, request: Request, send: Send) -> Response:
        response = await send(request)
        try:
            async with within_limit(request):
                await self._pass()
        except BaseException:
            await response.aclose()
            raise
        return response

    async def _hold_events(self, stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for chunk in stream:
            if chunk:
                await self._pass()
            yield chunk

    async def _pass(self) -> None:
        if self._opened.is_set():
            return
        self.waiting += 1
        try:
            async with self._arrived:
                self._arrived.notify_all()
            while not self._opened.is_set():
                await self._opened.wait()
        finally:
            self.waiting -= 1
