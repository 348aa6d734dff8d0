"""Roles and their bindings."""

from __future__ import annotations

from typing import Final

from kubewright_apiserver.schema.goprint import printed
from kubewright_apiserver.status import Printed, invalid_field, not_supported, required
from kubewright_apiserver.validation.labels import selector_errors
from kubewright_apiserver.validation.metadata import created_metadata, updated_metadata
from kubewright_apiserver.validation.names import dns_subdomain, path_segment
from kubewright_apiserver.validation.rules import Errors, Object, named

__all__ = [
    "created_cluster_role",
    "created_cluster_role_binding",
    "created_role",
    "created_role_binding",
    "rbac_name",
    "updated_cluster_role",
    "updated_cluster_role_binding",
    "updated_role",
    "updated_role_binding",
]

_GROUP: Final = "rbac.authorization.k8s.io"


def rbac_name(text: str) -> tuple[str, ...]:
    """What keeps a text from naming a role: it must only fit into a URL, be it a prefix or not."""
    return path_segment(text)


def created_role(obj: Object) -> Errors:
    """The errors of a new Role."""
    return created_metadata(obj, True, rbac_name) + _rules(obj, namespaced=True)


def updated_role(obj: Object, old: Object) -> Errors:
    """The errors of a Role that is written over an old one."""
    return created_role(obj) + updated_metadata(obj, old)


def created_cluster_role(obj: Object) -> Errors:
    """The errors of a new ClusterRole."""
    errors = created_metadata(obj, False, rbac_name) + _rules(obj, namespaced=False)
    aggregation, at = obj.get("aggregationRule"), "aggregationRule.clusterRoleSelectors"
    if aggregation is None:
        return errors
    selectors = aggregation.get("clusterRoleSelectors") or ()
    if not selectors:
        detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        errors.append(required(at, detail))
    for index, selector in enumerate(selectors):
        wrong = selector_errors(selector, f"{at}[{index}]")
        if wrong:
            wrong.append(invalid_field(f"{at}[{index}]", Printed("null"), "invalid label selector."))
        errors += wrong
    return errors


def updated_cluster_role(obj: Object, old: Object) -> Errors:
    """The errors of a ClusterRole that is written over an old one."""
    return created_cluster_role(obj) + updated_metadata(obj, old)


def _rules(obj: Object, *, namespaced: bool) -> Errors:
    errors: Errors = []
    for index, rule in enumerate(obj.get("rules") or ()):
        errors += _rule(rule, f"rules[{index}]", namespaced)
    return errors


def _rule(rule: Object, path: str, namespaced: bool) -> Errors:
    errors = [] if rule.get("verbs") else [required(f"{path}.verbs", "verbs must contain at least one value")]
    if urls := rule.get("nonResourceURLs"):
        at = f"{path}.nonResourceURLs"
        if namespaced:
            errors.append(invalid_field(at, urls, "namespaced rules cannot apply to non-resource URLs"))
        if any(rule.get(name) for name in ("apiGroups", "resources", "resourceNames")):
            detail = "rules cannot apply to both regular resources and non-resource URLs"
            errors.append(invalid_field(at, urls, detail))
        return errors
    if not rule.get("apiGroups"):
        errors.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        errors.append(required(f"{path}.resources", "resource rules must supply at least one resource"))
    return errors


def created_role_binding(obj: Object) -> Errors:
    """The errors of a new RoleBinding."""
    return created_metadata(obj, True, rbac_name) + _binding(obj, ("Role", "ClusterRole"), namespaced=True)


def created_cluster_role_binding(obj: Object) -> Errors:
    """The errors of a new ClusterRoleBinding."""
    return created_metadata(obj, False, rbac_name) + _binding(obj, ("ClusterRole",), namespaced=False)


def updated_role_binding(obj: Object, old: Object) -> Errors:
    """The errors of a RoleBinding that is written over an old one."""
    return created_role_binding(obj) + updated_metadata(obj, old) + _kept_role(obj, old)


def updated_cluster_role_binding(obj: Object, old: Object) -> Errors:
    """The errors of a ClusterRoleBinding that is written over an old one."""
    return created_cluster_role_binding(obj) + updated_metadata(obj, old) + _kept_role(obj, old)


def _kept_role(obj: Object, old: Object) -> Errors:
    new, before = (printed("rbac.RoleRef", holder.get("roleRef") or {}) for holder in (obj, old))
    return [] if new == before else [invalid_field("roleRef", new, "cannot change roleRef")]


def _binding(obj: Object, kinds: tuple[str, ...], *, namespaced: bool) -> Errors:
    role = obj.get("roleRef") or {}
    errors: Errors = []
    if role.get("apiGroup") != _GROUP:
        errors.append(not_supported("roleRef.apiGroup", role.get("apiGroup", ""), (_GROUP,)))
    if role.get("kind") not in kinds:
        errors.append(not_supported("roleRef.kind", role.get("kind", ""), kinds))
    name = role.get("name")
    errors += named(path_segment, "roleRef.name", name) if name else [required("roleRef.name")]
    for index, subject in enumerate(obj.get("subjects") or ()):
        errors += _subject(subject, f"subjects[{index}]", namespaced)
    return errors


def _subject(subject: Object, path: str, namespaced: bool) -> Errors:
    kind, name, group = subject.get("kind", ""), subject.get("name"), subject.get("apiGroup", "")
    errors = [] if name else [required(f"{path}.name")]
    if kind == "ServiceAccount":
        errors += named(dns_subdomain, f"{path}.name", name) if name else []
        if group:
            errors.append(not_supported(f"{path}.apiGroup", group, ("",)))
        if not namespaced and not subject.get("namespace"):
            errors.append(required(f"{path}.namespace"))
    elif kind in ("User", "Group"):
        if group != _GROUP:
            errors.append(not_supported(f"{path}.apiGroup", group, (_GROUP,)))
    else:
        errors.append(not_supported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group")))
    return errors
