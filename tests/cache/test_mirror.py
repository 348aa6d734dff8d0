"""The mirror: from what is told to what is there, and what changed by it."""

from __future__ import annotations

from typing import Any

from kubewright.api import Key
from kubewright.cache import Change, Entry
from kubewright.cache.mirror import Mirror
from kubewright.kinds.core_v1 import ConfigMap
from tests.cache.objects import entry


def mirror_of(*entries: Entry) -> Mirror[ConfigMap]:
    mirror = Mirror(ConfigMap)
    mirror.replace(entries, cause="initial")
    mirror.changes(100)
    return mirror


def told(changes: list[Change[Any]]) -> list[tuple[str, str, str, tuple[str, ...]]]:
    return [(change.key.name, change.type, change.cause, change.revisions) for change in changes]


def after(mirror: Mirror[ConfigMap], *events: tuple[Entry, bool]) -> list[Change[ConfigMap]]:
    for one, deleted in events:
        mirror.add(one, deleted=deleted)
    return mirror.changes(100)


def test_the_first_list_is_told_as_initial():
    mirror = Mirror(ConfigMap)
    mirror.replace([entry("a", 1), entry("b", 2)], cause="initial")

    assert told(mirror.changes(100)) == [("a", "added", "initial", ("1",)), ("b", "added", "initial", ("2",))]
    assert mirror.is_settled


def test_events_are_told_with_what_was_known_before():
    mirror = mirror_of(entry("a", 1, data={"k": "old"}))

    (change,) = after(mirror, (entry("a", 2, data={"k": "new"}), False))

    assert (change.type, change.cause, change.revisions) == ("updated", "live", ("2",))
    assert change.old is not None
    assert change.new is not None
    assert (change.old.data, change.new.data) == ({"k": "old"}, {"k": "new"})


def test_an_end_is_told_with_the_last_state():
    mirror = mirror_of(entry("a", 1))

    (change,) = after(mirror, (entry("a", 2, labels={"last": "one"}), True))

    assert change.type == "deleted"
    assert change.new is None
    assert change.object.metadata.labels == {"last": "one"}
    assert mirror.store.get(change.key) is None


def test_the_end_of_an_unknown_object_is_no_change():
    assert after(mirror_of(), (entry("a", 2), True)) == []


def test_an_object_made_again_under_its_name_is_told_as_both():
    mirror = mirror_of(entry("a", 1, uid="u1"))

    changes = after(mirror, (entry("a", 5, uid="u2"), False))

    assert told(changes) == [("a", "deleted", "live", ("5",)), ("a", "added", "live", ("5",))]
    assert changes[0].old_head is not None
    assert changes[1].new_head is not None
    assert (changes[0].old_head.uid, changes[1].new_head.uid) == ("u1", "u2")


def test_what_is_told_twice_is_no_change():
    mirror = mirror_of(entry("a", 1))

    assert after(mirror, (entry("a", 1), False)) == []


def test_what_is_older_than_what_is_known_is_ignored():
    mirror = mirror_of(entry("a", 5))

    assert after(mirror, (entry("a", 3), False)) == []
    assert after(mirror, (entry("a", 4), True)) == []
    assert mirror.store.get(Key("default", "a")) == entry("a", 5)


def test_a_list_is_believed_though_it_is_older():
    mirror = mirror_of(entry("a", 50), entry("b", 60))

    mirror.replace([entry("a", 3)], cause="relist", lost=True)

    assert told(mirror.changes(100)) == [("a", "updated", "relist", ("3",)), ("b", "deleted", "relist", ("60",))]


def test_a_list_of_one_namespace_leaves_the_others():
    mirror = mirror_of(entry("a", 1), entry("b", 2, namespace="other"))

    mirror.replace([], cause="relist", namespace="default")
    mirror.changes(100)

    assert [str(one.key) for one in mirror.store] == ["other/b"]


def test_a_change_that_an_own_write_ran_ahead_of_is_still_told():
    mirror = mirror_of(entry("a", 1))
    mirror.overlay.lay(entry("a", 3))

    changes = after(mirror, (entry("a", 2), False), (entry("a", 3), False))

    assert told(changes) == [("a", "updated", "live", ("2", "3"))]
    assert changes[0].old_head == entry("a", 1)


def test_a_list_that_does_not_know_an_own_write_yet_leaves_it():
    mirror = mirror_of(entry("a", 1))
    mirror.overlay.lay(entry("b", 9))

    mirror.replace([entry("a", 1)], cause="relist")
    mirror.changes(100)
    mirror.overlay.reach("5", listed=True)

    assert Key("default", "b") in mirror.store

    mirror.replace([entry("a", 1)], cause="relist")
    mirror.changes(100)
    mirror.overlay.reach("9", listed=True)

    assert Key("default", "b") not in mirror.store


def test_a_resync_tells_what_is_there_now():
    mirror = mirror_of(entry("a", 1))
    mirror.sync([Key("default", "a"), Key("default", "gone")])

    (change,) = mirror.changes(100)

    assert told([change]) == [("a", "updated", "resync", ("1",))]
    assert change.old is change.new


def test_a_repair_counts_what_the_watch_had_wrong():
    mirror = mirror_of(entry("right", 1), entry("old", 2), entry("ghost", 3))
    listed = [entry("right", 1), entry("old", 4), entry("missed", 5)]

    wrong = mirror.repair(listed, "6", namespace=None, buried=())

    assert wrong == 3
    assert told(mirror.changes(100)) == [
        ("old", "updated", "relist", ("4",)),
        ("missed", "added", "relist", ("5",)),
        ("ghost", "deleted", "relist", ("3",)),
    ]


def test_a_repair_leaves_what_the_watch_told_after_the_list():
    mirror = mirror_of(entry("newer", 9), entry("new", 8))
    listed = [entry("newer", 2), entry("buried", 3)]

    wrong = mirror.repair(listed, "6", namespace=None, buried={Key("default", "buried")})

    assert wrong == 0
    assert mirror.is_settled


def test_all_that_is_there_can_be_told_again():
    mirror = mirror_of(entry("b", 1), entry("a", 2))
    mirror.overlay.lay(entry("c", 9))

    assert told(mirror.present()) == [("a", "added", "initial", ("2",)), ("b", "added", "initial", ("1",))]
