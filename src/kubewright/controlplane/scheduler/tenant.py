"""``Tenant``: a pod as nodes are judged by it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from kubewright.api import Key
from kubewright.controlplane.pod_resources import nonzero_requests_of, requests_of
from kubewright.kinds.core_v1 import Pod, PodAffinityTerm

__all__ = ["DISRUPTED", "Tenant", "is_over"]

DISRUPTED: Final = "PreemptionByScheduler"
"""The reason of the condition DisruptionTarget on a pod that had to make room."""

_EVER: Final = datetime(9999, 1, 1, tzinfo=UTC)


def is_over(pod: Pod) -> bool:
    """Whether a pod has ended, so that it takes no room any more."""
    return pod.status.phase in ("Succeeded", "Failed")


class Tenant:
    """A pod that lives on a node, or wants to: what of it matters to others."""

    __slots__ = (
        "anti_affinity",
        "is_leaving",
        "is_preempted",
        "key",
        "labels",
        "node",
        "nominated",
        "nonzero",
        "ports",
        "priority",
        "requests",
        "started",
        "uid",
    )

    def __init__(self, pod: Pod) -> None:
        self.key: Key = pod.key
        self.uid: str = pod.metadata.uid
        self.labels: dict[str, str] = pod.metadata.labels
        self.node: str = pod.spec.node_name or ""
        self.nominated: str = pod.status.nominated_node_name
        self.priority: int = pod.spec.priority or 0
        self.requests: dict[str, int] = requests_of(pod.spec)
        self.nonzero: dict[str, int] = nonzero_requests_of(pod.spec)
        self.ports: tuple[tuple[str, str, int], ...] = _ports(pod)
        self.anti_affinity: tuple[PodAffinityTerm, ...] = _anti_affinity(pod)
        self.is_leaving: bool = pod.metadata.deletion_timestamp is not None
        self.is_preempted: bool = self.is_leaving and _is_preempted(pod)
        self.started: datetime = pod.status.start_time or _EVER

    @property
    def namespace(self) -> str:
        """Where the pod lives."""
        return self.key.namespace

    def __repr__(self) -> str:
        return f"<Tenant {self.key} on {self.node or 'no node'}>"


def _ports(pod: Pod) -> tuple[tuple[str, str, int], ...]:
    """Address, protocol and number of each port that the pod wants of its node."""
    containers = [*(one for one in pod.spec.init_containers if one.restart_policy == "Always"), *pod.spec.containers]
    return tuple(
        (port.host_ip or "0.0.0.0", port.protocol or "TCP", port.host_port)
        for container in containers
        for port in container.ports
        if port.host_port
    )


def _anti_affinity(pod: Pod) -> tuple[PodAffinityTerm, ...]:
    affinity = pod.spec.affinity
    if affinity is None or affinity.pod_anti_affinity is None:
        return ()
    return tuple(affinity.pod_anti_affinity.required_during_scheduling_ignored_during_execution)


def _is_preempted(pod: Pod) -> bool:
    return any(
        condition.type == "DisruptionTarget" and condition.status == "True" and condition.reason == DISRUPTED
        for condition in pod.status.conditions
    )
