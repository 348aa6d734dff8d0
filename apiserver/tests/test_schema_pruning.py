"""Custom resources lose what their schema does not name, as with a real kube-apiserver 1.36."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright_apiserver.schema.compiled import CompiledSchema
from kubewright_apiserver.schema.embedded import CoercionError
from kubewright_apiserver.schema.objectmeta import MetadataError, coerce_metadata

DATA: dict[str, Any] = json.loads((Path(__file__).parent / "data/custom_resources.json").read_text())
PRUNED = [case for case in DATA["pruned"] if "default" not in case["case"]]
REFUSED = DATA["refused"]


def wrapped(schema: dict[str, Any]) -> CompiledSchema:
    spec = {"type": "object", "properties": {"x": schema}}
    return CompiledSchema({"type": "object", "properties": {"spec": spec}})


def sorted_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@pytest.mark.parametrize("case", PRUNED, ids=[case["case"] for case in PRUNED])
def test_a_value_is_pruned_to_what_the_server_keeps_of_it(case):
    compiled = wrapped(case["schema"])
    obj = {"spec": {"x": copy.deepcopy(case["value"])}}

    unknown = compiled.prune(obj)

    assert unknown == case["unknown"]
    assert sorted_json(obj["spec"].get("x", "gone")) == sorted_json(case.get("result", "gone"))


@pytest.mark.parametrize("case", REFUSED, ids=[case["case"] for case in REFUSED])
def test_a_resource_inside_that_cannot_be_read_is_refused_in_the_servers_words(case):
    compiled = wrapped(case["schema"])

    with pytest.raises(CoercionError) as caught:
        compiled.prune({"spec": {"x": copy.deepcopy(case["value"])}})

    assert str(caught.value) == case["message"]


def test_a_resource_inside_of_a_stored_object_loses_what_cannot_be_read():
    compiled = wrapped({"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True})
    metadata = {"name": "n", "labels": {"a": 1}, "finalizers": ["f"], "bogus": 1}
    obj: dict[str, Any] = {"spec": {"x": {"apiVersion": 5, "kind": "K", "metadata": metadata}, "z": 1}}

    compiled.prune_stored(obj)

    assert obj == {"spec": {"x": {"kind": "K", "metadata": {"name": "n", "finalizers": ["f"]}}}}


def test_metadata_that_is_none_stays_in_a_stored_object_and_null_becomes_empty():
    compiled = wrapped({"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True})
    text: dict[str, Any] = {"spec": {"x": {"metadata": "text"}}}
    null: dict[str, Any] = {"spec": {"x": {"metadata": None}}}

    compiled.prune_stored(text)
    compiled.prune_stored(null)

    assert text == {"spec": {"x": {"metadata": "text"}}}
    assert null == {"spec": {"x": {"metadata": {}}}}


def test_what_every_object_has_stays_at_the_root_and_is_not_looked_into():
    obj = {"apiVersion": "g/v1", "kind": "K", "metadata": {"bogus": {"x": 1}}, "other": 1}

    unknown = CompiledSchema({"type": "object"}).prune(obj)

    assert unknown == ["other"]
    assert obj == {"apiVersion": "g/v1", "kind": "K", "metadata": {"bogus": {"x": 1}}}


def test_unknown_fields_are_told_in_the_order_of_their_paths():
    compiled = wrapped({"type": "array", "items": {"type": "object"}})

    unknown = compiled.prune({"spec": {"x": [{"b": 1}, {"a": 1}], "w": 1}, "a": 1})

    assert unknown == ["a", "spec.w", "spec.x[0].b", "spec.x[1].a"]


def test_fields_of_metadata_that_go_does_not_have_are_told_with_their_paths():
    metadata, unknown = coerce_metadata(
        {"name": "x", "Name": "y", "ownerReferences": [{"uid": "u", "extra": 1}], "managedFields": [{"new": 1}]}
    )

    assert unknown == ["Name", "ownerReferences[0].extra", "managedFields[0].new"]
    assert metadata["ownerReferences"] == [{"apiVersion": "", "kind": "", "name": "", "uid": "u"}]


def test_metadata_keeps_zeros_behind_pointers_and_drops_other_zeros():
    metadata, _ = coerce_metadata({"generation": 0, "deletionGracePeriodSeconds": 0, "labels": {}, "name": ""})

    assert metadata == {"deletionGracePeriodSeconds": 0}


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ([], "json: cannot unmarshal array into Go value of type v1.ObjectMeta"),
        ({"name": 5}, "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"),
        (
            {"ownerReferences": [5]},
            "json: cannot unmarshal number into Go struct field ObjectMeta.ownerReferences of type v1.OwnerReference",
        ),
    ],
)
def test_metadata_of_the_wrong_type_is_refused_in_gos_words(metadata, message):
    with pytest.raises(MetadataError) as caught:
        coerce_metadata(metadata)

    assert str(caught.value) == message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["a", "b", ""]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c", "z"]), inner, max_size=4)
    ),
    max_leaves=12,
)
NESTED = {
    "type": "object",
    "properties": {
        "a": {"type": "object", "additionalProperties": {"type": "object", "properties": {"b": {"type": "string"}}}},
        "b": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}}},
        "c": {"x-kubernetes-preserve-unknown-fields": True, "properties": {"a": {"type": "object"}}},
    },
}


@given(value=JSON)
@settings(derandomize=True, max_examples=150)
def test_pruning_twice_prunes_no_more(value):
    compiled = wrapped(NESTED)
    obj = {"spec": {"x": value}}
    compiled.prune(obj)
    once = copy.deepcopy(obj)

    unknown = compiled.prune(obj)

    assert unknown == []
    assert obj == once
