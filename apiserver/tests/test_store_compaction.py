"""Compaction by the clock."""

import asyncio
from datetime import timedelta

from kubewright_apiserver.store import Store, compact_periodically


async def put(store: Store, key: str) -> None:
    await store.put("/pods", key, {"metadata": {}}, expected=0)


async def take_turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_each_interval_compacts_to_where_the_interval_before_began():
    store = Store()
    await put(store, "a/1")
    task = asyncio.create_task(compact_periodically(store, timedelta(0)))

    await take_turns(1)
    await put(store, "a/2")
    await take_turns(1)
    first = store.compacted
    await take_turns(1)

    assert (first, store.compacted) == (2, 3)
    task.cancel()


async def test_it_ends_with_the_store():
    store = Store()
    task = asyncio.create_task(compact_periodically(store, timedelta(0)))
    await take_turns(2)

    await store.close()

    async with asyncio.timeout(5):
        await task


async def test_a_store_that_was_restored_to_earlier_is_compacted_no_further_than_it_is():
    store = Store()
    snapshot = store.snapshot()
    for n in range(5):
        await put(store, f"a/{n}")
    task = asyncio.create_task(compact_periodically(store, timedelta(0)))
    await take_turns(1)

    store.restore(snapshot)
    await take_turns(3)

    assert store.compacted == store.rev == 1
    assert not task.done()
    task.cancel()
