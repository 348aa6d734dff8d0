"""What a CRD serves, how its versions check objects, and how they are scaled."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kubewright_apiserver.registry.crd_names import terminating
from kubewright_apiserver.registry.custom import CustomVersion, custom_version, served_of
from kubewright_apiserver.registry.scale import read_scale, scale_spec_errors, scale_status_errors, write_scale
from kubewright_apiserver.status import Refusal

SCALE = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
FIRST: dict[str, Any] = {
    "name": "v1",
    "served": True,
    "storage": True,
    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": ANYTHING, "status": ANYTHING}}},
    "subresources": {"status": {}, "scale": SCALE},
    "selectableFields": [{"jsonPath": ".spec.colour"}],
}
CRD: dict[str, Any] = {
    "metadata": {"name": "things.ex.io"},
    "spec": {
        "group": "ex.io",
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing", "singular": "thing", "listKind": "ThingList"},
        "versions": [FIRST, {"name": "v2beta1", "served": True, "schema": {"openAPIV3Schema": {"type": "object"}}}],
    },
    "status": {
        "conditions": [{"type": "Established", "status": "True"}],
        "acceptedNames": {"plural": "things", "kind": "Thing", "singular": "thing", "shortNames": ["th"]},
        "storedVersions": ["v1"],
    },
}


def thing(**parts: Any) -> dict[str, Any]:
    metadata = {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "7", "labels": {"x": "y"}}
    return {"apiVersion": "ex.io/v1", "kind": "Thing", "metadata": metadata, **parts}


def test_each_served_version_is_a_resource():
    first, second = served_of(CRD)

    assert (first.group, first.version, first.plural, first.kind, first.namespaced) == (
        "ex.io",
        "v1",
        "things",
        "Thing",
        True,
    )
    assert first.verbs == ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
    assert first.short_names == ("th",)
    assert (second.version, second.storage_version) == ("v2beta1", "v1")
    assert first.crd is CRD


def test_subresources_are_those_of_the_version():
    first, second = served_of(CRD)

    assert [(part.name, part.group, part.version, part.kind) for part in first.subresources.values()] == [
        ("status", "ex.io", "v1", "Thing"),
        ("scale", "autoscaling", "v1", "Scale"),
    ]
    assert second.subresources == {}


def test_the_hash_of_the_storage_version_is_the_servers():
    crd = copy.deepcopy(CRD)
    crd["spec"]["names"]["kind"] = "Sc"

    assert [served.storage_version_hash for served in served_of(crd)] == ["jlE89muyjeg="] * 2


def test_nothing_is_served_before_the_names_are_accepted():
    crd = {**CRD, "status": {**CRD["status"], "conditions": []}}

    assert served_of(crd) == []


def test_a_definition_that_is_being_deleted_lets_nothing_be_written():
    crd = {**CRD, "status": terminating(CRD, "InstanceDeletionPending", "now")}

    assert served_of(crd)[0].verbs == ("delete", "deletecollection", "get", "list", "watch")


def test_the_type_of_an_object_has_the_metadata_of_all_objects():
    node = served_of(CRD)[0].node

    assert node.fields["metadata"].fields["labels"].type == "map"
    assert node.fields["kind"].type == "string"
    assert node.schema["x-kubernetes-group-version-kind"] == [{"group": "ex.io", "version": "v1", "kind": "Thing"}]


def test_the_type_of_an_object_has_the_metadata_of_objects_inside_of_it():
    crd = copy.deepcopy(CRD)
    resource = {**ANYTHING, "x-kubernetes-embedded-resource": True}
    schema = {"type": "object", "properties": {"t": resource}}
    crd["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": schema}

    inner = served_of(crd)[0].node.fields["t"]

    assert inner.fields["metadata"].fields["ownerReferences"].type == "array"
    assert inner.schema["required"] == ["kind", "apiVersion"]
    assert "properties" not in resource


def test_integers_or_texts_are_published_with_both_types():
    crd = copy.deepcopy(CRD)
    plain = {"x-kubernetes-int-or-string": True}
    bounded = {**plain, "anyOf": [{"minimum": 1}]}
    schema = {"type": "object", "properties": {"a": plain, "b": bounded}}
    crd["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": schema}
    both = [{"type": "integer"}, {"type": "string"}]

    fields = served_of(crd)[0].node.schema["properties"]

    assert fields["a"]["anyOf"] == both
    assert fields["b"]["allOf"] == [{"anyOf": both}]


def test_errors_come_in_the_servers_order():
    crd = copy.deepcopy(CRD)
    lists = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}
    resource = {**ANYTHING, "x-kubernetes-embedded-resource": True}
    spec = {"type": "object", "properties": {"replicas": {"type": "integer"}, "l": lists, "t": resource}}
    crd["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    obj = thing(spec={"replicas": "x", "l": ["a", "a"], "t": {}}, status={"replicas": -1})
    obj["metadata"]["name"] = "A"

    fields = [error.field for error in custom_version(crd, "v1").create_errors(obj)]

    assert fields == [
        "metadata.name",
        "spec.replicas",
        ".spec.replicas",
        ".status.replicas",
        "spec.t.apiVersion",
        "spec.t.kind",
        "spec.l[1]",
    ]


@pytest.mark.parametrize(
    ("value", "is_told"), [("x", True), (11, False), (5, False)], ids=["wrong type", "out of bounds", "right"]
)
def test_rules_that_could_not_be_checked_are_told_of(value, is_told):
    number = {"type": "integer", "maximum": 10}
    spec = {"type": "object", "properties": {"n": number}, "x-kubernetes-validations": [{"rule": "self.n > 0"}]}
    version = {"name": "v1", "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}}

    messages = [error.message for error in CustomVersion(CRD, version).create_errors(thing(spec={"n": value}))]

    told = (
        "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
        "correct the existing errors to complete validation"
    )
    assert (told in messages) is is_told


def test_an_update_must_keep_what_never_changes():
    old = thing(spec={})
    new = thing(spec={})
    new["metadata"] = {**new["metadata"], "uid": "other", "resourceVersion": ""}

    fields = [error.field for error in custom_version(CRD, "v1").update_errors(new, old)]

    assert fields == ["metadata.resourceVersion", "metadata.uid"]


def test_an_update_of_the_status_is_not_held_to_the_spec():
    version = custom_version(CRD, "v1")

    errors = version.status_errors(thing(spec={"replicas": -1}, status={"replicas": "x"}), thing())

    assert [error.message for error in errors] == [
        ".status.replicas: Invalid value: 0: .status.replicas accessor error: x is of the type string, expected int64"
    ]


def test_the_age_is_the_column_of_a_version_that_names_none():
    column = {"name": "A", "type": "string", "jsonPath": ".spec.a"}

    assert [one["name"] for one in custom_version(CRD, "v1").columns] == ["Age"]
    assert CustomVersion(CRD, {**FIRST, "additionalPrinterColumns": [column]}).columns == [column]


def test_selectable_fields_are_called_without_the_leading_dot():
    assert custom_version(CRD, "v1").selectable_fields == ("spec.colour",)


@pytest.mark.parametrize(
    ("version", "warning"),
    [
        ({**FIRST}, ""),
        ({**FIRST, "deprecated": True}, "ex.io/v1 Thing is deprecated"),
        ({**FIRST, "deprecated": True, "deprecationWarning": "soon gone"}, "soon gone"),
        ({**FIRST, "name": "v1alpha1", "deprecated": True}, "ex.io/v1alpha1 Thing is deprecated; use ex.io/v1 Thing"),
    ],
)
def test_a_deprecated_version_points_to_the_best_newer_one(version, warning):
    assert CustomVersion(CRD, version).deprecation_warning == warning


def test_a_scale_shows_wanted_and_observed_replicas_and_the_selector():
    obj = thing(spec={"replicas": 3}, status={"replicas": 2, "selector": "app=x"})

    assert read_scale(obj, SCALE) == {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "7"},
        "spec": {"replicas": 3},
        "status": {"replicas": 2, "selector": "app=x"},
    }


def test_a_scale_leaves_out_nought_wanted_and_shows_nought_observed():
    scale = read_scale(thing(spec={"replicas": 0}), SCALE)

    assert scale["spec"] == {}
    assert scale["status"] == {"replicas": 0}


def test_an_object_without_replicas_has_no_scale():
    with pytest.raises(Refusal) as caught:
        read_scale(thing(spec={}), SCALE)

    why = 'the spec replicas field ".spec.replicas" does not exist'
    assert (caught.value.code, caught.value.reason) == (500, "InternalError")
    assert caught.value.message == f"Internal error occurred: {why}"
    assert caught.value.details == {"causes": [{"message": why}]}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"replicas": "x"}, ".spec.replicas accessor error: x is of the type string, expected int64"),
        ("x", ".spec.replicas accessor error: x is of the type string, expected map[string]interface{}"),
    ],
)
def test_a_scale_of_replicas_that_are_none_is_an_error_of_the_server(spec, message):
    with pytest.raises(Refusal) as caught:
        read_scale(thing(spec=spec), SCALE)

    assert (caught.value.code, caught.value.reason, caught.value.message) == (500, "", message)


def test_an_object_whose_spec_is_null_has_no_scale():
    with pytest.raises(Refusal, match="does not exist"):
        read_scale(thing(spec=None), SCALE)


def test_an_object_without_replicas_gets_them_only_if_they_are_told():
    obj = thing()
    scale = read_scale(obj, SCALE, for_update=True)

    with pytest.raises(Refusal, match=r'the spec replicas field "\.spec\.replicas" cannot be empty') as caught:
        write_scale(obj, scale, SCALE)
    write_scale(obj, {**scale, "spec": {"replicas": 4}}, SCALE)

    assert caught.value.code == 400
    assert obj["spec"] == {"replicas": 4}


def test_a_written_scale_sets_nought_and_the_version_that_it_is_meant_for():
    obj = thing(spec={"replicas": 3, "other": 1})

    write_scale(obj, {"metadata": {"resourceVersion": "9"}, "spec": {}}, SCALE)

    assert obj["spec"] == {"replicas": 0, "other": 1}
    assert obj["metadata"]["resourceVersion"] == "9"


def test_a_scale_cannot_be_written_where_no_object_is():
    with pytest.raises(Refusal, match=r"value cannot be set because \.spec is not a map\[string\]interface\{\}"):
        write_scale(thing(spec=[1]), {"spec": {"replicas": 1}}, SCALE)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"replicas": -1}, ".spec.replicas: Invalid value: -1: should be a non-negative integer"),
        ({"replicas": 2**31}, ".spec.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647"),
        (
            {"replicas": 1.0},
            ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: 1 is of the type float64, expected int64",
        ),
        (
            {"replicas": {"a": [1, "b", None, True, 2.5]}},
            ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: map[a:[1 b <nil> true 2.5]] is of the "
            "type map[string]interface {}, expected int64",
        ),
        (
            {"replicas": None},
            ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: <nil> is of the type <nil>, "
            "expected int64",
        ),
        (
            [1],
            ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: [1] is of the type []interface {}, "
            "expected map[string]interface{}",
        ),
    ],
)
def test_replicas_that_are_none_are_refused_in_the_servers_words(spec, message):
    assert [error.message for error in scale_spec_errors(thing(spec=spec), SCALE)] == [message]


def test_a_selector_that_is_no_text_is_refused():
    errors = scale_status_errors(thing(status={"replicas": -2, "selector": 5}), SCALE)

    assert [error.message for error in errors] == [
        ".status.replicas: Invalid value: -2: should be a non-negative integer",
        '.status.selector: Invalid value: "": .status.selector accessor error: 5 is of the type int64, expected string',
    ]


def test_an_object_that_cannot_be_scaled_has_no_errors_of_scale():
    assert scale_spec_errors(thing(spec={"replicas": -1}), None) + scale_status_errors(thing(), None) == []
