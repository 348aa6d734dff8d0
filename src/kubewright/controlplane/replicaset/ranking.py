"""Ranking: which pods go first when there are too many.

Those that serve least go first: without a node, pending, not ready, cheap by annotation, crowded on their node, ready
since lately, often restarted, young. Ages are compared by their order of magnitude, so that of pods of about the same
age one is chosen by its uid, which is chance.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import cmp_to_key
from typing import Final

from kubewright.controlplane.pods import is_active, is_ready, ready_since
from kubewright.kinds.core_v1 import Pod

__all__ = ["DELETION_COST", "first_to_delete"]

DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
"""On a pod: a whole number; of two pods that are otherwise alike the one with the lower number is deleted."""

_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}
_COST: Final = re.compile(r"0|-?[1-9][0-9]*")
_INT32: Final = range(-(2**31), 2**31)


def first_to_delete(pods: Sequence[Pod], related: Iterable[Pod], count: int, now: datetime) -> list[Pod]:
    """The ``count`` pods that shall go first.

    ``related`` are the pods that shall be spread over nodes together with these: of all sets with the same owner.
    """
    if count >= len(pods):
        return list(pods)
    crowds = Counter(pod.spec.node_name or "" for pod in related if is_active(pod))
    ranked = [_Candidate(pod, crowds[pod.spec.node_name or ""]) for pod in pods]
    ranked.sort(key=cmp_to_key(lambda one, other: _compare(one, other, now)))
    return [candidate.pod for candidate in ranked[:count]]


class _Candidate:
    """What is compared of a pod, looked up once."""

    __slots__ = ("created", "plain", "pod", "ready_since", "restarts")

    def __init__(self, pod: Pod, crowd: int) -> None:
        self.pod = pod
        self.plain = (
            bool(pod.spec.node_name),
            _PHASES.get(pod.status.phase or "", 0),
            is_ready(pod),
            _cost(pod),
            -crowd,
        )
        self.ready_since = ready_since(pod)
        self.restarts = _restarts(pod)
        self.created = pod.metadata.creation_timestamp


def _compare(one: _Candidate, other: _Candidate, now: datetime) -> int:
    if one.plain != other.plain:
        return -1 if one.plain < other.plain else 1
    if is_ready(one.pod) and one.ready_since != other.ready_since:
        return _compare_times(one.ready_since, other.ready_since, one, other, now)
    if one.restarts != other.restarts:
        return -1 if one.restarts > other.restarts else 1
    if one.created != other.created:
        return _compare_times(one.created, other.created, one, other, now)
    return 0


def _compare_times(
    first: datetime | None, second: datetime | None, one: _Candidate, other: _Candidate, now: datetime
) -> int:
    """The later goes first, by orders of magnitude; a time that nobody told is the latest."""
    if first is None or second is None:
        return -1 if first is None else 1
    difference = _magnitude(now - first) - _magnitude(now - second)
    if difference:
        return difference
    return -1 if one.pod.metadata.uid < other.pod.metadata.uid else 1


def _magnitude(age: timedelta) -> int:
    nanoseconds = age / timedelta(microseconds=1) * 1000
    return int(math.log2(nanoseconds)) if nanoseconds > 0 else -1


def _cost(pod: Pod) -> int:
    text = pod.metadata.annotations.get(DELETION_COST, "0")
    return int(text) if _COST.fullmatch(text) and int(text) in _INT32 else 0


def _restarts(pod: Pod) -> tuple[int, int]:
    """The most restarts of a container, and of a sidecar."""
    containers = [status.restart_count for status in pod.status.container_statuses]
    sidecars = {each.name for each in pod.spec.init_containers if each.restart_policy == "Always"}
    beside = [status.restart_count for status in pod.status.init_container_statuses if status.name in sidecars]
    return max(containers, default=0), max(beside, default=0)
