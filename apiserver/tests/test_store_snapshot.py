"""Snapshots: back to where it was, or two stores from one."""

import asyncio
from typing import Any

import pytest

from kubewright_apiserver.store import Closed, Forgotten, SqliteLog, Store

PODS = "/pods"


def pod(n: int = 0) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"name": "a"}, "spec": {"n": n}}


async def holding(*keys: str) -> Store:
    store = Store()
    for key in keys:
        await store.put(PODS, key, pod(), expected=0)
    return store


def content(store: Store) -> dict[str, Any]:
    return {name: {row.key: row.value for row in store.table(name).list().rows} for name in store.tables()}


async def changed(store: Store) -> None:
    row = await store.put(PODS, "a/1", pod(1), expected=2)
    await store.delete(PODS, "a/1", pod(1), expected=row.rev)
    await store.put(PODS, "b/1", pod(), expected=0)
    await store.put("other", "x", pod(), expected=0)


async def test_restore_brings_back_objects_and_revision():
    store = await holding("a/1", "a/2")
    snapshot, before = store.snapshot(), content(store)
    await changed(store)

    store.restore(snapshot)

    assert content(store) == before
    assert store.rev == snapshot.rev == 3


async def test_restore_serves_any_number_of_times():
    store = await holding("a/1")
    snapshot, before = store.snapshot(), content(store)

    for _ in range(3):
        await changed(store)
        store.restore(snapshot)

    assert content(store) == before


async def test_the_same_writes_after_a_restore_give_the_same_rows():
    store = await holding("a/1")
    snapshot = store.snapshot()
    await changed(store)
    first = content(store)

    store.restore(snapshot)
    await changed(store)

    assert content(store) == first


async def test_a_snapshot_does_not_follow_the_store():
    store = await holding("a/1", "a/2")
    snapshot = store.snapshot()

    await changed(store)

    assert [row.key for row in snapshot.tables[PODS]] == ["a/1", "a/2"]


async def test_a_snapshot_holds_no_history():
    store = await holding("a/1")
    await store.put(PODS, "a/1", pod(1), expected=2)

    (row,) = store.snapshot().tables[PODS]

    assert row.older is None


async def test_restore_ends_watches_at_once():
    store = await holding("a/1")
    snapshot = store.snapshot()
    watch = store.table(PODS).watch(1)
    reading = asyncio.create_task(store.table("other").watch(2).next())
    await asyncio.sleep(0)

    store.restore(snapshot)

    with pytest.raises(Closed, match="snapshot"):
        await watch.next()
    with pytest.raises(Closed, match="snapshot"):
        await reading


async def test_a_restored_store_knows_nothing_of_what_was_before():
    store = await holding("a/1", "a/2")
    store.restore(store.snapshot())

    with pytest.raises(Forgotten):
        store.table(PODS).list(rev=2)
    for name in (PODS, "never seen"):
        with pytest.raises(Forgotten) as forgotten:
            store.table(name).watch(2)
        assert forgotten.value.oldest == 3


async def test_a_restored_store_reads_and_watches_from_its_own_revision_on():
    store = await holding("a/1", "a/2")
    store.restore(store.snapshot())
    row = await store.put(PODS, "a/3", pod(), expected=0)

    assert [found.key for found in store.table(PODS).list(rev=3).rows] == ["a/1", "a/2"]
    assert await store.table(PODS).watch(3).next() == [row]


async def test_tables_stay_the_same_ones_over_a_restore():
    store = await holding("a/1")
    snapshot, table, other = store.snapshot(), store.table(PODS), store.table("other")
    await changed(store)

    store.restore(snapshot)

    assert store.table(PODS) is table
    assert [row.key for row in table.list().rows] == ["a/1"]
    assert len(other) == 0


async def test_a_snapshot_restores_another_store():
    store, another = await holding("a/1"), await holding("c/1")

    another.restore(store.snapshot())

    assert content(another) == content(store)


async def test_a_fork_and_its_origin_go_their_own_ways():
    store = await holding("a/1", "a/2")
    twin, before = store.fork(), content(store)

    await changed(twin)
    twin.compact(twin.rev)

    assert content(store) == before
    assert store.rev == 3
    assert (await store.put(PODS, "a/3", pod(), expected=0)).rev == 4


async def test_compacting_a_fork_leaves_the_history_of_its_origin():
    store = await holding("a/1")
    await store.put(PODS, "a/1", pod(1), expected=2)
    twin = store.fork()
    row = twin.table(PODS).get("a/1")
    assert row is not None
    await twin.put(PODS, "a/1", pod(2), expected=row.rev)

    twin.compact(twin.rev)
    old = store.table(PODS).get("a/1", rev=2)

    assert old is not None
    assert old.obj["spec"]["n"] == 0


async def test_a_fork_shares_nothing_that_readers_derived():
    store = await holding("a/1")
    row = store.table(PODS).get("a/1")
    assert row is not None
    row.memo["line"] = b"{}"

    twin = store.fork().table(PODS).get("a/1")

    assert twin is not None
    assert twin.memo == {}


async def test_a_fork_keeps_the_creation_revision():
    store = await holding("a/1")
    await store.put(PODS, "a/1", pod(1), expected=2)

    row = store.fork().table(PODS).get("a/1")

    assert row is not None
    assert (row.rev, row.created, row.previous) == (3, 2, None)


async def test_a_store_with_a_log_refuses_to_be_restored_but_can_be_forked(tmp_path):
    store = Store(SqliteLog.open(tmp_path / "store.db"))
    await store.put(PODS, "a/1", pod(), expected=0)
    twin = store.fork()

    with pytest.raises(RuntimeError, match="fork"):
        store.restore(twin.snapshot())
    await changed(twin)

    assert [row.key for row in store.table(PODS).list().rows] == ["a/1"]
    await store.close()
