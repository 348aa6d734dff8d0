"""``Table``: the objects of one resource, now and at every revision since the last compaction."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from kubewright_apiserver.store.errors import Closed, StoreFailed
from kubewright_apiserver.store.feed import Feed, Subscription
from kubewright_apiserver.store.head import Head
from kubewright_apiserver.store.keys import Keys
from kubewright_apiserver.store.row import Row

__all__ = ["Page", "Table"]


class Page(NamedTuple):
    """One page of a listing."""

    rows: list[Row]
    more: bool
    """Whether rows follow after the last of these."""
    remaining: int
    """How many follow."""


class Table:
    """Look-ups, listings and watches of one resource. Made by `Store.table`; writes go through the store."""

    __slots__ = ("_buried", "_changes", "_feed", "_graves", "_head", "_keys", "_live", "name", "rev")

    def __init__(self, name: str, head: Head, feed: Feed) -> None:
        self.name: str = name
        self._head = head
        self._feed = feed
        self.begin(())

    def begin(self, rows: Iterable[Row]) -> None:
        """Hold these rows and no others, as of a store that begins here: no history, no events."""
        self._feed.reset()
        self._live = {row.key: row for row in rows}
        self._keys = Keys(sorted(self._live))
        self._graves: dict[str, Row] = {}
        self._buried = Keys()
        self._changes: deque[Row] = deque()
        self.rev: int = self._head.origin
        """No row of this table is newer."""

    def get(self, key: str, *, rev: int | None = None) -> Row | None:
        """The object under that key, as it is or as it was at `rev`; None if it is not there.

        Raises: `Forgotten` if `rev` was compacted.
        """
        if self._is_newest(rev):
            return self._live.get(key)
        return self._row_at(key, rev)

    def list(self, prefix: str = "", *, rev: int | None = None, after: str | None = None, limit: int = 0) -> Page:
        """The objects whose keys have the prefix and follow `after`, in order of key, as they are or were at `rev`.

        No `limit` means all. Costs nothing for objects outside the prefix.

        Raises: `Forgotten` if `rev` was compacted.
        """
        if self._is_newest(rev):
            first, end = self._keys.span(prefix, after)
            stop = min(end, first + limit) if limit else end
            return Page([self._live[key] for key in self._keys.ordered[first:stop]], stop < end, end - stop)
        found = self._rows_at(prefix, after, rev)
        rows = [*islice(found, limit)] if limit else [*found]
        remaining = sum(1 for _ in found)
        return Page(rows, remaining > 0, remaining)

    def watch(self, after: int, *, prefix: str = "", key: str = "") -> Subscription:
        """The rows committed after that revision, past and to come: all, of a namespace (``"ns/"``), or of one key.

        A revision of the future waits until it has passed.

        Raises: `Forgotten` if the window does not reach back that far.
        """
        self._head.check()
        if prefix and (key or not prefix.endswith("/")):
            raise ValueError(f"watch a namespace with prefix='name/', or one object with key=, not {prefix!r} {key!r}")
        return self._feed.subscribe(after, key or prefix)

    @property
    def watchers(self) -> int:
        """How many watches there are."""
        return len(self._feed)

    def end_watches(self, reason: Closed | StoreFailed | None = None, *, at_once: bool = False) -> None:
        """End the watches of this table, after what they were handed unless `at_once`; new ones may start."""
        self._feed.end(reason or Closed(f"the watches of {self.name} were ended"), at_once=at_once)

    def __len__(self) -> int:
        return len(self._live)

    def _is_newest(self, rev: int | None) -> bool:
        self._head.check()
        if rev is None:
            return True
        self._head.check_readable(rev)
        return rev >= self.rev

    def _rows_at(self, prefix: str, after: str | None, rev: int | None) -> Iterator[Row]:
        keys = self._keys.within(prefix, after) + self._buried.within(prefix, after)
        for key in sorted(keys):
            row = self._row_at(key, rev)
            if row is not None:
                yield row

    def _row_at(self, key: str, rev: int | None) -> Row | None:
        row = self.newest(key)
        while row is not None and rev is not None and row.rev > rev:
            row = row.older
        return None if row is None or row.deleted else row

    def newest(self, key: str) -> Row | None:
        """The last visible row of that key, be it a deletion; for the store."""
        return self._live.get(key) or self._graves.get(key)

    def rows(self) -> Sequence[Row]:
        """All objects in order of key, for a snapshot."""
        return [self._live[key] for key in self._keys.ordered]

    def apply(self, row: Row) -> None:
        """Make a committed row visible and publish it."""
        key = row.key
        if row.deleted:
            self._bury(row)
        else:
            if key not in self._live:
                self._raise(key)
            self._live[key] = row
        self.rev = row.rev
        self._changes.append(row)
        if row.older is not None and row.older.older is not None:
            row.older.older.shed()
        self._feed.publish(row)

    def _bury(self, row: Row) -> None:
        if self._live.pop(row.key, None) is not None:
            self._keys.remove(row.key)
        self._graves[row.key] = row
        self._buried.add(row.key)

    def _raise(self, key: str) -> None:
        self._keys.add(key)
        if self._graves.pop(key, None) is not None:
            self._buried.remove(key)

    def compact(self, rev: int) -> None:
        """Let go of states that nobody can read at `rev` or later, but for those that the watch window needs."""
        changes = self._changes
        while changes and changes[0].rev <= rev:
            row = changes.popleft()
            if row.rev <= self._feed.floor:
                row.older = None
            if self._graves.get(row.key) is row:
                del self._graves[row.key]
        self._buried.keep(self._graves)
