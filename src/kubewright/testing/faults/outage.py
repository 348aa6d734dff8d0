"""``Outage``: an API server that goes away and comes back, the same or another."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from kubewright.client import Handler
from kubewright.client.in_process import Answer
from kubewright.errors import ConnectError
from kubewright.testing.faults.line import Line
from kubewright.testing.stream import Relay

__all__ = ["Outage"]


class Outage:
    """A handler in front of a server that can be stopped and started again: ``InProcessTransport(outage.handle)``.

    While stopped, no connection comes about; requests and streams that were under way break. ``start(handler)`` puts
    another server in the place of the former. To lose the history of an ``ApiServer``, so that every watch has to
    begin anew: ``server.restore(server.snapshot())`` meanwhile.
    """

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._line = Line("the API server stopped")
        self._tasks: dict[asyncio.Future[Answer], None] = {}
        self.is_running: bool = True
        """Whether there is a server to talk to."""

    def stop(self) -> None:
        """Break everything under way, and refuse what comes."""
        self.is_running = False
        self._line.break_all()

    def start(self, handler: Handler | None = None) -> None:
        """Answer again: as before, or as another server does."""
        self.is_running = True
        self._handler = handler or self._handler

    async def handle(self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes) -> Answer:
        """Let the server answer, if it runs."""
        if not self.is_running:
            raise ConnectError(f"{method} {target}: no connection, because an outage stopped the API server")
        # The server must not be cut between a write and what follows from it; only the answer is lost.
        task = asyncio.ensure_future(self._handler(method, target, headers, body))
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)
        async with self._line.under_way():
            await asyncio.wait((task,))
        status, answered, chunks = task.result()
        return status, answered, Relay(aiter(chunks), self._line.passage)
