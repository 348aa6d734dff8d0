"""Pods on a node that is not ready are not ready either: said by whoever still can."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from kubewright.api import Key
from kubewright.cache import Cache
from kubewright.client import ALL_NAMESPACES, StrategicPatch
from kubewright.cluster import Cluster
from kubewright.controller import Context
from kubewright.errors import NotFound
from kubewright.kinds.core_v1 import Node, Pod

__all__ = ["PODS_BY_NODE", "mark_pods_not_ready", "pods_on"]

PODS_BY_NODE: Final = "node-lifecycle-node"
"""The index of pods by their node."""


def pods_on(node: Node, cache: Cache) -> Iterable[Key]:
    """The pods on a node."""
    return cache.keys(Pod, where={PODS_BY_NODE: node.name})


async def mark_pods_not_ready(node: Node, ctx: Context, cluster: Cluster) -> None:
    """Say of all pods on the node that they are not ready, and tell it in an Event of each."""
    for pod in ctx.cache.list(Pod, namespace=ALL_NAMESPACES, where={PODS_BY_NODE: node.name}):
        ready = next((one for one in pod.status.conditions if one.type == "Ready"), None)
        if ready is None or ready.status == "False":
            continue
        changed = {"type": "Ready", "status": "False", "lastTransitionTime": ctx.now.strftime("%Y-%m-%dT%H:%M:%SZ")}
        patch = StrategicPatch({"metadata": {"uid": pod.metadata.uid}, "status": {"conditions": [changed]}})
        with suppress(NotFound):
            await ctx.client.patch(pod, patch, subresource="status")
            cluster.recorder.event(pod, "Warning", "NodeNotReady", "Node is not ready", component="node-controller")
