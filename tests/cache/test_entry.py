"""Entries: metadata at hand, managed fields cut, the rest of the bytes untouched."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.api import Key
from kubewright.cache import Intake
from kubewright.cache.entry import TransformFailed, is_newer, is_older
from kubewright.errors import Undecodable
from kubewright.kinds.core_v1 import ConfigMap
from tests.cache.objects import entry, raw

MANAGED = [
    {"manager": "operator/one", "operation": "Apply", "fieldsV1": {"f:data": {"f:k": {}}}},
    {"manager": "kubelet", "operation": "Update", "fieldsV1": {"f:status": {}}},
]


def kept(data: bytes, keep: bool | str = False) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Intake("ConfigMap", keep_managed_fields=keep).read(data).data)
    return found


def test_an_entry_has_the_metadata_that_choosing_needs():
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u-n", "controller": True}

    found = entry(
        "a",
        7,
        generation=3,
        labels={"app": "web"},
        annotations={"note": "x"},
        finalizers=["f"],
        ownerReferences=[owner],
        deletionTimestamp="2026-01-01T00:00:00Z",
    )

    assert found.key == Key("default", "a")
    assert (found.name, found.namespace, found.uid, found.resource_version) == ("a", "default", "u-a", "7")
    assert (found.generation, found.is_deleting) == (3, True)
    assert (found.labels, found.annotations, found.finalizers) == ({"app": "web"}, {"note": "x"}, ["f"])
    assert [(o.kind, o.name, o.uid, o.controller) for o in found.owner_references] == [("Node", "n", "u-n", True)]


def test_absent_and_null_metadata_are_empty():
    found = entry("a", 7, labels=None, ownerReferences=None, annotations=None, managedFields=None)

    assert (found.labels, found.owner_references, found.annotations, found.finalizers) == ({}, (), {}, [])
    assert not found.is_deleting


def test_labels_and_owners_are_shared_by_entries_that_have_the_same():
    intake = Intake("ConfigMap")
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}

    first = intake.read(raw("a", labels={"app": "web"}, ownerReferences=[owner]))
    second = intake.read(raw("b", labels={"app": "web"}, ownerReferences=[owner]))

    assert first.labels is second.labels
    assert first.owner_references is second.owner_references


def test_labels_of_an_entry_cannot_be_changed():
    with pytest.raises(TypeError, match="does not support item assignment"):
        entry("a", labels={"app": "web"}).labels["app"] = "x"  # type: ignore[index]


@pytest.mark.parametrize("place", ["first", "middle", "last", "only"])
def test_managed_fields_are_cut_wherever_they_stand(place: str):
    others = {"name": "a", "uid": "u", "resourceVersion": "1"}
    places: dict[str, dict[str, Any]] = {
        "first": {"managedFields": MANAGED, **others},
        "middle": {"name": "a", "managedFields": MANAGED, "uid": "u", "resourceVersion": "1"},
        "last": {**others, "managedFields": MANAGED},
        "only": {"managedFields": MANAGED},
    }
    metadata = places[place]
    data = json.dumps({"metadata": metadata, "data": {"k": "v"}}, separators=(",", ":")).encode()

    found = kept(data)

    assert "managedFields" not in found["metadata"]
    assert found == {
        "metadata": {key: value for key, value in metadata.items() if key != "managedFields"},
        "data": {"k": "v"},
    }


def test_managed_fields_elsewhere_in_an_object_stay():
    document = json.loads(raw("a", managedFields=MANAGED))
    document["spec"] = {"managedFields": [{"manager": "x"}], "template": {"metadata": {"managedFields": []}}}

    for separators in ((",", ":"), (", ", ": ")):
        found = kept(json.dumps(document, separators=separators).encode())
        assert found["spec"] == document["spec"]
        assert "managedFields" not in found["metadata"]


def test_only_the_managers_that_are_asked_for_are_kept():
    for separators in ((",", ":"), (", ", ": ")):
        data = json.dumps(json.loads(raw("a", managedFields=MANAGED)), separators=separators).encode()

        assert [m["manager"] for m in kept(data, "operator/")["metadata"]["managedFields"]] == ["operator/one"]
        assert [m["manager"] for m in kept(data, True)["metadata"]["managedFields"]] == ["operator/one", "kubelet"]
        assert "managedFields" not in kept(data, "another/")["metadata"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["managedFields", "metadata", "a", 'x"managedFields', ""]), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(
    before=st.dictionaries(st.sampled_from(["spec", "status", "managedFields"]), json_values, max_size=2),
    more=st.dictionaries(st.sampled_from(["annotations2", "x"]), json_values, max_size=2),
    managed=st.lists(st.fixed_dictionaries({"manager": st.text(max_size=3), "fieldsV1": json_values}), max_size=2),
    spaced=st.booleans(),
)
def test_cutting_changes_nothing_else(before: Any, more: Any, managed: Any, spaced: bool):
    metadata = {"name": "a", **more, "managedFields": managed, "uid": "u"}
    document = {**before, "metadata": metadata, "data": {"k": "v"}}
    data = json.dumps(document, separators=(", ", ": ") if spaced else (",", ":")).encode()

    found = kept(data)

    left = {key: value for key, value in metadata.items() if key != "managedFields"}
    if found["metadata"].get("managedFields") == []:
        left["managedFields"] = []  # Nothing in it is as good as cut.
    assert found == {**before, "metadata": left, "data": {"k": "v"}}


def test_bytes_are_kept_as_they_came_but_for_what_is_cut():
    data = b'{"metadata":{"name":"a","managedFields":[{"manager":"m"}],"uid":"u"},"data":{"n":"1.0e2","\\u00fc":"x"}}'

    found = Intake("ConfigMap").read(data)

    assert found.data == b'{"metadata":{"name":"a","uid":"u"},"data":{"n":"1.0e2","\\u00fc":"x"}}'


def test_of_a_metadata_only_kind_nothing_but_metadata_is_kept():
    found = Intake("ConfigMap", metadata_only=True).read(raw("a", labels={"k": "v"}, data={"large": "x"}))

    assert json.loads(found.data).keys() == {"metadata"}
    assert found.labels == {"k": "v"}


def test_a_transform_decides_what_is_kept():
    def without_values(document: dict[str, Any]) -> dict[str, Any]:
        return document | {"data": dict.fromkeys(document["data"], "")}

    found = Intake("ConfigMap", transform=without_values).read(raw("a", data={"key": "secret"}))

    assert found.decode(ConfigMap).data == {"key": ""}
    assert b"secret" not in found.data


def test_what_a_transform_fails_on_is_known_but_cannot_be_decoded():
    def fail(document: dict[str, Any]) -> dict[str, Any]:
        return document["absent"]  # type: ignore[no-any-return]

    with pytest.raises(TransformFailed, match=r'ConfigMap "default/a": its transform failed \(KeyError') as failure:
        Intake("ConfigMap", transform=fail).read(raw("a", data={"key": "secret"}))

    assert failure.value.entry.key == Key("default", "a")
    with pytest.raises(Undecodable, match="could not be transformed"):
        failure.value.entry.decode(ConfigMap)


def test_a_transform_must_not_change_which_object_it_is():
    def rename(document: dict[str, Any]) -> dict[str, Any]:
        return document | {"metadata": document["metadata"] | {"name": "b"}}

    with pytest.raises(TransformFailed, match="changed name"):
        Intake("ConfigMap", transform=rename).read(raw("a"))


def test_what_is_no_object_is_undecodable():
    for data in (b"[]", b'{"metadata":3}', b'{"metadata":{"name":7}}', b'{"metadata":{"name":"a"}'):
        with pytest.raises(Undecodable, match="cannot be read"):
            Intake("ConfigMap").read(data)


@pytest.mark.parametrize(
    ("more", "gone"),
    [
        ({}, False),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, True),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}, True),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}, False),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["f"]}, False),
    ],
)
def test_an_object_is_gone_when_nothing_keeps_it(more: dict[str, Any], gone: bool):
    assert entry("a", **more).is_gone is gone


def test_a_namespace_is_kept_by_its_spec():
    document = json.loads(raw("a", deletionTimestamp="2026-01-01T00:00:00Z")) | {"spec": {"finalizers": ["kubernetes"]}}

    assert not Intake("Namespace").read(json.dumps(document).encode()).is_gone


def test_revisions_are_compared_as_numbers_where_they_are():
    assert is_newer("10", "9")
    assert not is_newer("9", "9")
    assert is_newer("x", "9")
    assert not is_newer("x", "x")
    assert is_older("9", "10")
    assert not is_older("x", "10")
    assert not is_older("", "10")


def test_of_two_equal_lists_of_managed_fields_only_that_of_the_metadata_is_cut():
    document = {"spec": {"managedFields": MANAGED}, "metadata": {"name": "a", "managedFields": MANAGED}}

    found = kept(json.dumps(document, separators=(",", ":")).encode())

    assert found == {"spec": {"managedFields": MANAGED}, "metadata": {"name": "a"}}


def test_labels_that_come_once_each_do_not_pile_up():
    intake = Intake("ConfigMap")
    for number in range(10_000):
        intake.read(raw("a", labels={"number": str(number)}))

    assert len(intake._shared_labels) <= 1_000
