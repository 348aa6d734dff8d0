"""``Store``: every object of the server, one revision for all; where the verbs' reads and writes end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from kubewright_apiserver.store.commits import Commits
from kubewright_apiserver.store.errors import Closed, Stale, StoreFailed
from kubewright_apiserver.store.feed import Feed
from kubewright_apiserver.store.head import Head
from kubewright_apiserver.store.log import Log, Stored
from kubewright_apiserver.store.row import Row
from kubewright_apiserver.store.table import Table

__all__ = ["Snapshot", "Store"]

# etcd counts its own beginning as a revision; a list at revision 0 would mean "anything" to clients.
_FIRST: Final = 1
_HISTORY: Final = 10_000
_LARGE: Final = 1 << 20


class Snapshot(NamedTuple):
    """All objects at one revision, without history. Independent of the store that it was taken of."""

    rev: int
    tables: Mapping[str, Sequence[Row]]


class Store:
    """The tables of a server: in memory, and in `log` if there is one.

    Belongs to one event loop. Without a log nothing here ever waits, so that virtual time and determinism hold. With
    one, a write returns and becomes visible once it is committed, in order of revision. A write for which there is no
    room raises `NoRoom` and everything else goes on; after any other failed commit every call raises `StoreFailed`.
    `window` and `window_bytes` bound the rows that each table keeps for watches that start in the past; compaction
    does not shorten them.
    """

    def __init__(self, log: Log | None = None, *, window: int = 100_000, window_bytes: int = 256 << 20) -> None:
        if window < 1:
            raise ValueError(f"window must be at least 1, not {window}")
        self._window = window
        self._window_bytes = window_bytes
        self._head = Head(_FIRST, 0)
        self._assigned = _FIRST
        self._tables: dict[str, Table] = {}
        self._commits = Commits(log, self._show, self._fail) if log is not None else None
        if log is not None:
            self._load(_read(log))

    def _load(self, stored: Stored) -> None:
        self._head.begin(max(stored.rev, _FIRST), stored.floor)
        self._assigned = self._head.rev
        grown: dict[str, list[Row]] = {}
        for row in stored.rows:
            if row.rev <= stored.floor:
                grown.setdefault(row.table, []).append(row)
        for name, rows in grown.items():
            self.table(name).begin(rows)
        for row in stored.rows:
            if row.rev > stored.floor:
                self.table(row.table).apply(row)

    @property
    def rev(self) -> int:
        """The last revision that is committed and visible."""
        return self._head.rev

    @property
    def is_durable(self) -> bool:
        """Whether there is a log, so that writes take time."""
        return self._commits is not None

    @property
    def compacted(self) -> int:
        """The oldest revision that can be read."""
        return self._head.compacted

    async def wait_for(self, rev: int) -> None:
        """Return once that revision is visible.

        Raises: `Closed` or `StoreFailed` if the store ends before.
        """
        await self._head.wait_for(rev)

    def table(self, name: str) -> Table:
        """The table of that name, always the same one; empty if nothing was ever put there."""
        found = self._tables.get(name)
        if found is None:
            feed = Feed(self._head, self._window, self._window_bytes)
            found = self._tables[name] = Table(name, self._head, feed)
        return found

    def tables(self) -> list[str]:
        """The names of the tables that hold objects, sorted."""
        return sorted(name for name, table in self._tables.items() if len(table))

    async def put(
        self,
        table: str,
        key: str,
        obj: dict[str, Any],
        *,
        expected: int,
        check: Callable[[bytes], None] | None = None,
    ) -> Row:
        """The row of `obj`, whose ``metadata.resourceVersion`` is set in place.

        `expected` is the revision of the row that `obj` was made from, 0 if nothing may be there. Cancelled, it may
        still be done. `check` sees what is to be stored if it is more than a mebibyte, and may raise.

        Raises: `Stale` if something else is there.
        """
        newest = await self._agreed(table, key, expected)
        rev = self._assigned + 1
        created = newest.created if newest is not None and expected else rev
        value = _encode(obj, rev)
        if check is not None and len(value) > _LARGE:
            check(value)
        return await self._write(Row(rev, created, table, key, value, False, newest))

    async def delete(self, table: str, key: str, obj: dict[str, Any], *, expected: int) -> Row:
        """The row of the deletion, which carries `obj` as the last state, its ``metadata.resourceVersion`` set.

        `expected` is the revision of the row that is to go. Cancelled, it may still be done.

        Raises: `Stale` if something else is there, or nothing.
        """
        newest = await self._agreed(table, key, expected)
        if newest is None or newest.deleted:
            raise Stale(None)
        rev = self._assigned + 1
        return await self._write(Row(rev, newest.created, table, key, _encode(obj, rev), True, newest))

    async def _agreed(self, table: str, key: str, expected: int) -> Row | None:
        """The newest row of that key if it is the expected one, without having waited; else `Stale`."""
        self._head.check()
        ticket = self._commits.ticket(table, key) if self._commits is not None else None
        newest = ticket.row if ticket is not None else self.table(table).newest(key)
        there = 0 if newest is None or newest.deleted else newest.rev
        if there == expected:
            return newest
        if ticket is not None:
            # Told at once, the caller would read the old row, try again, and so on without end.
            await ticket.wait_settled()
            newest = self.table(table).newest(key)
        raise Stale(None if newest is None or newest.deleted else newest)

    async def _write(self, row: Row) -> Row:
        self._assigned = row.rev
        if self._commits is None:
            self._show(row)
        else:
            await self._commits.commit(row)
        return row

    def _show(self, row: Row) -> None:
        self._head.reach(row.rev)
        self._tables[row.table].apply(row)

    def _fail(self, error: StoreFailed) -> None:
        self._head.finish(error)
        self._end_watches(error)

    def end_watches(self) -> None:
        """End all watches, after what they were handed; new ones may start."""
        self._end_watches(Closed("the watches were ended"))

    def _end_watches(self, reason: Closed | StoreFailed) -> None:
        for table in self._tables.values():
            table.end_watches(reason)

    def compact(self, rev: int) -> None:
        """Make `rev` the oldest revision that can be read. Watches keep their window."""
        self._head.check()
        if rev > self._head.rev:
            raise ValueError(f"revision {rev} has not come yet, the last is {self._head.rev}")
        if rev <= self._head.compacted:
            return
        self._head.compacted = rev
        for table in self._tables.values():
            table.compact(rev)
        if self._commits is not None:
            self._commits.compact(rev)

    def snapshot(self) -> Snapshot:
        """All objects as they are, to restore this store or another from; history is left out."""
        shared = self._share()
        return Snapshot(shared.rev, {name: [row.alone() for row in rows] for name, rows in shared.tables.items()})

    def _share(self) -> Snapshot:
        self._head.check()
        return Snapshot(self._head.rev, {name: self._tables[name].rows() for name in self.tables()})

    def restore(self, snapshot: Snapshot) -> None:
        """Hold what the snapshot holds, at its revision; watches end at once, older revisions are forgotten.

        Clients that saw later revisions must start afresh: the same numbers will be given to other writes.

        Raises: `RuntimeError` if this store has a log, which only ever goes forward; `fork` gives one without.
        """
        self._head.check()
        if self._commits is not None:
            raise RuntimeError(
                "a store with a log cannot be restored: restore a fork() of it, or open a copy of the file"
            )
        self._head.begin(snapshot.rev, snapshot.rev)
        self._assigned = snapshot.rev
        reason = Closed("the store was restored from a snapshot")
        for name in {**self._tables, **snapshot.tables}:
            table = self.table(name)
            table.end_watches(reason, at_once=True)
            table.begin([row.alone() for row in snapshot.tables.get(name, ())])

    def fork(self) -> Store:
        """A store in memory that holds the same objects at the same revision and goes its own way."""
        twin = Store(window=self._window, window_bytes=self._window_bytes)
        twin.restore(self._share())
        return twin

    async def close(self) -> None:
        """Return when everything is committed, the log is closed and the watches have ended."""
        self._head.finish(Closed("the store is closed"))
        if self._commits is not None:
            await self._commits.close()
        self._end_watches(Closed("the store is closed"))


def _read(log: Log) -> Stored:
    try:
        return log.read(_HISTORY)
    except BaseException:
        log.close()
        raise


def _encode(obj: dict[str, Any], rev: int) -> bytes:
    obj["metadata"]["resourceVersion"] = str(rev)
    # A copy, since orjson's own buffer holds on to almost twice the memory.
    return memoryview(orjson.dumps(obj)).tobytes()
