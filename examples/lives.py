"""A cluster in virtual time, with control loops and two nodes, and operators on it that can be killed at any write."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Literal, TypeAlias

from kubewright import ALL_NAMESPACES, Client, Impersonation, InProcessTransport, Metadata, Operator, Options
from kubewright.client import Interceptor, Request
from kubewright.kinds.core_v1 import Pod
from kubewright.kinds.rbac_v1 import ClusterRole, ClusterRoleBinding, RoleRef, Subject
from kubewright.operator import RunningOperator, install_crds
from kubewright.testing import EmbeddedCluster, VirtualTime, elapse, embedded_cluster
from kubewright.testing.faults import WRITES, Gate, Incarnation

When: TypeAlias = Literal["before", "after"]

OPERATOR = "the-operator"


class Life:
    """An operator from its start until it is killed; nothing of it survives but what is in the cluster."""

    def __init__(self, stage: Stage, number: int, interceptors: Iterable[Interceptor]) -> None:
        self._stage = stage
        self._number = number
        self._interceptors = tuple(interceptors)
        self._started: asyncio.Future[RunningOperator] = asyncio.get_running_loop().create_future()
        self._incarnation = Incarnation(InProcessTransport(stage.server.handle), name=f"life {number}")
        self._task = self._incarnation.start(self._live())  # Held, or the collector would take it.

    async def _live(self) -> None:
        dice = VirtualTime.current().dice_of
        client = Client(
            transport=self._incarnation.transport,
            interceptors=self._interceptors,
            options=Options(impersonate=Impersonation(user=OPERATOR)),
            dice=dice(f"client {self._number}"),
        )
        async with client, self._stage.new_operator().running(client, dice=dice(f"life {self._number}")) as running:
            self._started.set_result(running)
            await asyncio.Event().wait()

    async def running(self) -> RunningOperator:
        """The operator, once it has begun."""
        return await self._started

    async def crash(self) -> None:
        """Kill it, as a process is killed."""
        await self._incarnation.crash()


class Stage:
    """A cluster for a test: a client of its own, the server, the loops, and the lives of one operator."""

    def __init__(self, cluster: EmbeddedCluster, new_operator: Callable[[], Operator]) -> None:
        self.cluster = cluster
        self.server = cluster.server
        self.client = cluster.client
        self.new_operator = new_operator
        self.lives: list[Life] = []
        self.most_pods = 0

    async def start(self, *interceptors: Interceptor) -> Life:
        """A new life of the operator; ``interceptors`` stand around its requests."""
        self.lives.append(Life(self, len(self.lives) + 1, interceptors))
        return self.lives[-1]

    async def settle(self, quiet: timedelta = timedelta(seconds=2)) -> None:
        """Return when neither the operator nor the cluster has anything to do."""
        if self.lives:
            await (await self.lives[-1].running()).settle(quiet=quiet)
        await self.cluster.settle(quiet=quiet)
        if self.lives:
            await (await self.lives[-1].running()).settle(quiet=quiet)

    def writes(self) -> list[str]:
        """What the operator has written, as the server saw it."""
        return [f"{asked.verb} {asked.path}" for asked in self.server.requests.writes() if asked.user == OPERATOR]

    async def writes_in_the_next(self, time: timedelta) -> list[str]:
        """What the operator writes while nothing changes."""
        self.server.requests.clear()
        await elapse(time)
        return self.writes()

    async def count_pods(self) -> None:
        """Note the most pods that there ever are at once, without those that are being deleted or have ended."""
        alive: set[str] = set()
        async for event in self.client.watch(Pod, namespace=ALL_NAMESPACES):
            if event.type == "BOOKMARK":
                continue
            pod = event.object
            ended = pod.metadata.deletion_timestamp is not None or pod.status.phase in ("Failed", "Succeeded")
            (alive.discard if ended or event.type == "DELETED" else alive.add)(pod.metadata.uid)
            self.most_pods = max(self.most_pods, len(alive))


async def allow(client: Client, operator: Operator) -> None:
    """Give the operator's user what the operator says that it needs, and nothing else."""
    role = ClusterRole(metadata=Metadata(name=OPERATOR), rules=list(operator.rules))
    await client.create(role)
    reference = RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name=OPERATOR)
    subject = Subject(api_group="rbac.authorization.k8s.io", kind="User", name=OPERATOR)
    metadata = Metadata(name=OPERATOR)
    await client.create(ClusterRoleBinding(metadata=metadata, role_ref=reference, subjects=[subject]))


@asynccontextmanager
async def on_stage(new_operator: Callable[[], Operator], *, with_crds: bool = True) -> AsyncIterator[Stage]:
    """A cluster without the operator; ``start`` begins its first life."""
    async with embedded_cluster(nodes=2) as cluster:
        stage = Stage(cluster, new_operator)
        await allow(cluster.client, new_operator())
        if with_crds:
            await install_crds(cluster.client, new_operator())
        counting = asyncio.create_task(stage.count_pods())
        try:
            yield stage
        finally:
            counting.cancel()
            await asyncio.gather(counting, return_exceptions=True)
            if stage.lives:
                await stage.lives[-1].crash()
        forbidden = [str(asked) for asked in stage.server.requests if asked.user == OPERATOR and asked.status == 403]
        assert forbidden == [], "what operator.rules tells is not enough"


def _counts(request: Request) -> bool:
    """Whether a crash at this write is worth a try: Events are told by the way."""
    return request.resource is None or request.resource.plural != "events"


async def crashed_at(stage: Stage, n: int, when: When, script: Callable[[Client], Awaitable[None]]) -> bool:
    """Play the script while the operator dies at its n-th write and is begun anew; whether it came so far."""
    gate = Gate("request" if when == "before" else "answer", verb=WRITES, when=_counts, skip=n - 1, times=1)
    await stage.start(gate)

    async def revive() -> None:
        await gate.wait_held()
        await stage.lives[0].crash()
        await stage.start()

    reviving = asyncio.create_task(revive())
    try:
        await script(stage.client)
        await stage.settle()
    finally:
        reviving.cancel()
        await asyncio.gather(reviving, return_exceptions=True)
    return gate.struck > 0
