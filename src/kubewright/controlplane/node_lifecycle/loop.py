"""The node-lifecycle loop: one reconcile of a node looks at its pulse, its taints and, if it has gone, its pods."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final

from kubewright.api import Key, base_of, decode
from kubewright.cache import Cache, Change
from kubewright.cluster import Cluster
from kubewright.controller import Context, Controller, Predicate, Watch
from kubewright.controlplane.loop import MANAGER, Loop, account
from kubewright.controlplane.node_lifecycle.disruption import Pace, are_all_silent
from kubewright.controlplane.node_lifecycle.eviction import Eviction
from kubewright.controlplane.node_lifecycle.health import Pulses, readiness, silenced
from kubewright.controlplane.node_lifecycle.marking import PODS_BY_NODE, mark_pods_not_ready
from kubewright.controlplane.node_lifecycle.node_taints import drives_out, with_no_execute, with_no_schedule
from kubewright.kinds.coordination_v1 import Lease
from kubewright.kinds.core_v1 import Node, Pod
from kubewright.operator import Background

__all__ = ["node_lifecycle_loop"]

_LEASES: Final = "kube-node-lease"
_GRACE: Final = timedelta(seconds=50)
_STARTUP_GRACE: Final = timedelta(seconds=60)


def node_lifecycle_loop(*, grace: timedelta = _GRACE, startup_grace: timedelta = _STARTUP_GRACE) -> Loop:
    """The loop that notices when nodes fall silent: after ``grace``, or ``startup_grace`` if they never said a word.

    Their conditions become Unknown, taints keep new pods away and drive others out after their ``tolerationSeconds``,
    and their pods are marked as not ready. All that is taken back when they speak again.
    """
    lifecycle = _NodeLifecycle(Pulses(grace, startup_grace))
    return Loop(
        "node-lifecycle",
        [lifecycle.controller(), Eviction().controller()],
        background=[Background(lifecycle.meet)],
        indexes={Pod: {PODS_BY_NODE: lambda pod: (pod.spec.node_name,) if pod.spec.node_name else ()}},
    )


class _NodeLifecycle:
    """What the loop keeps of nodes: when they were heard of last. A new start gives each of them a new grace."""

    def __init__(self, pulses: Pulses) -> None:
        self._pulses = pulses
        self._pace = Pace()
        self._were_ready: set[str] = set()
        self._cluster: Cluster | None = None
        self._met = asyncio.Event()

    def controller(self) -> Controller[Node]:
        """The controller, of nodes."""
        return Controller(
            Node,
            self.reconcile,
            name="node-lifecycle-controller",
            watches=[Watch(Node, _all_nodes, Predicate("readiness_changed", _readiness_changed))],
            reads=[Lease, Pod],
            acts_as=account("node-controller"),
            component="node-controller",
            field_manager=MANAGER,
            ready_condition=None,
        )

    async def meet(self, cluster: Cluster) -> None:
        """Know the cluster, and forget nodes that are gone; a background coroutine of the loop."""
        self._cluster = cluster
        self._met.set()
        handler = cluster.cache.informer(Node).add_handler(self._see)
        try:
            await asyncio.Event().wait()
        finally:
            handler.remove()
            self._met = asyncio.Event()

    def _see(self, change: Change[Any]) -> None:
        if change.type == "deleted" and change.old is not None and self._cluster is not None:
            name = change.key.name
            self._pulses.forget(name)
            self._were_ready.discard(name)
            text = f"Node {name} event: Removing Node {name} from Controller"
            self._cluster.recorder.event(change.old, "Normal", "RemovingNode", text, component="node-controller")

    async def reconcile(self, node: Node, ctx: Context) -> timedelta | None:
        """Look after one node."""
        if not self._pulses.knows(node):
            text = f"Node {node.name} event: Registered Node {node.name} in Controller"
            ctx.event("Normal", "RegisteredNode", text)
        lease = ctx.cache.get(Lease, node.name, namespace=_LEASES)
        silent_at = self._pulses.silent_at(node, lease, ctx.now)
        if silent_at <= ctx.now:
            node = await self._silence(node, ctx)
        waits = [await self._taint(node, ctx)]
        await self._mark_pods(node, ctx)
        if silent_at > ctx.now:
            waits.append(silent_at - ctx.now)
        return min((wait for wait in waits if wait is not None), default=None)

    async def _silence(self, node: Node, ctx: Context) -> Node:
        """Say that nothing is known of the node any more."""
        copy = decode(Node, base_of(node) or b"")
        copy.status.conditions = silenced(node, ctx.now.replace(microsecond=0))
        if copy.status == node.status:
            return node
        return await ctx.client.update(copy, subresource="status")

    async def _taint(self, node: Node, ctx: Context) -> timedelta | None:
        """Give the node the taints that its conditions call for; tell how long to wait if that is not its turn yet."""
        now = ctx.now.replace(microsecond=0)
        copy = decode(Node, base_of(node) or b"")
        copy.spec.taints = with_no_schedule(node, now)
        wait = None
        key = drives_out(node)
        if key:
            nodes = ctx.cache.list(Node)
            if are_all_silent(nodes):
                key = ""
            elif not _has(node, key):
                wait = self._pace.wait(node, nodes, ctx.now)
        if wait is None:
            copy.spec.taints = with_no_execute(copy, key, now)
        if copy.spec.taints != node.spec.taints:
            await ctx.client.update(copy)
        return wait

    async def _mark_pods(self, node: Node, ctx: Context) -> None:
        word = readiness(node)
        was_ready = node.name in self._were_ready
        self._were_ready.discard(node.name)
        if word == "True":
            self._were_ready.add(node.name)
            return
        if was_ready:
            ctx.event("Normal", "NodeNotReady", f"Node {node.name} status is now: NodeNotReady")
        # While a node is silent nobody else speaks for its pods; one that speaks says itself how they are.
        if was_ready or word == "Unknown":
            await self._met.wait()
            assert self._cluster is not None
            await mark_pods_not_ready(node, ctx, self._cluster)


def _has(node: Node, key: str) -> bool:
    return any(taint.key == key and taint.effect == "NoExecute" for taint in node.spec.taints)


def _all_nodes(_: Node, cache: Cache) -> Iterable[Key]:
    return cache.keys(Node)


def _readiness_changed(change: Change[Any]) -> bool:
    """Whether all nodes together may have to be judged anew."""
    old, new = change.old, change.new
    return old is not None and new is not None and readiness(old) != readiness(new)
