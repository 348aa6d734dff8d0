"""Taint eviction: pods leave a node whose taints they do not tolerate, or not for ever."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Final

from kubewright.cache import Change
from kubewright.client import StrategicPatch
from kubewright.controller import Context, Controller, Predicate, Watch
from kubewright.controlplane.loop import MANAGER, account
from kubewright.controlplane.node_lifecycle.marking import pods_on
from kubewright.controlplane.pods import with_condition
from kubewright.controlplane.taints import used_tolerations
from kubewright.errors import NotFound
from kubewright.kinds.core_v1 import Node, Pod, Taint, Toleration

__all__ = ["Eviction"]

_REASON: Final = "TaintManagerEviction"


class Eviction:
    """The taint-eviction controller: it deletes pods in time, and tells when it means to no more."""

    def __init__(self) -> None:
        self._planned: set[str] = set()

    def controller(self) -> Controller[Pod]:
        """The controller, of pods."""
        return Controller(
            Pod,
            self.reconcile,
            name="taint-eviction-controller",
            deleting=self._leave,
            watches=[Watch(Node, pods_on, Predicate("taints_changed", _taints_changed))],
            predicates=[Predicate("place_changed", _place_changed)],
            acts_as=account("node-controller"),
            component="taint-eviction-controller",
            field_manager=MANAGER,
            ready_condition=None,
        )

    async def _leave(self, pod: Pod, ctx: Context) -> None:
        self._planned.discard(pod.metadata.uid)

    async def reconcile(self, pod: Pod, ctx: Context) -> timedelta | None:
        """Delete the pod if its time on the node is over; else tell how much is left."""
        node = ctx.cache.get(Node, pod.spec.node_name) if pod.spec.node_name else None
        if node is None:
            return None
        left = _time_left(pod, [taint for taint in node.spec.taints if taint.effect == "NoExecute"], ctx.now)
        if left is None:
            if pod.metadata.uid in self._planned:
                self._planned.discard(pod.metadata.uid)
                ctx.event("Normal", _REASON, f"Cancelling deletion of Pod {pod.key}")
            return None
        if left > timedelta(0):
            self._planned.add(pod.metadata.uid)
            return left
        self._planned.discard(pod.metadata.uid)
        ctx.event("Normal", _REASON, f"Marking for deletion Pod {pod.key}")
        with suppress(NotFound):
            await _drive_out(pod, ctx)
        return None


async def _drive_out(pod: Pod, ctx: Context) -> None:
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "DeletionByTaintManager",
        "message": "Taint manager: deleting due to NoExecute taint",
        "observedGeneration": pod.metadata.generation,
        "lastProbeTime": None,
        "lastTransitionTime": ctx.now.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    patch = StrategicPatch({"metadata": {"uid": pod.metadata.uid}, "status": with_condition(pod, condition)})
    await ctx.client.patch(pod, patch, subresource="status")
    await ctx.client.delete(pod)


def _time_left(pod: Pod, taints: Sequence[Taint], now: datetime) -> timedelta | None:
    """How long the pod may stay: nothing if it tolerates one of the taints not at all, None if all of them for ever."""
    if not taints:
        return None
    used = used_tolerations(taints, pod.spec.tolerations)
    if used is None:
        return timedelta(0)
    seconds = _shortest(used)
    return None if seconds is None else _since(pod, taints, now) + timedelta(seconds=seconds) - now


def _shortest(tolerations: Sequence[Toleration]) -> int | None:
    limited = [max(0, one.toleration_seconds) for one in tolerations if one.toleration_seconds is not None]
    return min(limited, default=None)


def _since(pod: Pod, taints: Sequence[Taint], now: datetime) -> datetime:
    """Since when the pod has had to bear the taints: the objects tell it, so that a new start loses nothing."""
    moments = [taint.time_added for taint in taints]
    moments += [one.last_transition_time for one in pod.status.conditions if one.type == "PodScheduled"]
    return max((moment for moment in moments if moment is not None), default=now)


def _taints_changed(change: Change[Any]) -> bool:
    old, new = change.old, change.new
    if new is None or change.cause == "resync":
        return False
    return bool((old.spec.taints if old is not None else []) != new.spec.taints)


def _place_changed(change: Change[Any]) -> bool:
    old, new = change.old, change.new
    if new is None or change.cause == "resync" or not new.spec.node_name:
        return False
    return old is None or (old.spec.node_name, old.spec.tolerations) != (new.spec.node_name, new.spec.tolerations)
