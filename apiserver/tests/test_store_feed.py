"""Watches: from the past, from now, from the future; cut when too slow, ended when told."""

import asyncio
from typing import Any

import pytest

from kubewright_apiserver.store import Closed, Forgotten, Overrun, Row, Store, Subscription

PODS = "/pods"


def pod(n: int = 0, padding: int = 0) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"name": "a"}, "spec": {"n": n, "padding": "x" * padding}}


async def put(store: Store, key: str, n: int = 0, padding: int = 0, table: str = PODS) -> Row:
    row = store.table(table).get(key)
    return await store.put(table, key, pod(n, padding), expected=row.rev if row else 0)


async def holding(*keys: str, **options) -> Store:
    store = Store(**options)
    for key in keys:
        await put(store, key)
    return store


async def read(watch: Subscription) -> list[Row]:
    async with asyncio.timeout(5):
        return await watch.next()


async def test_a_watch_gives_what_comes_after_its_start():
    store = await holding("a/1")
    watch = store.table(PODS).watch(store.rev)

    row = await put(store, "a/1", 1)

    assert await read(watch) == [row]


async def test_a_watch_wakes_a_reader_that_already_waits():
    store = await holding("a/1")
    reading = asyncio.create_task(read(store.table(PODS).watch(store.rev)))
    await asyncio.sleep(0)

    row = await put(store, "a/1", 1)

    assert await reading == [row]


async def test_a_reader_waits_again_after_it_was_woken():
    store = await holding()
    watch = store.table(PODS).watch(1)
    seen = []
    for n in range(3):
        reading = asyncio.create_task(read(watch))
        await asyncio.sleep(0)
        await put(store, "a/1", n)
        seen += await reading

    assert [row.rev for row in seen] == [2, 3, 4]


async def test_a_watch_from_the_past_gives_the_past_first_and_nothing_twice():
    store = await holding("a/1", "a/2", "a/3")
    watch = store.table(PODS).watch(2)
    await put(store, "a/4")

    rows = await read(watch)

    assert [row.rev for row in rows] == [3, 4, 5]


async def test_all_watches_get_the_same_rows_in_the_same_order():
    store = await holding()
    watches = [store.table(PODS).watch(1) for _ in range(3)]
    for n in range(20):
        await put(store, f"a/{n % 3}", n)

    seen = [await read(watch) for watch in watches]

    assert seen[0] == seen[1] == seen[2]
    assert [row.rev for row in seen[0]] == list(range(2, 22))


async def test_a_watch_gives_a_deletion():
    store = await holding("a/1")
    watch = store.table(PODS).watch(store.rev)

    gone = await store.delete(PODS, "a/1", pod(), expected=2)

    assert await read(watch) == [gone]


async def test_a_watch_of_a_namespace_gives_nothing_of_others():
    store = await holding("a/1", "ab/1")
    watch = store.table(PODS).watch(1, prefix="a/")
    await put(store, "b/1")
    await put(store, "ab/1", 1)
    await put(store, "a/2")

    assert [row.key for row in await read(watch)] == ["a/1", "a/2"]


async def test_a_watch_of_a_key_gives_that_object_only():
    store = await holding("a/1", "a/11")
    watch = store.table(PODS).watch(1, key="a/1")
    await put(store, "a/11", 1)
    await put(store, "a/1", 1)

    assert [(row.key, row.rev) for row in await read(watch)] == [("a/1", 2), ("a/1", 5)]


async def test_a_watch_of_a_cluster_scoped_key_works_too():
    store = await holding("one", "two")
    watch = store.table(PODS).watch(1, key="two")
    await put(store, "two", 1)

    assert [row.rev for row in await read(watch)] == [3, 4]


@pytest.mark.parametrize("options", [{"prefix": "a"}, {"prefix": "a/", "key": "a/1"}])
async def test_a_watch_of_half_a_name_is_refused(options):
    store = await holding("a/1")

    with pytest.raises(ValueError, match="prefix='name/'"):
        store.table(PODS).watch(1, **options)


async def test_a_watch_gives_nothing_of_other_tables():
    store = await holding("a/1")
    watch = store.table(PODS).watch(store.rev)
    await put(store, "a/1", table="other")
    row = await put(store, "a/1", 1)

    assert await read(watch) == [row]


async def test_a_watch_from_the_future_waits_until_it_has_passed():
    store = await holding()
    watch = store.table(PODS).watch(4)
    for n in range(5):
        await put(store, "a/1", n)

    assert [row.rev for row in await read(watch)] == [5, 6]


async def test_a_watch_further_back_than_the_window_is_refused():
    store = await holding("a/1", "a/2", "a/3", "a/4", window=2)

    with pytest.raises(Forgotten) as forgotten:
        store.table(PODS).watch(2)

    assert forgotten.value.oldest == 3
    assert [row.rev for row in await read(store.table(PODS).watch(3))] == [4, 5]


async def test_the_window_is_bounded_in_bytes_too():
    store = await holding(window_bytes=25_000)
    for n in range(5):
        await put(store, f"a/{n}", padding=10_000)

    with pytest.raises(Forgotten) as forgotten:
        store.table(PODS).watch(1)

    assert forgotten.value.oldest == 4


async def test_the_window_keeps_the_last_row_however_large():
    store = await holding(window_bytes=10)
    await put(store, "a/1", padding=100)

    assert [row.rev for row in await read(store.table(PODS).watch(1))] == [2]


async def test_each_table_has_its_own_window():
    store = await holding("a/1", window=2)
    for n in range(10):
        await put(store, "a/1", n, table="other")

    assert [row.rev for row in await read(store.table(PODS).watch(1))] == [2]


async def test_compaction_leaves_the_window_and_the_states_before_in_it():
    store = await holding("a/1")
    await put(store, "a/1", 1)
    gone = await store.delete(PODS, "a/1", pod(), expected=3)

    store.compact(store.rev)
    rows = await read(store.table(PODS).watch(1))

    assert [row.rev for row in rows] == [2, 3, 4]
    assert rows[1].previous is rows[0]
    assert rows[2] is gone
    assert rows[2].previous is rows[1]


async def test_a_reader_that_is_cancelled_loses_nothing():
    store = await holding()
    watch = store.table(PODS).watch(1)
    reading = asyncio.create_task(watch.next())
    await asyncio.sleep(0)

    row = await put(store, "a/1")
    reading.cancel()
    await asyncio.wait([reading])

    assert reading.cancelled()
    assert await read(watch) == [row]


async def test_a_second_reader_of_one_watch_is_refused():
    watch = Store().table(PODS).watch(1)
    reading = asyncio.create_task(watch.next())
    await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="two readers"):
        await watch.next()

    reading.cancel()


async def test_a_watch_is_at_the_stores_revision_once_everything_is_read():
    store = await holding("a/1")
    watch = store.table(PODS).watch(1)
    await put(store, "x", table="other")

    await read(watch)

    assert watch.rev == store.rev == 3


async def test_a_watch_with_unread_rows_is_just_before_the_first():
    store = await holding()
    await put(store, "x", table="other")
    watch = store.table(PODS).watch(store.rev)
    await put(store, "y", table="other")
    await put(store, "a/1")
    await put(store, "a/2")

    assert watch.rev == 3


async def test_a_watch_from_the_future_does_not_go_back():
    assert Store().table(PODS).watch(50).rev == 50


async def test_a_reader_too_far_behind_is_cut():
    store = await holding()
    watch = store.table(PODS).watch(1)
    for n in range(1001):
        await put(store, "a/1", n, padding=9000)

    with pytest.raises(Overrun):
        await watch.next()


async def test_a_reader_behind_by_many_small_rows_is_not_cut():
    store = await holding()
    watch = store.table(PODS).watch(1)
    for n in range(3000):
        await put(store, "a/1", n)

    assert len(await read(watch)) == 3000


async def test_a_reader_behind_by_few_large_rows_is_not_cut():
    store = await holding()
    watch = store.table(PODS).watch(1)
    for n in range(20):
        await put(store, "a/1", n, padding=1 << 20)

    assert len(await read(watch)) == 20


async def test_a_long_way_from_the_past_does_not_count_as_being_behind():
    store = await holding()
    for n in range(1500):
        await put(store, "a/1", n, padding=9000)
    watch = store.table(PODS).watch(1)
    await put(store, "a/1", padding=9000)

    assert len(await read(watch)) == 1501


async def test_once_the_long_way_is_read_being_behind_counts_again():
    store = await holding()
    for n in range(1500):
        await put(store, "a/1", n, padding=9000)
    watch = store.table(PODS).watch(1)
    await read(watch)
    for n in range(1001):
        await put(store, "a/1", n, padding=9000)

    with pytest.raises(Overrun):
        await watch.next()


async def test_a_cut_reader_hears_of_it_even_after_the_store_is_closed():
    store = await holding()
    watch = store.table(PODS).watch(1)
    for n in range(1001):
        await put(store, "a/1", n, padding=9000)

    await store.close()
    watch.close()

    with pytest.raises(Overrun):
        await watch.next()


async def test_a_cut_reader_leaves_the_others_alone():
    store = await holding()
    slow, quick = store.table(PODS).watch(1), store.table(PODS).watch(1)
    seen = 0
    for n in range(1100):
        await put(store, "a/1", n, padding=9000)
        seen += len(await read(quick))

    assert seen == 1100
    with pytest.raises(Overrun):
        await slow.next()


async def test_a_closed_watch_gives_nothing_more():
    store = await holding("a/1")
    watch = store.table(PODS).watch(1)

    watch.close()
    watch.close()
    await put(store, "a/2")

    with pytest.raises(Closed):
        await watch.next()


async def test_closing_a_watch_leaves_another_of_the_same_scope():
    store = await holding()
    first, second = store.table(PODS).watch(1), store.table(PODS).watch(1)

    first.close()
    row = await put(store, "a/1")

    assert await read(second) == [row]


async def test_ended_watches_give_what_they_were_handed_and_then_end():
    store = await holding()
    watch = store.table(PODS).watch(1)
    row = await put(store, "a/1")

    store.table(PODS).end_watches()
    await put(store, "a/2")

    assert await read(watch) == [row]
    with pytest.raises(Closed, match="/pods"):
        await watch.next()


async def test_ending_watches_wakes_a_reader_and_lets_new_watches_start():
    store = await holding("a/1")
    table = store.table(PODS)
    reading = asyncio.create_task(table.watch(store.rev).next())
    await asyncio.sleep(0)

    table.end_watches()

    with pytest.raises(Closed):
        await reading
    assert [row.rev for row in await read(table.watch(1))] == [2]


async def test_closing_the_store_ends_its_watches():
    store = await holding()
    watch = store.table(PODS).watch(1)
    row = await put(store, "a/1")

    await store.close()

    assert await read(watch) == [row]
    with pytest.raises(Closed, match="the store is closed"):
        await watch.next()
