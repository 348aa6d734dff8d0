"""Look-ups and listings, now and at older revisions; compaction."""

from typing import Any

import pytest

from kubewright_apiserver.store import Forgotten, Row, Store, Table

PODS = "/pods"


def pod(n: int = 0) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"name": "a"}, "spec": {"n": n}}


async def holding(*keys: str, window: int = 100) -> Store:
    store = Store(window=window)
    for key in keys:
        await store.put(PODS, key, pod(), expected=0)
    return store


async def replaced(store: Store, key: str, n: int = 0) -> Row:
    row = store.table(PODS).get(key)
    return await store.put(PODS, key, pod(n), expected=row.rev if row else 0)


async def removed(store: Store, key: str) -> Row:
    row = store.table(PODS).get(key)
    assert row is not None
    return await store.delete(PODS, key, pod(), expected=row.rev)


def keys(table: Table, *arguments, **options) -> list[str]:
    return [row.key for row in table.list(*arguments, **options).rows]


async def test_a_list_is_in_the_bytewise_order_of_its_keys():
    store = await holding("b/x", "a/x", "a-b/x", "a.b/x", "a/x-1", "a/x.1")

    assert keys(store.table(PODS)) == ["a-b/x", "a.b/x", "a/x", "a/x-1", "a/x.1", "b/x"]


async def test_a_prefix_lists_one_namespace_only():
    store = await holding("a/x", "a/y", "ab/z", "b/x", "a-b/x")

    assert keys(store.table(PODS), "a/") == ["a/x", "a/y"]


async def test_a_page_ends_at_the_limit_and_tells_what_remains():
    store = await holding("a/1", "a/2", "a/3", "a/4", "b/5")

    page = store.table(PODS).list("a/", limit=3)

    assert [row.key for row in page.rows] == ["a/1", "a/2", "a/3"]
    assert (page.more, page.remaining) == (True, 1)


async def test_the_last_page_tells_that_nothing_remains():
    store = await holding("a/1", "a/2", "a/3", "b/4")

    page = store.table(PODS).list("a/", after="a/1", limit=2)

    assert [row.key for row in page.rows] == ["a/2", "a/3"]
    assert (page.more, page.remaining) == (False, 0)


async def test_a_page_goes_on_after_a_key_that_is_gone():
    store = await holding("a/1", "a/2", "a/3")
    await removed(store, "a/2")

    assert keys(store.table(PODS), after="a/2") == ["a/3"]


async def test_an_after_before_the_prefix_does_not_leave_the_prefix():
    store = await holding("a/1", "b/1", "c/1")

    assert keys(store.table(PODS), "b/", after="a/0") == ["b/1"]


async def test_len_counts_what_is_there():
    store = await holding("a/1", "a/2")
    await removed(store, "a/1")

    assert len(store.table(PODS)) == 1


async def test_get_reads_a_state_of_the_past():
    store = await holding("a/1")
    for n in range(1, 4):
        await replaced(store, "a/1", n)

    states = [store.table(PODS).get("a/1", rev=rev) for rev in range(1, 6)]

    assert [row and row.obj["spec"]["n"] for row in states] == [None, 0, 1, 2, 3]


async def test_get_in_the_past_sees_each_incarnation_and_the_gap_between():
    store = await holding("a/1")
    await removed(store, "a/1")
    await replaced(store, "a/1", 7)

    states = [store.table(PODS).get("a/1", rev=rev) for rev in (2, 3, 4)]

    assert [row and row.obj["spec"]["n"] for row in states] == [0, None, 7]


async def test_a_list_in_the_past_holds_what_was_deleted_since_and_not_what_came_since():
    store = await holding("a/1", "a/2", "a/3")
    then = store.rev
    await removed(store, "a/2")
    await replaced(store, "a/4")
    await replaced(store, "a/3", 9)

    rows = store.table(PODS).list(rev=then).rows

    assert [(row.key, row.obj["spec"]["n"]) for row in rows] == [("a/1", 0), ("a/2", 0), ("a/3", 0)]


async def test_the_past_reaches_further_back_than_the_watch_window():
    store = await holding("a/1", window=1)
    for n in range(1, 4):
        await replaced(store, "a/1", n)

    states = [store.table(PODS).get("a/1", rev=rev) for rev in range(2, 6)]

    assert [row and row.obj["spec"]["n"] for row in states] == [0, 1, 2, 3]


async def test_an_object_deleted_twice_is_in_the_past_once():
    store = await holding("a/1")
    await removed(store, "a/1")
    store.compact(3)
    await replaced(store, "a/1", 1)
    await removed(store, "a/1")

    assert keys(store.table(PODS), rev=4) == ["a/1"]


async def test_pages_in_the_past_are_one_snapshot():
    store = await holding("a/1", "a/2", "a/3", "b/1")
    then = store.rev

    first = store.table(PODS).list("a/", rev=then, limit=2)
    await removed(store, "a/3")
    await replaced(store, "a/25")
    second = store.table(PODS).list("a/", rev=then, after=first.rows[-1].key, limit=2)

    assert (first.more, first.remaining) == (True, 1)
    assert [row.key for row in second.rows] == ["a/3"]
    assert (second.more, second.remaining) == (False, 0)


async def test_a_page_in_the_past_counts_what_remained_then():
    store = await holding("a/1", "a/2", "a/3", "a/4")
    then = store.rev
    await removed(store, "a/4")

    page = store.table(PODS).list(rev=then, limit=1)

    assert (page.more, page.remaining) == (True, 3)


async def test_reading_the_future_is_refused():
    store = await holding("a/1")

    with pytest.raises(ValueError, match="has not come"):
        store.table(PODS).get("a/1", rev=store.rev + 1)


async def test_compaction_forgets_older_revisions_and_keeps_the_one_it_names():
    store = await holding("a/1")
    for n in range(1, 4):
        await replaced(store, "a/1", n)
    table = store.table(PODS)

    store.compact(4)

    assert store.compacted == 4
    assert [row.obj["spec"]["n"] for rev in (4, 5) if (row := table.get("a/1", rev=rev))] == [2, 3]
    with pytest.raises(Forgotten) as forgotten:
        table.get("a/1", rev=3)
    assert forgotten.value.oldest == 4


async def test_a_compacted_revision_is_forgotten_in_tables_that_did_not_change_too():
    store = await holding("a/1")
    await store.put("other", "x", pod(), expected=0)
    store.compact(3)

    with pytest.raises(Forgotten):
        store.table(PODS).list(rev=2)


async def test_a_deletion_before_the_compaction_stays_deleted():
    store = await holding("a/1", "a/2")
    await removed(store, "a/1")
    await replaced(store, "a/2", 1)

    store.compact(4)

    assert keys(store.table(PODS), rev=4) == ["a/2"]
    assert keys(store.table(PODS)) == ["a/2"]


async def test_a_deletion_after_the_compaction_is_still_there_in_the_past():
    store = await holding("a/1", "a/2")
    await removed(store, "a/1")

    store.compact(3)

    assert keys(store.table(PODS), rev=3) == ["a/1", "a/2"]


async def test_an_object_recreated_after_a_compacted_deletion_was_not_there_between():
    store = await holding("a/1")
    await removed(store, "a/1")
    await replaced(store, "a/1", 1)

    store.compact(3)

    assert keys(store.table(PODS), rev=3) == []
    assert keys(store.table(PODS), rev=4) == ["a/1"]


async def test_compaction_lets_go_of_states_outside_the_watch_window():
    store = await holding("a/1", window=1)
    for n in range(3):
        await replaced(store, "a/1", n)
    await replaced(store, "a/2")

    store.compact(store.rev)
    row = store.table(PODS).get("a/1")

    assert row is not None
    assert row.rev != row.created
    assert row.previous is None


async def test_the_state_before_goes_when_a_compacted_row_leaves_the_watch_window():
    store = await holding("a/1", window=1)
    row = await replaced(store, "a/1", 1)
    store.compact(store.rev)
    before = row.previous

    await replaced(store, "a/2")

    assert before is not None
    assert row.previous is None


async def test_compacting_again_or_further_back_changes_nothing():
    store = await holding("a/1", "a/2", "a/3")
    store.compact(3)

    store.compact(2)

    assert store.compacted == 3


async def test_compacting_the_future_is_refused():
    store = await holding("a/1")

    with pytest.raises(ValueError, match="has not come"):
        store.compact(3)
