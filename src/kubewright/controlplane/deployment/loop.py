"""The Deployment loop: what wakes it, and which step a Deployment takes next."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from kubewright.api import LabelSelector
from kubewright.cache import Cache, Change
from kubewright.controller import Context, Controller, Predicate, Watch
from kubewright.controlplane.claims import Claims
from kubewright.controlplane.deployment.conditions import (
    PAUSED,
    PROGRESSING,
    RESUMED,
    TIMED_OUT,
    condition_of,
    get_condition,
    set_condition,
)
from kubewright.controlplane.deployment.progress import has_deadline
from kubewright.controlplane.deployment.rollback import roll_back, rollback_target
from kubewright.controlplane.deployment.rollout import recreate, roll, scale, tell, was_scaled
from kubewright.controlplane.deployment.sizes import is_rolling
from kubewright.controlplane.deployment.step import NamespaceEnding, Step
from kubewright.controlplane.loop import MANAGER, Loop, account
from kubewright.kinds.apps_v1 import Deployment, ReplicaSet
from kubewright.kinds.core_v1 import Pod

__all__ = ["deployment_loop"]

_WORKERS: Final = 5
_ORPHANS: Final = "deployment/orphans"
_NAME: Final = "deployment-controller"
_MOST_STEPS: Final = 20
_SOON: Final = timedelta(milliseconds=5)


def deployment_loop() -> Loop:
    """Deployments: a ReplicaSet for each template they had, and pods that move from one to the next."""
    controller = Controller(
        Deployment,
        _reconcile,
        name=_NAME,
        deleting=_reconcile,
        owns=[ReplicaSet],
        watches=[
            Watch(ReplicaSet, _who_could_adopt, Predicate("may_be_orphaned", _is_worth_adopting)),
            Watch(Pod, _who_waits_for_its_end, Predicate("is_gone", lambda change: change.type == "deleted")),
        ],
        workers=_WORKERS,
        field_manager=MANAGER,
        acts_as=account(_NAME),
        component=_NAME,
        ready_condition=None,
    )
    return Loop("deployment", [controller], indexes={ReplicaSet: {_ORPHANS: _namespace_if_orphan}})


def _namespace_if_orphan(found: ReplicaSet) -> tuple[str, ...]:
    return () if found.controller_reference is not None else (found.namespace,)


def _is_worth_adopting(change: Change[Any]) -> bool:
    new, old = change.new_head, change.old_head
    if new is None:
        return False
    return old is None or old.labels != new.labels or old.owner_references != new.owner_references


def _who_could_adopt(found: ReplicaSet, cache: Cache) -> list[Deployment]:
    if found.controller_reference is not None or not found.metadata.labels:
        return []
    deployments = cache.list(Deployment, namespace=found.namespace)
    return [
        each
        for each in deployments
        if each.spec.selector != LabelSelector() and each.spec.selector.matches(found.metadata.labels)
    ]


def _who_waits_for_its_end(pod: Pod, cache: Cache) -> list[Deployment]:
    """A Deployment that recreates its pods goes on when the last old one is gone."""
    owner = pod.controller_reference
    if owner is None or owner.kind != "ReplicaSet":
        return []
    found = cache.get(ReplicaSet, owner.name, namespace=pod.namespace)
    reference = found.controller_reference if found is not None and found.metadata.uid == owner.uid else None
    if reference is None or reference.kind != "Deployment":
        return []
    deployment = cache.get(Deployment, reference.name, namespace=pod.namespace)
    return [] if deployment is None or is_rolling(deployment) else [deployment]


async def _reconcile(deployment: Deployment, ctx: Context) -> timedelta | None:
    """Take steps until one changes nothing: what a step wrote is in the cache at once, for the next."""
    for _ in range(_MOST_STEPS):
        found = ctx.cache.get(Deployment, deployment.name)
        if found is None or found.metadata.uid != deployment.metadata.uid:
            return None
        try:
            step = await _take_step(found, ctx)
        except NamespaceEnding:
            return None
        if step is None or not step.has_written:
            return step.look_again if step is not None else None
    return _SOON


async def _take_step(deployment: Deployment, ctx: Context) -> Step | None:
    if deployment.spec.selector == LabelSelector():
        await _refuse(deployment, ctx)
        return None
    owned = ctx.cache.list(ReplicaSet, owned_by=deployment)
    orphans = ctx.cache.list(ReplicaSet, where={_ORPHANS: deployment.namespace})
    claimed = await Claims(ctx.client, deployment, deployment.spec.selector).of([*owned, *orphans])
    step = Step(deployment, claimed, ctx)
    if deployment.metadata.deletion_timestamp is not None:
        await tell(step)
        return step
    await _tell_pause(step)
    await step.keep_revision()
    target = rollback_target(step.deployment)
    if step.deployment.spec.paused:
        await scale(step)
        if target is None:
            await step.forget_old()
        await tell(step)
    elif target is not None:
        await roll_back(step, target)
    elif was_scaled(step):
        await scale(step)
        await tell(step)
    elif is_rolling(step.deployment):
        await roll(step)
    else:
        pods = [pod for found in step.old for pod in ctx.cache.list(Pod, owned_by=found)]
        await recreate(step, [pod for pod in pods if _is_of(pod, step)])
    return step


def _is_of(pod: Pod, step: Step) -> bool:
    reference = pod.controller_reference
    return reference is not None and any(found.metadata.uid == reference.uid for found in step.old)


async def _refuse(deployment: Deployment, ctx: Context) -> None:
    message = "This deployment is selecting all pods. A non-empty selector is required."
    ctx.event("Warning", "SelectingAll", message)
    if deployment.status.observed_generation < (deployment.metadata.generation or 0):
        deployment.status.observed_generation = deployment.metadata.generation or 0
        await ctx.client.replace(deployment, subresource="status")


async def _tell_pause(step: Step) -> None:
    """Note when a Deployment is paused and goes on: the time between does not count as lack of progress."""
    deployment = step.deployment
    current = get_condition(deployment.status, PROGRESSING)
    reason = current.reason if current is not None else None
    if not has_deadline(deployment) or reason == TIMED_OUT:
        return
    if deployment.spec.paused and reason != PAUSED:
        told = (PAUSED, "Deployment is paused")
    elif not deployment.spec.paused and reason == PAUSED:
        told = (RESUMED, "Deployment is resumed")
    else:
        return
    set_condition(deployment.status, condition_of(PROGRESSING, "Unknown", *told, step.ctx.now))
    await step.write_status()
