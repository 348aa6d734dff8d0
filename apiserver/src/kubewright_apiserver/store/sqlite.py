"""``SqliteLog``: the rows in one SQLite file, from which a store starts again where it was."""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from kubewright_apiserver.store import sqlite_format
from kubewright_apiserver.store.errors import NoRoom, StoreFailed
from kubewright_apiserver.store.folder import sync_folder
from kubewright_apiserver.store.lock_holder import lock_holder
from kubewright_apiserver.store.log import Stored
from kubewright_apiserver.store.row import Row

__all__ = ["SqliteLog"]

_log = logging.getLogger("kubewright_apiserver")
_STEP: Final = 1000

_INSERT: Final = (
    "INSERT INTO log (rev, tbl, key, prev_rev, created, deleted, value, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_READ: Final = """
SELECT rev, tbl, key, prev_rev, created, deleted, value, checksum FROM log
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
_DAMAGED: Final = "restore a copy, or remove it to start empty"
_REMEDIES: Final = {
    # Not SQLite's own: Python cannot read a text.
    sqlite3.SQLITE_OK: f"the file is damaged: {_DAMAGED}",
    sqlite3.SQLITE_CANTOPEN: "check that its folder exists and may be written to",
    sqlite3.SQLITE_CORRUPT: f"the file is damaged: {_DAMAGED}",
    sqlite3.SQLITE_IOERR: "check the disk and start again; nothing that was acknowledged is lost",
    sqlite3.SQLITE_NOTADB: "the file is something else: choose another one",
    sqlite3.SQLITE_READONLY: "check the permissions of the file and its folder",
}


# The file or the disk came to its end before the transaction did, which is then not there.
_NO_ROOM: Final = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE)
_MAKE_ROOM: Final = (
    "make room on its disk; nothing that was acknowledged is lost, and only writes are stopped until then"
)


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
            is_blank = sqlite_format.is_blank(self._connection)
            version = sqlite_format.VERSION if is_blank else sqlite_format.version_of(self._connection, self._path)
            self._execute("PRAGMA journal_mode = WAL")
            self._execute(f"PRAGMA synchronous = {synchronous}")
            # Elsewhere it means nothing; on macOS, flushing alone does not reach the disk.
            self._execute(f"PRAGMA fullfsync = {int(synchronous == 'FULL')}")
            if is_blank:
                sqlite_format.lay_out(self._connection)
            if (damage := self._execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
                raise self._failure(f"is damaged ({damage}): {_DAMAGED}")
            if version < sqlite_format.VERSION:
                self._upgrade(version)
            self._rev = max(self._number("SELECT max(rev) FROM log"), self._compacted())

    def _upgrade(self, version: int) -> None:
        copy = sqlite_format.upgrade(self._connection, self._path, version)
        told = "the store's file %s was of version %d and is of version %d now; a copy of the old one is %s"
        _log.warning(told, self._path, version, sqlite_format.VERSION, copy)

    def read(self, history: int) -> Stored:
        """All objects, with the rows of about the last `history` revisions.

        Raises: `StoreFailed` if the rows do not fit together.
        """
        compacted = self._compacted()
        floor = max(compacted, self._rev - history)
        rows: dict[int, Row] = {}
        with _explained(self._path, "cannot be read"):
            for *columns, checksum in self._execute(_READ, {"floor": floor}):
                rev, table, key, prev_rev, created, deleted, value = columns
                if sqlite_format.checksum_of(columns) != checksum:
                    raise self._failure(f"is damaged (row {rev} has another checksum): {_DAMAGED}")
                older = rows.get(prev_rev)
                is_lost = older is None and (prev_rev > floor or (rev > floor and created < rev))
                if is_lost or not created <= rev > prev_rev:
                    raise self._failure(f"is damaged (row {rev} follows {prev_rev}): {_DAMAGED}")
                rows[rev] = Row(rev, created, table, key, value, bool(deleted), older)
        return Stored(self._rev, floor, list(rows.values()))

    def append(self, rows: Sequence[Row]) -> None:
        """Return once the rows will survive the process; all of them or none.

        Raises: `NoRoom` if none is there and it may be called again; `StoreFailed` if nobody knows.
        """
        with _explained(self._path, "cannot be written"), self._transaction():
            for row in rows:
                self._advance(row.rev)
            self._connection.executemany(_INSERT, map(_columns, rows))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._execute("BEGIN")
        try:
            yield
            self._execute("COMMIT")
        except BaseException:
            # Some errors have rolled back already.
            if self._connection.in_transaction:
                self._execute("ROLLBACK")
            raise

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
            with self._transaction():
                self._execute(_FORGET, {"low": low, "high": high})
                self._execute("UPDATE meta SET value = ? WHERE name = 'compacted'", (high,))
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


def _columns(row: Row) -> tuple[Any, ...]:
    before = row.older.rev if row.older is not None else 0
    columns = row.rev, row.table, row.key, before, row.created, int(row.deleted), row.value
    return *columns, sqlite_format.checksum_of(columns)


def _create(path: Path) -> None:
    """Make the file if it is missing, readable by its owner alone; raise `OSError` if SQLite could only read it."""
    if path.exists() and not (os.access(path, os.R_OK | os.W_OK) and os.access(path.parent, os.W_OK)):
        # Said here, since SQLite would open it for reading and later speak of the disk.
        raise PermissionError(errno.EACCES, "it or its folder may not be written to")
    # Never one that is there: closing a second descriptor of a database would drop the locks of this whole process.
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return
    sync_folder(path.parent)


@contextmanager
def _explained(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0)
        if code in _NO_ROOM:
            raise NoRoom(f"the store's file {path} {what}: {error}; {_MAKE_ROOM}") from error
        raise StoreFailed(f"the store's file {path} {what}: {error}; {_remedy(code & 0xFF, path)}") from error
    except OSError as error:
        told = f"the store's file {path} {what}: {error.strerror}"
        raise StoreFailed(f"{told}; check that its folder exists, and the permissions of both") from error


def _remedy(code: int, path: Path) -> str:
    if code == sqlite3.SQLITE_BUSY:
        return f"{lock_holder(path)} has it open: stop that one or choose another file"
    return _REMEDIES.get(code, "look at the cause")
