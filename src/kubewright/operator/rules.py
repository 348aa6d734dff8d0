"""What an operator must be allowed to do, told from its controllers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from kubewright.api import Resource
from kubewright.controller import Controller

if TYPE_CHECKING:
    from kubewright.kinds.rbac_v1 import PolicyRule

__all__ = ["rules_of"]

_READ: Final = ("get", "list", "watch")
_CHANGE: Final = ("patch", "update")
_OWN: Final = ("create", "delete", "patch", "update")


def rules_of(controllers: Iterable[Controller[Any]]) -> list[PolicyRule]:
    """One rule a group and set of verbs, in a stable order."""
    needed: dict[tuple[str, str], set[str]] = {}

    def need(group: str, resource: str, verbs: Iterable[str]) -> None:
        needed.setdefault((group, resource), set()).update(verbs)

    need("events.k8s.io", "events", ("create", "patch"))
    need("coordination.k8s.io", "leases", ("get", "create", "patch", "update"))
    for controller in controllers:
        for kind in controller.kinds:
            need(*_place(kind), _READ)
        group, plural = _place(controller.kind)
        need(group, plural, _CHANGE)
        need(group, f"{plural}/status", ("get", *_CHANGE))
        need(group, f"{plural}/finalizers", ("update",))
        for child in (*controller.owns, *controller.tracks):
            need(*_place(child), _OWN)
    return _merged(needed)


def _place(kind: type[Resource]) -> tuple[str, str]:
    return kind.api_resource.group, kind.api_resource.plural


def _merged(needed: dict[tuple[str, str], set[str]]) -> list[PolicyRule]:
    from kubewright.kinds.rbac_v1 import PolicyRule

    merged: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (group, resource), verbs in sorted(needed.items()):
        merged.setdefault((group, tuple(sorted(verbs))), []).append(resource)
    return [
        PolicyRule(api_groups=[group], resources=resources, verbs=list(verbs))
        for (group, verbs), resources in merged.items()
    ]
