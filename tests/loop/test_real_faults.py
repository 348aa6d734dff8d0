"""The main faults again, over HTTP against a real kube-apiserver."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from kubewright import Client, Config, Metadata, Operator
from kubewright.crd import crd_of
from kubewright.election import LeaseTimes
from kubewright.kinds.apiextensions_v1 import CustomResourceDefinition
from kubewright.kinds.core_v1 import ConfigMap, Namespace
from kubewright.operator import RunningOperator, install_crds
from kubewright.testing import RealControlPlane
from kubewright.testing.faults import drop_watch, lose_answer, refuse, stall_watch
from tests.loop.reference import Flock, Garden, Outside, Rounds, both_operator, flock, garden
from tests.loop.world import Network
from tests.real import require_binaries

pytestmark = pytest.mark.asyncio(loop_scope="session")

LIMIT = timedelta(seconds=30)


class Real:
    """Both reference operators in a namespace of their own on a real server."""

    def __init__(self, plane: RealControlPlane, namespace: str) -> None:
        self.plane = plane
        self.namespace = namespace
        self.outside = Outside(is_slow=False)
        self.rounds = [Rounds(), Rounds()]
        self.client: Client

    def operator(self, **options: Any) -> Operator:
        return both_operator(self.outside, *self.rounds, namespaces=[self.namespace], **options)

    def new_client(self, *networks: Network) -> Client:
        config = Config.from_kubeconfig(self.plane.kubeconfig)
        return Client(config, namespace=self.namespace, interceptors=networks)

    @asynccontextmanager
    async def at_work(self, network: Network, **options: Any) -> AsyncIterator[RunningOperator]:
        async with self.new_client(network) as theirs, self.operator(**options).running(theirs) as running:
            await running.wait_ready()
            yield running

    async def wait_flock(self, size: int, *, without: str = "") -> list[str]:
        """The names of the flock's children, once its status tells that there are so many."""
        found = await self.client.wait_until(Flock, "a", lambda obj: _tells(obj, size, without), within=LIMIT)
        assert found.status is not None
        return found.status.members

    async def children(self) -> list[str]:
        return sorted([child.name async for child in self.client.list(ConfigMap) if child.name != "kube-root-ca.crt"])

    async def scale(self, size: int) -> None:
        await self.client.modify(Flock, "a", lambda obj: setattr(obj.spec, "size", size))


def _tells(obj: Flock, size: int, without: str) -> bool:
    if obj.status is None or obj.status.observed_generation != obj.metadata.generation:
        return False
    return len(obj.status.members) == size and without not in obj.status.members and obj.status.is_true("Ready")


@asynccontextmanager
async def real(plane: RealControlPlane, namespace: str) -> AsyncIterator[Real]:
    place = Real(plane, namespace)
    async with place.new_client() as client:
        place.client = client
        await client.create(Namespace(metadata=Metadata(name=namespace)))
        await install_crds(client, place.operator())
        yield place
    assert [rounds.overlaps for rounds in place.rounds] == [[], []]


async def test_dropped_and_silent_watches_lose_nothing_on_a_real_server(real_control_plane: RealControlPlane) -> None:
    network = Network()
    async with real(real_control_plane, "loop-watches") as place, place.at_work(network):
        await place.client.create(flock(size=2))
        await place.wait_flock(2)
        with network.having(drop_watch(after=1, when=lambda request: "sendInitialEvents" not in request.target)):
            network.break_all()
            await place.scale(4)
            victim = (await place.wait_flock(4))[0]
            await place.client.delete(ConfigMap, victim)
            await place.wait_flock(4, without=victim)
        with network.having(stall_watch(kind=ConfigMap)):
            network.break_all()
            await place.scale(6)
            members = await place.wait_flock(6)

        assert await place.children() == members


async def test_a_storm_of_conflicts_ends_in_the_last_state_on_a_real_server(
    real_control_plane: RealControlPlane,
) -> None:
    network = Network()
    async with real(real_control_plane, "loop-conflicts") as place, place.at_work(network):
        await place.client.create(garden())
        with network.having(refuse(409, verb=("apply", "patch"), times=3)):
            for number in range(100):
                await place.client.modify(Garden, "a", _set_text(f"{number}"))

            found = await place.client.wait_until(
                Garden, "a", lambda obj: obj.status is not None and obj.status.text == "99", within=LIMIT
            )

        assert place.outside.records == {found.metadata.uid: "99"}
        assert (await place.client.get(ConfigMap, "a-card")).data == {"text": "99"}


def _set_text(text: str) -> Callable[[Garden], None]:
    return lambda obj: setattr(obj.spec, "text", text)


async def test_children_are_not_created_again_when_answers_of_a_real_server_are_lost(
    real_control_plane: RealControlPlane,
) -> None:
    network = Network()
    async with real(real_control_plane, "loop-answers") as place, place.at_work(network):
        lost = lose_answer(verb="create", kind=ConfigMap, times=3, breaks=True)
        with network.having(lost, stall_watch(kind=ConfigMap)):
            network.break_all()
            await place.client.create(flock(size=5))
            members = await place.wait_flock(5)
        created = [sent for sent in network.begun if (sent.verb, sent.kind) == ("create", "ConfigMap")]

        assert lost.struck == 3
        assert len(created) == 5
        assert await place.children() == members


async def test_another_replica_goes_on_when_the_leader_dies_on_a_real_server(
    real_control_plane: RealControlPlane,
) -> None:
    times = LeaseTimes(
        duration=timedelta(seconds=3), renew_deadline=timedelta(seconds=2), retry_period=timedelta(milliseconds=300)
    )
    networks = [Network(), Network()]
    async with real(real_control_plane, "loop-replicas") as place, AsyncExitStack() as stack:
        lives: list[asyncio.Task[None]] = []
        for number, network in enumerate(networks):
            lives.append(asyncio.create_task(_live(place, network, f"replica-{number}", times)))
            stack.push_async_callback(_end, lives[-1])
            if number == 0:
                await place.client.create(flock(size=2))
                await place.wait_flock(2)
        networks[0].cut.cut()
        lives[0].cancel()
        await place.scale(4)

        members = await place.wait_flock(4)

        assert await place.children() == members
        assert [sent.verb for sent in networks[1].writes if sent.kind == "ConfigMap"] == ["create", "create"]


async def _live(place: Real, network: Network, identity: str, times: LeaseTimes) -> None:
    operator = place.operator(lease=times)
    async with place.new_client(network) as client, operator.running(client, identity=identity):
        await asyncio.Event().wait()


async def _end(life: asyncio.Task[None]) -> None:
    life.cancel()
    await asyncio.gather(life, return_exceptions=True)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def own_plane() -> AsyncIterator[RealControlPlane]:
    """A control plane that may be stopped, and has no objects but ours."""
    async with RealControlPlane(binaries=require_binaries()) as plane:
        yield plane


@pytest.mark.xdist_group("loop-own-plane")
async def test_an_operator_survives_the_restart_of_a_real_server(own_plane: RealControlPlane) -> None:
    network = Network()
    async with real(own_plane, "loop-restart") as place, place.at_work(network) as running:
        await place.client.create(flock(size=2))
        await place.client.create(garden())
        await place.wait_flock(2)
        await own_plane.restart_api_server()
        await place.scale(4)

        members = await place.wait_flock(4)
        await running.wait_ready()

        assert await place.children() == sorted([*members, "a-card"])
        assert len(network.begun) < 300
        await place.client.delete(Garden, "a")
        await place.client.wait_gone(Garden, "a", within=LIMIT)


@pytest.mark.xdist_group("loop-own-plane")
async def test_objects_are_cleaned_up_when_their_kind_is_removed_from_a_real_server(
    own_plane: RealControlPlane,
) -> None:
    network, name = Network(), "gardens.tests.example.com"
    async with real(own_plane, "loop-crd") as place, place.at_work(network):
        await place.client.create(garden())
        await place.client.wait_until(Garden, "a", lambda obj: obj.status is not None, within=LIMIT)
        assert len(place.outside.records) == 1
        await place.client.delete(CustomResourceDefinition, name)
        await place.client.wait_gone(CustomResourceDefinition, name, within=LIMIT)
        assert place.outside.records == {}
        await place.client.apply(crd_of(Garden), force=True)
        await install_crds(place.client, place.operator())
        await place.client.delete(ConfigMap, "a-card")
        await place.client.create(garden(text="again"))

        await place.client.wait_until(
            Garden, "a", lambda obj: obj.status is not None and obj.status.text == "again", within=LIMIT
        )
