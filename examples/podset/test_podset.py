"""The PodSet operator, in virtual time on an API server in this process."""

from datetime import timedelta

from podset import PodSet, PodSetSpec, operator

from kubewright import Metadata
from kubewright.kinds.core_v1 import Pod
from kubewright.testing import EmbeddedCluster, elapse, running, virtual_time


def podset(size: int) -> PodSet:
    return PodSet(metadata=Metadata(name="sample"), spec=PodSetSpec(size=size))


async def settled(cluster: EmbeddedCluster, size: int) -> list[str]:
    found = await cluster.wait_until(
        PodSet, "sample", lambda obj: obj.status is not None and len(obj.status.nodes) == size
    )
    assert found.status is not None
    return found.status.nodes


@virtual_time()
async def test_a_podset_gets_its_pods_and_tells_their_names() -> None:
    async with running(operator) as cluster:
        await cluster.client.create(podset(3))

        names = await settled(cluster, 3)

        pods = [pod async for pod in cluster.client.list(Pod)]
        assert sorted(pod.name for pod in pods) == names
        assert all(pod.controller_reference is not None for pod in pods)
        assert pods[0].spec.containers[0].command == ["sleep", "3600"]


@virtual_time()
async def test_a_podset_is_scaled_up_and_down() -> None:
    async with running(operator) as cluster:
        await cluster.client.create(podset(1))
        first = await settled(cluster, 1)
        await cluster.client.modify(PodSet, "sample", lambda obj: setattr(obj.spec, "size", 5))
        assert first[0] in await settled(cluster, 5)
        await cluster.client.modify(PodSet, "sample", lambda obj: setattr(obj.spec, "size", 1))

        assert len(await settled(cluster, 1)) == 1
        assert len(await cluster.client.list(Pod)) == 1


@virtual_time()
async def test_a_deleted_pod_is_replaced() -> None:
    async with running(operator) as cluster:
        await cluster.client.create(podset(2))
        victim, survivor = await settled(cluster, 2)
        await cluster.client.delete(Pod, victim)
        await elapse(timedelta(seconds=5))

        names = await settled(cluster, 2)
        assert survivor in names
        assert victim not in names


@virtual_time()
async def test_a_settled_podset_writes_nothing() -> None:
    async with running(operator) as cluster:
        await cluster.client.create(podset(3))
        await settled(cluster, 3)
        await elapse(timedelta(seconds=5))
        cluster.server.requests.clear()
        await elapse(timedelta(minutes=30))

        assert cluster.server.requests.writes() == []
