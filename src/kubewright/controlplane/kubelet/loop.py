"""The kubelet's loop: pods that have a simulated node live there.

No process runs, and nobody sleeps: each reconcile takes the next step of one pod, and says when to look again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Final

from kubewright.api import Key, Resource, base_of, decode
from kubewright.cache import Cache, Change
from kubewright.client import ALL_NAMESPACES
from kubewright.controller import Context, Controller, Predicate, Wake, Watch, annotations_changed
from kubewright.controlplane.kubelet.behaviour import LOST, Script, Stage
from kubewright.controlplane.kubelet.container import Memory, Note
from kubewright.controlplane.kubelet.heartbeat import Heartbeat
from kubewright.controlplane.kubelet.lodging import Lodging
from kubewright.controlplane.kubelet.pod_sync import PodSync
from kubewright.controlplane.kubelet.simulated_node import SimulatedNode, placed
from kubewright.controlplane.loop import Loop
from kubewright.errors import NotFound
from kubewright.kinds.core_v1 import Node, Pod, PodStatus

__all__ = ["kubelet_loop", "node_loop"]

_NODE: Final = "kubelet-node"
_MOMENT: Final = timedelta(milliseconds=1)


def node_loop(nodes: Sequence[SimulatedNode]) -> Loop:
    """The loop that registers simulated nodes and keeps them Ready, and lets nothing run on them."""
    heartbeat = Heartbeat(placed(nodes))
    return Loop("node", [heartbeat.controller()], background=[heartbeat.registration()])


def kubelet_loop(nodes: Sequence[SimulatedNode], *, stages: Sequence[Stage] = ()) -> Loop:
    """The loop that registers simulated nodes, keeps them Ready, and lets the pods on them live.

    What the pods' containers do is scripted by annotations and by ``stages``; see ``kubelet.behaviour``.
    """
    known = placed(nodes)
    heartbeat = Heartbeat(known)
    kubelet = _Kubelet({name: Lodging(node) for name, node in known.items()}, stages)
    return Loop(
        "kubelet",
        [heartbeat.controller(), kubelet.controller()],
        background=[heartbeat.registration()],
        indexes={Pod: {_NODE: lambda pod: (pod.spec.node_name,) if pod.spec.node_name else ()}},
    )


def _pods_on(node: Node, cache: Cache) -> Iterable[Key]:
    return cache.keys(Pod, where={_NODE: node.name})


class _Kubelet:
    """The pods' side of all simulated nodes."""

    def __init__(self, lodgings: dict[str, Lodging], stages: Sequence[Stage]) -> None:
        self._lodgings = lodgings
        self._stages = stages
        self._memories: dict[str, Memory] = {}

    def controller(self) -> Controller[Pod]:
        """The controller that lets pods live."""
        return Controller(
            Pod,
            self.reconcile,
            name="kubelet",
            deleting=self.reconcile,
            watches=[Watch(Node, _pods_on, annotations_changed & _no_resync)],
            predicates=[Predicate("lives_here", self._lives_here), _no_resync],
            sources=[self],
            workers=8,
            component="kubelet",
            field_manager="kubelet",
            ready_condition=None,
        )

    @property
    def kinds(self) -> tuple[type[Resource], ...]:
        """What must be cached; part of being a source."""
        return (Pod,)

    async def run(self, wake: Wake, cache: Cache) -> None:
        """Forget pods that are gone; part of being a source."""
        handler = cache.informer(Pod).add_handler(self._see)
        try:
            await asyncio.Event().wait()
        finally:
            handler.remove()

    def _see(self, change: Change[Any]) -> None:
        if change.type == "deleted" and change.old_head is not None:
            self._forget(change.old_head.uid)

    def _forget(self, uid: str) -> None:
        self._memories.pop(uid, None)
        for lodging in self._lodgings.values():
            lodging.release(uid)

    def _lives_here(self, change: Change[Any]) -> bool:
        return change.type != "deleted" and change.object.spec.node_name in self._lodgings

    async def reconcile(self, pod: Pod, ctx: Context) -> timedelta | None:
        """Take the pod's next step, and tell when the one after it is due."""
        lodging = self._lodgings.get(pod.spec.node_name or "")
        if lodging is None or _is_lost(lodging, ctx):
            return None
        lodging.learn(lambda: ctx.cache.list(Pod, namespace=ALL_NAMESPACES, where={_NODE: lodging.node.name}))
        memory = self._memories.setdefault(pod.metadata.uid, Memory())
        script = Script(pod, self._stages)
        step = PodSync(pod, lodging, script, memory, ctx.now)
        if step.status != pod.status:
            await _write(pod, step.status, ctx)
        self._tell(pod, script, memory, step.notes, ctx)
        if step.is_gone:
            await self._remove(pod, ctx)
            return None
        _keep_images(pod, step.status, lodging)
        return self._look_again(pod, step, lodging, script, ctx.now)

    def _look_again(self, pod: Pod, step: PodSync, lodging: Lodging, script: Script, now: datetime) -> timedelta | None:
        """When the next step is due; at once, if there is one already after the step that was written."""
        if step.status == pod.status:
            return None if step.due is None else max(step.due, _MOMENT)
        before, pod.status = pod.status, step.status
        following = PodSync(pod, lodging, script, self._memories[pod.metadata.uid].copy(), now)
        pod.status = before
        if following.status != step.status:
            return _MOMENT
        return None if following.due is None else max(following.due, _MOMENT)

    def _tell(self, pod: Pod, script: Script, memory: Memory, notes: Sequence[Note], ctx: Context) -> None:
        problems = tuple(script.problems)
        if problems and problems != memory.problems:
            ctx.event("Warning", "InvalidBehaviour", "; ".join(problems))
        memory.problems = problems
        for note in notes:
            ctx.event(note.type, note.reason, note.message, field_path=note.field_path)

    async def _remove(self, pod: Pod, ctx: Context) -> None:
        """Say that nothing of the pod runs any more: it is gone, unless a finalizer holds it."""
        with suppress(NotFound):
            await ctx.client.delete(pod, grace=timedelta(0))


async def _write(pod: Pod, status: PodStatus, ctx: Context) -> None:
    """Store the status at the revision that it was made from."""
    # Of a copy, or else the framework would store what is left in the pod once more.
    copy = decode(Pod, base_of(pod) or b"")
    copy.status = status
    await ctx.client.update(copy, subresource="status")


def _is_lost(lodging: Lodging, ctx: Context) -> bool:
    node = ctx.cache.get(Node, lodging.node.name)
    return node is not None and LOST in node.metadata.annotations


def _keep_images(pod: Pod, status: PodStatus, lodging: Lodging) -> None:
    running = {one.name for one in [*status.init_container_statuses, *status.container_statuses] if one.image_id}
    for container in [*pod.spec.init_containers, *pod.spec.containers]:
        if container.name in running and container.image:
            lodging.keep_image(container.image)


_no_resync: Final = Predicate("no_resync", lambda change: change.cause != "resync")
