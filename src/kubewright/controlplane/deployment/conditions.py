"""The conditions of a Deployment: what they are called, and how they are set."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from kubewright.kinds.apps_v1 import DeploymentCondition, DeploymentStatus

__all__ = [
    "AVAILABLE",
    "CREATED",
    "CREATE_FAILED",
    "DONE",
    "FAILURE",
    "FOUND",
    "PAUSED",
    "PROGRESSING",
    "RESUMED",
    "TIMED_OUT",
    "UPDATED",
    "condition_of",
    "get_condition",
    "remove_condition",
    "set_condition",
]

AVAILABLE: Final = "Available"
PROGRESSING: Final = "Progressing"
FAILURE: Final = "ReplicaFailure"

# Reasons of Progressing.
CREATED: Final = "NewReplicaSetCreated"
CREATE_FAILED: Final = "ReplicaSetCreateError"
DONE: Final = "NewReplicaSetAvailable"
FOUND: Final = "FoundNewReplicaSet"
PAUSED: Final = "DeploymentPaused"
RESUMED: Final = "DeploymentResumed"
TIMED_OUT: Final = "ProgressDeadlineExceeded"
UPDATED: Final = "ReplicaSetUpdated"


def condition_of(type: str, status: str, reason: str, message: str, now: datetime) -> DeploymentCondition:
    """A condition that begins now; Kubernetes' times are whole seconds."""
    when = now.replace(microsecond=0)
    return DeploymentCondition(
        type=type, status=status, last_update_time=when, last_transition_time=when, reason=reason, message=message
    )


def get_condition(status: DeploymentStatus, type: str) -> DeploymentCondition | None:
    """The condition of a type, or None."""
    return next((condition for condition in status.conditions if condition.type == type), None)


def set_condition(status: DeploymentStatus, condition: DeploymentCondition) -> None:
    """Have a condition; nothing changes if there is one with the same status and reason."""
    found = get_condition(status, condition.type)
    if found is not None and found.status == condition.status:
        if found.reason == condition.reason:
            return
        condition.last_transition_time = found.last_transition_time
    remove_condition(status, condition.type)
    status.conditions.append(condition)


def remove_condition(status: DeploymentStatus, type: str) -> None:
    """Have no condition of a type."""
    status.conditions = [condition for condition in status.conditions if condition.type != type]
