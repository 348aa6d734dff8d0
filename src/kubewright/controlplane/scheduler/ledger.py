"""``Ledger``: who lives on which node, kept from the watch, so that no attempt reads all pods anew.

On the scheduler's path it stands between the cache and the filters. What was bound is noted at once, before the watch
tells it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from kubewright.api import Key
from kubewright.cache import Change, Handler
from kubewright.cluster import Cluster
from kubewright.controlplane.pod_resources import amounts_of
from kubewright.controlplane.scheduler.tenant import Tenant, is_over
from kubewright.kinds.core_v1 import Namespace, Node, Pod, Taint

__all__ = ["House", "Ledger"]


class House:
    """A node and the pods on it."""

    __slots__ = ("allocatable", "labels", "name", "nonzero", "shy", "taints", "tenants", "unschedulable", "used")

    def __init__(self, name: str) -> None:
        self.name: str = name
        self.labels: dict[str, str] = {}
        self.taints: list[Taint] = []
        self.unschedulable: bool = False
        self.allocatable: dict[str, int] = {}
        self.tenants: dict[Key, Tenant] = {}
        self.shy: dict[Key, Tenant] = {}
        """Those of the tenants that do not want some others near."""
        self.used: dict[str, int] = {}
        self.nonzero: dict[str, int] = {"cpu": 0, "memory": 0}

    def describe(self, node: Node) -> None:
        """Take over what the Node object says."""
        self.labels = node.metadata.labels
        self.taints = node.spec.taints
        self.unschedulable = bool(node.spec.unschedulable)
        self.allocatable = amounts_of(node.status.allocatable)

    def admit(self, tenant: Tenant) -> None:
        """Count a pod in."""
        self.evict(tenant.key)
        self.tenants[tenant.key] = tenant
        if tenant.anti_affinity:
            self.shy[tenant.key] = tenant
        _add(self.used, tenant.requests, 1)
        _add(self.nonzero, tenant.nonzero, 1)

    def evict(self, key: Key) -> None:
        """Count a pod out, if it was in."""
        tenant = self.tenants.pop(key, None)
        if tenant is not None:
            self.shy.pop(key, None)
            _add(self.used, tenant.requests, -1)
            _add(self.nonzero, tenant.nonzero, -1)

    def without(self, keys: Iterable[Key]) -> House:
        """The same node as it would be without some pods."""
        other = self.copy()
        for key in keys:
            other.evict(key)
        return other

    def copy(self) -> House:
        """A copy to try things on."""
        other = House(self.name)
        other.labels, other.taints, other.unschedulable = self.labels, self.taints, self.unschedulable
        other.allocatable, other.tenants, other.shy = self.allocatable, dict(self.tenants), dict(self.shy)
        other.used, other.nonzero = dict(self.used), dict(self.nonzero)
        return other


class Ledger:
    """All nodes and the pods on them, and which pods were promised room."""

    def __init__(self) -> None:
        self.cluster: Cluster | None = None
        self._clear()

    def _clear(self) -> None:
        self._nodes: dict[str, House] = {}
        self._homes: dict[Key, str] = {}
        self._nominated: dict[Key, Tenant] = {}
        self._namespaces: dict[str, dict[str, str]] = {}
        self._known: set[str] = set()
        self._ready = asyncio.Event()

    async def keep(self, cluster: Cluster) -> None:
        """Follow the watch until cancelled; a background coroutine of the loop."""
        self._clear()
        self.cluster = cluster
        cache = cluster.cache
        await cache.wait_synced(Node, Pod, Namespace)
        handlers: list[Handler[Any]] = [
            cache.informer(Node).add_handler(self._see_node),
            cache.informer(Pod).add_handler(self._see_pod),
            cache.informer(Namespace).add_handler(self._see_namespace),
        ]
        self._ready.set()
        try:
            await asyncio.Event().wait()
        finally:
            self._ready = asyncio.Event()
            for handler in handlers:
                handler.remove()

    async def wait_ready(self) -> None:
        """Return when everything that the cache holds is in the ledger."""
        await self._ready.wait()

    def houses(self) -> dict[str, House]:
        """The nodes that there are, by name, in order."""
        return {name: self._nodes[name] for name in sorted(self._known)}

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """The labels of a namespace."""
        return self._namespaces.get(name, {})

    def promised(self, node: str) -> list[Tenant]:
        """Pods for whom others on the node had to make room, and that have not moved in yet."""
        return [tenant for tenant in self._nominated.values() if tenant.nominated == node] if self._nominated else []

    def assume(self, tenant: Tenant, node: str) -> None:
        """Count a pod in that is being bound."""
        self.forget(tenant.key)
        tenant.node = node
        self._move_in(tenant)

    def forget(self, key: Key) -> None:
        """Count a pod out, wherever it was."""
        self._nominated.pop(key, None)
        home = self._homes.pop(key, None)
        if home is not None:
            self._nodes[home].evict(key)

    def nominate(self, tenant: Tenant, node: str) -> None:
        """Note that a pod was promised room on a node; ``""`` takes it back."""
        self._nominated.pop(tenant.key, None)
        tenant.nominated = node
        if node:
            self._nominated[tenant.key] = tenant

    def _move_in(self, tenant: Tenant) -> None:
        self._homes[tenant.key] = tenant.node
        self._house(tenant.node).admit(tenant)

    def _house(self, name: str) -> House:
        house = self._nodes.get(name)
        if house is None:
            house = self._nodes[name] = House(name)
        return house

    def _see_node(self, change: Change[Any]) -> None:
        name = change.key.name
        if change.new is None:
            self._known.discard(name)
            return
        self._known.add(name)
        self._house(name).describe(change.new)

    def _see_pod(self, change: Change[Any]) -> None:
        pod = change.new
        if pod is not None and not pod.spec.node_name and self._is_assumed(pod):
            return
        self.forget(change.key)
        if pod is None or is_over(pod):
            return
        if pod.spec.node_name:
            self._move_in(Tenant(pod))
        elif pod.status.nominated_node_name:
            self._nominated[pod.key] = Tenant(pod)

    def _is_assumed(self, pod: Pod) -> bool:
        """Whether the pod is being bound: news from before the binding must not take it out."""
        home = self._homes.get(pod.key)
        return home is not None and self._nodes[home].tenants[pod.key].uid == pod.metadata.uid

    def _see_namespace(self, change: Change[Any]) -> None:
        if change.new_head is None:
            self._namespaces.pop(change.key.name, None)
        else:
            self._namespaces[change.key.name] = dict(change.new_head.labels)


def _add(total: dict[str, int], part: Mapping[str, int], sign: int) -> None:
    for name, amount in part.items():
        total[name] = total.get(name, 0) + sign * amount
