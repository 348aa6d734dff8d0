"""``Commits``: the writes on their way into the log, seen from the event loop; between the store and its writer."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from kubewright_apiserver.store.errors import NoRoom, StoreFailed, renewed
from kubewright_apiserver.store.log import Log
from kubewright_apiserver.store.row import Row
from kubewright_apiserver.store.writer import Writer

__all__ = ["Commits", "Ticket"]

_log = logging.getLogger("kubewright_apiserver")


class Ticket:
    """A row that is not yet committed, and who waits for it."""

    __slots__ = ("_waiters", "row")

    def __init__(self, row: Row) -> None:
        self.row: Row = row
        self._waiters: list[asyncio.Future[None]] = []

    async def wait_settled(self) -> None:
        """Return once the row is visible.

        Raises: `StoreFailed` if it could not be committed.
        """
        # A future for each: cancelling one caller must not cancel the others.
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        await waiter

    def settle(self, error: StoreFailed | None = None) -> None:
        """Wake all who wait."""
        for waiter in self._waiters:
            if waiter.done():
                continue
            if error is None:
                waiter.set_result(None)
            else:
                waiter.set_exception(renewed(error))


class Commits:
    """Rows go in; each comes out through `show` once it is committed, in the same order, or `fail` is called, once.

    Rows for which there is no room are refused, with those that came after them; later ones are tried again.
    """

    def __init__(self, log: Log, show: Callable[[Row], None], fail: Callable[[StoreFailed], None]) -> None:
        self._show = show
        self._fail = fail
        self._in_flight: deque[Ticket] = deque()
        self._newest: dict[tuple[str, str], Ticket] = {}
        self._writer = Writer(log, self._committed, self._refused, self._failed)
        self._is_full = False

    def ticket(self, table: str, key: str) -> Ticket | None:
        """The newest row of that key that is not yet committed."""
        return self._newest.get((table, key))

    async def commit(self, row: Row) -> None:
        """Return once the row is committed and visible.

        Raises: `StoreFailed` if it could not be.
        """
        ticket = Ticket(row)
        self._writer.append(row)
        self._in_flight.append(ticket)
        self._newest[row.table, row.key] = ticket
        await ticket.wait_settled()

    def compact(self, rev: int) -> None:
        """Have the log compacted to `rev` in the background."""
        self._writer.compact(rev)

    async def close(self) -> None:
        """Return when all rows are committed and the log is closed."""
        await self._writer.close()

    def _committed(self, count: int) -> None:
        if self._is_full:
            self._is_full = False
            _log.warning("the store's file can be written again")
        for _ in range(count):
            ticket = self._in_flight.popleft()
            row = ticket.row
            if self._newest[row.table, row.key] is ticket:
                del self._newest[row.table, row.key]
            self._show(row)
            ticket.settle()

    def _refused(self, error: NoRoom) -> None:
        if not self._is_full:
            self._is_full = True
            _log.error("%s", error)
        refused, self._in_flight = self._in_flight, deque()
        self._newest.clear()
        self._writer.resume()
        for ticket in refused:
            ticket.settle(error)

    def _failed(self, cause: Exception) -> None:
        error = cause if isinstance(cause, StoreFailed) else StoreFailed(f"the store's log failed: {cause!r}")
        if error is not cause:
            error.__cause__ = cause
        self._fail(error)
        while self._in_flight:
            self._in_flight.popleft().settle(error)
