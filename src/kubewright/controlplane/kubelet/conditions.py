"""The conditions of a pod as a kubelet keeps them: reasons and messages are Kubernetes' own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from kubewright.controlplane.kubelet.phase import last_end
from kubewright.controlplane.pod_resources import is_sidecar
from kubewright.kinds.core_v1 import ContainerStatus, Pod, PodCondition, PodStatus

__all__ = ["conditions_of", "disruption"]

_OWN: Final = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
_OVER: Final = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}

Statuses = Mapping[str, ContainerStatus]


def conditions_of(pod: Pod, status: PodStatus, init: Statuses, regular: Statuses, now: datetime) -> list[PodCondition]:
    """All conditions of a pod that comes to have that status: others' as they are, then the kubelet's own.

    The time of a condition moves when its status does.
    """
    phase = status.phase
    others = [condition for condition in pod.status.conditions if condition.type not in _OWN]
    containers = _containers_ready(pod, phase, {**init, **regular})
    own = [
        _condition("PodReadyToStartContainers", phase not in _OVER and bool(status.pod_ip)),
        _initialized(pod, phase, init, regular),
        _ready(pod, containers, others),
        containers,
        _condition("PodScheduled", True),
    ]
    before = {condition.type: condition for condition in pod.status.conditions}
    return [*others, *(_stamped(condition, before.get(condition.type), pod, now) for condition in own)]


def disruption(pod: Pod, message: str, now: datetime) -> PodCondition:
    """The condition of a pod that its node drives out."""
    condition = _condition("DisruptionTarget", True, "TerminationByKubelet", message)
    return _stamped(condition, None, pod, now)


def _condition(type: str, status: bool, reason: str | None = None, message: str | None = None) -> PodCondition:
    return PodCondition(type=type, status=str(status), reason=reason, message=message)


def _stamped(condition: PodCondition, before: PodCondition | None, pod: Pod, now: datetime) -> PodCondition:
    same = before is not None and before.status == condition.status
    condition.last_transition_time = before.last_transition_time if before is not None and same else now
    condition.observed_generation = pod.metadata.generation
    return condition


def _listed(names: Iterable[str]) -> str:
    return f"[{' '.join(names)}]"


def _initialized(pod: Pod, phase: str, init: Statuses, regular: Statuses) -> PodCondition:
    if phase == "Succeeded":
        return _condition("Initialized", True, "PodCompleted")
    if any(_has_run(status) for status in regular.values()):
        return _condition("Initialized", True)
    incomplete = [
        one.name
        for one in pod.spec.init_containers
        if not (init[one.name].started if is_sidecar(one) else init[one.name].ready)
    ]
    if not incomplete:
        return _condition("Initialized", True)
    text = f"containers with incomplete status: {_listed(incomplete)}"
    return _condition("Initialized", False, "ContainersNotInitialized", text)


def _has_run(status: ContainerStatus) -> bool:
    return last_end(status) is not None or (status.state is not None and status.state.running is not None)


def _containers_ready(pod: Pod, phase: str, statuses: Statuses) -> PodCondition:
    if phase in _OVER:
        return _condition("ContainersReady", False, _OVER[phase])
    watched = [*(one for one in pod.spec.init_containers if is_sidecar(one)), *pod.spec.containers]
    unready = [one.name for one in watched if not statuses[one.name].ready]
    if not unready:
        return _condition("ContainersReady", True)
    text = f"containers with unready status: {_listed(unready)}"
    return _condition("ContainersReady", False, "ContainersNotReady", text)


def _ready(pod: Pod, containers: PodCondition, others: Iterable[PodCondition]) -> PodCondition:
    if containers.status != "True":
        return _condition("Ready", False, containers.reason, containers.message)
    found = {condition.type: condition.status for condition in others}
    problems = []
    for gate in pod.spec.readiness_gates:
        status = found.get(gate.condition_type)
        if status is None:
            problems.append(f'corresponding condition of pod readiness gate "{gate.condition_type}" does not exist.')
        elif status != "True":
            problems.append(f'the status of pod readiness gate "{gate.condition_type}" is not "True", but {status}')
    return (
        _condition("Ready", False, "ReadinessGatesNotReady", ", ".join(problems))
        if problems
        else _condition("Ready", True)
    )
