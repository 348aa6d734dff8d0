"""What apply promises beyond the recorded writes: versions, changed types, kubectl's annotation, and copies."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright_apiserver.patch.apply import apply, track
from kubewright_apiserver.patch.conflicts import Conflicts
from kubewright_apiserver.patch.endpoint import Endpoint, Versions
from kubewright_apiserver.patch.lastapplied import LAST_APPLIED
from kubewright_apiserver.patch.typed import TypedError
from kubewright_apiserver.schema.node import ANY, Node, node_of_builtin, node_of_schema

NOW = "2026-01-02T03:04:05Z"
Json = dict[str, Any]

GRANULAR: Json = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "list": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["key"],
                    "items": {
                        "type": "object",
                        "properties": {"key": {"type": "string"}, "value": {"type": "integer"}},
                    },
                },
                "map": {"type": "object", "additionalProperties": {"type": "string"}},
            },
        }
    },
}
ATOMIC: Json = json.loads(json.dumps(GRANULAR))
ATOMIC["properties"]["spec"]["properties"]["list"]["x-kubernetes-list-type"] = "atomic"
ATOMIC["properties"]["spec"]["properties"]["map"]["x-kubernetes-map-type"] = "atomic"


def endpoint_of(nodes: dict[str, Node], kind: str, convert: Any = None) -> Endpoint:
    versions = Versions(node=nodes.get, convert=convert or (lambda obj, version: {**obj, "apiVersion": version}))
    return Endpoint(versions=versions, api_version=next(iter(nodes)), kind=kind)


CONFIG_MAPS = endpoint_of({"v1": node_of_builtin("io.k8s.api.core.v1.ConfigMap")}, "ConfigMap")
THINGS = endpoint_of({"ex.io/v1": node_of_schema(GRANULAR)}, "Thing")


def config_map(data: Json | None = None, **metadata: Any) -> Json:
    obj: Json = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", **metadata}}
    return obj if data is None else {**obj, "data": data}


def thing(version: str = "v1", **spec: Any) -> Json:
    return {"apiVersion": f"ex.io/{version}", "kind": "Thing", "metadata": {"name": "x"}, "spec": spec}


def applied(
    live: Json | None, intent: Json, manager: str = "m1", *, endpoint: Endpoint = CONFIG_MAPS, force: bool = False
) -> Json:
    result = apply(live, intent, endpoint=endpoint, manager=manager, force=force, now=NOW, finish=lambda obj: obj)
    result["metadata"].setdefault("uid", "u")
    return result


def owned(obj: Json, manager: str) -> Any:
    return next(entry["fieldsV1"] for entry in obj["metadata"]["managedFields"] if entry["manager"] == manager)


def test_the_result_shares_nothing_with_what_was_given():
    live = applied(None, config_map({"a": "1"}, labels={"l": "1"}))
    intent = config_map({"b": "1"})

    result = applied(live, intent, "m2")
    result["metadata"]["labels"]["l"] = result["data"]["b"] = "changed"

    assert live["metadata"]["labels"] == {"l": "1"}
    assert intent["data"] == {"b": "1"}


def test_an_apply_that_changes_nothing_is_not_finished_again():
    live = applied(None, config_map({"a": "1"}))
    finished: list[Json] = []

    def finish(obj: Json) -> Json:
        finished.append(obj)
        return obj

    result = apply(live, config_map({"a": "1"}), endpoint=CONFIG_MAPS, manager="m1", force=False, now="", finish=finish)

    assert result == live
    assert finished == []


def test_ownership_is_computed_before_defaults_are_filled_in():
    def with_default(obj: Json) -> Json:
        return {**obj, "immutable": False}

    result = apply(
        None, config_map({"a": "1"}), endpoint=CONFIG_MAPS, manager="m", force=False, now=NOW, finish=with_default
    )

    assert result["immutable"] is False
    assert owned(result, "m") == {"f:data": {"f:a": {}}}


def test_an_intent_that_only_names_the_object_owns_nothing():
    assert "managedFields" not in applied(None, config_map())["metadata"]


def test_what_was_part_by_part_and_is_one_whole_now_is_owned_as_a_whole():
    live = applied(None, thing(list=[{"key": "a", "value": 1}], map={"a": "1"}), endpoint=THINGS)
    changed = endpoint_of({"ex.io/v1": node_of_schema(ATOMIC)}, "Thing")
    new = {**live, "metadata": {**live["metadata"], "labels": {"l": "1"}}}

    track(live, new, endpoint=changed, manager="u", now=NOW)

    assert owned(new, "m1") == {"f:spec": {"f:list": {}, "f:map": {}}}


def test_what_was_one_whole_and_is_part_by_part_now_is_owned_by_its_parts_from_the_next_apply_on():
    atomic = endpoint_of({"ex.io/v1": node_of_schema(ATOMIC)}, "Thing")
    live = applied(None, thing(list=[{"key": "a", "value": 1}], map={"a": "1"}), endpoint=atomic)

    result = applied(live, thing(list=[{"key": "a", "value": 1}], map={"a": "1"}), endpoint=THINGS)

    assert owned(result, "m1") == {
        "f:spec": {"f:list": {'k:{"key":"a"}': {".": {}, "f:key": {}, "f:value": {}}}, "f:map": {"f:a": {}}}
    }


def converted(obj: Json, version: str) -> Json:
    """The object in another version: what v1 calls ``map``, v2 calls ``labels``."""
    spec = dict(obj.get("spec") or {})
    old, new = ("map", "labels") if version == "ex.io/v2" else ("labels", "map")
    if old in spec:
        spec[new] = spec.pop(old)
    return {**obj, "apiVersion": version, "spec": spec}


RENAMED = node_of_schema(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"labels": {"type": "object", "additionalProperties": {"type": "string"}}},
            }
        },
    }
)
V1 = endpoint_of({"ex.io/v1": node_of_schema(GRANULAR), "ex.io/v2": RENAMED}, "Thing", converted)
V2 = endpoint_of({"ex.io/v2": RENAMED, "ex.io/v1": node_of_schema(GRANULAR)}, "Thing", converted)


def test_a_conflict_with_a_manager_of_another_version_is_told_in_that_version():
    live = applied(None, thing(map={"a": "1"}), "m1", endpoint=V1)

    with pytest.raises(Conflicts) as conflicts:
        applied(converted(live, "ex.io/v2"), thing("v2", labels={"a": "2"}), "m2", endpoint=V2)

    assert str(conflicts.value) == 'Apply failed with 1 conflict: conflict with "m1": .spec.map.a'


def test_a_field_dropped_in_another_version_than_it_was_applied_in_is_pruned():
    live = applied(None, thing(map={"a": "1", "b": "1"}), "m1", endpoint=V1)

    result = applied(converted(live, "ex.io/v2"), thing("v2", labels={"a": "1"}), "m1", endpoint=V2)

    assert result["spec"] == {"labels": {"a": "1"}}
    assert [entry["apiVersion"] for entry in result["metadata"]["managedFields"]] == ["ex.io/v2"]


def test_a_field_that_a_manager_of_another_version_owns_is_not_pruned():
    live = applied(None, thing(map={"a": "1"}), "m1", endpoint=V1)
    live = applied(converted(live, "ex.io/v2"), thing("v2", labels={"a": "1"}), "m2", endpoint=V2)

    result = applied(converted(live, "ex.io/v1"), thing(map={}), "m1", endpoint=V1)

    assert result["spec"] == {"map": {"a": "1"}}


def test_a_manager_of_a_version_that_cannot_be_converted_to_is_forgotten():
    live = applied(None, thing(map={"a": "1"}), "m1", endpoint=V1)
    live = applied(converted(live, "ex.io/v2"), thing("v2", labels={"b": "1"}), "m2", endpoint=V2)
    unconvertible = endpoint_of(
        {"ex.io/v2": RENAMED, "ex.io/v1": node_of_schema(GRANULAR)}, "Thing", lambda obj, version: None
    )

    result = applied(live, thing("v2", labels={"b": "2"}), "m2", endpoint=unconvertible)

    assert result["spec"] == {"labels": {"a": "1", "b": "2"}}
    assert [entry["manager"] for entry in result["metadata"]["managedFields"]] == ["m2"]


def test_what_was_applied_in_a_version_that_cannot_be_converted_to_stays():
    live = applied(None, thing(map={"a": "1", "b": "1"}), "m1", endpoint=V1)
    unconvertible = endpoint_of(
        {"ex.io/v2": RENAMED, "ex.io/v1": node_of_schema(GRANULAR)}, "Thing", lambda obj, version: None
    )

    result = applied(converted(live, "ex.io/v2"), thing("v2", labels={"a": "1"}), "m1", endpoint=unconvertible)

    assert result["spec"] == {"labels": {"a": "1", "b": "1"}}


def test_an_item_goes_with_its_applier_even_if_somebody_owns_a_part_of_it():
    live = applied(None, thing(list=[{"key": "a", "value": 1}, {"key": "b", "value": 1}]), endpoint=THINGS)
    new = {**live, "metadata": dict(live["metadata"])}
    new["spec"] = {"list": [{"key": "a", "value": 1}, {"key": "b", "value": 2}]}
    track(live, new, endpoint=THINGS, manager="u", now=NOW)

    result = applied(new, thing(list=[{"key": "a", "value": 1}]), endpoint=THINGS)

    assert result["spec"] == {"list": [{"key": "a", "value": 1}]}
    assert [entry["manager"] for entry in result["metadata"]["managedFields"]] == ["m1"]


def test_a_custom_resource_with_an_item_twice_can_be_updated_and_applied_to():
    twice = thing(list=[{"key": "a", "value": 1}, {"key": "a", "value": 2}])
    track(None, twice, endpoint=THINGS, manager="u", now=NOW)
    twice["metadata"]["uid"] = "u"

    result = applied(twice, thing(list=[{"key": "b", "value": 1}]), endpoint=THINGS)

    assert owned(twice, "u") == {"f:spec": {".": {}, "f:list": {".": {}, 'k:{"key":"a"}': {}}}}
    assert [item["key"] for item in result["spec"]["list"]] == ["a", "a", "b"]


def test_managed_fields_are_dropped_if_a_version_cannot_be_read():
    def node(version: str) -> Node:
        if version == "ex.io/v9":
            raise TypedError("request to convert CR to an invalid group/version: ex.io/v9")
        return THINGS.node

    versions = Versions(node=node, convert=lambda obj, version: None)
    endpoint = Endpoint(versions=versions, api_version="ex.io/v1", kind="Thing")
    live = applied(None, thing(map={"a": "1"}), endpoint=THINGS)
    live["metadata"]["managedFields"][0]["apiVersion"] = "ex.io/v9"
    new = {**live, "metadata": dict(live["metadata"])}

    track(live, new, endpoint=endpoint, manager="u", now=NOW)

    assert "managedFields" not in new["metadata"]


def test_an_object_that_does_not_fit_its_type_loses_its_managed_fields():
    live = applied(None, thing(map={"a": "1"}), endpoint=THINGS)
    new = {**live, "metadata": dict(live["metadata"]), "spec": {"map": 3}}

    track(live, new, endpoint=THINGS, manager="u", now=NOW)

    assert "managedFields" not in new["metadata"]


def test_what_a_custom_resource_of_a_changed_type_still_has_is_reported_on_apply():
    live = {**thing(gone=1), "metadata": {"name": "x", "namespace": "n", "uid": "u"}}

    with pytest.raises(TypedError) as error:
        applied(live, thing(map={"a": "1"}), endpoint=THINGS)

    assert str(error.value) == (
        "failed to create manager for existing fields: failed to convert new object (n/x; ex.io/v1, Kind=Thing) "
        "to smd typed: .spec.gone: field not declared in schema"
    )


def test_a_custom_resource_without_a_schema_is_owned_leaf_by_leaf_and_its_lists_as_a_whole():
    loose = endpoint_of({"ex.io/v1": ANY}, "Thing")

    live = applied(None, thing(a={"b": 1, "c": [1, {"d": 2}]}), endpoint=loose)

    assert owned(live, "m1") == {"f:spec": {".": {}, "f:a": {".": {}, "f:b": {}, "f:c": {}}}}


def test_several_misfits_are_told_together():
    intent = {**thing(map={"a": 1}), "metadata": {"name": "x", "labels": {"l": False}}}

    with pytest.raises(TypedError) as error:
        applied(None, intent, endpoint=THINGS)

    assert str(error.value) == (
        "failed to create typed patch object (/x; ex.io/v1, Kind=Thing): errors:\n"
        "  .metadata.labels.l: expected string, got &value.valueUnstructured{Value:false}\n"
        "  .spec.map.a: expected string, got &value.valueUnstructured{Value:1}"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("x", "expected list, got &{x}"),
        ({"b": None, "a": [1, "x", True, 1.5]}, "expected list, got &{map[a:[1 x true 1.5] b:<nil>]}"),
        (2000000.0, "expected list, got &{2e+06}"),
    ],
)
def test_a_misfit_is_shown_as_go_prints_it(value, text):
    with pytest.raises(TypedError) as error:
        applied(None, thing(list=value), endpoint=THINGS)

    assert str(error.value).endswith(f".spec.list: {text}")


def test_a_misfitting_text_is_shown_as_go_source():
    with pytest.raises(TypedError) as error:
        applied(None, thing(map={"a": {"c": None, "b": ["x", 2]}}), endpoint=THINGS)

    assert str(error.value).endswith(
        ".spec.map.a: expected string, got &value.valueUnstructured{Value:map[string]interface {}"
        '{"b":[]interface {}{"x", 2}, "c":interface {}(nil)}}'
    )


def test_a_live_object_with_unreadable_managed_fields_cannot_be_applied_to():
    live = config_map({"a": "1"}, uid="u", managedFields=[{"operation": "Apply"}])

    with pytest.raises(TypedError, match=r"^failed to decode managed fields: apiVersion must not be empty$"):
        applied(live, config_map({"a": "2"}))


def client_side(data: Json, **metadata: Any) -> Json:
    """An object that kubectl made from the client's side, with its annotation."""
    text = json.dumps(config_map(data, annotations={}))
    live = config_map(data, annotations={LAST_APPLIED: text, **metadata})
    track(None, live, endpoint=CONFIG_MAPS, manager="kubectl-client-side-apply", now=NOW)
    live["metadata"]["uid"] = "u"
    return live


def test_kubectl_takes_over_from_its_client_side_without_conflict():
    result = applied(client_side({"a": "1"}), config_map({"a": "2"}), "kubectl")

    assert result["data"] == {"a": "2"}
    assert owned(result, "kubectl") == {"f:data": {"f:a": {}}}


def test_others_do_not_take_over_from_kubectl():
    with pytest.raises(Conflicts, match=r"kubectl-client-side-apply"):
        applied(client_side({"a": "1"}), config_map({"a": "2"}), "other")


def test_kubectl_hears_only_of_conflicts_about_what_others_changed_meanwhile():
    live = client_side({"a": "1", "b": "1"})
    new = {**live, "metadata": dict(live["metadata"]), "data": {"a": "1", "b": "9"}}
    track(live, new, endpoint=CONFIG_MAPS, manager="u", now=NOW)

    with pytest.raises(Conflicts) as conflicts:
        applied(new, config_map({"a": "2", "b": "2"}), "kubectl")

    assert str(conflicts.value) == 'Apply failed with 1 conflict: conflict with "u" using v1: .data.b'


def test_kubectl_refreshes_its_annotation_with_the_intent():
    intent = config_map({"a": "<é>"}, annotations={LAST_APPLIED: "mine"})

    result = applied(client_side({"a": "1"}), intent, "kubectl", force=True)

    assert result["metadata"]["annotations"][LAST_APPLIED] == (
        '{"apiVersion":"v1","data":{"a":"\\u003cé\\u003e"},"kind":"ConfigMap",'
        '"metadata":{"annotations":{},"name":"x"}}\n'
    )


def test_kubectl_drops_its_annotation_when_all_annotations_become_too_large():
    result = applied(client_side({}, big="x" * 262000), config_map({"a": "y" * 200}), "kubectl")

    assert list(result["metadata"]["annotations"]) == ["big"]


ITEMS = st.lists(
    st.builds(lambda key, value: {"key": key, "value": value}, st.sampled_from("abcdef"), st.integers(0, 1)),
    unique_by=lambda item: item["key"],
    min_size=1,
    max_size=6,
)


@settings(derandomize=True)
@given(ITEMS, ITEMS)
def test_merged_items_keep_the_order_of_the_intent_and_lose_nothing(old, new):
    live = applied(None, thing(list=old), "m1", endpoint=THINGS)

    result = applied(live, thing(list=new), "m2", endpoint=THINGS, force=True)

    merged = [item["key"] for item in result["spec"]["list"]]
    assert [key for key in merged if key in {item["key"] for item in new}] == [item["key"] for item in new]
    assert [key for key in merged if key not in {item["key"] for item in new}] == [
        item["key"] for item in old if item["key"] not in {item["key"] for item in new}
    ]


@settings(derandomize=True)
@given(ITEMS, ITEMS, ITEMS)
def test_applying_the_same_intent_again_changes_nothing(first, other, last):
    live = applied(None, thing(list=first), "m1", endpoint=THINGS)
    live = applied(live, thing(list=other), "m2", endpoint=THINGS, force=True)
    live = applied(live, thing(list=last), "m1", endpoint=THINGS, force=True)

    assert applied(live, thing(list=last), "m1", endpoint=THINGS) == live


@settings(derandomize=True)
@given(ITEMS, ITEMS)
def test_what_only_one_applier_wanted_goes_when_it_no_longer_wants_it(first, last):
    live = applied(None, thing(list=first), "m1", endpoint=THINGS)

    result = applied(live, thing(list=last), "m1", endpoint=THINGS)

    assert result["spec"]["list"] == last


def test_an_emptied_list_goes_with_its_last_item():
    live = applied(None, thing(list=[{"key": "a"}], map={"a": "1"}), endpoint=THINGS)

    result = applied(live, thing(list=[], map={"a": "1"}), endpoint=THINGS)

    assert result["spec"] == {"map": {"a": "1"}}
