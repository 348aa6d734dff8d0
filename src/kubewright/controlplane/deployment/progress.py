"""Progress: what a Deployment tells of its ReplicaSets, and whether a rollout goes on, is done, or is stuck."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from datetime import datetime, timedelta
from typing import Final

from kubewright.controlplane.deployment.conditions import (
    AVAILABLE,
    DONE,
    FAILURE,
    PROGRESSING,
    TIMED_OUT,
    UPDATED,
    condition_of,
    get_condition,
    remove_condition,
    set_condition,
)
from kubewright.controlplane.deployment.sizes import max_unavailable, replicas_of, total
from kubewright.kinds.apps_v1 import Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet

__all__ = ["has_deadline", "is_complete", "next_look", "rollout_status", "status_of"]

_NEVER: Final = 2**31 - 1
_SECOND: Final = timedelta(seconds=1)


def has_deadline(deployment: Deployment) -> bool:
    """Whether lack of progress shall be told."""
    return deployment.spec.progress_deadline_seconds not in (None, _NEVER)


def is_complete(deployment: Deployment, status: DeploymentStatus) -> bool:
    """Whether all pods are of the newest template, available, and as many as wanted."""
    wanted = replicas_of(deployment)
    counts = (status.updated_replicas, status.replicas, status.available_replicas)
    return counts == (wanted,) * 3 and status.observed_generation >= (deployment.metadata.generation or 0)


def status_of(
    deployment: Deployment, sets: Sequence[ReplicaSet], newest: ReplicaSet | None, now: datetime
) -> DeploymentStatus:
    """The status by what all ReplicaSets tell."""
    available = sum(found.status.available_replicas for found in sets)
    status = DeploymentStatus(
        observed_generation=deployment.metadata.generation or 0,
        replicas=sum(found.status.replicas for found in sets),
        updated_replicas=newest.status.replicas if newest is not None else 0,
        ready_replicas=sum(found.status.ready_replicas for found in sets),
        available_replicas=available,
        unavailable_replicas=max(0, total(sets) - available),
        terminating_replicas=_terminating(sets),
        conditions=[copy(condition) for condition in deployment.status.conditions],
        collision_count=deployment.status.collision_count,
    )
    if available >= replicas_of(deployment) - max_unavailable(deployment):
        told = ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    else:
        told = ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    set_condition(status, condition_of(AVAILABLE, *told, now))
    return status


def _terminating(sets: Sequence[ReplicaSet]) -> int | None:
    """How many pods are being deleted; None if a ReplicaSet that was looked at does not say."""
    told = [
        found.status.terminating_replicas
        for found in sets
        if found.status.observed_generation or found.status.terminating_replicas is not None
    ]
    return None if None in told else sum(number or 0 for number in told)


def rollout_status(
    deployment: Deployment, sets: Sequence[ReplicaSet], newest: ReplicaSet | None, now: datetime
) -> DeploymentStatus:
    """The status with how the rollout goes on, and why pods are missing."""
    status = status_of(deployment, sets, newest, now)
    if not has_deadline(deployment):
        remove_condition(status, PROGRESSING)
    else:
        _tell_progress(deployment, status, newest, now)
    failure = _failure(sets, newest)
    if failure is None:
        remove_condition(status, FAILURE)
    else:
        set_condition(status, failure)
    return status


def _tell_progress(deployment: Deployment, status: DeploymentStatus, newest: ReplicaSet | None, now: datetime) -> None:
    current = get_condition(deployment.status, PROGRESSING)
    if current is not None and current.reason == DONE and status.replicas == status.updated_replicas:
        return
    who = f'ReplicaSet "{newest.name}"' if newest is not None else f'Deployment "{deployment.name}"'
    if is_complete(deployment, status):
        set_condition(status, condition_of(PROGRESSING, "True", DONE, f"{who} has successfully progressed.", now))
    elif _is_progressing(deployment.status, status):
        condition = condition_of(PROGRESSING, "True", UPDATED, f"{who} is progressing.", now)
        if current is not None and current.status == "True":
            condition.last_transition_time = current.last_transition_time
        # The same reason again shall count anew: the deadline runs from the latest progress.
        remove_condition(status, PROGRESSING)
        set_condition(status, condition)
    elif _has_timed_out(deployment, current, now):
        set_condition(status, condition_of(PROGRESSING, "False", TIMED_OUT, f"{who} has timed out progressing.", now))


def _is_progressing(before: DeploymentStatus, status: DeploymentStatus) -> bool:
    return (
        status.updated_replicas > before.updated_replicas
        or status.replicas - status.updated_replicas < before.replicas - before.updated_replicas
        or status.ready_replicas > before.ready_replicas
        or status.available_replicas > before.available_replicas
    )


def _has_timed_out(deployment: Deployment, current: DeploymentCondition | None, now: datetime) -> bool:
    if current is None or current.reason == DONE:
        return False
    if current.reason == TIMED_OUT:
        return True
    return current.last_update_time is None or _deadline(deployment, current.last_update_time) < now


def _deadline(deployment: Deployment, since: datetime) -> datetime:
    return since + timedelta(seconds=deployment.spec.progress_deadline_seconds or 0)


def next_look(deployment: Deployment, status: DeploymentStatus, now: datetime) -> timedelta | None:
    """When to look whether a rollout without progress is stuck; None if there is nothing to wait for."""
    current = get_condition(deployment.status, PROGRESSING)
    if not has_deadline(deployment) or current is None or current.last_update_time is None:
        return None
    if is_complete(deployment, status) or current.reason in (DONE, TIMED_OUT):
        return None
    return max(timedelta(0), _deadline(deployment, current.last_update_time) - now) + _SECOND


def _failure(sets: Sequence[ReplicaSet], newest: ReplicaSet | None) -> DeploymentCondition | None:
    """Why pods are missing: as the newest ReplicaSet tells it, or another one."""
    for found in ([newest] if newest is not None else []) + list(sets):
        for condition in found.status.conditions:
            if condition.type == FAILURE:
                return DeploymentCondition(
                    type=FAILURE,
                    status=condition.status,
                    last_update_time=condition.last_transition_time,
                    last_transition_time=condition.last_transition_time,
                    reason=condition.reason,
                    message=condition.message,
                )
    return None
