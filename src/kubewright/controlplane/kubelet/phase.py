"""The phase of a pod, from the states of its containers, and who is restarted."""

from __future__ import annotations

from collections.abc import Mapping

from kubewright.controlplane.pod_resources import is_sidecar
from kubewright.kinds.core_v1 import Container, ContainerStateTerminated, ContainerStatus, Pod

__all__ = ["last_end", "phase_of", "restarts"]

Statuses = Mapping[str, ContainerStatus]


def restarts(container: Container, pod: Pod, code: int, *, is_init: bool = False) -> bool:
    """Whether a container that ended with a code is started again."""
    if container.restart_policy is not None:
        for rule in container.restart_policy_rules:
            codes = rule.exit_codes
            if codes is not None and (code in codes.values) == (codes.operator == "In"):
                return True
    policy = container.restart_policy or pod.spec.restart_policy or "Always"
    if policy == "Always":
        return code != 0 if is_init and not is_sidecar(container) else True
    return policy == "OnFailure" and code != 0


def last_end(status: ContainerStatus) -> ContainerStateTerminated | None:
    """How the container ended last, if it does not run."""
    if status.state is not None and status.state.terminated is not None:
        return status.state.terminated
    if status.state is not None and status.state.running is not None:
        return None
    return status.last_state.terminated if status.last_state is not None else None


def phase_of(pod: Pod, init: Statuses, regular: Statuses, *, ends: bool = False) -> str:
    """The phase that the containers make; ``ends``: none of them is started again, whatever the policy."""
    for container in pod.spec.init_containers:
        end = last_end(init[container.name])
        failed = end is not None and end.exit_code != 0 and not is_sidecar(container)
        if end is not None and failed and not restarts(container, pod, end.exit_code, is_init=True):
            return "Failed"
    if not _is_initialized(pod, init, regular):
        return "Pending"
    ended = {one.name: end for one in pod.spec.containers if (end := last_end(regular[one.name])) is not None}
    running = [one.name for one in pod.spec.containers if _is_running(regular[one.name])]
    if len(ended) + len(running) < len(pod.spec.containers):
        return "Pending"
    sidecars = any(is_sidecar(one) and _is_running(init[one.name]) for one in pod.spec.init_containers)
    if running or sidecars:
        return "Running"
    if not ends and any(restarts(one, pod, ended[one.name].exit_code) for one in pod.spec.containers):
        return "Running"
    return "Failed" if any(end.exit_code for end in ended.values()) else "Succeeded"


def _is_running(status: ContainerStatus) -> bool:
    return status.state is not None and status.state.running is not None


def _is_initialized(pod: Pod, init: Statuses, regular: Statuses) -> bool:
    if any(_is_running(status) or last_end(status) is not None for status in regular.values()):
        return True
    for container in pod.spec.init_containers:
        status = init[container.name]
        if is_sidecar(container):
            if not status.started:
                return False
        elif (end := last_end(status)) is None or end.exit_code:
            return False
    return True
