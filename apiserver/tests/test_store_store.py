"""Writes: one revision for all, optimistic locking, what a row tells."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import orjson
import pytest

from kubewright_apiserver.store import Closed, Stale, Store

PODS = "/pods"


def pod(n: int = 0) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"name": "a"}, "spec": {"n": n}}


def run_without_loop(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that never waits; fails if it does."""
    with pytest.raises(StopIteration) as done:
        coroutine.send(None)
    return done.value.value


async def test_revisions_begin_after_1_as_those_of_etcd():
    store = Store()

    row = await store.put(PODS, "ns/a", pod(), expected=0)

    assert (row.rev, store.rev) == (2, 2)


async def test_a_new_store_is_at_revision_1():
    assert Store().rev == 1


async def test_revisions_are_shared_by_all_tables():
    store = Store()

    first = await store.put(PODS, "ns/a", pod(), expected=0)
    second = await store.put("apps/deployments", "ns/a", pod(), expected=0)

    assert second.rev == first.rev + 1


async def test_put_sets_the_resource_version_in_the_object_and_in_the_bytes():
    store = Store()
    obj = pod(7)

    row = await store.put(PODS, "ns/a", obj, expected=0)

    assert obj["metadata"]["resourceVersion"] == "2"
    assert orjson.loads(row.value) == obj == row.obj


async def test_a_row_does_not_follow_later_changes_of_the_object():
    store = Store()
    obj = pod(1)

    row = await store.put(PODS, "ns/a", obj, expected=0)
    obj["spec"]["n"] = 2

    assert row.obj["spec"]["n"] == 1


async def test_an_update_keeps_the_creation_revision_and_links_the_state_before():
    store = Store()
    first = await store.put(PODS, "ns/a", pod(1), expected=0)

    second = await store.put(PODS, "ns/a", pod(2), expected=first.rev)

    assert second.created == first.rev
    assert second.previous is first
    assert first.previous is None


async def test_put_is_stale_when_something_is_there_and_nothing_was_expected():
    store = Store()
    there = await store.put(PODS, "ns/a", pod(1), expected=0)

    with pytest.raises(Stale) as stale:
        await store.put(PODS, "ns/a", pod(2), expected=0)

    assert stale.value.current is there


async def test_put_is_stale_when_made_from_an_older_state():
    store = Store()
    first = await store.put(PODS, "ns/a", pod(1), expected=0)
    second = await store.put(PODS, "ns/a", pod(2), expected=first.rev)

    with pytest.raises(Stale) as stale:
        await store.put(PODS, "ns/a", pod(3), expected=first.rev)

    assert stale.value.current is second
    assert store.table(PODS).get("ns/a") is second


async def test_put_is_stale_when_the_object_is_gone():
    store = Store()
    first = await store.put(PODS, "ns/a", pod(), expected=0)
    await store.delete(PODS, "ns/a", pod(), expected=first.rev)

    with pytest.raises(Stale) as stale:
        await store.put(PODS, "ns/a", pod(), expected=first.rev)

    assert stale.value.current is None


async def test_a_stale_write_changes_neither_the_revision_nor_the_object():
    store = Store()
    await store.put(PODS, "ns/a", pod(), expected=0)
    late = pod()

    with pytest.raises(Stale):
        await store.put(PODS, "ns/a", late, expected=0)

    assert store.rev == 2
    assert "resourceVersion" not in late["metadata"]


async def test_an_object_that_cannot_be_encoded_takes_no_revision():
    store = Store()
    wrong = pod()
    wrong["spec"]["n"] = object()

    with pytest.raises(TypeError):
        await store.put(PODS, "ns/a", wrong, expected=0)

    assert store.rev == 1
    assert (await store.put(PODS, "ns/a", pod(), expected=0)).rev == 2


async def test_a_deletion_carries_the_last_state_with_its_own_revision():
    store = Store()
    first = await store.put(PODS, "ns/a", pod(5), expected=0)

    gone = await store.delete(PODS, "ns/a", pod(6), expected=first.rev)

    assert gone.deleted
    assert gone.created == first.rev
    assert gone.previous is first
    assert gone.obj["spec"]["n"] == 6
    assert gone.obj["metadata"]["resourceVersion"] == str(gone.rev) == "3"
    assert store.table(PODS).get("ns/a") is None


@pytest.mark.parametrize("expected", [0, 2, 9])
async def test_delete_is_stale_when_nothing_is_there(expected):
    store = Store()

    with pytest.raises(Stale) as stale:
        await store.delete(PODS, "ns/a", pod(), expected=expected)

    assert stale.value.current is None


async def test_delete_is_stale_when_the_object_has_changed():
    store = Store()
    first = await store.put(PODS, "ns/a", pod(1), expected=0)
    second = await store.put(PODS, "ns/a", pod(2), expected=first.rev)

    with pytest.raises(Stale) as stale:
        await store.delete(PODS, "ns/a", pod(1), expected=first.rev)

    assert stale.value.current is second


async def test_a_recreated_object_is_a_new_incarnation():
    store = Store()
    first = await store.put(PODS, "ns/a", pod(1), expected=0)
    await store.delete(PODS, "ns/a", pod(1), expected=first.rev)

    again = await store.put(PODS, "ns/a", pod(2), expected=0)

    assert again.created == again.rev == 4
    assert again.previous is None


def test_a_write_in_memory_takes_no_turn_of_the_loop():
    store = Store()

    row = run_without_loop(store.put(PODS, "ns/a", pod(), expected=0))
    gone = run_without_loop(store.delete(PODS, "ns/a", pod(), expected=row.rev))

    assert (row.rev, gone.rev) == (2, 3)


async def test_tables_tells_those_that_hold_objects_in_order():
    store = Store()
    row = await store.put(PODS, "ns/a", pod(), expected=0)
    await store.put("b/c", "x", pod(), expected=0)
    await store.put("a/d", "x", pod(), expected=0)
    await store.delete(PODS, "ns/a", pod(), expected=row.rev)

    assert store.tables() == ["a/d", "b/c"]


def test_a_table_is_always_the_same_one():
    store = Store()

    assert store.table(PODS) is store.table(PODS)


async def test_wait_for_returns_when_the_revision_is_reached():
    store = Store()
    waiting = asyncio.create_task(store.wait_for(3))

    row = await store.put(PODS, "ns/a", pod(), expected=0)
    await asyncio.sleep(0)
    was_early = waiting.done()
    await store.put(PODS, "ns/a", pod(), expected=row.rev)
    await waiting

    assert not was_early


def test_wait_for_a_past_revision_does_not_wait():
    run_without_loop(Store().wait_for(1))


async def test_wait_for_ends_with_the_store():
    store = Store()
    waiting = asyncio.create_task(store.wait_for(3))
    await asyncio.sleep(0)

    await store.close()

    with pytest.raises(Closed):
        await waiting


async def test_a_closed_store_answers_nothing():
    store = Store()
    table = store.table(PODS)
    await store.close()
    await store.close()

    with pytest.raises(Closed):
        await store.put(PODS, "ns/a", pod(), expected=0)
    for call in (lambda: table.get("a"), table.list, lambda: table.watch(1), store.snapshot, lambda: store.compact(1)):
        with pytest.raises(Closed):
            call()


def test_a_window_of_nothing_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        Store(window=0)
