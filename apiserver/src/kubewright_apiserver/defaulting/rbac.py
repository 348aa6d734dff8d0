"""Defaults of the group rbac.authorization.k8s.io."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.defaulting.parts import Default, Key, part

__all__ = ["DEFAULTS"]

_GROUP: Final = "rbac.authorization.k8s.io"


def _binding(binding: dict[str, Any]) -> None:
    role = part(binding, "roleRef")
    if not role.get("apiGroup"):
        role["apiGroup"] = _GROUP
    for subject in binding.get("subjects") or ():
        if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = _GROUP


DEFAULTS: Final[dict[Key, Default]] = {
    (_GROUP, "v1", "ClusterRoleBinding"): _binding,
    (_GROUP, "v1", "RoleBinding"): _binding,
}
