"""What a store's SQLite file looks like: whose it is, of which version, and how an older one becomes a newer one."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from zlib import crc32

from kubewright_apiserver.store.errors import StoreFailed
from kubewright_apiserver.store.folder import sync_folder

__all__ = ["APPLICATION_ID", "VERSION", "checksum_of", "is_blank", "lay_out", "upgrade", "version_of"]

APPLICATION_ID: Final = 0x6B777274
"""In the file's header: says that it is a store's."""

VERSION: Final = 2
"""In the file's header too: the version of the tables."""

# The value comes last, so that reading the other columns does not touch its overflow pages. There is no index on keys:
# every look-up goes by revision or by that of the row before.
_SCHEMA: Final = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE log (rev INTEGER PRIMARY KEY, tbl TEXT NOT NULL, key TEXT NOT NULL, prev_rev INTEGER NOT NULL,"
    " created INTEGER NOT NULL, deleted INTEGER NOT NULL, checksum INTEGER NOT NULL, value BLOB NOT NULL)",
    "INSERT INTO meta VALUES ('compacted', 0)",
)

# What makes each version the next one; the first entry turns version 0 into version 1.
_UPGRADES: Final[Sequence[Sequence[str]]] = (
    ("DELETE FROM meta WHERE name = 'format'",),
    (
        "ALTER TABLE log ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0",
        "UPDATE log SET checksum = checksum_of(rev, tbl, key, prev_rev, created, deleted, value)",
    ),
)


def checksum_of(columns: Sequence[Any]) -> int:
    """The checksum of a row, whose value is the last of its columns; -1 if that is none."""
    *others, value = columns
    if not isinstance(value, bytes):
        return -1
    return crc32(value, crc32(" ".join(map(str, others)).encode(errors="surrogatepass")))


def is_blank(connection: sqlite3.Connection) -> bool:
    """Whether nobody has put anything into the file yet."""
    tables = _number(connection, "SELECT count(*) FROM sqlite_master")
    return tables == 0 and _number(connection, "PRAGMA application_id") in (0, APPLICATION_ID)


def lay_out(connection: sqlite3.Connection) -> None:
    """Make the tables of the newest version, all or nothing."""
    _execute_all(connection, (*_SCHEMA, f"PRAGMA application_id = {APPLICATION_ID}"))


def version_of(connection: sqlite3.Connection, path: Path) -> int:
    """The version of the file.

    Raises: `StoreFailed` if it is of something else or newer than this program.
    """
    if _number(connection, "PRAGMA application_id") != APPLICATION_ID:
        raise StoreFailed(f"the store's file {path} is a database of something else: choose another file")
    found = _number(connection, "PRAGMA user_version")
    if not 0 <= found <= VERSION:
        known = f"the newest that this program knows is {VERSION}"
        raise StoreFailed(f"the store's file {path} has version {found}, {known}: use the program that wrote it")
    return found


def upgrade(connection: sqlite3.Connection, path: Path, version: int) -> Path:
    """Bring the file from an older version to the newest in one transaction; where a copy of the old one is kept."""
    copy = path.with_name(f"{path.name}.version-{version}")
    _copy(connection, copy)
    connection.create_function("checksum_of", 7, lambda *columns: checksum_of(columns), deterministic=True)
    _execute_all(connection, [statement for step in _UPGRADES[version:] for statement in step])
    return copy


def _copy(connection: sqlite3.Connection, copy: Path) -> None:
    unfinished = copy.with_name(f"{copy.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    try:
        connection.execute("VACUUM INTO ?", (str(unfinished),))
        os.fsync(descriptor)
    except BaseException:
        unfinished.unlink()
        raise
    finally:
        os.close(descriptor)
    unfinished.replace(copy)
    sync_folder(copy.parent)


def _execute_all(connection: sqlite3.Connection, statements: Sequence[str]) -> None:
    connection.execute("BEGIN EXCLUSIVE")
    for statement in statements:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _number(connection: sqlite3.Connection, query: str) -> int:
    found: int = connection.execute(query).fetchone()[0]
    return found
