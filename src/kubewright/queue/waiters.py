"""Workers that wait for something to do; the queue calls them."""

from __future__ import annotations

import asyncio
from collections import deque

__all__ = ["Waiters"]


class Waiters:
    """Tasks in the order in which they came to wait.

    *Guarantees*: a call is never lost: if the one who was called is cancelled before it could act, the next is called.
    """

    def __init__(self) -> None:
        self._futures: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        return len(self._futures)

    async def wait(self) -> None:
        """Return when called; there may be nothing to do by then."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._futures.append(future)
        try:
            await future
        except BaseException:
            if future in self._futures:
                self._futures.remove(future)
            elif not future.cancelled():
                self.call_one()
            future.cancel()
            raise

    def call_one(self) -> None:
        """Call the one who has waited longest, if there is one."""
        while self._futures:
            future = self._futures.popleft()
            if not future.done():
                future.set_result(None)
                return

    def call_all(self) -> None:
        """Call everyone."""
        while self._futures:
            self.call_one()
