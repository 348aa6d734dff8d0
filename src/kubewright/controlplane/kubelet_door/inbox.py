"""``Inbox``: what a client has sent on one stream and nobody has read yet."""

from __future__ import annotations

import asyncio

__all__ = ["Inbox"]


class Inbox:
    """Bytes in the order in which they came, and the end of them; without ``expected`` nothing is waited for."""

    def __init__(self, *, expected: bool = True) -> None:
        self._unread: asyncio.Queue[bytes] = asyncio.Queue()
        self._has_ended = not expected

    def put(self, data: bytes) -> None:
        """Keep what came; no bytes are the end."""
        self._unread.put_nowait(data)

    async def read(self) -> bytes:
        """The next bytes; empty when there are no more."""
        if self._has_ended and self._unread.empty():
            return b""
        data = await self._unread.get()
        if not data:
            self._has_ended = True
        return data
