"""Where scripts are played: on our loops in virtual time, and on Kubernetes' own with our kubelet beside them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final

from conformance.choreography.scripts import Stage
from conformance.choreography.told import KINDS
from kubewright import Client, Config, InProcessTransport, MergePatch, Metadata, Unstructured
from kubewright.api import now
from kubewright.controlplane import control_plane, operator_of
from kubewright.controlplane.kubelet import LOST, SimulatedNode, kubelet_loop
from kubewright.kinds.core_v1 import ConfigMap, Namespace, Node, ServiceAccount
from kubewright.operator import RunningOperator
from kubewright.testing import RealControlPlane
from kubewright_apiserver import ApiServer

__all__ = ["our_stage", "real_cluster", "real_stage"]

_NAMESPACE: Final = "shop"
_QUIET: Final = timedelta(seconds=3)
_PATIENCE: Final = 120.0
_IMPATIENT: Final = ["--node-monitor-grace-period=22s", "--node-monitor-period=2s"]
_NODES: Final = [SimulatedNode(name=name) for name in ("node-1", "node-2")]


class _Ours:
    def __init__(self, client: Client, running: RunningOperator) -> None:
        self.client = client
        self._running = running

    async def settle(self) -> None:
        await self._running.settle(quiet=_QUIET, within=timedelta(minutes=10))


@asynccontextmanager
async def our_stage() -> AsyncIterator[Stage]:
    """Our loops on an API server in this process."""
    server = ApiServer(
        listens=False,
        clock=now,
        dice=random.Random("server"),
        enable_admission_plugins=["ServiceAccount"],
    )
    async with server, Client(transport=InProcessTransport(server.handle), dice=random.Random("test")) as outside:
        async with Client(transport=InProcessTransport(server.handle), dice=random.Random("loops")) as inside:
            plane = control_plane(nodes=_NODES, ca=b"any")
            async with plane.running(inside, dice=random.Random("plane")) as running:
                await running.wait_ready()
                client = await _prepared(outside)
                yield _Ours(client, running)


async def _prepared(client: Client) -> Client:
    """The client in a namespace of its own that has its service account."""
    made = await client.create(Namespace(metadata=Metadata(generate_name=f"{_NAMESPACE}-")))
    there = client.using(namespace=made.name)
    await there.wait_until(ServiceAccount, "default", lambda _: True)
    await there.wait_until(ConfigMap, "kube-root-ca.crt", lambda _: True)
    for node in _NODES:
        # A script may have lost it.
        await client.patch(Node, MergePatch({"metadata": {"annotations": {LOST: None}}}), name=node.name)
        await client.wait_until(Node, node.name, lambda found: not found.spec.taints)
    return there


class _Real:
    """Kubernetes' own loops: they say nothing of being idle, so that we look whether anything still changes."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def settle(self) -> None:
        deadline = asyncio.get_running_loop().time() + _PATIENCE
        before: list[str] = []
        while asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(_QUIET.total_seconds())
            now = await self._revisions()
            if now == before:
                return
            before = now
        raise AssertionError("the real cluster does not come to rest")

    async def _revisions(self) -> list[str]:
        found: list[str] = []
        # Events come behind what they tell of.
        for kind, (version, plural) in (KINDS | {"Event": ("v1", "events")}).items():
            listed = await self.client.list(Unstructured.of(version, kind, plural=plural))
            found += [f"{kind} {obj.name} {obj.metadata.resource_version}" for obj in listed.items]
        return found


@asynccontextmanager
async def real_cluster() -> AsyncIterator[Client]:
    """Kubernetes' own API server, controller manager and scheduler, with our kubelet."""
    async with RealControlPlane(controller_manager=_IMPATIENT, scheduler=True) as plane:
        config = Config.from_kubeconfig(plane.kubeconfig)
        async with Client(config) as client, Client(config) as inside:
            async with operator_of([kubelet_loop(_NODES)]).running(inside) as running:
                await running.wait_ready()
                yield client


async def real_stage(client: Client) -> Stage:
    """A namespace of the real cluster."""
    return _Real(await _prepared(client))
