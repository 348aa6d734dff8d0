"""The log in SQLite: what is read back, what is forgotten, what is refused."""

import asyncio
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest

from kubewright_apiserver.store import Forgotten, Row, SqliteLog, Store, StoreFailed

PODS = "/pods"


def pod(n: int = 0) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"name": "a"}, "spec": {"n": n}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def opened(path: Path) -> Store:
    return Store(SqliteLog.open(path))


async def put(store: Store, key: str, n: int = 0) -> Row:
    row = store.table(PODS).get(key)
    return await store.put(PODS, key, pod(n), expected=row.rev if row else 0)


async def remove(store: Store, key: str) -> Row:
    row = store.table(PODS).get(key)
    assert row is not None
    return await store.delete(PODS, key, pod(), expected=row.rev)


def column(path: Path, query: str) -> list[Any]:
    connection = sqlite3.connect(path)
    found = [row[0] for row in connection.execute(query)]
    connection.close()
    return found


def alter(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


async def some_history(path: Path) -> None:
    """Revisions 2 to 7: a/1 changed twice, a/2 deleted, a/3 deleted and made again."""
    store = opened(path)
    await put(store, "a/1")
    await put(store, "a/2")
    await put(store, "a/1", 1)
    await remove(store, "a/2")
    await put(store, "a/3")
    await put(store, "a/1", 2)
    await store.close()


async def test_a_store_goes_on_where_it_was(path):
    await some_history(path)

    store = opened(path)
    row = await put(store, "b/1")

    assert row.rev == 8
    assert [found.key for found in store.table(PODS).list().rows] == ["a/1", "a/3", "b/1"]
    await store.close()


async def test_a_row_read_back_equals_the_one_written(path):
    store = opened(path)
    first = await put(store, "a/1")
    written = await put(store, "a/1", 1)
    await store.close()

    again = opened(path)
    row = again.table(PODS).get("a/1")
    await again.close()

    assert row is not None
    assert (row.rev, row.created, row.table, row.key) == (written.rev, first.rev, PODS, "a/1")
    assert (row.value, row.deleted) == (written.value, False)
    assert row.previous is not None
    assert row.previous.value == first.value


async def test_history_and_watch_window_come_back(path):
    await some_history(path)

    store = opened(path)
    table = store.table(PODS)

    assert [row.key for row in table.list(rev=4).rows] == ["a/1", "a/2"]
    assert [(row.rev, row.deleted) for row in await table.watch(3).next()] == [
        (4, False),
        (5, True),
        (6, False),
        (7, False),
    ]
    await store.close()


async def test_only_some_history_is_read_back(path):
    await some_history(path)

    log = SqliteLog.open(path)
    stored = log.read(2)
    log.close()

    assert (stored.rev, stored.floor) == (7, 5)
    assert [(row.rev, row.older.rev if row.older else 0) for row in stored.rows] == [(4, 0), (6, 0), (7, 4)]


async def test_an_empty_store_begins_at_1(path):
    store = opened(path)

    assert (store.rev, store.compacted, store.tables()) == (1, 0, [])
    await store.close()


async def test_compaction_takes_from_the_file_what_nobody_can_read(path):
    await some_history(path)
    store = opened(path)

    store.compact(5)
    await store.close()

    assert column(path, "SELECT rev FROM log ORDER BY rev") == [4, 6, 7]


async def test_a_compacted_store_reads_back_the_same(path):
    await some_history(path)
    store = opened(path)
    store.compact(5)
    await store.close()

    store = opened(path)

    assert (store.rev, store.compacted) == (7, 5)
    assert [row.key for row in store.table(PODS).list(rev=5).rows] == ["a/1"]
    assert [row.key for row in store.table(PODS).list().rows] == ["a/1", "a/3"]
    with pytest.raises(Forgotten):
        store.table(PODS).list(rev=4)
    await store.close()


async def test_a_compacted_last_revision_is_not_given_again(path):
    store = opened(path)
    await put(store, "a/1")
    await remove(store, "a/1")
    store.compact(3)
    await store.close()

    store = opened(path)
    row = await put(store, "a/1")

    assert row.rev == 4
    await store.close()


async def test_compaction_goes_in_steps_that_each_leave_a_whole_store(path):
    store = opened(path)
    await asyncio.gather(*(put(store, f"a/{n}") for n in range(1500)))
    for n in range(0, 1500, 2):
        await remove(store, f"a/{n}")
    await store.close()

    log = SqliteLog.open(path)
    needs_more = log.compact(2251)
    log.close()
    halfway = opened(path)
    await halfway.close()
    log = SqliteLog.open(path)
    while log.compact(2251):
        pass
    log.close()
    done = opened(path)
    await done.close()

    assert needs_more
    assert 1000 < halfway.compacted < 2251
    assert done.compacted == 2251
    assert column(path, "SELECT count(*) FROM log") == [750]


async def test_a_compaction_is_finished_before_the_log_is_closed(path):
    store = opened(path)
    await asyncio.gather(*(put(store, f"a/{n}") for n in range(2500)))
    await asyncio.gather(*(remove(store, f"a/{n}") for n in range(2500)))

    store.compact(store.rev)
    await store.close()

    assert column(path, "SELECT count(*) FROM log") == [0]


async def test_writes_go_on_between_the_steps_of_a_compaction(path):
    store = opened(path)
    await asyncio.gather(*(put(store, f"a/{n}") for n in range(3000)))

    store.compact(store.rev)
    async with asyncio.timeout(10):
        row = await put(store, "b/1")
    await store.close()

    assert row.rev == 3002


async def test_the_file_is_for_its_owner_alone(path):
    await opened(path).close()

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_file_in_use_is_refused(path):
    store = opened(path)
    await put(store, "a/1")

    with pytest.raises(StoreFailed, match=r"store\.db.*process has it open"):
        SqliteLog.open(path)
    row = await put(store, "a/2")

    assert row.rev == 3
    await store.close()


async def test_a_file_in_use_is_refused_even_when_nothing_was_written(path):
    log = SqliteLog.open(path)

    with pytest.raises(StoreFailed, match="process has it open"):
        SqliteLog.open(path)

    log.close()


async def test_a_closed_store_can_be_opened_again(path):
    store = opened(path)
    await put(store, "a/1")
    await store.close()

    await opened(path).close()


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM log WHERE rev = 4",
        "DELETE FROM log WHERE rev = 5",
        "UPDATE log SET prev_rev = 9 WHERE rev = 7",
        "UPDATE log SET created = 9 WHERE rev = 7",
        "UPDATE log SET rev = 1 WHERE rev = 7",
    ],
)
async def test_rows_that_do_not_fit_together_are_noticed(path, damage):
    await some_history(path)
    store = opened(path)
    await put(store, "a/2")
    await store.close()
    alter(path, damage)

    with pytest.raises(
        StoreFailed, match=r"store\.db is damaged \(row . (follows .|has another checksum)\): restore a copy"
    ):
        opened(path)


async def test_a_missing_row_from_before_the_compaction_is_noticed(path):
    await some_history(path)
    store = opened(path)
    store.compact(5)
    await store.close()
    alter(path, "DELETE FROM log WHERE rev = 4")

    with pytest.raises(StoreFailed, match=r"damaged \(row 7 follows 4\)"):
        opened(path)


async def test_a_refused_file_is_let_go(path):
    await some_history(path)
    alter(path, "UPDATE log SET prev_rev = 9 WHERE rev = 7")
    with pytest.raises(StoreFailed):
        opened(path)

    alter(path, "UPDATE log SET prev_rev = 4 WHERE rev = 7")
    await opened(path).close()


async def test_damaged_pages_are_noticed_at_once(path):
    store = opened(path)
    await asyncio.gather(*(put(store, f"a/{n}") for n in range(2000)))
    await store.close()
    with path.open("r+b") as file:
        file.seek(16 * 4096)
        file.write(b"\xa5" * 4096 * 8)

    with pytest.raises(StoreFailed, match=r"store\.db.*damaged"):
        SqliteLog.open(path)


def test_a_missing_folder_is_told(tmp_path):
    with pytest.raises(StoreFailed, match=r"nowhere/store\.db cannot be opened.*No such file"):
        SqliteLog.open(tmp_path / "nowhere" / "store.db")


def test_a_revision_that_is_not_newer_is_refused(path):
    log = SqliteLog.open(path)
    row = Row(5, 5, PODS, "a/1", b"{}", False, None)
    log.append([row])

    with pytest.raises(StoreFailed, match="revision 5 after 5"):
        log.append([row])

    log.close()


async def test_power_safe_reads_back_too(path):
    store = Store(SqliteLog.open(path, power_safe=True))
    await put(store, "a/1")
    await store.close()

    assert column(path, "SELECT key FROM log") == ["a/1"]
