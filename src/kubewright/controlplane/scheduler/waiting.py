"""Which pods wait for a node, when each may be tried again, and what is worth a new try."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from kubewright.api import Key
from kubewright.cache import Cache, Change
from kubewright.controller import Predicate
from kubewright.controlplane.scheduler.tenant import is_over
from kubewright.kinds.core_v1 import Node, Pod

__all__ = [
    "CHOOSY",
    "URGENT",
    "WAITING",
    "Attempts",
    "asks_for_a_node",
    "indexes",
    "is_no_resync",
    "moved_in",
    "node_matters",
    "room_was_made",
    "waiting_pods",
]

WAITING: Final = "scheduler-waiting"
"""The index of pods that wait for a node, by scheduler."""

CHOOSY: Final = "scheduler-choosy"
"""The index of waiting pods that look at other pods too, by scheduler."""

URGENT: Final = "scheduler-urgent"
"""The index of waiting pods with a priority above zero, by scheduler."""

_FIRST: Final = timedelta(seconds=1)
_LONGEST: Final = timedelta(seconds=10)


def asks_for_a_node(pod: Pod, scheduler: str) -> bool:
    """Whether a pod waits for that scheduler to find it a node."""
    spec = pod.spec
    return (
        not spec.node_name
        and spec.scheduler_name == scheduler
        and not spec.scheduling_gates
        and pod.metadata.deletion_timestamp is None
        and not is_over(pod)
    )


def indexes() -> dict[str, Callable[[Any], Sequence[str]]]:
    """How waiting pods are found in the cache."""

    def waiting(pod: Pod) -> Sequence[str]:
        name = pod.spec.scheduler_name or ""
        return (name,) if asks_for_a_node(pod, name) else ()

    def choosy(pod: Pod) -> Sequence[str]:
        affinity = pod.spec.affinity
        looks = affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None)
        return waiting(pod) if looks or pod.spec.topology_spread_constraints else ()

    def urgent(pod: Pod) -> Sequence[str]:
        return waiting(pod) if (pod.spec.priority or 0) > 0 else ()

    return {WAITING: waiting, CHOOSY: choosy, URGENT: urgent}


def waiting_pods(scheduler: str, index: str = WAITING) -> Callable[[Any, Cache], Iterable[Key]]:
    """A mapping to all pods that wait for that scheduler, whatever has changed."""

    def mapping(_: Any, cache: Cache) -> Iterable[Key]:
        return cache.keys(Pod, where={index: scheduler})

    return mapping


def _node_matters(change: Change[Any]) -> bool:
    old, new = change.old, change.new
    if new is None or change.cause == "resync":
        return False
    return old is None or _face(old) != _face(new)


def _face(node: Node) -> tuple[Any, ...]:
    return (node.metadata.labels, node.spec.taints, node.spec.unschedulable, node.status.allocatable)


def _room_was_made(change: Change[Any]) -> bool:
    old, new = change.old, change.new
    if old is None or not old.spec.node_name or is_over(old) or change.cause == "resync":
        return False
    return new is None or is_over(new)


def _moved_in(change: Change[Any]) -> bool:
    old, new = change.old, change.new
    if new is None or not new.spec.node_name or change.cause == "resync":
        return False
    return old is None or not old.spec.node_name or old.metadata.labels != new.metadata.labels


node_matters: Final = Predicate("node_matters", _node_matters)
"""A node came, or changed in what pods are judged by."""

room_was_made: Final = Predicate("room_was_made", _room_was_made)
"""A pod left its node or ended."""

moved_in: Final = Predicate("moved_in", _moved_in)
"""A pod moved to a node, or has other labels there."""

is_no_resync: Final = Predicate("is_no_resync", lambda change: change.cause != "resync")
"""Something happened to the object; timers see to the rest."""


class Attempts:
    """How often pods were tried in vain: a pod waits one second after the first time, then twice as long, up to ten.

    ``news`` counts what has happened in the cluster that lets all waiting pods be tried again.
    """

    def __init__(self) -> None:
        self._failed: dict[Key, _Failure] = {}
        self.news: int = 0

    def wait(self, pod: Pod, now: datetime) -> timedelta | None:
        """How long the pod must wait until it is tried again, if it must."""
        failure = self._failed.get(pod.key)
        return failure.wait(now) if failure is not None and failure.uid == pod.metadata.uid else None

    def fail(self, pod: Pod, now: datetime) -> None:
        """Note an attempt in vain."""
        last = self._failed.get(pod.key)
        tries = last.tries + 1 if last is not None and last.uid == pod.metadata.uid else 1
        self._failed[pod.key] = _Failure(pod.metadata.uid, tries, now, self.news)

    def forget(self, key: Key) -> None:
        """Forget a pod that has found a node or is gone."""
        self._failed.pop(key, None)

    def is_due(self, key: Key, now: datetime) -> bool:
        """Whether a waiting pod is to be tried: it never was, or not since the last news, and its wait is over."""
        failure = self._failed.get(key)
        return failure is None or (failure.news < self.news and failure.wait(now) is None)


class _Failure(NamedTuple):
    uid: str
    tries: int
    at: datetime
    news: int

    def wait(self, now: datetime) -> timedelta | None:
        left = self.at + min(_FIRST * (1 << min(self.tries - 1, 8)), _LONGEST) - now
        return left if left > timedelta(0) else None
