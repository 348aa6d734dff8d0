"""The overlay: whichever is later is shown, what was written or what the watch told."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.api import Key
from kubewright.cache import Entry, Overlay, Store
from tests.cache.objects import entry

A = Key("default", "a")


def laid(*seen: Entry) -> tuple[Overlay, Store]:
    store = Store()
    overlay = Overlay(store)
    for one in seen:
        overlay.put(one)
    return overlay, store


def shown(store: Store, key: Key = A) -> str | None:
    found = store.get(key)
    return None if found is None else found.resource_version


def test_an_answer_is_shown_until_the_watch_reaches_it():
    overlay, store = laid(entry("a", 1))

    overlay.lay(entry("a", 5))
    overlay.put(entry("a", 3))

    assert shown(store) == "5"
    assert overlay.seen(A) == entry("a", 3)

    overlay.put(entry("a", 5))

    assert shown(store) == "5"
    assert len(overlay) == 0


def test_a_later_event_takes_the_place_of_an_answer():
    overlay, store = laid(entry("a", 1))
    overlay.lay(entry("a", 5))

    overlay.put(entry("a", 7))

    assert shown(store) == "7"
    assert len(overlay) == 0


def test_a_created_object_is_shown_before_the_watch_tells_it():
    overlay, store = laid()

    overlay.lay(entry("a", 5))

    assert shown(store) == "5"
    assert overlay.seen(A) is None
    assert overlay.all_seen() == []


def test_an_older_answer_does_not_cover_a_newer_one():
    overlay, store = laid()
    overlay.lay(entry("a", 5))

    overlay.lay(entry("a", 4))

    assert shown(store) == "5"


def test_a_deleted_object_is_hidden_until_the_watch_tells_its_end():
    overlay, store = laid(entry("a", 1))

    overlay.hide(entry("a", 1))
    overlay.put(entry("a", 2))

    assert shown(store) is None
    assert overlay.seen(A) == entry("a", 2)

    overlay.remove(entry("a", 3))

    assert shown(store) is None
    assert len(overlay) == 0


def test_a_deleted_object_that_comes_again_is_shown():
    overlay, store = laid(entry("a", 1))
    overlay.hide(entry("a", 1))

    overlay.put(entry("a", 4, uid="another"))

    assert shown(store) == "4"


def test_a_late_answer_about_a_deleted_object_stays_hidden():
    overlay, store = laid(entry("a", 1))
    overlay.hide(entry("a", 1))

    overlay.lay(entry("a", 2))

    assert shown(store) is None


def test_an_object_created_anew_after_a_delete_is_shown_over_its_predecessors_end():
    overlay, store = laid(entry("a", 1, uid="old"))
    overlay.hide(entry("a", 1, uid="old"))
    overlay.lay(entry("a", 5, uid="new"))

    overlay.remove(entry("a", 4, uid="old"))

    assert shown(store) == "5"
    assert overlay.seen(A) is None


def test_the_end_of_an_object_after_the_write_ends_the_answer():
    overlay, store = laid(entry("a", 1))
    overlay.lay(entry("a", 5))

    overlay.remove(entry("a", 6))

    assert shown(store) is None
    assert len(overlay) == 0


def test_a_bookmark_beyond_an_answer_ends_it():
    overlay, store = laid(entry("a", 1))
    overlay.lay(entry("a", 5))
    overlay.lay(entry("b", 9))

    overlay.reach("7")

    assert shown(store) == "1"
    assert shown(store, Key("default", "b")) == "9"


def test_a_bookmark_says_nothing_about_another_namespace():
    overlay, store = laid()
    overlay.lay(entry("a", 5))

    overlay.reach("7", "other")

    assert shown(store) == "5"


def test_a_bookmark_does_not_show_a_deleted_object_again():
    overlay, store = laid(entry("a", 1))
    overlay.hide(entry("a", 1))

    overlay.reach("7")

    assert shown(store) is None


def test_a_list_without_a_deleted_object_ends_its_hiding():
    overlay, store = laid(entry("a", 1))
    overlay.hide(entry("a", 1))

    overlay.remove(entry("a", 1))
    overlay.reach("7", listed=True)

    assert shown(store) is None
    assert len(overlay) == 0


def test_what_was_found_absent_is_hidden_until_the_watch_is_as_far():
    overlay, store = laid(entry("a", 1))

    overlay.hide(entry("a", 1), until="6")
    overlay.put(entry("a", 4))
    assert shown(store) is None

    overlay.put(entry("a", 8, uid="again"))
    assert shown(store) == "8"


def test_without_numbers_any_event_of_the_object_ends_an_answer():
    overlay, store = laid(entry("a", "x1"))
    overlay.lay(entry("a", "x5"))

    overlay.put(entry("a", "x2", uid="another"))
    assert shown(store) == "x5"

    overlay.put(entry("a", "x3"))
    assert shown(store) == "x3"


def test_when_the_server_has_forgotten_the_writes_so_does_the_overlay():
    overlay, store = laid(entry("a", 1), entry("b", 2))
    overlay.lay(entry("a", 50))
    overlay.hide(entry("b", 2))

    overlay.clear()

    assert shown(store) == "1"
    assert shown(store, Key("default", "b")) == "2"


def test_what_was_written_and_deleted_unseen_is_forgotten_with_the_next_list():
    overlay, store = laid()
    overlay.lay(entry("a", 5))
    overlay.hide(entry("a", 5))

    overlay.reach("9")
    assert len(overlay) == 1

    overlay.reach("9", listed=True)
    assert len(overlay) == 0
    assert shown(store) is None


def test_without_numbers_a_list_ends_an_answer():
    overlay, store = laid()
    overlay.lay(entry("a", "x5"))

    overlay.reach("x9")
    assert shown(store) == "x5"

    overlay.reach("x9", listed=True)
    assert shown(store) is None


@settings(derandomize=True, max_examples=200, deadline=None)
@given(st.data())
def test_the_latest_is_shown_however_answers_and_events_interleave(data: st.DataObject):
    """One object's history; each write's answer and event come in order of their own, in any mixture."""
    states: list[tuple[int, str, bool]] = []  # revision, uid, whether it is an end
    uid = 1
    for revision in range(1, data.draw(st.integers(1, 7)) + 1):
        ends = bool(states) and not states[-1][2] and data.draw(st.booleans())
        if states and states[-1][2]:
            uid += 1
        states.append((revision, f"u{uid}", ends))
    overlay, store = laid()
    told = answered = 0
    while told < len(states):
        if answered < len(states) and data.draw(st.booleans()):
            revision, uid_, ends = states[answered]
            answered += 1
            if answered > told:  # As ``Answers`` does: what the watch has told is no news.
                if not ends:
                    overlay.lay(entry("a", revision, uid=uid_))
                elif (found := store.get(A)) is not None and found.uid == uid_:
                    overlay.hide(found)
        else:
            revision, uid_, ends = states[told]
            told += 1
            (overlay.remove if ends else overlay.put)(entry("a", revision, uid=uid_))
        latest, _, gone = states[max(told, answered) - 1]
        assert shown(store) == (None if gone else str(latest))
    assert len(overlay) == 0
