"""The roles and bindings that every cluster has from its first moment, made of the extracted facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from kubewright_apiserver.data import roles
from kubewright_apiserver.registry.aggregation import AGGREGATOR, aggregated_rules

__all__ = ["Policy", "bootstrap_policy", "policy_object"]

Object = dict[str, Any]

_VERSION: Final = "rbac.authorization.k8s.io/v1"
_LABEL: Final = ("kubernetes.io/bootstrapping", "rbac-defaults")
_ANNOTATION: Final = ("rbac.authorization.kubernetes.io/autoupdate", "true")
_TABLES: Final = {
    "ClusterRole": "rbac.authorization.k8s.io/clusterroles",
    "ClusterRoleBinding": "rbac.authorization.k8s.io/clusterrolebindings",
    "Role": "rbac.authorization.k8s.io/roles",
    "RoleBinding": "rbac.authorization.k8s.io/rolebindings",
}


class Policy(NamedTuple):
    """A role or binding, and where it is stored."""

    table: str
    key: str
    obj: Object


def bootstrap_policy(now: str, new_uid: Callable[[], str]) -> list[Policy]:
    """What every cluster has, with the rules gathered that are to be gathered."""
    found = [_stored(fact, now, new_uid()) for fact in roles()]
    cluster_roles = [policy.obj for policy in found if policy.obj["kind"] == "ClusterRole"]
    # Those that only gather from plain roles come first, as names happen to have it: view, edit, admin.
    for role in reversed(cluster_roles):
        if "aggregationRule" in role:
            role["rules"] = aggregated_rules(role, cluster_roles)
            gathered = {"manager": AGGREGATOR, "operation": "Apply", **_entry(now, {"f:rules": {}})}
            role["metadata"]["managedFields"].insert(0, gathered)
    return found


def _stored(fact: Object, now: str, uid: str) -> Policy:
    obj = policy_object(fact, now, uid)
    namespace = fact.get("namespace", "")
    return Policy(_TABLES[fact["kind"]], f"{namespace}/{fact['name']}" if namespace else fact["name"], obj)


def policy_object(fact: Object, now: str, uid: str) -> Object:
    """The whole object that a fact stands for, as the server makes it."""
    labels = dict([_LABEL, *fact.get("labels", {}).items()])
    content = {name: value for name, value in fact.items() if name not in ("kind", "labels", "name", "namespace")}
    managed: Object = {f"f:{name}": {} for name, value in content.items() if value is not None}
    if "aggregationRule" in content:
        managed["f:aggregationRule"] = {".": {}, "f:clusterRoleSelectors": {}}
    managed["f:metadata"] = {
        "f:annotations": {".": {}, f"f:{_ANNOTATION[0]}": {}},
        "f:labels": {".": {}, **{f"f:{name}": {} for name in labels}},
    }
    metadata: Object = {"name": fact["name"]}
    if "namespace" in fact:
        metadata["namespace"] = fact["namespace"]
    metadata |= {"uid": uid, "creationTimestamp": now, "labels": labels, "annotations": dict([_ANNOTATION])}
    metadata["managedFields"] = [{"manager": "kube-apiserver", "operation": "Update", **_entry(now, managed)}]
    return {"kind": fact["kind"], "apiVersion": _VERSION, "metadata": metadata, **content}


def _entry(now: str, fields: Object) -> Object:
    return {"apiVersion": _VERSION, "time": now, "fieldsType": "FieldsV1", "fieldsV1": fields}
