"""Taints and tolerations: which pods a node keeps away, as scheduler and node-lifecycle both judge it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubewright.kinds.core_v1 import Taint, Toleration

__all__ = ["NOT_READY", "UNREACHABLE", "UNSCHEDULABLE", "first_untolerated", "tolerates", "used_tolerations"]

NOT_READY: Final = "node.kubernetes.io/not-ready"
"""The taint of a node that says that it is not ready."""

UNREACHABLE: Final = "node.kubernetes.io/unreachable"
"""The taint of a node that says nothing any more."""

UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
"""The taint of a node that was cordoned."""


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether one toleration is for a taint: effect, key and value agree, where it names them."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in (None, "", "Equal"):
        return (toleration.value or "") == (taint.value or "")
    return toleration.operator == "Exists"


def first_untolerated(
    taints: Sequence[Taint], tolerations: Sequence[Toleration], effects: Sequence[str]
) -> Taint | None:
    """The first taint with one of the effects that nothing tolerates; None if there is none."""
    for taint in taints:
        if taint.effect in effects and not any(tolerates(toleration, taint) for toleration in tolerations):
            return taint
    return None


def used_tolerations(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> list[Toleration] | None:
    """For each taint the first toleration that is for it; None if one of them is not tolerated."""
    used: list[Toleration] = []
    for taint in taints:
        found = next((toleration for toleration in tolerations if tolerates(toleration, taint)), None)
        if found is None:
            return None
        used.append(found)
    return used
