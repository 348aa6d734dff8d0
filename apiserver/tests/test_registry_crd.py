"""CustomResourceDefinitions are filled in, refused and established as by a real kube-apiserver 1.36."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from kubewright_apiserver.registry.crd import (
    crd_errors,
    crd_status_errors,
    crd_warnings,
    default_crd,
    prepare_crd_create,
    prepare_crd_update,
)
from kubewright_apiserver.registry.crd_names import establish, is_true, terminating

DATA: dict[str, Any] = json.loads((Path(__file__).parent / "data/custom_resources.json").read_text())
DEFINITIONS, UPDATES, NAMES = DATA["definitions"], DATA["updates"], DATA["names"]


def changed(crd: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """The CRD with values put at paths such as ``spec.versions.0.name``; None takes away."""
    crd = copy.deepcopy(crd)
    for path, value in changes.items():
        *steps, last = path.split(".")
        place: Any = crd
        for step in steps:
            place = place[int(step)] if isinstance(place, list) else place[step]
        if isinstance(place, list):
            place[int(last) : int(last) + 1] = [copy.deepcopy(value)]
        elif value is None:
            place.pop(last, None)
        else:
            place[last] = copy.deepcopy(value)
    return crd


def created(**changes: Any) -> dict[str, Any]:
    crd = changed(DATA["definition"], {path.replace("__", "."): value for path, value in changes.items()})
    default_crd(crd)
    prepare_crd_create(crd)
    return crd


def served() -> dict[str, Any]:
    crd = created()
    crd["metadata"] |= {"uid": "u", "resourceVersion": "5", "generation": 1}
    crd["status"] = establish(crd, [], "2026-01-01T00:00:00Z")
    return crd


def causes(errors: list[Any]) -> list[list[str]]:
    return sorted([error.cause["reason"], error.field, error.body] for error in errors)


@pytest.mark.parametrize("case", DEFINITIONS, ids=[case["case"] for case in DEFINITIONS])
def test_a_definition_is_refused_for_what_the_server_refuses_it(case):
    crd = changed(DATA["definition"], case["changes"])

    default_crd(crd)
    prepare_crd_create(crd)

    assert causes(crd_errors(crd)) == case["causes"]


@pytest.mark.parametrize("case", UPDATES, ids=[case["case"] for case in UPDATES])
def test_a_change_of_a_definition_is_refused_for_what_the_server_refuses_it(case):
    old = served()
    crd = changed(old, case["changes"])

    default_crd(crd)
    prepare_crd_update(crd, old)

    assert causes(crd_errors(crd, old)) == case["causes"]
    assert case["stored"] in (None, crd["status"]["storedVersions"])


def test_names_conversion_and_stored_version_are_filled_in():
    crd = copy.deepcopy(DATA["definition"])

    default_crd(crd)

    assert crd["spec"]["names"] == {"plural": "things", "kind": "Thing", "singular": "thing", "listKind": "ThingList"}
    assert crd["spec"]["conversion"] == {"strategy": "None"}
    assert crd["status"] == {"storedVersions": ["v1"]}


def test_what_is_told_is_not_filled_in():
    crd = changed(DATA["definition"], {"spec.names.singular": "one", "spec.names.listKind": "Many"})
    crd["status"] = {"storedVersions": ["v0"]}

    default_crd(crd)

    assert crd["spec"]["names"]["singular"] == "one"
    assert crd["spec"]["names"]["listKind"] == "Many"
    assert crd["status"]["storedVersions"] == ["v0"]


def test_the_port_of_a_webhook_is_filled_in():
    service = {"namespace": "n", "name": "s"}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {"service": service}}
    crd = changed(DATA["definition"], {"spec.conversion": {"strategy": "Webhook", "webhook": webhook}})

    default_crd(crd)

    assert crd["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["port"] == 443


def test_a_status_that_a_client_sends_is_thrown_away():
    crd = changed(DATA["definition"], {"status": {"conditions": [{"type": "Established", "status": "True"}]}})

    prepare_crd_create(crd)

    assert crd["status"] == {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": ["v1"],
    }


def test_a_new_storage_version_is_added_to_the_stored_ones():
    old = served()
    second = {"name": "v2", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    crd = changed(old, {"spec.versions.0.storage": False, "spec.versions.1": second, "status": {"storedVersions": []}})

    prepare_crd_update(crd, old)

    assert crd["status"]["storedVersions"] == ["v1", "v2"]
    assert crd["status"]["conditions"] == old["status"]["conditions"]
    assert old["status"]["storedVersions"] == ["v1"]


def test_kind_and_scope_may_change_until_the_definition_is_established():
    old = created()
    old["metadata"] |= {"resourceVersion": "5"}
    crd = changed(old, {"spec.scope": "Cluster", "spec.names.kind": "Other"})

    assert crd_errors(crd, old) == []


def test_bad_certificates_of_a_webhook_pass_if_they_were_bad_before():
    client = {"url": "https://a.b", "caBundle": "Zm9v"}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client}
    old = changed(served(), {"spec.conversion": {"strategy": "Webhook", "webhook": webhook}})
    crd = changed(old, {"spec.conversion.webhook.clientConfig.caBundle": "YmFy"})

    assert crd_errors(crd, old) == []


def test_an_approval_that_was_missing_may_stay_so():
    old = changed(served(), {"spec.group": "x.k8s.io", "metadata.name": "things.x.k8s.io"})
    gone = changed(old, {"metadata.annotations": {"api-approved.kubernetes.io": "unapproved"}})

    assert crd_errors(copy.deepcopy(old), old) == []
    assert [error.kind for error in crd_errors(old, gone)] == ["Required value"]


def test_the_names_in_a_status_are_checked_and_nothing_else_of_it():
    old = served()
    crd = changed(old, {"status.acceptedNames.plural": "A_", "status.storedVersions": []})

    assert [error.field for error in crd_status_errors(crd, old)] == ["status.acceptedNames.plural"]


def test_formats_that_nobody_knows_are_warned_of_once_and_only_when_new():
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "format": "colour"}, "b": {"items": {"type": "integer", "format": "i"}}},
    }
    crd = created(spec__versions__0__schema={"openAPIV3Schema": schema})

    assert crd_warnings(crd) == ['unrecognized format "colour"', 'unrecognized format "i"']
    assert crd_warnings(crd, crd) == []


@pytest.mark.parametrize("index", range(len(NAMES)), ids=[case["names"]["plural"] for case in NAMES])
def test_names_are_given_as_the_server_gives_them(index):
    others = [definition_of(case["names"], case["status"]) for case in NAMES[:index]]
    crd = definition_of(NAMES[index]["names"], {"storedVersions": ["v1"]})

    status = establish(crd, [*others, crd], "<now>")

    assert json.dumps(status) == json.dumps(NAMES[index]["status"])


def definition_of(names: dict[str, Any], status: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": f"{names['plural']}.names.io"}
    crd = changed(DATA["definition"], {"metadata": metadata, "spec.group": "names.io", "spec.names": names})
    default_crd(crd)
    return {**crd, "status": copy.deepcopy(status)}


def test_names_in_another_group_are_free():
    other = served()
    other["spec"]["group"] = "other.io"

    status = establish(created(), [other], "now")

    assert is_true({"status": status}, "Established")


def test_a_definition_stays_established_when_a_name_that_it_asks_for_later_is_taken():
    other = changed(served(), {"metadata.name": "other.ex.io", "status.acceptedNames": {"shortNames": ["ot"]}})
    crd = changed(served(), {"spec.names.shortNames": ["ot", "new"]})

    status = establish(crd, [other], "2027-01-01T00:00:00Z")

    assert is_true({"status": status}, "Established")
    assert [condition["lastTransitionTime"][:4] for condition in status["conditions"]] == ["2027", "2026"]
    assert status["conditions"][0]["message"] == '"ot" is already in use'
    assert "shortNames" not in status["acceptedNames"]


def test_times_of_conditions_stay_when_their_status_does():
    crd = served()

    assert establish(crd, [], "2027-01-01T00:00:00Z") == crd["status"]


def test_a_definition_with_bad_certificates_is_not_established():
    client = {"url": "https://a.b", "caBundle": "Zm9v"}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client}
    crd = created(spec__conversion={"strategy": "Webhook", "webhook": webhook})

    status = establish(crd, [], "now")

    assert status["conditions"][1]["reason"] == "InvalidCABundle"
    assert not is_true({"status": status}, "Established")


@pytest.mark.parametrize(
    ("annotation", "status", "reason"),
    [
        ("unapproved, x", "False", "UnapprovedAnnotation"),
        ("https://a/b", "True", "ApprovedAnnotation"),
        ("hearsay", "False", "InvalidAnnotation"),
        ("", "False", "MissingAnnotation"),
    ],
)
def test_approval_by_the_community_is_told_in_a_condition(annotation, status, reason):
    crd = created(spec__group="x.k8s.io")
    crd["metadata"]["annotations"] = {"api-approved.kubernetes.io": annotation}

    told = establish(crd, [], "now")["conditions"][-1]

    assert (told["type"], told["status"], told["reason"]) == ("KubernetesAPIApprovalPolicyConformant", status, reason)


def test_a_deletion_is_told_in_a_condition():
    crd = served()

    status = terminating(crd, "InstanceDeletionPending", "now")

    assert status["conditions"][-1] == {
        "type": "Terminating",
        "status": "True",
        "lastTransitionTime": "now",
        "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    }
    assert len(crd["status"]["conditions"]) == 2
