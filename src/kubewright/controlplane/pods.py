"""How pods stand, as the loops that count them see it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from kubewright.kinds.core_v1 import Pod, PodCondition

__all__ = [
    "is_active",
    "is_available",
    "is_ready",
    "is_terminating",
    "ready_since",
    "until_available",
    "with_condition",
]

_ENDED = ("Succeeded", "Failed")


def is_active(pod: Pod) -> bool:
    """Whether the pod counts as a replica: it has not ended, and is not being deleted."""
    return pod.status.phase not in _ENDED and pod.metadata.deletion_timestamp is None


def is_terminating(pod: Pod) -> bool:
    """Whether the pod is being deleted and may still run."""
    return pod.status.phase not in _ENDED and pod.metadata.deletion_timestamp is not None


def _ready(pod: Pod) -> PodCondition | None:
    found = next((condition for condition in pod.status.conditions if condition.type == "Ready"), None)
    return found if found is not None and found.status == "True" else None


def is_ready(pod: Pod) -> bool:
    """Whether the pod's condition ``Ready`` is true."""
    return _ready(pod) is not None


def ready_since(pod: Pod) -> datetime | None:
    """Since when the pod is ready; None if it is not, or nobody said since when."""
    condition = _ready(pod)
    return condition.last_transition_time if condition is not None else None


def until_available(pod: Pod, min_ready: timedelta, now: datetime) -> timedelta | None:
    """How long a ready pod must stay so until it counts as available; None if it is not ready or is available."""
    since = ready_since(pod)
    if since is None or not min_ready:
        return None
    wait = since + min_ready - now
    return wait if wait > timedelta(0) else None


def is_available(pod: Pod, min_ready: timedelta, now: datetime) -> bool:
    """Whether the pod has been ready for as long as ``min_ready``."""
    if not min_ready:
        return is_ready(pod)
    since = ready_since(pod)
    return since is not None and since + min_ready <= now


def with_condition(pod: Pod, condition: Mapping[str, Any]) -> dict[str, Any]:
    """What of a strategic patch of the pod's status gives it the condition, behind those that it has."""
    types = dict.fromkeys([*(one.type for one in pod.status.conditions), condition["type"]])
    return {"conditions": [condition], "$setElementOrder/conditions": [{"type": type} for type in types]}
