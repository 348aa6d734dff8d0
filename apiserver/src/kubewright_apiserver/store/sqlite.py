"""``SqliteLog``: the rows in one SQLite file, from which a store starts again where it was."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kubewright_apiserver.store.errors import StoreFailed
from kubewright_apiserver.store.log import Stored
from kubewright_apiserver.store.row import Row

__all__ = ["SqliteLog"]

_APPLICATION: Final = 0x6B777274
_FORMAT: Final = 1
_STEP: Final = 1000

# The value comes last, so that reading the other columns does not touch its overflow pages. There is no index on keys:
# every look-up goes by revision or by that of the row before.
_SCHEMA: Final = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE log (
    rev INTEGER PRIMARY KEY,
    tbl TEXT NOT NULL,
    key TEXT NOT NULL,
    prev_rev INTEGER NOT NULL,
    created INTEGER NOT NULL,
    deleted INTEGER NOT NULL,
    value BLOB NOT NULL
);
"""
_INSERT: Final = "INSERT INTO log (rev, tbl, key, prev_rev, created, deleted, value) VALUES "
_READ: Final = """
SELECT rev, tbl, key, prev_rev, created, deleted, value FROM log
WHERE rev > :floor
   OR (NOT deleted AND rev NOT IN (SELECT prev_rev FROM log WHERE rev <= :floor))
ORDER BY rev
"""
_FORGET: Final = """
DELETE FROM log WHERE rev IN (
    SELECT prev_rev FROM log WHERE rev > :low AND rev <= :high
    UNION ALL SELECT rev FROM log WHERE rev > :low AND rev <= :high AND deleted
)
"""
_STEP_END: Final = "SELECT max(rev) FROM (SELECT rev FROM log WHERE rev > ? AND rev <= ? ORDER BY rev LIMIT ?)"
_REMEDIES: Final = {
    sqlite3.SQLITE_BUSY: "another process has it open: stop that one or choose another file",
    sqlite3.SQLITE_CANTOPEN: "check that its folder exists and may be written to",
    sqlite3.SQLITE_CORRUPT: "the file is damaged: restore a copy, or remove it to start empty",
    sqlite3.SQLITE_FULL: "free some disk space and start again; nothing that was acknowledged is lost",
    sqlite3.SQLITE_IOERR: "check the disk and start again",
    sqlite3.SQLITE_NOTADB: "the file is something else: choose another one",
    sqlite3.SQLITE_READONLY: "check the permissions of the file and its folder",
}


class SqliteLog:
    """A `Log` in one file, which nobody else can open meanwhile. Made by `open`.

    Survives the death of the process; with `power_safe` also that of the machine, at one disk flush per commit.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection
        self._rev = 0

    @classmethod
    def open(cls, path: Path | str, *, power_safe: bool = False) -> SqliteLog:
        """The log in that file, which is made if missing, readable by its owner alone.

        Raises: `StoreFailed` if it is in use, damaged, of a newer format or something else.
        """
        path = Path(path)
        with _explained(path, "cannot be opened"):
            _create(path)
            connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        log = cls(path, connection)
        try:
            log._prepare("FULL" if power_safe else "NORMAL")
        except BaseException:
            connection.close()
            raise
        return log

    def _prepare(self, synchronous: str) -> None:
        with _explained(self._path, "cannot be opened"):
            self._execute("PRAGMA locking_mode = EXCLUSIVE")
            is_new = self._number("SELECT count(*) FROM sqlite_master") == 0
            if not is_new:
                self._check_format()
            self._execute("PRAGMA journal_mode = WAL")
            self._execute(f"PRAGMA synchronous = {synchronous}")
            if is_new:
                self._lay_out()
            if (damage := self._execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
                raise self._failure(f"is damaged ({damage}): restore a copy, or remove it to start empty")
            self._rev = max(self._number("SELECT max(rev) FROM log"), self._compacted())

    def _check_format(self) -> None:
        if self._number("PRAGMA application_id") != _APPLICATION:
            raise self._failure("is a database of something else: choose another file")
        if (found := self._number("SELECT value FROM meta WHERE name = 'format'")) != _FORMAT:
            raise self._failure(f"has format {found}, known is {_FORMAT}: use the version that wrote it")

    def _lay_out(self) -> None:
        self._execute("BEGIN EXCLUSIVE")
        for statement in _SCHEMA.split(";"):
            self._execute(statement)
        self._execute(f"PRAGMA application_id = {_APPLICATION}")
        self._execute("INSERT INTO meta VALUES ('format', ?), ('compacted', 0)", (_FORMAT,))
        self._execute("COMMIT")

    def read(self, history: int) -> Stored:
        """All objects, with the rows of about the last `history` revisions.

        Raises: `StoreFailed` if the rows do not fit together.
        """
        compacted = self._compacted()
        floor = max(compacted, self._rev - history)
        rows: dict[int, Row] = {}
        with _explained(self._path, "cannot be read"):
            for rev, table, key, prev_rev, created, deleted, value in self._execute(_READ, {"floor": floor}):
                older = rows.get(prev_rev)
                is_lost = older is None and (prev_rev > floor or (rev > floor and created < rev))
                if is_lost or not created <= rev > prev_rev:
                    raise self._failure(f"is damaged (row {rev} follows {prev_rev}): restore a copy, or remove it")
                rows[rev] = Row(rev, created, table, key, value, bool(deleted), older)
        return Stored(self._rev, floor, list(rows.values()))

    def append(self, rows: Sequence[Row]) -> None:
        """Return once the rows will survive the process; all of them or none."""
        with _explained(self._path, "cannot be written"):
            for row in rows:
                self._advance(row.rev)
            self._insert(rows)

    def _insert(self, rows: Sequence[Row]) -> None:
        self._execute("BEGIN")
        self._connection.executemany(_INSERT + "(?, ?, ?, ?, ?, ?, ?)", map(_columns, rows))
        self._execute("COMMIT")

    def _advance(self, rev: int) -> None:
        if rev <= self._rev:
            raise self._failure(f"was to take revision {rev} after {self._rev}: start again, and report this")
        self._rev = rev

    def compact(self, rev: int) -> bool:
        """Forget up to a thousand rows more of what `rev` and later do not need; True if more are left."""
        with _explained(self._path, "cannot be compacted"):
            low = self._compacted()
            if low >= rev:
                return False
            high = self._number(_STEP_END, low, rev, _STEP) or rev
            self._execute("BEGIN")
            self._execute(_FORGET, {"low": low, "high": high})
            self._execute("UPDATE meta SET value = ? WHERE name = 'compacted'", (high,))
            self._execute("COMMIT")
            return high < rev

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def _compacted(self) -> int:
        return self._number("SELECT value FROM meta WHERE name = 'compacted'")

    def _number(self, query: str, *parameters: int) -> int:
        found = self._execute(query, parameters).fetchone()
        return (found and found[0]) or 0

    def _execute(self, statement: str, parameters: Sequence[int] | dict[str, int] = ()) -> sqlite3.Cursor:
        return self._connection.execute(statement, parameters)

    def _failure(self, what: str) -> StoreFailed:
        return StoreFailed(f"the store's file {self._path} {what}")


def _columns(row: Row) -> tuple[int, str, str, int, int, bool, bytes]:
    before = row.older.rev if row.older is not None else 0
    return row.rev, row.table, row.key, before, row.created, row.deleted, row.value


def _create(path: Path) -> None:
    # Only if missing: closing a second descriptor of an open database would drop the locks of this whole process.
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return


@contextmanager
def _explained(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        remedy = _REMEDIES.get(code, "look at the cause")
        raise StoreFailed(f"the store's file {path} {what}: {error}; {remedy}") from error
    except OSError as error:
        raise StoreFailed(f"the store's file {path} {what}: {error.strerror}; check its folder") from error
