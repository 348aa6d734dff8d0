"""Whether a node still says that it lives: by its Lease, or by its own status."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, NamedTuple

import msgspec

from kubewright.kinds.coordination_v1 import Lease
from kubewright.kinds.core_v1 import Node, NodeCondition

__all__ = ["Pulse", "Pulses", "readiness", "silenced"]

_TYPES: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


def readiness(node: Node) -> str:
    """The status of the node's condition Ready; ``""`` if it has none."""
    return next((condition.status for condition in node.status.conditions if condition.type == "Ready"), "")


class Pulse(NamedTuple):
    """The last sign of life of a node: what it was, and when it was seen."""

    uid: str
    sign: tuple[str, str]
    seen: datetime


class Pulses:
    """When each node was last heard of, by this controller's own clock.

    A node that has never been heard of by this controller counts as heard of now: after a new start nobody is
    silent at once.
    """

    def __init__(self, grace: timedelta, startup_grace: timedelta) -> None:
        self._grace = grace
        self._startup_grace = startup_grace
        self._pulses: dict[str, Pulse] = {}

    def knows(self, node: Node) -> bool:
        """Whether the node has been seen before."""
        known = self._pulses.get(node.name)
        return known is not None and known.uid == node.metadata.uid

    def silent_at(self, node: Node, lease: Lease | None, now: datetime) -> datetime:
        """When the node counts as silent, if it says nothing more."""
        sign = (_renewal(lease), _heartbeat(node))
        known = self._pulses.get(node.name)
        if known is None or known.uid != node.metadata.uid:
            seen = now if readiness(node) else (node.metadata.creation_timestamp or now)
            known = Pulse(node.metadata.uid, sign, seen)
        elif known.sign != sign:
            known = Pulse(known.uid, sign, _moment_of(lease, known, now))
        self._pulses[node.name] = known
        return known.seen + (self._grace if readiness(node) else self._startup_grace)

    def forget(self, name: str) -> None:
        """Forget a node that is gone."""
        self._pulses.pop(name, None)


def _renewal(lease: Lease | None) -> str:
    return str(lease.spec.renew_time) if lease is not None and lease.spec.renew_time is not None else ""


def _heartbeat(node: Node) -> str:
    times = (condition.last_heartbeat_time for condition in node.status.conditions if condition.type == "Ready")
    return next((str(time) for time in times), "")


def _moment_of(lease: Lease | None, known: Pulse, now: datetime) -> datetime:
    """When a sign was given that was seen only now: what the Lease says, if that can be true."""
    renewed = lease.spec.renew_time if lease is not None else None
    if renewed is None or _renewal(lease) == known.sign[0]:
        return now
    said = datetime.fromisoformat(str(renewed))
    return said if known.seen <= said <= now else now


def silenced(node: Node, now: datetime) -> list[NodeCondition]:
    """The conditions of a node that is silent: unknown, since now if they were known."""
    found = {condition.type: condition for condition in node.status.conditions}
    silent: list[NodeCondition] = []
    for condition in node.status.conditions:
        known = condition.type not in _TYPES or condition.status == "Unknown"
        silent.append(condition if known else _unknown(condition, now))
    for type in _TYPES:
        if type not in found:
            silent.append(
                NodeCondition(
                    type=type,
                    status="Unknown",
                    reason="NodeStatusNeverUpdated",
                    message="Kubelet never posted node status.",
                    last_heartbeat_time=node.metadata.creation_timestamp,
                    last_transition_time=now,
                )
            )
    return silent


def _unknown(condition: NodeCondition, now: datetime) -> NodeCondition:
    return msgspec.structs.replace(
        condition,
        status="Unknown",
        reason="NodeStatusUnknown",
        message="Kubelet stopped posting node status.",
        last_transition_time=now,
    )
