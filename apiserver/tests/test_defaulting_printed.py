"""What Go prints though nobody said it is filled in, and nothing else."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from kubewright_apiserver.data import resources
from kubewright_apiserver.defaulting import fill_printed

KINDS = [(found["group"], found["version"], found["kind"]) for found in resources()["resources"]]


def filled(group: str, version: str, kind: str, obj: dict[str, Any]) -> dict[str, Any]:
    fill_printed(group, version, kind, obj)
    return obj


def test_structs_are_printed_though_nobody_set_them():
    pod = filled("", "v1", "Pod", {"metadata": {"name": "x"}, "spec": {"containers": [{"name": "c"}]}})

    assert pod == {
        "metadata": {"name": "x"},
        "spec": {"containers": [{"name": "c", "resources": {}}]},
        "status": {},
    }


def test_numbers_and_texts_without_omitempty_are_printed():
    replica_set = filled("apps", "v1", "ReplicaSet", {"metadata": {}, "spec": {"selector": {}}})

    assert replica_set["status"] == {"replicas": 0}
    assert replica_set["spec"]["template"] == {"metadata": {}, "spec": {"containers": None}}


def test_lists_without_omitempty_become_null_when_empty():
    role = filled("rbac.authorization.k8s.io", "v1", "Role", {"metadata": {}, "rules": []})

    assert role["rules"] is None


def test_times_without_a_value_are_null():
    event = filled("", "v1", "Event", {"metadata": {}})

    assert event["firstTimestamp"] is None
    assert event["eventTime"] is None
    assert event["involvedObject"] == {}


def test_conditions_in_a_list_are_completed():
    pod = filled("", "v1", "Pod", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})

    assert pod["status"]["conditions"] == [
        {"type": "Ready", "status": "True", "lastProbeTime": None, "lastTransitionTime": None}
    ]


def test_an_empty_pointer_is_no_null():
    claim = filled("", "v1", "PersistentVolumeClaim", {"spec": {"dataSource": {}}})

    assert claim["spec"]["dataSource"] == {"apiGroup": None, "kind": "", "name": ""}


def test_values_of_maps_are_completed():
    slice_ = filled("resource.k8s.io", "v1", "ResourceSlice", {"spec": {"devices": [{"capacity": {"m": {}}}]}})

    assert slice_["spec"]["devices"][0]["capacity"]["m"] == {"value": "0"}


def test_a_port_that_may_be_a_name_is_zero():
    probe: dict[str, Any] = {"httpGet": {}}
    pod = filled("", "v1", "Pod", {"spec": {"containers": [{"livenessProbe": probe}]}})

    assert pod["spec"]["containers"][0]["livenessProbe"] == {"httpGet": {"port": 0}}


def test_a_creation_time_that_is_not_there_is_not_printed():
    assert filled("", "v1", "ConfigMap", {}) == {"metadata": {}}


def test_a_type_that_contains_itself_is_completed():
    schema: dict[str, Any] = {"properties": {"a": {"properties": {"b": {"externalDocs": {}}}}}}
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}}
    crd = filled("apiextensions.k8s.io", "v1", "CustomResourceDefinition", {"spec": {"versions": [version]}})

    assert crd["spec"]["versions"][0] == {**version, "served": False, "storage": False}
    assert crd["status"]["storedVersions"] is None


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "/".join(kind))
def test_filling_an_empty_object_of_any_kind_twice_is_filling_it_once(kind):
    group, version, name = kind
    once = filled(group, version, name, {})

    twice = filled(group, version, name, copy.deepcopy(once))

    assert twice == once
    assert json.loads(json.dumps(once)) == once
