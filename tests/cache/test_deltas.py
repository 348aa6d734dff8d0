"""Deltas: compressed per key, but never across an end."""

from __future__ import annotations

from kubewright.cache import Delta, Deltas
from tests.cache.objects import entry


def told(deltas: list[Delta]) -> list[tuple[str, bool, str, tuple[str, ...]]]:
    return [(delta.entry.name, delta.deleted, delta.cause, delta.revisions) for delta in deltas]


def test_states_of_one_object_become_one_with_all_their_revisions():
    deltas = Deltas()
    for version in (1, 2, 3):
        deltas.add(entry("a", version))

    (delta,) = deltas.take(10)

    assert delta.revisions == ("1", "2", "3")
    assert delta.entry.resource_version == "3"
    assert not deltas


def test_keys_come_in_the_order_in_which_they_were_first_told():
    deltas = Deltas()
    for name, version in (("b", 1), ("a", 2), ("b", 3)):
        deltas.add(entry(name, version))

    assert told(deltas.take(10)) == [("b", False, "live", ("1", "3")), ("a", False, "live", ("2",))]


def test_an_object_that_came_and_went_is_told_as_such():
    deltas = Deltas()
    deltas.add(entry("a", 1))
    deltas.add(entry("a", 2))
    deltas.add(entry("a", 3), deleted=True)

    assert told(deltas.take(10)) == [("a", False, "live", ("1", "2")), ("a", True, "live", ("3",))]


def test_another_object_of_the_same_name_is_not_compressed_with_the_first():
    deltas = Deltas()
    deltas.add(entry("a", 1, uid="u1"))
    deltas.add(entry("a", 2, uid="u1"), deleted=True)
    deltas.add(entry("a", 3, uid="u2"))
    deltas.add(entry("a", 4, uid="u3"))

    assert [(delta.entry.uid, delta.deleted) for delta in deltas.take(10)] == [
        ("u1", False),
        ("u1", True),
        ("u2", False),
        ("u3", False),
    ]


def test_an_end_that_is_told_twice_counts_once():
    deltas = Deltas()
    deltas.add(entry("a", 3), deleted=True)
    deltas.add(entry("a", 3), deleted=True)

    assert told(deltas.take(10)) == [("a", True, "live", ("3",))]


def test_no_more_keys_are_taken_than_asked_for():
    deltas = Deltas()
    for name in "abc":
        deltas.add(entry(name))

    assert [delta.entry.name for delta in deltas.take(2)] == ["a", "b"]
    assert len(deltas) == 1
    assert entry("c").key in deltas


def test_a_list_leaves_only_what_differs_from_what_was_known():
    deltas = Deltas()
    known = [entry("same", 1), entry("changed", 1), entry("gone", 1), entry("renewed", 1, uid="u1")]

    deltas.replace(
        [entry("same", 1), entry("changed", 2), entry("new", 3), entry("renewed", 4, uid="u2")], known, cause="relist"
    )

    assert told(deltas.take(10)) == [
        ("changed", False, "relist", ("2",)),
        ("new", False, "relist", ("3",)),
        ("renewed", False, "relist", ("4",)),
        ("gone", True, "relist", ("1",)),
    ]


def test_a_list_knows_better_than_what_is_pending_in_its_namespace():
    deltas = Deltas()
    deltas.add(entry("a", 5))
    deltas.add(entry("b", 6, namespace="other"))

    deltas.replace([], [], cause="relist", namespace="default")

    assert told(deltas.take(10)) == [("b", False, "live", ("6",))]


def test_the_same_revision_with_other_content_differs():
    deltas = Deltas()

    deltas.replace([entry("a", 1, data={"k": "new"})], [entry("a", 1, data={"k": "old"})], cause="relist")

    assert len(deltas) == 1


def test_a_resync_is_only_of_what_does_not_change_anyway():
    deltas = Deltas()
    deltas.add(entry("a", 2))

    deltas.sync([entry("a", 1), entry("b", 1)])

    assert told(deltas.take(10)) == [("a", False, "live", ("2",)), ("b", False, "resync", ("1",))]


def test_a_change_takes_the_place_of_a_resync():
    deltas = Deltas()
    deltas.sync([entry("a", 1)])

    deltas.add(entry("a", 2))

    assert told(deltas.take(10)) == [("a", False, "live", ("2",))]
