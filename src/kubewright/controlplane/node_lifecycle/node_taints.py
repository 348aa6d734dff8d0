"""The taints that a node's conditions call for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from kubewright.controlplane.node_lifecycle.health import readiness
from kubewright.controlplane.taints import NOT_READY, UNREACHABLE, UNSCHEDULABLE
from kubewright.kinds.core_v1 import Node, Taint

__all__ = ["drives_out", "with_no_execute", "with_no_schedule"]

_OF_CONDITIONS: Final = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
}
_OURS: Final = frozenset([*_OF_CONDITIONS.values(), UNSCHEDULABLE])


def with_no_schedule(node: Node, now: datetime) -> list[Taint]:
    """The node's taints, with those that keep new pods away as its conditions and its cordon want them."""
    wanted = [
        key
        for condition in node.status.conditions
        if (key := _OF_CONDITIONS.get((condition.type, condition.status))) is not None
    ]
    if node.spec.unschedulable:
        wanted.append(UNSCHEDULABLE)
    return _changed(node.spec.taints, list(_OURS), wanted, "NoSchedule", now)


def drives_out(node: Node) -> str:
    """The key of the taint that shall drive pods out of a node; ``""`` if none shall."""
    return {"False": NOT_READY, "Unknown": UNREACHABLE}.get(readiness(node), "")


def with_no_execute(node: Node, key: str, now: datetime) -> list[Taint]:
    """The node's taints, with the one of that key that drives pods out, or none."""
    return _changed(node.spec.taints, [NOT_READY, UNREACHABLE], [key] if key else [], "NoExecute", now)


def _changed(
    taints: Sequence[Taint], ours: Sequence[str], wanted: Sequence[str], effect: str, now: datetime
) -> list[Taint]:
    kept = [taint for taint in taints if taint.effect != effect or taint.key not in ours or taint.key in wanted]
    present = {taint.key for taint in kept if taint.effect == effect}
    return [*kept, *(Taint(key=key, effect=effect, time_added=now) for key in wanted if key not in present)]
