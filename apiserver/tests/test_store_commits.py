"""Between a write and its commit: nothing shows, nobody overtakes, and a failed commit stops everything."""

import asyncio
import re
import resource
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kubewright_apiserver.store import Closed, NoRoom, Row, SqliteLog, Stale, Store, Stored, StoreFailed

PODS = "/pods"


class GatedLog:
    """A log that commits when it is let, and fails when it is told to."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.began = threading.Event()
        self.gate = threading.Event()
        self.error: Exception | None = None
        self.error_once: Exception | None = None
        self.is_closed = False

    def read(self, history: int) -> Stored:
        return Stored(0, 0, [])

    def append(self, rows: Sequence[Row]) -> None:
        self.began.set()
        assert self.gate.wait(10)
        error, self.error_once = self.error_once or self.error, None
        if error is not None:
            raise error
        self.batches.append([row.rev for row in rows])

    def compact(self, rev: int) -> bool:
        return False

    def close(self) -> None:
        self.is_closed = True


def pod(n: int = 0) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"name": "a"}, "spec": {"n": n}}


def putting(store: Store, key: str, n: int = 0, *, expected: int = 0) -> asyncio.Task[Any]:
    return asyncio.create_task(store.put(PODS, key, pod(n), expected=expected))


async def started(log: GatedLog, *tasks: asyncio.Task[Any]) -> None:
    """Wait until the first commit has begun and every task waits for its own."""
    await asyncio.sleep(0)
    assert await asyncio.to_thread(log.began.wait, 10)
    assert not any(task.done() for task in tasks)


async def settled(*tasks: asyncio.Task[Any]) -> list[Any]:
    async with asyncio.timeout(10):
        return await asyncio.gather(*tasks, return_exceptions=True)


async def test_nothing_shows_before_the_commit_and_all_of_it_after():
    log = GatedLog()
    store = Store(log)
    table = store.table(PODS)
    watch = table.watch(1)
    reading = asyncio.create_task(watch.next())
    task = putting(store, "a/1")
    await started(log, task)

    before = store.rev, table.get("a/1"), table.list().rows, reading.done()
    log.gate.set()
    (row,) = await settled(task)

    assert before == (1, None, [], False)
    assert (store.rev, table.get("a/1"), await reading) == (2, row, [row])
    await store.close()


async def test_writes_that_come_during_a_commit_go_together_in_the_next():
    log = GatedLog()
    store = Store(log)
    first = putting(store, "a/0")
    await started(log, first)
    rest = [putting(store, f"a/{n}") for n in range(1, 6)]
    await asyncio.sleep(0)

    log.gate.set()
    rows = await settled(first, *rest)
    await store.close()

    assert [row.rev for row in rows] == [2, 3, 4, 5, 6, 7]
    assert log.batches == [[2], [3, 4, 5, 6, 7]]


async def test_a_second_writer_is_checked_against_the_write_that_is_on_its_way():
    log = GatedLog()
    store = Store(log)
    first, second = putting(store, "a/1", 1), putting(store, "a/1", 2)
    await started(log, first, second)

    log.gate.set()
    row, stale = await settled(first, second)

    assert isinstance(stale, Stale)
    assert stale.current is row is store.table(PODS).get("a/1")
    assert log.batches == [[2]]
    await store.close()


async def test_an_object_can_be_made_anew_while_its_deletion_is_on_its_way():
    log = GatedLog()
    store = Store(log)
    log.gate.set()
    row = await store.put(PODS, "a/1", pod(), expected=0)
    log.gate.clear()
    deleting = asyncio.create_task(store.delete(PODS, "a/1", pod(), expected=row.rev))
    again = putting(store, "a/1", 2)
    await started(log, deleting, again)

    log.gate.set()
    _, made = await settled(deleting, again)

    assert (made.rev, made.created, made.previous) == (4, 4, None)
    assert store.table(PODS).get("a/1") is made
    await store.close()


async def test_a_cancelled_writer_takes_nobody_with_it_and_its_write_is_done():
    log = GatedLog()
    store = Store(log)
    first, second = putting(store, "a/1", 1), putting(store, "a/1", 2)
    await started(log, first, second)

    first.cancel()
    log.gate.set()
    cancelled, stale = await settled(first, second)

    assert isinstance(cancelled, asyncio.CancelledError)
    assert isinstance(stale, Stale)
    assert stale.current is not None
    assert stale.current.obj["spec"]["n"] == 1
    await store.close()


async def test_close_waits_for_what_is_on_its_way():
    log = GatedLog()
    store = Store(log)
    tasks = [putting(store, f"a/{n}") for n in range(3)]
    await started(log, *tasks)
    closing = asyncio.create_task(store.close())
    await asyncio.sleep(0)

    log.gate.set()
    rows = await settled(*tasks, closing)

    assert [row.rev for row in rows[:3]] == [2, 3, 4]
    assert log.is_closed
    with pytest.raises(Closed):
        await store.put(PODS, "a/9", pod(), expected=0)


async def test_a_failed_commit_fails_all_that_are_on_their_way_and_shows_none():
    log = GatedLog()
    store = Store(log)
    table = store.table(PODS)
    watch = table.watch(1)
    first = putting(store, "a/1")
    await started(log, first)
    rest = [putting(store, "a/1", 2), putting(store, "a/2")]
    await asyncio.sleep(0)

    log.error = sqlite3.OperationalError("disk I/O error")
    log.gate.set()
    outcomes = await settled(first, *rest)

    assert [type(outcome) for outcome in outcomes] == [StoreFailed] * 3
    assert "disk I/O error" in str(outcomes[0])
    assert outcomes[0].__cause__ is log.error
    assert store.rev == 1
    with pytest.raises(StoreFailed):
        await watch.next()
    await store.close()


async def test_a_failed_store_answers_nothing_more():
    log = GatedLog()
    store = Store(log)
    table = store.table(PODS)
    waiting = asyncio.create_task(store.wait_for(9))
    log.error = ValueError("broken")
    log.gate.set()
    with pytest.raises(StoreFailed):
        await store.put(PODS, "a/1", pod(), expected=0)

    with pytest.raises(StoreFailed, match="broken"):
        await store.put(PODS, "a/2", pod(), expected=0)
    for call in (lambda: table.get("a"), table.list, lambda: table.watch(1), store.snapshot, lambda: store.compact(1)):
        with pytest.raises(StoreFailed, match="broken"):
            call()
    with pytest.raises(StoreFailed, match="broken"):
        await waiting
    await store.close()
    assert log.is_closed


async def test_without_room_all_that_are_on_their_way_are_refused_and_the_rest_goes_on():
    log = GatedLog()
    store = Store(log)
    table = store.table(PODS)
    watch = table.watch(1)
    first = putting(store, "a/1")
    await started(log, first)
    rest = [putting(store, "a/1", 2), putting(store, "a/2")]
    await asyncio.sleep(0)

    log.error = NoRoom("full")
    log.gate.set()
    outcomes = await settled(first, *rest)
    log.error = None
    row = await store.put(PODS, "a/1", pod(3), expected=0)

    assert [type(outcome) for outcome in outcomes] == [NoRoom] * 3
    assert row.previous is None
    assert [found.key for found in table.list().rows] == ["a/1"]
    assert await watch.next() == [row]
    assert log.batches == [[row.rev]]
    await store.close()


async def test_what_follows_a_refused_write_is_refused_even_when_there_is_room_again():
    log = GatedLog()
    store = Store(log)
    log.gate.set()
    row = await store.put(PODS, "a/1", pod(), expected=0)
    log.gate.clear()
    log.began.clear()
    log.error = NoRoom("full")
    deleting = asyncio.create_task(store.delete(PODS, "a/1", pod(), expected=row.rev))
    await started(log, deleting)
    again = putting(store, "a/1", 2)
    await asyncio.sleep(0)

    log.error_once, log.error = log.error, None
    log.gate.set()
    outcomes = await settled(deleting, again)

    assert [type(outcome) for outcome in outcomes] == [NoRoom, NoRoom]
    assert store.table(PODS).get("a/1") is row
    assert log.batches == [[row.rev]]
    await store.close()


async def test_a_store_without_room_can_be_closed():
    log = GatedLog()
    store = Store(log)
    task = putting(store, "a/1")
    await started(log, task)
    closing = asyncio.create_task(store.close())
    await asyncio.sleep(0)

    log.error = NoRoom("full")
    log.gate.set()
    refused, _ = await settled(task, closing)

    assert isinstance(refused, NoRoom)
    assert log.is_closed


@contextmanager
def small_disk() -> Iterator[None]:
    """No file may grow beyond 256 KiB."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (256 << 10, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def fill(store: Store) -> tuple[list[Row], NoRoom]:
    rows: list[Row] = []
    for n in range(1000):
        try:
            rows.append(await store.put(PODS, f"a/{n}", pod(n) | {"padding": "x" * 5000}, expected=0))
        except NoRoom as error:
            return rows, error
    raise AssertionError("the disk was never full")


async def test_a_full_disk_loses_nothing_that_was_acknowledged(tmp_path: Path):
    path = tmp_path / "store.db"

    with small_disk():
        store = Store(SqliteLog.open(path))
        rows, error = await fill(store)
        await store.close()
        again = Store(SqliteLog.open(path))
        found = {row.key: row.value for row in again.table(PODS).list().rows}
        await again.close()

    assert re.search(rf"{path} cannot be written.*make room on its disk", str(error))
    assert isinstance(error.__cause__, sqlite3.Error)
    assert rows
    assert found == {row.key: row.value for row in rows}


async def test_on_a_full_disk_reads_go_on_and_writes_do_when_there_is_room(tmp_path: Path):
    path = tmp_path / "store.db"
    store = Store(SqliteLog.open(path))
    table = store.table(PODS)

    with small_disk():
        rows, _ = await fill(store)
        listed = table.list().rows
        store.compact(store.rev)
        with pytest.raises(NoRoom):
            await store.put(PODS, "b/1", pod(), expected=0)
    row = await store.put(PODS, "b/1", pod(), expected=0)
    await store.close()
    again = Store(SqliteLog.open(path))

    assert {found.key for found in listed} == {found.key for found in rows}
    assert row.rev > rows[-1].rev
    assert len(again.table(PODS).list().rows) == len(rows) + 1
    await again.close()
