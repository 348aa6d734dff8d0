"""Keeping the number of pods: one reconcile for ReplicaSets and ReplicationControllers alike."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, TypeAlias

import msgspec

from kubewright.api import LabelSelector, Metadata
from kubewright.controller import Context, Expectations, slow_start
from kubewright.controlplane.claims import Claims
from kubewright.controlplane.pods import is_active, is_terminating, until_available
from kubewright.controlplane.replicaset.ranking import first_to_delete
from kubewright.controlplane.replicaset.status import tell_failure, tell_pods
from kubewright.errors import ApiError, Conflict, KubewrightError, NotFound
from kubewright.kinds.apps_v1 import ReplicaSet
from kubewright.kinds.core_v1 import Pod, ReplicationController

__all__ = ["BURST", "Owner", "Replicas", "selector_of"]

Owner: TypeAlias = ReplicaSet | ReplicationController
RelatedPods: TypeAlias = Callable[[Owner, Context], Iterable[Pod]]

BURST: Final = 500
"""How many pods are made or deleted at most in one round; the next begins when these were seen."""

_LONGEST_NAME: Final = 253


class DeletionFailed(KubewrightError):
    """A pod that is one too many could not be deleted."""


def selector_of(owner: Owner) -> LabelSelector:
    """Which pods an owner is about."""
    selector = owner.spec.selector
    return selector if isinstance(selector, LabelSelector) else LabelSelector(match_labels=selector)


class Replicas:
    """The reconcile: claims pods, makes or deletes as many as are missing or too many, and counts them.

    Between the request for a pod and the moment the watch tells of it the pods that are there cannot be counted;
    ``expectations`` say when nothing is under way. ``orphans`` is the name of the index that finds pods without a
    controller by namespace; ``related`` gives the pods that shall be spread over nodes together with the owner's.
    """

    def __init__(self, expectations: Expectations, *, orphans: str, related: RelatedPods, burst: int = BURST) -> None:
        self._expectations = expectations
        self._burst = burst
        self._orphans = orphans
        self._related = related

    async def reconcile(self, owner: Owner, ctx: Context) -> timedelta | None:
        """One round; an owner that is being deleted only counts."""
        are_met = self._expectations.are_met(owner.key)
        selector = selector_of(owner)
        found = self._pods(owner, ctx)
        active = await Claims(ctx.client, owner, selector).of(pod for pod in found if is_active(pod))
        failure: Exception | None = None
        if are_met and owner.metadata.deletion_timestamp is None:
            failure = await self._manage(owner, active, ctx)
        now = ctx.now
        tell_failure(owner, _wanted(owner) - len(active), str(failure) if failure else None, now)
        tell_pods(owner, active, now)
        if isinstance(owner, ReplicaSet):
            mine = [pod for pod in found if is_terminating(pod) and pod.is_controlled_by(owner)]
            owner.status.terminating_replicas = sum(selector.matches(pod.metadata.labels) for pod in mine)
        if failure is not None:
            raise failure
        return _next_look(owner, active, now)

    def _pods(self, owner: Owner, ctx: Context) -> list[Pod]:
        owned = ctx.cache.list(Pod, owned_by=owner)
        return [*owned, *ctx.cache.list(Pod, where={self._orphans: owner.namespace})]

    async def _manage(self, owner: Owner, active: Sequence[Pod], ctx: Context) -> Exception | None:
        missing = _wanted(owner) - len(active)
        if missing > 0:
            return await self._create(owner, min(missing, self._burst), ctx)
        if missing < 0:
            excess = min(-missing, self._burst)
            related = self._related(owner, ctx) if excess < len(active) else ()
            return await self._delete(owner, first_to_delete(active, related, excess, ctx.now), ctx)
        return None

    async def _create(self, owner: Owner, count: int, ctx: Context) -> Exception | None:
        self._expectations.expect_creations(owner.key, count)
        made, failure = 0, None
        try:
            made, failure = await slow_start(count, lambda _: self._create_one(owner, ctx), burst=count)
        finally:
            self._expectations.creation_failed(owner.key, count - made)
        if failure is not None and not isinstance(failure, Exception):
            raise failure
        return failure

    async def _create_one(self, owner: Owner, ctx: Context) -> None:
        pod = pod_of(owner)
        if not pod.metadata.labels:
            raise KubewrightError("unable to create pods, no labels")
        try:
            made = await ctx.client.create(pod)
        except KubewrightError as error:
            if _is_namespace_ending(error):
                self._expectations.creation_failed(owner.key)
                return
            ctx.event("Warning", "FailedCreate", f"Error creating: {error}")
            raise
        ctx.event("Normal", "SuccessfulCreate", f"Created pod: {made.name}")

    async def _delete(self, owner: Owner, pods: Sequence[Pod], ctx: Context) -> Exception | None:
        self._expectations.expect_deletions(owner.key, [pod.key for pod in pods])
        answers = await asyncio.gather(*(self._delete_one(owner, pod, ctx) for pod in pods), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException) and not isinstance(answer, Exception):
                raise answer
        return next((answer for answer in answers if isinstance(answer, Exception)), None)

    async def _delete_one(self, owner: Owner, pod: Pod, ctx: Context) -> None:
        try:
            await ctx.client.delete(pod)
        except (NotFound, Conflict):
            # That very pod is gone; a namesake is not ours to delete.
            self._expectations.deletion_failed(owner.key, pod.key)
        except KubewrightError as error:
            self._expectations.deletion_failed(owner.key, pod.key)
            ctx.event("Warning", "FailedDelete", f"Error deleting: {error}")
            raise DeletionFailed(f"unable to delete pods: {error}") from error
        else:
            ctx.event("Normal", "SuccessfulDelete", f"Deleted pod: {pod.name}")


def pod_of(owner: Owner) -> Pod:
    """A pod as the owner's template says, named by the server, controlled by the owner."""
    template = owner.spec.template
    assert template is not None
    prefix = f"{owner.name}-"
    metadata = Metadata(
        generate_name=prefix if len(prefix) <= _LONGEST_NAME else owner.name,
        namespace=owner.namespace,
        labels=template.metadata.labels,
        annotations=template.metadata.annotations,
        finalizers=template.metadata.finalizers,
        owner_references=[owner.owner_reference],
    )
    return Pod(metadata=metadata, spec=msgspec.structs.replace(template.spec))


def _wanted(owner: Owner) -> int:
    return 1 if owner.spec.replicas is None else owner.spec.replicas


def _is_namespace_ending(error: KubewrightError) -> bool:
    return isinstance(error, ApiError) and any(cause.reason == "NamespaceTerminating" for cause in error.causes)


def _next_look(owner: Owner, active: Sequence[Pod], now: datetime) -> timedelta | None:
    """When the next ready pod will have been so for long enough."""
    min_ready = timedelta(seconds=owner.spec.min_ready_seconds or 0)
    if not min_ready or owner.status.ready_replicas == owner.status.available_replicas:
        return None
    waits = (until_available(pod, min_ready, now) for pod in active)
    return min((wait for wait in waits if wait is not None), default=min_ready)
