"""The nodes' own life: they register, renew their Leases every ten seconds, and report their status every five minutes.

This works without anybody who runs pods: Nodes then stay Ready and pods on them stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from kubewright.api import Metadata, MicroTime, OwnerReference, now
from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.controller import Context, Controller
from kubewright.controlplane.kubelet.behaviour import LOST, NOT_READY
from kubewright.controlplane.kubelet.simulated_node import SimulatedNode
from kubewright.errors import AlreadyExists, Conflict, NotFound
from kubewright.kinds.coordination_v1 import Lease, LeaseSpec
from kubewright.kinds.core_v1 import Node, NodeStatus
from kubewright.operator import Background

__all__ = ["Heartbeat"]

_LEASES: Final = "kube-node-lease"
_LEASE_SECONDS: Final = 40
_RENEWAL: Final = timedelta(seconds=10)
_REPORT: Final = timedelta(minutes=5)
_MOMENT: Final = timedelta(milliseconds=1)
_GREETINGS: Final = ("NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID")


class Heartbeat:
    """The kubelets of some simulated nodes, as far as the nodes themselves are concerned."""

    def __init__(self, nodes: Mapping[str, SimulatedNode]) -> None:
        self._nodes = nodes
        self._leases: dict[str, Lease] = {}
        self._renewed: dict[str, datetime] = {}
        self._reported: dict[str, datetime] = {}

    def controller(self) -> Controller[Node]:
        """The controller that lets the nodes' hearts beat."""
        return Controller(
            Node,
            self._beat,
            name="kubelet-node",
            component="kubelet",
            field_manager="kubelet",
            ready_condition=None,
            workers=4,
        )

    def registration(self) -> Background:
        """The coroutine that registers the nodes at the start."""
        return Background(self._register)

    async def _register(self, cluster: Cluster) -> None:
        self._leases.clear()
        self._renewed.clear()
        self._reported.clear()
        client = cluster.client.using(field_manager="kubelet")
        for simulated in self._nodes.values():
            with suppress(AlreadyExists):
                await client.create(simulated.node(now().replace(microsecond=0)))

    async def _beat(self, node: Node, ctx: Context) -> timedelta | None:
        simulated = self._nodes.get(node.name)
        if simulated is None or LOST in node.metadata.annotations:
            return None
        self._report(simulated, node, ctx)
        last = self._renewed.get(node.name)
        if last is None or ctx.now - last >= _RENEWAL:
            last = self._renewed[node.name] = ctx.now
            await self._renew(node, ctx)
        return max(last + _RENEWAL - ctx.now, _MOMENT)

    def _report(self, simulated: SimulatedNode, node: Node, ctx: Context) -> None:
        """Report the status, if it is another than what stands there or was not reported for long."""
        last, problem = self._reported.get(node.name), node.metadata.annotations.get(NOT_READY, "")
        if last is not None and ctx.now - last < _REPORT and simulated.is_told(node, problem):
            return
        status = simulated.status(node, ctx.now.replace(microsecond=0), problem)
        if last is None:
            ctx.event("Normal", "Starting", "Starting kubelet.")
            for reason in _GREETINGS:
                ctx.event("Normal", reason, f"Node {node.name} status is now: {reason}")
        was, word = _readiness(node.status), _readiness(status)
        if last is None or was != word:
            reason = "NodeReady" if word == "True" else "NodeNotReady"
            ctx.event("Normal", reason, f"Node {node.name} status is now: {reason}")
        self._reported[node.name] = ctx.now
        node.status = status

    async def _renew(self, node: Node, ctx: Context) -> None:
        client = ctx.client.using(namespace=_LEASES)
        lease = self._leases.get(node.name) or await _lease_of(client, node, ctx.now)
        lease.spec.renew_time = MicroTime.of(ctx.now)
        try:
            self._leases[node.name] = await client.update(lease)
        except (Conflict, NotFound):
            self._leases.pop(node.name, None)
            self._leases[node.name] = await _lease_of(client, node, ctx.now)


async def _lease_of(client: Client, node: Node, now: datetime) -> Lease:
    """The node's Lease, made if there is none."""
    owner = OwnerReference(api_version="v1", kind="Node", name=node.name, uid=node.metadata.uid)
    spec = LeaseSpec(holder_identity=node.name, lease_duration_seconds=_LEASE_SECONDS, renew_time=MicroTime.of(now))
    lease = Lease(metadata=Metadata(name=node.name, namespace=_LEASES, owner_references=[owner]), spec=spec)
    try:
        return await client.create(lease)
    except AlreadyExists:
        return await client.get(Lease, node.name)


def _readiness(status: NodeStatus) -> str:
    return next((condition.status for condition in status.conditions if condition.type == "Ready"), "")
