"""``Feed``: the recent rows of a table and who waits for the next; the store publishes, watches read."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from kubewright_apiserver.store.errors import Closed, Forgotten, Overrun, StoreFailed, renewed
from kubewright_apiserver.store.head import Head
from kubewright_apiserver.store.row import Row

__all__ = ["Feed", "Subscription"]

_BACKLOG_ROWS: Final = 1000
_BACKLOG_BYTES: Final = 8 << 20


class Feed:
    """The watch window of one table and its subscriptions."""

    __slots__ = ("_bytes", "_head", "_most_bytes", "_most_rows", "_recent", "_watches", "floor")

    def __init__(self, head: Head, most_rows: int, most_bytes: int) -> None:
        self._head = head
        self._most_rows = most_rows
        self._most_bytes = most_bytes
        self._watches: dict[str, dict[Subscription, None]] = {}
        self.reset()

    def reset(self) -> None:
        """Forget all rows, as of a store that begins here."""
        self._recent: deque[Row] = deque()
        self._bytes = 0
        self.floor: int = self._head.origin
        """The oldest revision that a watch can start after."""

    def publish(self, row: Row) -> None:
        """Keep the row in the window and hand it to everyone who watches its key."""
        self._keep(row)
        if not self._watches:
            return
        namespace, slash, _ = row.key.partition("/")
        for scope in ("", namespace + slash, row.key) if slash else ("", row.key):
            for watch in tuple(self._watches.get(scope, ())):
                watch.offer(row)

    def _keep(self, row: Row) -> None:
        recent = self._recent
        recent.append(row)
        self._bytes += len(row.value)
        while len(recent) > self._most_rows or (self._bytes > self._most_bytes and len(recent) > 1):
            gone = recent.popleft()
            self._bytes -= len(gone.value)
            self.floor = recent[0].rev - 1
            if gone.rev <= self._head.compacted:
                gone.older = None

    def subscribe(self, after: int, scope: str) -> Subscription:
        """A subscription to the rows after that revision: those of the window first, then those to come."""
        if after < self.floor:
            raise Forgotten(after, self.floor)
        watch = Subscription(self, self._head, scope, after, self._since(after, scope))
        self._watches.setdefault(scope, {})[watch] = None
        return watch

    def _since(self, after: int, scope: str) -> list[Row]:
        rows = []
        for row in reversed(self._recent):
            if row.rev <= after:
                break
            if _covers(scope, row.key):
                rows.append(row)
        rows.reverse()
        return rows

    def __len__(self) -> int:
        return sum(map(len, self._watches.values()))

    def drop(self, watch: Subscription, scope: str) -> None:
        """Hand that subscription nothing more."""
        watches = self._watches.get(scope, {})
        if watch in watches:
            del watches[watch]
            if not watches:
                del self._watches[scope]

    def end(self, reason: Closed | StoreFailed, *, at_once: bool = False) -> None:
        """End all subscriptions; what they were handed is still read unless `at_once`."""
        for watches in list(self._watches.values()):
            for watch in list(watches):
                watch.end(reason, at_once=at_once)


class Subscription:
    """The rows that one watcher has yet to read. Close it when done.

    Guarantees: every row after the start, once, in order of revision; never waits for a slow reader but cuts it.
    """

    __slots__ = ("_after", "_end", "_feed", "_head", "_limit", "_pending", "_scope", "_waiter")

    def __init__(self, feed: Feed, head: Head, scope: str, after: int, pending: list[Row]) -> None:
        self._feed = feed
        self._head = head
        self._scope = scope
        self._after = after
        self._pending = pending
        self._limit = len(pending) + _BACKLOG_ROWS
        self._end: Closed | Overrun | StoreFailed | None = None
        self._waiter: asyncio.Future[None] | None = None

    @property
    def rev(self) -> int:
        """The revision up to which `next` has given everything there was, of whatever table: for bookmarks."""
        reached = self._pending[0].rev - 1 if self._pending else self._head.rev
        return max(self._after, reached)

    async def next(self) -> list[Row]:
        """All rows that wait to be read, in order; at least one.

        Cancelling loses nothing. One reader at a time.

        Raises: `Overrun` if the backlog grew beyond 1,000 rows and 8 MiB; `Closed` or `StoreFailed` after the last
        row, once there will be no more.
        """
        while not self._pending:
            if self._end is not None:
                raise renewed(self._end)
            await self._wait_for_change()
        rows, self._pending = self._pending, []
        self._limit = _BACKLOG_ROWS
        return rows

    async def _wait_for_change(self) -> None:
        if self._waiter is not None:
            raise RuntimeError("two readers wait on one subscription: give each its own")
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def offer(self, row: Row) -> None:
        """Put a row behind those that wait to be read."""
        if row.rev <= self._after:
            return
        self._pending.append(row)
        if len(self._pending) > self._limit and self._is_overrun():
            self.end(Overrun(f"more than {_BACKLOG_ROWS} rows and {_BACKLOG_BYTES} bytes were not read"), at_once=True)
        elif self._waiter is not None:
            self._wake()

    def _is_overrun(self) -> bool:
        # Weighed once per thousand rows: a sum kept with every row would cost each watcher of each event.
        self._limit = len(self._pending) + _BACKLOG_ROWS
        return sum(len(row.value) for row in self._pending) > _BACKLOG_BYTES

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def close(self) -> None:
        """Read no more; may be called again."""
        self.end(Closed("the watch was closed"), at_once=True)

    def end(self, reason: Closed | Overrun | StoreFailed, *, at_once: bool) -> None:
        """Let `next` raise `reason` after the last row, or at once."""
        self._feed.drop(self, self._scope)
        if at_once:
            self._pending = []
        if self._end is None:
            self._end = reason
        self._wake()


def _covers(scope: str, key: str) -> bool:
    return key.startswith(scope) if not scope or scope.endswith("/") else key == scope
