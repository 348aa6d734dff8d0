"""``Writer``: the one thread that writes the log; the store hands it rows and hears when they are safe."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Final

from kubewright_apiserver.store.errors import NoRoom
from kubewright_apiserver.store.log import Log
from kubewright_apiserver.store.row import Row

__all__ = ["Writer"]

_MOST: Final = 1000


class _Resume:
    """Said to a writer that refuses: what comes from here on was made without what it refused."""


class Writer:
    """Commits rows in order, as many at once as have come while the commit before ran.

    Calls, on the event loop, `committed` with the number of rows; `refused` when there was no room for some, and then
    drops all that comes until `resume`; or `failed` once and then nothing more.
    """

    def __init__(
        self,
        log: Log,
        committed: Callable[[int], None],
        refused: Callable[[NoRoom], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._log = log
        self._committed = committed
        self._refused = refused
        self._failed = failed
        self._jobs: SimpleQueue[Row | int | _Resume | None] = SimpleQueue()
        self._goal = 0
        self._is_refusing = False
        self._is_closing = False
        self._done = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def append(self, row: Row) -> None:
        """Have the row committed after those before it."""
        self._start()
        self._jobs.put(row)

    def compact(self, rev: int) -> None:
        """Have the log compacted to `rev` between commits."""
        self._start()
        self._jobs.put(rev)

    def resume(self) -> None:
        """Take rows again, from the next one on."""
        self._jobs.put(_Resume())

    async def close(self) -> None:
        """Return when all rows are committed and the log is closed."""
        if self._thread is None:
            self._log.close()
            return
        self._jobs.put(None)
        await self._done.wait()
        self._thread.join()

    def _start(self) -> None:
        if self._thread is None:
            self._loop = asyncio.get_running_loop()
            # A daemon, since a process that dies without closing loses nothing that was acknowledged.
            self._thread = threading.Thread(target=self._run, name="kubewright-store", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        try:
            try:
                while self._take_turn():
                    pass
            finally:
                self._log.close()
        except Exception as error:
            self._tell(self._failed, error)
        self._tell(self._done.set)

    def _take_turn(self) -> bool:
        rows = self._gather()
        if rows:
            self._append(rows)
        if self._goal and not self._compact():
            self._goal = 0
        return self._goal > 0 or not self._is_closing

    def _append(self, rows: list[Row]) -> None:
        try:
            self._log.append(rows)
        except NoRoom as error:
            # Rows already in the queue may follow those that are not there, so they must go too.
            self._is_refusing = True
            self._tell(self._refused, error)
        else:
            self._tell(self._committed, len(rows))

    def _compact(self) -> bool:
        try:
            return self._log.compact(self._goal)
        except NoRoom:
            return False  # The next compaction takes this one's work too.

    def _gather(self) -> list[Row]:
        rows: list[Row] = []
        with suppress(Empty):
            while len(rows) < _MOST and not self._is_closing:
                job = self._jobs.get(block=not rows and not self._goal)
                if job is None:
                    self._is_closing = True
                elif isinstance(job, int):
                    self._goal = job
                elif isinstance(job, _Resume):
                    self._is_refusing = False
                elif not self._is_refusing:
                    rows.append(job)
        return rows

    def _tell(self, what: Callable[..., None], *arguments: object) -> None:
        with suppress(RuntimeError):  # The loop is gone, and with it everyone who would hear.
            if self._loop is not None:
                self._loop.call_soon_threadsafe(what, *arguments)
