"""The two loops: what wakes them, and how they find pods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from kubewright.api import Resource
from kubewright.cache import Cache, Change
from kubewright.controller import Context, Controller, Expectations, Predicate, Watch
from kubewright.controlplane.loop import MANAGER, Indexes, Loop, account
from kubewright.controlplane.replicaset.replicas import BURST, Owner, Replicas, selector_of
from kubewright.kinds.apps_v1 import ReplicaSet
from kubewright.kinds.core_v1 import Pod, ReplicationController

__all__ = ["replica_set_loop", "replication_controller_loop"]

_WORKERS: Final = 5
_SIBLINGS: Final = "replicaset/controller"


def replica_set_loop(*, burst: int = BURST) -> Loop:
    """ReplicaSets: as many pods as they want, ``burst`` of them at a time."""
    indexes: Indexes = {ReplicaSet: {_SIBLINGS: _controller_uid}}
    return _loop("replicaset", ReplicaSet, "replicaset-controller", indexes, burst)


def replication_controller_loop(*, burst: int = BURST) -> Loop:
    """ReplicationControllers: the same, for the kind that was before ReplicaSet."""
    return _loop("replicationcontroller", ReplicationController, "replication-controller", {}, burst)


def _loop(name: str, kind: type[Any], component: str, indexes: Indexes, burst: int) -> Loop:
    expectations = Expectations(kind, Pod)
    orphans = f"{name}/orphans"
    replicas = Replicas(expectations, orphans=orphans, related=_siblings_pods, burst=burst)

    def who_could_adopt(pod: Pod, cache: Cache) -> list[Owner]:
        if pod.controller_reference is not None or not pod.metadata.labels:
            return []
        owners: list[Owner] = cache.list(kind, namespace=pod.namespace)
        return [owner for owner in owners if selector_of(owner).matches(pod.metadata.labels)]

    controller = Controller(
        kind,
        replicas.reconcile,
        name=component,
        deleting=replicas.reconcile,
        owns=[Pod],
        watches=[Watch(Pod, who_could_adopt, _may_be_orphaned)],
        sources=[expectations],
        workers=_WORKERS,
        field_manager=MANAGER,
        acts_as=account(component),
        component=component,
        ready_condition=None,
        replaces_status=True,
    )
    return Loop(name, [controller], indexes={Pod: {orphans: _namespace_if_orphan}, **indexes})


def _namespace_if_orphan(pod: Pod) -> Sequence[str]:
    return () if pod.controller_reference is not None else (pod.namespace,)


def _controller_uid(owner: Resource) -> Sequence[str]:
    reference = owner.controller_reference
    return () if reference is None else (reference.uid,)


def _is_worth_adopting(change: Change[Any]) -> bool:
    """An orphan that came, or whose labels or owners changed; what else becomes of an orphan concerns nobody."""
    new, old = change.new_head, change.old_head
    if new is None:
        return False
    return old is None or old.labels != new.labels or old.owner_references != new.owner_references


_may_be_orphaned: Final = Predicate("may_be_orphaned", _is_worth_adopting)


def _siblings_pods(owner: Owner, ctx: Context) -> Iterable[Pod]:
    """The pods of all ReplicaSets with the same controller; of one without a controller, none."""
    reference = owner.controller_reference
    if reference is None or not isinstance(owner, ReplicaSet):
        return ()
    siblings = ctx.cache.list(ReplicaSet, where={_SIBLINGS: reference.uid})
    found = [pod for sibling in siblings for pod in ctx.cache.list(Pod, labels=selector_of(sibling))]
    return {pod.metadata.uid: pod for pod in found}.values()
