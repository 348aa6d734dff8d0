"""The roles and bindings of the first moment, and roles that gather the rules of others."""

from __future__ import annotations

import itertools
from typing import Any

from kubewright_apiserver.access.policy import bootstrap_policy
from kubewright_apiserver.registry.aggregation import aggregated_rules

NOW = "2026-01-01T00:00:00Z"


def policies() -> dict[tuple[str, str], dict[str, Any]]:
    uids = itertools.count()
    found = bootstrap_policy(NOW, lambda: f"uid-{next(uids)}")
    return {(policy.table.partition("/")[2], policy.key): policy.obj for policy in found}


def test_there_are_as_many_as_on_the_real_server():
    kinds = [plural for plural, _ in policies()]

    assert {kind: kinds.count(kind) for kind in kinds} == {
        "clusterroles": 69,
        "clusterrolebindings": 50,
        "roles": 7,
        "rolebindings": 7,
    }


def test_they_are_whole_objects_of_the_server():
    role = policies()["roles", "kube-system/extension-apiserver-authentication-reader"]

    assert role["metadata"] == {
        "name": "extension-apiserver-authentication-reader",
        "namespace": "kube-system",
        "uid": role["metadata"]["uid"],
        "creationTimestamp": NOW,
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
        "managedFields": [
            {
                "manager": "kube-apiserver",
                "operation": "Update",
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "time": NOW,
                "fieldsType": "FieldsV1",
                "fieldsV1": {
                    "f:metadata": {
                        "f:annotations": {".": {}, "f:rbac.authorization.kubernetes.io/autoupdate": {}},
                        "f:labels": {".": {}, "f:kubernetes.io/bootstrapping": {}},
                    },
                    "f:rules": {},
                },
            }
        ],
    }


def test_roles_for_people_have_gathered_their_rules():
    found = policies()
    counts = {name: len(found["clusterroles", name]["rules"]) for name in ("view", "edit", "admin")}

    assert counts == {"view": 12, "edit": 27, "admin": 29}
    managers = [entry["manager"] for entry in found["clusterroles", "admin"]["metadata"]["managedFields"]]
    assert managers == ["clusterrole-aggregation-controller", "kube-apiserver"]


def role(name: str, labels: dict[str, str], *verbs: str) -> dict[str, Any]:
    rules = [{"verbs": [verb], "apiGroups": [""], "resources": ["pods"]} for verb in verbs]
    return {"metadata": {"name": name, "labels": labels}, "rules": rules}


def test_a_role_gathers_the_rules_of_those_that_its_selectors_match_each_once():
    selectors = [{"matchLabels": {"a": "1"}}, {"matchExpressions": [{"key": "b", "operator": "Exists"}]}]
    gathering = {**role("all", {"a": "1"}, "delete"), "aggregationRule": {"clusterRoleSelectors": selectors}}
    others = [gathering, role("c", {"b": "x"}, "get"), role("d", {"a": "1"}, "list", "get"), role("e", {}, "watch")]

    rules = aggregated_rules(gathering, others)

    assert [rule["verbs"] for rule in rules] == [["list"], ["get"]]
