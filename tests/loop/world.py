"""A whole system for one test of the loop: server, network with faults, operator, and what must be true of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from typing import Any, Final, NamedTuple

from kubewright import Client, Controller, Operator
from kubewright.client import Interceptor, Request, Response, Send
from kubewright.errors import NotFound
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.testing import EmbeddedCluster, elapse, running
from kubewright.testing.faults import WRITES, Cut
from kubewright_apiserver import ApiServer
from tests.loop.reference import Flock, Garden, Outside, Reconcile, Rounds, both_operator, flock, garden

_SECOND: Final = timedelta(seconds=1)
_CHILDREN: Final = "/configmaps?fieldManager="


class Sent(NamedTuple):
    at: float
    verb: str
    kind: str
    name: str
    subresource: str


class Network:
    """The way of an operator to the server: an interceptor whose faults come and go, and that notes what passes."""

    def __init__(self, *faults: Interceptor) -> None:
        self.cut: Cut = Cut()
        self.faults: list[Interceptor] = [self.cut, *faults]
        self.begun: list[Sent] = []
        """Every request that the operator began."""
        self.renewals: list[float] = []
        """When the writes of a Lease began that succeeded."""

    @contextmanager
    def having(self, *faults: Interceptor) -> Iterator[None]:
        self.faults.extend(faults)
        try:
            yield
        finally:
            for fault in faults:
                self.faults.remove(fault)

    def break_all(self) -> None:
        """Break what is under way, watches too; what comes passes."""
        self.cut.cut()
        self.cut.mend()

    async def __call__(self, request: Request, send: Send) -> Response:
        sent = _sent(request)
        self.begun.append(sent)

        async def arrive(request: Request) -> Response:
            response = await send(request)
            if sent.kind == "Lease" and sent.verb in WRITES and response.status < 300:
                self.renewals.append(sent.at)
            return response

        through: Send = arrive
        for fault in reversed(self.faults):
            through = _around(fault, through)
        return await through(request)

    def since(self, moment: float, *verbs: str) -> list[Sent]:
        """The requests begun at or after a moment, with one of these verbs."""
        return [sent for sent in self.begun if sent.at >= moment and (not verbs or sent.verb in verbs)]

    @property
    def writes(self) -> list[Sent]:
        """The writes begun, but for Events and Leases."""
        return [sent for sent in self.begun if sent.verb in WRITES and sent.kind not in ("Event", "Lease")]


def _sent(request: Request) -> Sent:
    kind = request.resource.kind if request.resource is not None else ""
    return Sent(asyncio.get_running_loop().time(), request.verb, kind, request.name, request.subresource)


def _around(fault: Interceptor, send: Send) -> Send:
    async def struck(request: Request) -> Response:
        return await fault(request, send)

    return struck


def children_made(server: ApiServer) -> int:
    """How many children operators have created by generated names, answered or not."""
    return len(
        [
            record
            for record in server.requests
            if record.method == "POST" and record.status == 201 and _CHILDREN in record.target
        ]
    )


async def shortcomings(client: Client, outside: Outside | None = None) -> list[str]:
    """What is not as the specs want it, in words; empty when everything has converged."""
    found: list[str] = []
    children = [child async for child in client.list(ConfigMap)]
    async for obj in client.list(Flock):
        names = sorted(child.name for child in children if child.is_controlled_by(obj))
        found += _lacks(obj, obj.status.members if obj.status else None, names)
        if len(names) != obj.spec.size:
            found.append(f"{obj.key} has {len(names)} children, not {obj.spec.size}")
    gardens = [obj async for obj in client.list(Garden)]
    for each in gardens:
        cards = [child.data.get("text") for child in children if child.is_controlled_by(each)]
        found += _lacks(each, each.status.text if each.status else None, each.spec.text)
        if cards != [each.spec.text]:
            found.append(f"{each.key} has the cards {cards}, not {each.spec.text!r}")
    if outside is not None:
        wanted = {each.metadata.uid: each.spec.text for each in gardens}
        if outside.records != wanted:
            found.append(f"outside there is {outside.records}, not {wanted}")
    return found


def _lacks(obj: Any, told: object, true: object) -> list[str]:
    if obj.status is None or told != true:
        return [f"{obj.kind} {obj.key} tells {told}, but it is {true}"]
    if obj.status.observed_generation != obj.metadata.generation or not obj.status.is_true("Ready"):
        return [f"{obj.kind} {obj.key} stands at {obj.status}, generation {obj.metadata.generation}"]
    return []


class World:
    """What a test has at hand: the user's client, the operator's network, and its rounds."""

    def __init__(self, cluster: EmbeddedCluster, network: Network, outside: Outside, rounds: list[Rounds]) -> None:
        self.cluster = cluster
        self.client = cluster.client
        self.server: ApiServer = cluster.server
        self.network = network
        self.outside = outside
        self.flocks, self.gardens = rounds

    @property
    def children_made(self) -> int:
        return children_made(self.server)

    async def wait_converged(self, within: timedelta = timedelta(minutes=2)) -> None:
        """Return when all is as the specs want it; raises if that does not come about."""
        await wait_converged(self.client, self.outside, within=within)

    async def live_through(self) -> None:
        """What people do: create, scale, edit, and delete what the operator made."""
        await self.client.create(flock(size=3))
        await self.client.create(garden(text="hi"))
        await elapse(_SECOND)
        await self.client.modify(Flock, "a", lambda obj: setattr(obj.spec, "size", 5))
        await self.client.modify(Garden, "a", lambda obj: setattr(obj.spec, "text", "bye"))
        await elapse(_SECOND)
        await self.client.modify(Flock, "a", lambda obj: setattr(obj.spec, "size", 2))
        with suppress(NotFound):
            await self.client.delete(ConfigMap, "a-card")

    async def requests_during(self, duration: timedelta) -> int:
        """How many requests, watches aside, the operator makes in that time."""
        before = len(self.network.begun)
        await elapse(duration)
        return len([sent for sent in self.network.begun[before:] if sent.verb != "watch"])


async def wait_converged(client: Client, outside: Outside | None = None, *, within: timedelta) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within.total_seconds()
    while wrong := await shortcomings(client, outside):
        if loop.time() > deadline:
            raise AssertionError(f"not converged within {within}:\n" + "\n".join(wrong))
        await elapse(_SECOND / 4)


@asynccontextmanager
async def world(
    *faults: Interceptor, server: ApiServer | None = None, outside: Outside | None = None, seed: int = 0, **options: Any
) -> AsyncIterator[World]:
    """Both reference operators at work; at the end no key may have been in two workers at once."""
    network, outside = Network(*faults), outside or Outside()
    rounds = [Rounds(), Rounds()]
    operator: Operator = both_operator(outside, *rounds, **options)
    async with running(operator, server=server, seed=seed, interceptors=[network]) as cluster:
        yield World(cluster, network, outside, rounds)
    assert [each.overlaps for each in rounds] == [[], []]
    assert [each.in_work for each in rounds] == [{}, {}]


@asynccontextmanager
async def gardening(
    reconcile: Reconcile,
    network: Network | None = None,
    *,
    server: ApiServer | None = None,
    resync: timedelta | None = None,
    **options: Any,
) -> AsyncIterator[EmbeddedCluster]:
    """An operator with one controller of gardens, for tests with a reconcile of their own."""
    operator = Operator("gardens", [Controller(Garden, reconcile, **options)], resync=resync)
    async with running(operator, server=server, interceptors=[network or Network()]) as cluster:
        yield cluster
