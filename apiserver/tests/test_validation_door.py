"""What the door does beside the rules of built-in kinds: custom resources, requests, refusals, pieces of objects."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright_apiserver.status import FieldError, required
from kubewright_apiserver.validation import refusal, validate_create, validate_status_update, validate_update

WIDGET = ("example.com", "v1", "Widget")
STORED = {
    "resourceVersion": "5",
    "uid": "u",
    "creationTimestamp": "2024-01-01T00:00:00Z",
    "namespace": "n",
    "name": "a",
}


def widget(**metadata: Any) -> dict[str, Any]:
    return {"metadata": {**STORED, **metadata}, "spec": {}}


def told(errors: list[FieldError]) -> list[str]:
    """The messages; what the rules of all objects and those of the kind both find is told once."""
    return list(dict.fromkeys(error.message for error in errors))


def test_custom_resource_may_have_any_qualified_finalizer():
    assert validate_create(*WIDGET, widget(finalizers=["cleanup"])) == []
    assert told(validate_create("", "v1", "ConfigMap", widget(finalizers=["cleanup"]))) != []


def test_custom_resource_must_have_valid_labels():
    errors = validate_create(*WIDGET, widget(labels={"a": "b c"}))

    assert [error.field for error in errors] == ["metadata.labels"]


@pytest.mark.parametrize(("field", "value"), [("uid", "v"), ("creationTimestamp", None), ("name", "b")])
def test_update_may_not_change_what_says_which_object_it_is(field, value):
    errors = validate_update(*WIDGET, widget(**{field: value}), widget())

    assert {(error.field, error.detail) for error in errors} == {(f"metadata.{field}", "field is immutable")}


def test_update_may_not_turn_the_generation_back():
    errors = validate_update(*WIDGET, widget(generation=2), widget(generation=3))

    assert told(errors) == ["metadata.generation: Invalid value: 2: must not be decremented"]


def test_update_must_say_which_revision_it_overwrites():
    errors = validate_update(*WIDGET, widget(resourceVersion=""), widget())

    assert told(errors) == ['metadata.resourceVersion: Invalid value: "": must be specified for an update']


def test_update_may_not_add_finalizers_while_an_object_dies():
    dying = {"deletionTimestamp": "2024-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}
    old, new = widget(finalizers=["x/a"], **dying), widget(finalizers=["x/a", "x/b"], **dying)

    errors = validate_update(*WIDGET, new, old)

    assert "no new finalizers can be added if the object is being deleted" in errors[0].message


def test_managers_of_fields_must_make_sense():
    entry = {"operation": "X", "fieldsType": "Y", "manager": "m" * 129, "subresource": "s" * 257}

    errors = validate_create(*WIDGET, widget(managedFields=[entry]))

    assert [error.field.rpartition(".")[2] for error in errors] == ["operation", "fieldsType", "manager", "subresource"]


def test_status_is_checked_by_rules_of_its_own():
    old = {"metadata": STORED, "spec": {}, "status": {}}

    errors = validate_status_update("apps", "v1", "Deployment", {**old, "status": {"readyReplicas": 1}}, old)

    assert told(errors) == ["status.readyReplicas: Invalid value: 1: cannot be greater than status.replicas"]


@pytest.mark.parametrize(
    ("group", "kind", "request_body", "messages"),
    [
        ("", "Binding", {"target": {"kind": "Node", "name": "n"}}, []),
        ("", "Binding", {"target": {}}, ["target.name: Required value"]),
        (
            "",
            "Binding",
            {"target": {"kind": "Pod", "name": "p"}},
            ['target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"'],
        ),
        ("authentication.k8s.io", "TokenRequest", {"spec": {"expirationSeconds": 600}}, []),
        (
            "authentication.k8s.io",
            "TokenRequest",
            {"spec": {"expirationSeconds": 599}},
            ["spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes"],
        ),
        (
            "autoscaling",
            "Scale",
            {"metadata": {"name": "a", "namespace": "n"}, "spec": {"replicas": -1}},
            ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"],
        ),
    ],
)
def test_request_that_is_not_stored_is_checked(group, kind, request_body, messages):
    assert told(validate_create(group, "v1", kind, {"metadata": {}, **request_body})) == messages


def test_autoscaler_of_version_1_is_checked_as_one_of_version_2():
    spec = {
        "maxReplicas": 3,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"},
        "targetCPUUtilizationPercentage": 0,
    }

    errors = validate_create(
        "autoscaling", "v1", "HorizontalPodAutoscaler", {"metadata": {"name": "a", "namespace": "n"}, "spec": spec}
    )

    assert [error.field for error in errors] == ["spec.metrics[0].resource.target.averageUtilization"] * len(errors)
    assert errors


@pytest.mark.parametrize(
    ("group", "kind", "start"),
    [
        ("apps", "Deployment", 'Deployment.apps "a" is invalid: '),
        ("events.k8s.io", "Event", 'Event "a" is invalid: '),
        ("authorization.k8s.io", "SubjectAccessReview", '.authorization.k8s.io "" is invalid: '),
    ],
)
def test_refusal_names_the_kind_as_the_real_server_does(group, kind, start):
    body = refusal(group, kind, "a", [required("spec")]).body

    assert body["message"] == f"{start}spec: Required value"
    assert body["code"] == 422
