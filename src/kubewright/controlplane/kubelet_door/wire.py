"""``served``: a WebSocket without a socket: two ends in one event loop, messages both ways, neither far ahead."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Final

__all__ = ["WireEnd", "served"]

_MOST_UNREAD: Final = 64


class _Lane:
    """Messages in one direction."""

    def __init__(self) -> None:
        self._messages: deque[bytes] = deque()
        self._changed = asyncio.Event()
        self.is_closed: bool = False

    async def put(self, message: bytes) -> None:
        while len(self._messages) >= _MOST_UNREAD and not self.is_closed:
            await self._change()
        if self.is_closed:
            raise ConnectionResetError("the other end is closed")
        self._messages.append(message)
        self._tell()

    async def take(self) -> bytes | None:
        while not self._messages and not self.is_closed:
            await self._change()
        if not self._messages:
            return None
        message = self._messages.popleft()
        self._tell()
        return message

    def close(self) -> None:
        self.is_closed = True
        self._tell()

    async def _change(self) -> None:
        await self._changed.wait()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class WireEnd:
    """One end; closing it closes the wire. What was sent before can still be received."""

    def __init__(self, incoming: _Lane, outgoing: _Lane, subprotocol: str) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self.subprotocol: str = subprotocol
        """What is spoken on the wire."""
        self.server: asyncio.Task[None] | None = None
        """Who serves the other end; ended when this one is closed."""

    async def send(self, message: bytes) -> None:
        """Send one message; raises ``ConnectionResetError`` when the wire is closed."""
        await self._outgoing.put(message)

    async def receive(self) -> bytes | None:
        """The next message, or None when the wire is closed."""
        return await self._incoming.take()

    def close(self) -> None:
        """Close the wire."""
        self._incoming.close()
        self._outgoing.close()

    async def aclose(self) -> None:
        """Close the wire, and end who serves the other end."""
        self.close()
        server, self.server = self.server, None
        if server is not None and server is not asyncio.current_task():
            server.cancel()
            await asyncio.wait((server,))


def served(subprotocol: str, serve: Callable[[WireEnd], Coroutine[Any, Any, None]]) -> WireEnd:
    """The near end of a wire whose far end is served by a task of its own; it is closed when that is done."""
    there, back = _Lane(), _Lane()
    near, far = WireEnd(back, there, subprotocol), WireEnd(there, back, subprotocol)

    async def serving() -> None:
        try:
            await serve(far)
        except ConnectionResetError:
            pass  # Nobody waits for the rest.
        finally:
            far.close()

    near.server = asyncio.create_task(serving(), name="kubelet stream")
    return near
