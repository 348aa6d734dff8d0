"""The scheduler's loop: one decision at a time, about the most important pod first.

A pod without a node is filtered against all nodes, the fitting ones are scored, and the best one is bound by the
``binding`` subresource. A pod that fits nowhere is told so in its condition ``PodScheduled`` and in an Event, with the
words of Kubernetes' own scheduler; pods of less priority leave if that helps; and it is tried again when the cluster
changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Final

from kubewright.api import Key
from kubewright.cache import Cache
from kubewright.client import StrategicPatch
from kubewright.config import Impersonation
from kubewright.controller import Context, Controller, Watch
from kubewright.controlplane.loop import Loop
from kubewright.controlplane.pods import with_condition
from kubewright.controlplane.scheduler.filters import Applicant, Filters, Refusal
from kubewright.controlplane.scheduler.ledger import House, Ledger
from kubewright.controlplane.scheduler.node_affinity import named_nodes
from kubewright.controlplane.scheduler.preemption import Candidate, ineligibility, preempt
from kubewright.controlplane.scheduler.scores import best
from kubewright.controlplane.scheduler.tenant import DISRUPTED, Tenant
from kubewright.controlplane.scheduler.verdict import NO_NODES, fit_error
from kubewright.controlplane.scheduler.waiting import (
    CHOOSY,
    URGENT,
    Attempts,
    asks_for_a_node,
    indexes,
    is_no_resync,
    moved_in,
    node_matters,
    room_was_made,
    waiting_pods,
)
from kubewright.errors import Conflict, Invalid, NotFound
from kubewright.kinds.core_v1 import Namespace, Node, Pod
from kubewright.operator import Background

__all__ = ["scheduler_loop"]

_MANAGER: Final = "kube-scheduler"
_ACCOUNT: Final = Impersonation(user="system:kube-scheduler", groups=("system:authenticated",))
_LEFT_ALONE: Final = timedelta(minutes=5)
_AFTER_OTHERS: Final = timedelta(milliseconds=1)
_LONGEST_NOTE: Final = 1024
_BINDINGS: Final = 16
"""How many pods may be on their way to their nodes at once; what is decided about each is decided in one go."""


def scheduler_loop(name: str = "default-scheduler") -> Loop:
    """The loop that finds nodes for the pods whose ``schedulerName`` is ``name``.

    What is like Kubernetes' own: filters by cordon, taints, node selector and affinity, ports, resources, topology
    spread, pod affinity and anti-affinity; scores by taints, node affinity, spread, pod affinity, least allocation and
    balance; priorities, preemption and nominated nodes. Of nodes with equal scores it takes the first by name. It does
    not look at volumes, images, resource claims or disruption budgets.
    """
    scheduler = _Scheduler(name)
    controller = Controller(
        Pod,
        scheduler.reconcile,
        name="scheduler",
        watches=[
            Watch(Node, scheduler.wake_all, node_matters),
            Watch(Pod, scheduler.wake_all, room_was_made),
            Watch(Pod, waiting_pods(name, CHOOSY), moved_in),
        ],
        reads=[Namespace],
        predicates=[is_no_resync],
        workers=_BINDINGS,
        acts_as=_ACCOUNT,
        component=name,
        field_manager=_MANAGER,
        ready_condition=None,
    )
    return Loop("scheduler", [controller], background=[Background(scheduler.ledger.keep)], indexes={Pod: indexes()})


class _Scheduler:
    """What one scheduler keeps between attempts: the ledger, and who was tried in vain. All of it is found anew."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._attempts = Attempts()
        self.ledger = Ledger()

    def wake_all(self, _: object, cache: Cache) -> Iterable[Key]:
        """All pods that wait, because something has happened that may help each of them."""
        self._attempts.news += 1
        return waiting_pods(self._name)(_, cache)

    async def reconcile(self, pod: Pod, ctx: Context) -> timedelta | None:
        """Find a node for a pod, if it wants one of us."""
        if not asks_for_a_node(pod, self._name):
            self._attempts.forget(pod.key)
            return None
        await self.ledger.wait_ready()
        if self._is_outranked(pod, ctx):
            return _AFTER_OTHERS
        wait = self._attempts.wait(pod, ctx.now)
        if wait is not None:
            return wait
        try:
            return await self._attempt(Applicant(pod), ctx)
        except Exception:
            # One that cannot be tried must not keep all lesser ones waiting.
            self._attempts.fail(pod, ctx.now)
            raise

    def _is_outranked(self, pod: Pod, ctx: Context) -> bool:
        """Whether a more important pod waits in line."""
        assert self.ledger.cluster is not None
        cache, priority = self.ledger.cluster.cache, pod.spec.priority or 0
        for key in cache.keys(Pod, where={URGENT: self._name}):
            if key != pod.key and self._attempts.is_due(key, ctx.now):
                other = cache.get(Pod, key.name, namespace=key.namespace)
                if other is not None and (other.spec.priority or 0) > priority:
                    return True
        return False

    async def _attempt(self, applicant: Applicant, ctx: Context) -> timedelta | None:
        # What an attempt before this one assumed has not come about.
        nominated = applicant.tenant.nominated
        self.ledger.forget(applicant.tenant.key)
        houses = self.ledger.houses()
        if not houses:
            return await self._fail(applicant, ctx, NO_NODES, nominated)
        filters = self._filters(applicant, houses)
        refusals = self._refusals(applicant, houses, filters)
        fitting = [house for name, house in houses.items() if name not in refusals]
        if fitting:
            promised = [house for house in fitting if house.name == nominated]
            chosen = best(applicant, promised or fitting, houses, self.ledger.namespace_labels)
            await self._bind(applicant, ctx, chosen.name)
            return None
        why = ineligibility(applicant, houses, refusals)
        if why:
            return await self._fail(applicant, ctx, fit_error(refusals.values(), len(houses), why), nominated)
        found = preempt(applicant, houses, refusals, lambda changed: self._filters(applicant, changed))
        if isinstance(found, str):
            return await self._fail(applicant, ctx, fit_error(refusals.values(), len(houses), found), "")
        # Promised at once: others are tried while those who must leave are told so.
        self.ledger.nominate(applicant.tenant, found.node)
        await self._make_room(applicant, ctx, found)
        return await self._fail(applicant, ctx, fit_error(refusals.values(), len(houses), ""), found.node)

    def _filters(self, applicant: Applicant, houses: Mapping[str, House]) -> Filters:
        return Filters(applicant, houses, self.ledger.namespace_labels)

    def _refusals(self, applicant: Applicant, houses: Mapping[str, House], filters: Filters) -> dict[str, Refusal]:
        named = named_nodes(applicant.spec)
        refusals: dict[str, Refusal] = {}
        for name, house in houses.items():
            if named is not None and name not in named:
                refusals[name] = Refusal(("node(s) didn't satisfy plugin(s) [NodeAffinity]",))
                continue
            promised = [one for one in self.ledger.promised(name) if one.priority >= applicant.tenant.priority]
            refusal = filters.refusal(house, promised)
            if refusal is not None:
                refusals[name] = refusal
        return refusals

    async def _bind(self, applicant: Applicant, ctx: Context, node: str) -> None:
        pod, tenant = applicant.pod, applicant.tenant
        self.ledger.assume(tenant, node)
        try:
            await ctx.client.bind(pod, node)
        except (Conflict, Invalid, NotFound):
            self.ledger.forget(tenant.key)
            raise
        self._attempts.forget(pod.key)
        ctx.event("Normal", "Scheduled", f"Successfully assigned {pod.key} to {node}", action="Binding")

    async def _fail(self, applicant: Applicant, ctx: Context, message: str, nominated: str) -> timedelta:
        pod = applicant.pod
        self._attempts.fail(pod, ctx.now)
        self.ledger.nominate(applicant.tenant, nominated)
        note = message if len(message) <= _LONGEST_NOTE else f"{message[: _LONGEST_NOTE - 4]} ..."
        ctx.event("Warning", "FailedScheduling", note, action="Scheduling")
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "observedGeneration": pod.metadata.generation,
        }
        status: dict[str, Any] = {}
        if not _has_condition(pod, condition):
            status = with_condition(pod, _stamped(pod, condition, ctx))
        if pod.status.nominated_node_name != nominated:
            status["nominatedNodeName"] = nominated or None
        if status:
            await _patch_status(ctx, pod, status)
        return _LEFT_ALONE

    async def _make_room(self, applicant: Applicant, ctx: Context, candidate: Candidate) -> None:
        for tenant in candidate.victims:
            if not tenant.is_leaving:
                await self._preempt(applicant, ctx, tenant, candidate.node)
        for tenant in self.ledger.promised(candidate.node):
            lesser = ctx.cache.get(Pod, tenant.key.name, namespace=tenant.key.namespace)
            if lesser is not None and tenant.priority < applicant.tenant.priority:
                await _patch_status(ctx, lesser, {"nominatedNodeName": None})

    async def _preempt(self, applicant: Applicant, ctx: Context, tenant: Tenant, node: str) -> None:
        victim = ctx.cache.get(Pod, tenant.key.name, namespace=tenant.key.namespace)
        if victim is None or victim.metadata.uid != tenant.uid:
            return
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": DISRUPTED,
            "message": f"{self._name}: preempting to accommodate a higher priority pod",
            "observedGeneration": victim.metadata.generation,
        }
        try:
            await _patch_status(ctx, victim, with_condition(victim, _stamped(victim, condition, ctx)))
            await ctx.client.delete(victim)
        except NotFound:
            return
        assert self.ledger.cluster is not None
        self.ledger.cluster.recorder.event(
            victim,
            "Normal",
            "Preempted",
            f"Preempted by pod {applicant.tenant.uid} on node {node}",
            action="Preempting",
            related=applicant.pod,
            component=self._name,
        )


def _has_condition(pod: Pod, wanted: Mapping[str, Any]) -> bool:
    return any(
        (found.type, found.status, found.reason, found.message, found.observed_generation) == tuple(wanted.values())
        for found in pod.status.conditions
    )


def _stamped(pod: Pod, condition: dict[str, Any], ctx: Context) -> dict[str, Any]:
    """The condition with the time since when it has its status."""
    same = (one for one in pod.status.conditions if (one.type, one.status) == (condition["type"], condition["status"]))
    since = next((one.last_transition_time for one in same), None) or ctx.now
    return {**condition, "lastProbeTime": None, "lastTransitionTime": since.strftime("%Y-%m-%dT%H:%M:%SZ")}


async def _patch_status(ctx: Context, pod: Pod, status: Mapping[str, Any]) -> None:
    patch = StrategicPatch({"metadata": {"uid": pod.metadata.uid}, "status": status})
    await ctx.client.patch(pod, patch, subresource="status")
