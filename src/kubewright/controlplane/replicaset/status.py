"""What a ReplicaSet tells of its pods."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from kubewright.api import LabelSelector
from kubewright.controlplane.pods import is_available, is_ready
from kubewright.kinds.apps_v1 import ReplicaSet, ReplicaSetCondition
from kubewright.kinds.core_v1 import Pod, ReplicationController, ReplicationControllerCondition

__all__ = ["tell_failure", "tell_pods"]

_FAILURE: Final = "ReplicaFailure"


def tell_pods(owner: ReplicaSet | ReplicationController, pods: Sequence[Pod], now: datetime) -> None:
    """Count the active pods into the status."""
    status, spec = owner.status, owner.spec
    labels = spec.template.metadata.labels if spec.template is not None else {}
    whole = LabelSelector(match_labels=labels)
    min_ready = timedelta(seconds=spec.min_ready_seconds or 0)
    status.replicas = len(pods)
    status.fully_labeled_replicas = sum(whole.matches(pod.metadata.labels) for pod in pods)
    status.ready_replicas = sum(is_ready(pod) for pod in pods)
    status.available_replicas = sum(is_available(pod, min_ready, now) for pod in pods)
    status.observed_generation = owner.metadata.generation or 0


def tell_failure(owner: ReplicaSet | ReplicationController, missing: int, message: str | None, now: datetime) -> None:
    """Tell why pods could not be made or deleted, if that is not told yet; None takes it back.

    ``missing`` is how many pods there were too few; a negative number, too many.
    """
    told = any(condition.type == _FAILURE for condition in owner.status.conditions)
    if message is None:
        if told:
            _keep_others(owner)
        return
    if told:
        return
    reason = "FailedCreate" if missing > 0 else "FailedDelete" if missing < 0 else None
    when = now.replace(microsecond=0)
    if isinstance(owner, ReplicaSet):
        owner.status.conditions.append(
            ReplicaSetCondition(type=_FAILURE, status="True", last_transition_time=when, reason=reason, message=message)
        )
    else:
        owner.status.conditions.append(
            ReplicationControllerCondition(
                type=_FAILURE, status="True", last_transition_time=when, reason=reason, message=message
            )
        )


def _keep_others(owner: ReplicaSet | ReplicationController) -> None:
    if isinstance(owner, ReplicaSet):
        owner.status.conditions = [found for found in owner.status.conditions if found.type != _FAILURE]
    else:
        owner.status.conditions = [found for found in owner.status.conditions if found.type != _FAILURE]
