"""``running``: an operator on an API server of its own, in this process, for one test.

``embedded_cluster``: an API server with control loops and simulated nodes, for one test, with or without an operator.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from kubewright.api import Resource
from kubewright.client import Client, InProcessTransport, Interceptor
from kubewright.kinds.core_v1 import Node, ServiceAccount
from kubewright.operator import Activity, Operator, RunningOperator, install_crds
from kubewright.operator.settling import PATIENCE, QUIET, settled
from kubewright.testing.embedded import embedded_server

if TYPE_CHECKING:
    from kubewright.controlplane import Loop, SimulatedNode
    from kubewright.controlplane.kubelet import Stage
    from kubewright.controlplane.kubelet_door import KubeletDoor
    from kubewright_apiserver import ApiServer

__all__ = ["EmbeddedCluster", "embedded_cluster", "running"]

R = TypeVar("R", bound=Resource)

_READY: Final = timedelta(seconds=30)
_ACCOUNTS: Final = "serviceaccount"
_CA: Final = b"the authority of an embedded cluster\n"


class EmbeddedCluster:
    """What a test has: a client of its own, the server, and who works on it: control loops, an operator, or both."""

    def __init__(
        self,
        client: Client,
        server: ApiServer,
        operator: RunningOperator | None = None,
        loops: RunningOperator | None = None,
    ) -> None:
        self.client: Client = client
        """The test's client, as another person than the operator."""
        self.server: ApiServer = server
        self.loops: RunningOperator | None = loops
        """The control loops, if there are any."""
        self._operator = operator

    @property
    def operator(self) -> RunningOperator:
        """The operator that runs on it; raises ``LookupError`` in a cluster without one."""
        if self._operator is None:
            raise LookupError("no operator runs here; `async with running(operator, server=cluster)` runs one")
        return self._operator

    async def settle(self, *, quiet: timedelta = QUIET, within: timedelta = PATIENCE) -> None:
        """Return when operator and loops have had nothing to do for as long as ``quiet``; timers may still wait.

        So it waits for all that follows from a change at once. What takes its time, such as a pod by its script or a
        container that waits for its next start, is waited for by ``elapse``: the nodes' hearts beat every ten seconds,
        so that it is never quiet for longer.

        *Raises* ``WaitTimeout`` naming those who are still busy.
        """
        at_work = [one for one in (self.loops, self._operator) if one is not None]
        for one in at_work:
            await one.wait_ready()

        def active() -> Mapping[str, Activity]:
            return {f"{one.operator.name}/{name}": who for one in at_work for name, who in one.active.items()}

        await settled(active, who="the cluster", quiet=quiet, within=within)

    async def wait_until(
        self,
        kind: type[R],
        name: str,
        predicate: Callable[[R], bool],
        *,
        namespace: str | None = None,
        within: timedelta = timedelta(seconds=60),
    ) -> R:
        """The object as soon as ``predicate`` holds for it; see ``Client.wait_until``."""
        return await self.client.wait_until(kind, name, predicate, namespace=namespace, within=within)

    async def wait_gone(
        self,
        kind: type[R],
        name: str,
        *,
        namespace: str | None = None,
        within: timedelta = timedelta(seconds=60),
    ) -> None:
        """Return when there is no such object; see ``Client.wait_gone``."""
        await self.client.wait_gone(kind, name, namespace=namespace, within=within)


@asynccontextmanager
async def embedded_cluster(
    *,
    nodes: int | Sequence[SimulatedNode] = 1,
    without: Collection[str] = (),
    instead: Sequence[Loop] = (),
    stages: Sequence[Stage] = (),
    door: KubeletDoor | None = None,
    seed: int = 0,
    manifests: Sequence[str | Path] = (),
) -> AsyncIterator[EmbeddedCluster]:
    """A whole cluster in this process: API server, control loops, and simulated nodes that are Ready.

    >>> @virtual_time()
    ... async def test_a_deployment_gets_its_pods() -> None:
    ...     async with embedded_cluster(nodes=2) as cluster:
    ...         await cluster.client.create(deployment)
    ...         await cluster.settle()
    ...         assert len((await cluster.client.list(Pod)).items) == 3

    ``nodes``, ``without``, ``instead`` and ``stages`` are those of ``kubewright.controlplane.control_plane``. ``door``
    answers logs, exec, attach and port-forward; one that simulates commands, if it is not given. All is in virtual
    time, if the test is.
    """
    from kubewright.controlplane import control_plane
    from kubewright.controlplane.kubelet_door import KubeletDoor

    door = door or KubeletDoor(stages=stages)
    plane = control_plane(nodes=nodes, without=without, instead=[door.loop(), *instead], stages=stages, ca=_CA)
    plugins = [] if _ACCOUNTS in without else ["ServiceAccount"]
    async with AsyncExitStack() as stack:
        made = embedded_server(seed=seed, manifests=manifests, kubelet=door, enable_admission_plugins=plugins)
        server = await stack.enter_async_context(made)
        outside = await stack.enter_async_context(_client(server, f"{seed}/test"))
        inside = await stack.enter_async_context(_client(server, f"{seed}/loops"))
        loops = await stack.enter_async_context(plane.running(inside, dice=random.Random(f"{seed}/plane")))
        await loops.wait_ready()
        names = [f"node-{one + 1}" for one in range(nodes)] if isinstance(nodes, int) else [one.name for one in nodes]
        for name in names:
            await outside.wait_until(Node, name, _is_ready)
        if plugins:
            await outside.wait_until(ServiceAccount, "default", lambda _: True)
        yield EmbeddedCluster(outside, server, loops=loops)


@asynccontextmanager
async def running(
    operator: Operator,
    *,
    server: ApiServer | EmbeddedCluster | None = None,
    nodes: int | Sequence[SimulatedNode] | None = None,
    without: Collection[str] = (),
    seed: int = 0,
    manifests: Sequence[str | Path] = (),
    interceptors: Sequence[Interceptor] = (),
    identity: str | None = None,
) -> AsyncIterator[EmbeddedCluster]:
    """The operator at work on an API server in this process, with its CRDs installed.

    >>> @virtual_time()
    ... async def test_a_card_follows_its_greeting() -> None:
    ...     async with running(operator) as cluster:
    ...         await cluster.client.create(greeting)
    ...         await cluster.wait_until(ConfigMap, "hello", lambda card: card.data["text"] == "hi")

    With ``nodes`` the server is a whole cluster: control loops, less those named in ``without``, and so many simulated
    nodes. ``server``: one that runs already, or a cluster made by ``embedded_cluster``. ``interceptors`` stand around
    the operator's requests only, for faults. ``identity`` lets it take part in leader election.
    """
    async with AsyncExitStack() as stack:
        if server is None and nodes is not None:
            made = embedded_cluster(nodes=nodes, without=without, seed=seed, manifests=manifests)
            server = await stack.enter_async_context(made)
        elif server is None:
            server = await stack.enter_async_context(embedded_server(seed=seed, manifests=manifests))
        loops = server.loops if isinstance(server, EmbeddedCluster) else None
        server = server.server if isinstance(server, EmbeddedCluster) else server
        outside = await stack.enter_async_context(_client(server, f"{seed}/test"))
        inside = await stack.enter_async_context(_client(server, f"{seed}/client", interceptors))
        await install_crds(outside.using(field_manager="kubectl"), operator)
        dice = random.Random(f"{seed}/operator")
        at_work = await stack.enter_async_context(operator.running(inside, identity=identity, dice=dice))
        # A kind that nobody serves, as a test may want it, is not waited for.
        with suppress(TimeoutError):
            async with asyncio.timeout(_READY.total_seconds()):
                await at_work.wait_ready()
        yield EmbeddedCluster(outside, server, at_work, loops)


def _client(server: ApiServer, chance: str, interceptors: Sequence[Interceptor] = ()) -> Client:
    transport = InProcessTransport(server.handle, server.connect)
    return Client(transport=transport, interceptors=interceptors, dice=random.Random(chance))


def _is_ready(node: Node) -> bool:
    return any(one.type == "Ready" and one.status == "True" for one in node.status.conditions)
