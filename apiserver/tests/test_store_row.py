"""What hangs on a row: decoded once, memo for its readers, both let go with time."""

import tracemalloc
from typing import Any

from kubewright_apiserver.store import Row, Store


def pod(n: int = 0) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"name": "a"}, "spec": {"n": n}}


async def updated(store: Store, times: int) -> list[Row]:
    rows: list[Row] = []
    for n in range(times):
        rows.append(await store.put("/pods", "ns/a", pod(n), expected=rows[-1].rev if rows else 0))
    return rows


async def test_the_object_is_decoded_once_for_all():
    (row,) = await updated(Store(), 1)

    assert row.obj is row.obj


async def test_what_readers_derive_stays_with_the_row():
    (row,) = await updated(Store(), 1)

    row.memo["line"] = b"{}"

    assert row.memo == {"line": b"{}"}


async def test_memo_of_the_newest_two_states_is_kept_and_of_older_ones_let_go():
    store = Store()
    rows = await updated(store, 2)
    for row in rows:
        row.memo["line"] = b"{}"

    await store.put("/pods", "ns/a", pod(9), expected=rows[-1].rev)

    assert [row.memo for row in rows] == [{}, {"line": b"{}"}]
    assert rows[0].obj["spec"]["n"] == 0


async def test_a_row_prints_what_it_is_about_and_nothing_of_the_object():
    store = Store()
    row = await store.put("/secrets", "ns/a", {"metadata": {}, "data": {"password": "hunter2"}}, expected=0)
    gone = await store.delete("/secrets", "ns/a", {"metadata": {}}, expected=row.rev)

    assert repr(row) == "Row(/secrets ns/a at 2)"
    assert repr(gone) == "Row(/secrets ns/a at 3, deleted)"


async def test_a_long_history_can_be_let_go_at_once():
    store = Store(window=1)
    await updated(store, 100_000)

    store.table("/pods").begin(())

    assert len(store.table("/pods")) == 0


async def test_memory_does_not_grow_with_changes_that_are_compacted():
    store = Store(window=10)
    rows = await updated(store, 100)
    store.compact(store.rev)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()

    newest = rows[-1]
    del rows
    for n in range(2000):
        newest = await store.put("/pods", "ns/a", pod(n), expected=newest.rev)
        if n % 50 == 0:
            store.compact(store.rev)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert after - before < 100_000
