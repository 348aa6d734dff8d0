"""``Expiry``: Events live for an hour after they were last written, and then are deleted."""

from __future__ import annotations

import asyncio
import heapq
from datetime import timedelta
from typing import Final

import orjson

from kubewright_apiserver.store import NoRoom, Row, Stale, Store

__all__ = ["EVENTS", "Expiry"]

EVENTS: Final = "/events"
_LATER: Final = 60.0


class Expiry:
    """Deletes rows of the table of Events when their time is over; by the loop's clock, so virtual time will do."""

    def __init__(self, store: Store, lifetime: timedelta) -> None:
        self._store = store
        self._seconds = lifetime.total_seconds()
        self._due: list[tuple[float, int, str]] = []
        self._task: asyncio.Task[None] | None = None

    def note(self, row: Row) -> None:
        """Let the row live for its time from now on; an older state of the same object is forgotten."""
        heapq.heappush(self._due, (asyncio.get_running_loop().time() + self._seconds, row.rev, row.key))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._expire(), name="expiry of Events")

    def forget(self) -> None:
        """Let everything live on, until it is noted anew."""
        self._due.clear()

    async def stop(self) -> None:
        """Delete nothing any more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def _expire(self) -> None:
        loop = asyncio.get_running_loop()
        while self._due:
            at, rev, key = self._due[0]
            if at > loop.time():
                await asyncio.sleep(at - loop.time())
                continue
            heapq.heappop(self._due)
            row = self._store.table(EVENTS).get(key)
            if row is not None and row.rev == rev:
                await self._delete(row)

    async def _delete(self, row: Row) -> None:
        try:
            await self._store.delete(EVENTS, row.key, orjson.loads(row.value), expected=row.rev)
        except Stale:
            return  # Written again meanwhile, and noted anew.
        except NoRoom:
            heapq.heappush(self._due, (asyncio.get_running_loop().time() + _LATER, row.rev, row.key))
