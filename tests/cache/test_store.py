"""The store: by key, namespace, label, owner and index; counted, sorted, in step."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.api import Key, LabelSelector
from kubewright.cache import Entry, Store
from tests.cache.objects import entry


def filled(*entries: Entry) -> Store:
    store = Store()
    for one in entries:
        store.put(one)
    return store


def names(entries: list[Entry]) -> list[str]:
    return [str(one.key) for one in entries]


def owned(name: str, *uids: str, **more: Any) -> Entry:
    owners = [{"apiVersion": "v1", "kind": "Node", "name": uid, "uid": uid} for uid in uids]
    return entry(name, ownerReferences=owners, **more)


def test_a_store_gives_what_was_put_last():
    store = filled(entry("a", 1), entry("a", 2))

    found = store.get(Key("default", "a"))

    assert found is not None
    assert found.resource_version == "2"
    assert len(store) == 1
    assert Key("default", "a") in store


def test_what_is_removed_is_not_there():
    store = filled(entry("a"), entry("b"))

    store.remove(Key("default", "a"))
    store.remove(Key("default", "a"))
    store.remove(Key("nowhere", "a"))

    assert store.get(Key("default", "a")) is None
    assert names(store.select()) == ["default/b"]
    assert len(store) == 1


def test_a_selection_is_sorted_by_namespace_and_name():
    store = filled(entry("b"), entry("a", namespace="z"), entry("c"), entry("a"))

    assert names(store.select()) == ["default/a", "default/b", "default/c", "z/a"]
    assert names(store.select(namespace="default")) == ["default/a", "default/b", "default/c"]
    assert store.select(namespace="nowhere") == []


def test_a_selection_by_labels_matches_as_kubernetes_does():
    store = filled(entry("a", labels={"app": "web"}), entry("b", labels={"app": "db"}), entry("c"))

    assert names(store.select(labels=LabelSelector.parse("app=web"))) == ["default/a"]
    assert names(store.select(labels=LabelSelector.parse("app!=web"))) == ["default/b", "default/c"]


def test_an_index_finds_objects_whether_added_before_or_after_them():
    store = filled(entry("a", labels={"app": "web"}))
    store.add_index("app", lambda one: one.labels.values())
    store.put(entry("b", labels={"app": "web"}))
    store.put(entry("c", labels={"app": "db"}))

    assert names(store.select(where={"app": "web"})) == ["default/a", "default/b"]
    assert store.select(where={"app": "none"}) == []


def test_an_index_follows_changes_and_removals():
    store = Store()
    store.add_index("app", lambda one: one.labels.values())
    store.put(entry("a", 1, labels={"app": "web"}))
    store.put(entry("b", 1, labels={"app": "web"}))

    store.put(entry("a", 2, labels={"app": "db"}))
    store.remove(Key("default", "b"))

    assert store.select(where={"app": "web"}) == []
    assert names(store.select(where={"app": "db"})) == ["default/a"]


def test_several_indexes_must_all_match():
    store = Store()
    store.add_index("key", lambda one: one.labels.keys())
    store.add_index("value", lambda one: one.labels.values())
    store.put(entry("a", labels={"app": "web"}))
    store.put(entry("b", labels={"tier": "web"}))

    assert names(store.select(where={"key": "app", "value": "web"})) == ["default/a"]


def test_an_index_that_does_not_exist_is_named_with_those_that_do():
    store = filled(entry("a"))
    store.add_index("app", lambda one: one.labels.values())

    with pytest.raises(ValueError, match=r"no index 'ap' \(there is: app\); add it with informer.add_index"):
        store.select(where={"ap": "web"})


def test_a_second_index_of_a_name_is_refused():
    store = Store()
    store.add_index("app", lambda one: ())

    with pytest.raises(ValueError, match="an index 'app' already"):
        store.add_index("app", lambda one: ())


def test_owned_objects_are_found_by_the_uid_of_any_owner():
    store = filled(owned("a", "u1", "u2"), owned("b", "u2", namespace="other"), entry("c"))

    assert names(store.select(owner="u2")) == ["default/a", "other/b"]
    assert names(store.select(owner="u2", namespace="other")) == ["other/b"]

    store.put(owned("a", "u1", version=2))
    store.put(owned("d", "u2"))

    assert names(store.select(owner="u2")) == ["default/d", "other/b"]


def test_the_size_is_that_of_the_bytes_held():
    store = filled(entry("a", data={"k": "v"}), entry("b"))
    store.put(entry("a", 2, data={"k": "longer"}))

    assert store.size == sum(len(one.data) for one in store)

    store.remove(Key("default", "a"))
    store.remove(Key("default", "b"))

    assert store.size == 0


@settings(derandomize=True, max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.sampled_from(["x", "y"]),
            st.lists(st.sampled_from("12"), unique=True) | st.none(),
        ),
        max_size=20,
    )
)
def test_indexes_always_agree_with_a_look_at_every_object(steps: list[tuple[str, str, list[str] | None]]):
    store = Store()
    store.add_index("label", lambda one: one.labels.keys())
    for version, (name, namespace, labels) in enumerate(steps):
        if labels is None:
            store.remove(Key(namespace, name))
        else:
            store.put(owned(name, *labels, namespace=namespace, version=version, labels=dict.fromkeys(labels, "")))
        store.select(owner="1")

    for value in "12":
        expected = [one.key for one in store if value in one.labels]
        assert [one.key for one in store.select(where={"label": value})] == expected
        assert [one.key for one in store.select(owner=value)] == expected
