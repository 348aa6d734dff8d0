"""A store's file by its outside: whose it is, its version, its lock; what is brought up to date, what is refused."""

import os
import random
import re
import sqlite3
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from kubewright_apiserver.store import SqliteLog, Store, StoreFailed

PODS = "/pods"
APPLICATION_ID = 0x6B777274

# As version 0 made it: the version was a row of a table.
VERSION_0 = """
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
PRAGMA application_id = 0x6b777274;
INSERT INTO meta VALUES ('format', 1), ('compacted', 0);
INSERT INTO log VALUES (2, '/pods', 'a/1', 0, 2, 0, CAST('{"metadata":{"resourceVersion":"2"}}' AS BLOB));
INSERT INTO log VALUES (3, '/pods', 'a/2', 0, 3, 0, CAST('{"metadata":{"resourceVersion":"3"}}' AS BLOB));
INSERT INTO log VALUES (4, '/pods', 'a/1', 2, 2, 1, CAST('{"metadata":{"resourceVersion":"4"}}' AS BLOB));
"""
# As version 1 made it: rows had no checksum.
VERSION_1 = VERSION_0.replace("('format', 1), ", "") + "PRAGMA user_version = 1;"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def ask(path: Path, query: str) -> Any:
    connection = sqlite3.connect(path)
    found = connection.execute(query).fetchone()
    connection.commit()
    connection.close()
    return found[0] if found else None


def written(path: Path, script: str) -> bytes:
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()
    return path.read_bytes()


async def test_the_header_says_whose_the_file_is_and_its_version(path):
    await Store(SqliteLog.open(path)).close()

    assert ask(path, "PRAGMA application_id") == APPLICATION_ID
    assert ask(path, "PRAGMA user_version") == 2


@pytest.mark.parametrize("script", [VERSION_0, VERSION_1])
async def test_an_older_file_is_brought_up_to_date_and_keeps_everything(path, script):
    written(path, script)

    store = Store(SqliteLog.open(path))
    row = await store.put(PODS, "b/1", {"metadata": {}}, expected=0)

    assert row.rev == 5
    assert [found.key for found in store.table(PODS).list().rows] == ["a/2", "b/1"]
    assert [found.rev for found in await store.table(PODS).watch(2).next()] == [3, 4, 5]
    await store.close()
    assert ask(path, "PRAGMA user_version") == 2
    assert ask(path, "SELECT count(*) FROM meta WHERE name = 'format'") == 0
    await Store(SqliteLog.open(path)).close()


async def test_a_copy_of_the_older_file_is_kept_for_its_owner_alone(path, caplog):
    written(path, VERSION_0)

    await Store(SqliteLog.open(path)).close()

    copy = path.with_name("store.db.version-0")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert ask(copy, "PRAGMA user_version") == 0
    assert ask(copy, "SELECT value FROM meta WHERE name = 'format'") == 1
    assert ask(copy, "SELECT count(*) FROM log") == 3
    assert sorted(file.name for file in path.parent.iterdir()) == ["store.db", "store.db.version-0"]
    assert f"{path} was of version 0 and is of version 2 now; a copy of the old one is {copy}" in caplog.text


async def test_the_copy_can_be_put_back(path):
    written(path, VERSION_0)
    await Store(SqliteLog.open(path)).close()

    path.with_name("store.db.version-0").replace(path)
    store = Store(SqliteLog.open(path))

    assert [found.key for found in store.table(PODS).list().rows] == ["a/2"]
    await store.close()


async def test_a_file_stays_old_when_it_cannot_be_brought_up_to_date(path):
    written(path, VERSION_0 + "CREATE TRIGGER never BEFORE DELETE ON meta BEGIN SELECT RAISE(ABORT, 'never'); END;")

    with pytest.raises(StoreFailed, match=r"store\.db cannot be opened: never"):
        SqliteLog.open(path)

    assert ask(path, "PRAGMA user_version") == 0
    assert ask(path, "SELECT value FROM meta WHERE name = 'format'") == 1


async def test_a_copy_that_was_never_finished_is_no_hindrance(path):
    written(path, VERSION_0)
    path.with_name("store.db.version-0.unfinished").write_bytes(b"half a copy")

    await Store(SqliteLog.open(path)).close()

    assert ask(path.with_name("store.db.version-0"), "SELECT count(*) FROM log") == 3


async def test_a_newer_file_is_refused_and_left_alone(path):
    await Store(SqliteLog.open(path)).close()
    before = written(path, "PRAGMA user_version = 7")

    with pytest.raises(StoreFailed, match=r"store\.db has version 7, the newest that this program knows is 2: use"):
        SqliteLog.open(path)

    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused_and_left_alone(path):
    path.write_bytes(b"apiVersion: v1\n" * 100)

    with pytest.raises(StoreFailed, match=r"store\.db.*something else"):
        SqliteLog.open(path)

    assert path.read_bytes() == b"apiVersion: v1\n" * 100


@pytest.mark.parametrize("script", ["CREATE TABLE log (rev INTEGER PRIMARY KEY)", "PRAGMA application_id = 17"])
def test_a_database_of_something_else_is_refused_and_left_alone(path, script):
    before = written(path, script)

    with pytest.raises(StoreFailed, match=r"store\.db is a database of something else"):
        SqliteLog.open(path)

    assert path.read_bytes() == before


async def test_an_empty_file_is_filled(path):
    path.touch()

    await Store(SqliteLog.open(path)).close()

    assert ask(path, "PRAGMA user_version") == 2


async def test_a_file_that_was_cut_is_refused(path):
    store = Store(SqliteLog.open(path))
    for n in range(100):
        await store.put(PODS, f"a/{n}", {"metadata": {}, "padding": "x" * 2000}, expected=0)
    await store.close()
    path.write_bytes(path.read_bytes()[: 9 * 4096])

    with pytest.raises(StoreFailed, match=r"store\.db.*damaged.*restore a copy, or remove it to start empty"):
        SqliteLog.open(path)


async def some_pods(path: Path) -> list[bytes]:
    """What was stored, by each of the pods."""
    store = Store(SqliteLog.open(path))
    for n in range(30):
        await store.put(PODS, f"a/{n:02}", {"metadata": {}, "padding": f"{n:02}" * 200}, expected=0)
    values = [row.value for row in store.table(PODS).list().rows]
    await store.close()
    return values


async def test_an_object_that_was_damaged_is_noticed_at_once(path):
    await some_pods(path)
    written(path, "UPDATE log SET value = CAST(replace(CAST(value AS TEXT), '07', '08') AS BLOB) WHERE key = 'a/07'")

    with pytest.raises(
        StoreFailed, match=r"is damaged \(row 9 has another checksum\): restore a copy, or remove it to"
    ):
        Store(SqliteLog.open(path))


async def test_whatever_is_damaged_the_file_is_refused_in_words_or_everything_is_there(path):
    values = await some_pods(path)
    whole = path.read_bytes()
    refusals: list[str] = []

    for seed in range(60):
        dice, data = random.Random(seed), bytearray(whole)
        for _ in range(dice.choice((1, 3, 30))):
            data[dice.randrange(len(data))] = dice.randrange(256)
        path.write_bytes(data)
        try:
            store = Store(SqliteLog.open(path))
        except StoreFailed as error:
            refusals.append(str(error))
        else:
            assert [row.value for row in store.table(PODS).list().rows] == values
            await store.close()

    assert len(refusals) > 20
    assert all(refusal.startswith(f"the store's file {path} ") for refusal in refusals)


def opened_by_another(path: Path) -> str:
    """What another process says when it opens the file."""
    script = "import sys; from kubewright_apiserver.store import SqliteLog; SqliteLog.open(sys.argv[1])"
    return subprocess.run([sys.executable, "-c", script, path], stderr=subprocess.PIPE, text=True, check=False).stderr


async def test_another_process_cannot_open_the_file(path):
    store = Store(SqliteLog.open(path))

    said = opened_by_another(path)
    row = await store.put(PODS, "a/1", {"metadata": {}}, expected=0)

    assert f"the store's file {path} cannot be opened: database is locked; " in said
    assert row.rev == 2
    await store.close()


def test_the_error_names_the_process_that_has_the_file_open(path):
    script = "import sys; from kubewright_apiserver.store import SqliteLog; log = SqliteLog.open(sys.argv[1]); "
    script += "print('open', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", script, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()

        with pytest.raises(StoreFailed) as caught:
            SqliteLog.open(path)

    holder = rf"process {other.pid} \(python[0-9.]*\)" if Path("/proc/locks").exists() else "another process"
    assert re.search(f"; {holder} has it open: stop that one or choose another file$", str(caught.value))


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="needs a system that tells who holds a lock")
async def test_the_error_says_so_when_it_is_this_process_that_has_the_file_open(path):
    store = Store(SqliteLog.open(path))

    with pytest.raises(StoreFailed, match="; another server in this process has it open: stop that one"):
        SqliteLog.open(path)

    await store.close()


def test_a_copy_for_which_there_is_no_room_is_not_left_behind(path):
    written(path, VERSION_0 + "INSERT INTO log VALUES (5, '/pods', 'b', 0, 5, 0, zeroblob(500000));")

    found = ran_with_files_up_to(200_000, path)

    assert "NoRoom" in found
    assert ask(path, "PRAGMA user_version") == 0
    assert not list(path.parent.glob("store.db.version-*"))


def ran_with_files_up_to(size: int, path: Path) -> str:
    """What a process whose files cannot grow says when it opens the file."""
    script = "import resource, sys; from kubewright_apiserver.store import SqliteLog; "
    script += "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2); SqliteLog.open(sys.argv[1])"
    command = [sys.executable, "-c", script, str(path), str(size)]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False).stderr


# Permissions mean nothing to root, so that the process becomes nobody once it has imported what it needs.
AS_NOBODY = """
import asyncio, os, sys
from kubewright_apiserver.store import SqliteLog
if os.getuid() == 0:
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
SqliteLog.open(sys.argv[1])
"""


@pytest.mark.parametrize(("file_mode", "folder_mode"), [(0o444, 0o755), (0o644, 0o555), (0o000, 0o755)])
def test_a_file_that_may_not_be_written_is_told_and_left_alone(file_mode, folder_mode):
    # Not in tmp_path, whose parents are closed to others.
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent, "data")
        folder.mkdir()
        path = folder / "store.db"
        SqliteLog.open(path).close()
        if os.getuid() == 0:
            os.chmod(parent, 0o755)
            os.chown(folder, 65534, 65534)
            os.chown(path, 65534, 65534)
        before = path.read_bytes()
        path.chmod(file_mode)
        folder.chmod(folder_mode)

        found = subprocess.run([sys.executable, "-c", AS_NOBODY, path], stderr=subprocess.PIPE, text=True, check=False)
        folder.chmod(0o755)
        path.chmod(0o600)

        assert f"{path} cannot be opened: it or its folder may not be written to; check that" in found.stderr
        assert path.read_bytes() == before
