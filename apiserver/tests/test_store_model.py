"""Any sequence of operations gives what a naive model gives, in memory and in SQLite."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright_apiserver.store import Forgotten, Row, SqliteLog, Stale, Store, Subscription

WINDOW = 5
TABLES = ("/pods", "apps/deployments")
KEYS = ("a-b/x", "a/x", "b/x")
SCOPES = ("", "a/", "b/")

writes = st.tuples(
    st.sampled_from(("put", "put", "put", "delete")), st.sampled_from(TABLES), st.sampled_from(KEYS), st.booleans()
)
# A deletion that follows the creation of the same key, and a compaction of just that, are rare by chance alone.
lives = st.tuples(st.just("live"), st.sampled_from(TABLES), st.sampled_from(KEYS), st.integers(0, 3))
others = st.tuples(
    st.sampled_from(("compact", "watch", "reopen")), st.sampled_from(TABLES), st.sampled_from(SCOPES), st.integers(0, 9)
)


class Entry(NamedTuple):
    rev: int
    table: str
    key: str
    n: int
    deleted: bool
    created: int


class Model:
    """Everything that was ever written, looked through from the beginning each time."""

    def __init__(self) -> None:
        self.log: list[Entry] = []
        self.rev = 1
        self.compacted = 0

    def newest(self, table: str, key: str, rev: int | None = None) -> Entry | None:
        found = [
            e for e in self.log if (e.table, e.key) == (table, key) and e.rev <= (self.rev if rev is None else rev)
        ]
        return found[-1] if found else None

    def get(self, table: str, key: str, rev: int | None = None) -> Entry | None:
        entry = self.newest(table, key, rev)
        return None if entry is None or entry.deleted else entry

    def write(self, table: str, key: str, n: int, *, deleted: bool) -> Entry:
        self.rev += 1
        there = self.get(table, key)
        entry = Entry(self.rev, table, key, n, deleted, there.created if there else self.rev)
        self.log.append(entry)
        return entry

    def listed(self, table: str, prefix: str, rev: int) -> list[Entry]:
        keys = sorted((key for key in KEYS if key.startswith(prefix)), key=str.encode)
        return [entry for key in keys if (entry := self.get(table, key, rev))]

    def since(self, table: str, prefix: str, after: int) -> list[Entry]:
        return [e for e in self.log if e.table == table and e.rev > after and e.key.startswith(prefix)]

    def floor(self, table: str, origin: int) -> int:
        """The oldest revision to watch from, in a store that was opened with the history after `origin`."""
        rows = [entry.rev for entry in self.log if entry.table == table and entry.rev > origin]
        return rows[-WINDOW] - 1 if len(rows) > WINDOW else origin

    def before(self, entry: Entry) -> Entry | None:
        return None if entry.rev == entry.created else self.newest(entry.table, entry.key, entry.rev - 1)


def told(row: Row) -> Entry:
    assert row.obj["metadata"]["resourceVersion"] == str(row.rev)
    return Entry(row.rev, row.table, row.key, row.obj["n"], row.deleted, row.created)


class Comparison:
    """A store and its model, led through the same operations."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.model = Model()
        self.store = self.opened()
        self.watches: list[tuple[Subscription, str, str, int]] = []
        self.origin = 0

    def opened(self) -> Store:
        return Store(SqliteLog.open(self.path) if self.path else None, window=WINDOW)

    async def perform(self, n: int, operation: tuple[Any, ...]) -> None:
        what, table, where, detail = operation
        if what in ("put", "delete"):
            await self.write(what, table, where, n, is_stale=detail)
        elif what == "live":
            await self.live(table, where, n, compacted=detail)
        elif what == "compact":
            self.compact(detail)
        elif what == "watch":
            self.watch(table, where, max(0, self.model.rev - detail))
        elif self.path is not None:
            await self.reopen()
        self.compare(table, max(0, self.model.rev - n * 5 % 17))

    async def write(self, what: str, table: str, key: str, n: int, *, is_stale: bool) -> None:
        there = self.model.get(table, key)
        expected = there.rev if there else 0
        write = self.store.put if what == "put" else self.store.delete
        if is_stale or (what == "delete" and there is None):
            with pytest.raises(Stale) as stale:
                await write(table, key, {"metadata": {}, "n": n}, expected=expected + is_stale)
            assert (told(stale.value.current) if stale.value.current else None) == there
            return
        row = await write(table, key, {"metadata": {}, "n": n}, expected=expected)
        assert told(row) == self.model.write(table, key, n, deleted=what == "delete")

    async def live(self, table: str, key: str, n: int, *, compacted: int) -> None:
        for _ in range(2):
            if self.model.get(table, key) is None:
                await self.write("put", table, key, n, is_stale=False)
            await self.write("delete", table, key, n, is_stale=False)
            self.compact(compacted)
            self.compare(table, max(self.model.compacted, self.model.rev - compacted))

    def compact(self, ago: int) -> None:
        rev = max(1, self.model.rev - ago)
        self.store.compact(rev)
        self.model.compacted = max(self.model.compacted, rev)

    def watch(self, table: str, prefix: str, after: int) -> None:
        floor = self.model.floor(table, self.origin)
        if after < floor:
            with pytest.raises(Forgotten) as forgotten:
                self.store.table(table).watch(after, prefix=prefix)
            assert forgotten.value.oldest == floor
        else:
            self.watches.append((self.store.table(table).watch(after, prefix=prefix), table, prefix, after))

    async def reopen(self) -> None:
        await self.finish()
        self.store = self.opened()
        self.origin = self.store.compacted
        assert self.origin == self.model.compacted

    def compare(self, table: str, rev: int) -> None:
        found = self.store.table(table)
        assert (self.store.rev, self.store.compacted) == (self.model.rev, self.model.compacted)
        for prefix in SCOPES:
            latest = [told(row) for row in found.list(prefix).rows]
            assert latest == self.model.listed(table, prefix, self.model.rev)
            if rev < self.model.compacted:
                with pytest.raises(Forgotten) as forgotten:
                    found.list(prefix, rev=rev)
                assert forgotten.value.oldest == self.model.compacted
            else:
                rows = found.list(prefix, rev=rev).rows
                assert [told(row) for row in rows] == self.model.listed(table, prefix, rev)
                assert self.paged(table, prefix, rev) == rows

    def paged(self, table: str, prefix: str, rev: int) -> list[Row]:
        rows: list[Row] = []
        more = True
        while more:
            after = rows[-1].key if rows else None
            page = self.store.table(table).list(prefix, rev=rev, after=after, limit=1)
            rows += page.rows
            more = page.more
            assert page.remaining == len(self.model.listed(table, prefix, rev)) - len(rows)
        return rows

    async def finish(self) -> None:
        for watch, table, prefix, after in self.watches:
            expected = self.model.since(table, prefix, after)
            rows = await watch.next() if expected else []
            assert [told(row) for row in rows] == expected
            for row in rows:
                if row.rev > self.model.floor(table, self.origin):
                    before = self.model.before(told(row))
                    assert (told(row.previous) if row.previous else None) == before
            assert watch.rev == self.model.rev
        self.watches = []
        await self.store.close()


async def compared(operations: list[tuple[Any, ...]], path: Path | None) -> None:
    comparison = Comparison(path)
    for n, operation in enumerate(operations):
        await comparison.perform(n, operation)
    await comparison.finish()


@settings(derandomize=True, max_examples=250, deadline=None)
@given(st.lists(st.one_of(writes, writes, lives, others), max_size=40))
def test_a_store_in_memory_does_as_the_model(operations):
    asyncio.run(compared(operations, None))


@settings(derandomize=True, max_examples=40, deadline=None)
@given(st.lists(st.one_of(writes, writes, lives, others), max_size=40))
def test_a_store_in_sqlite_does_as_the_model(operations):
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(compared(operations, Path(folder) / "store.db"))
