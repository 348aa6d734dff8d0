"""The choreography of a Deployment, as people tell it: each loop sees what another wrote, and does its own part.

The sentences are watch events, in the order of revisions.
"""

from __future__ import annotations

import time
from datetime import timedelta

from kubewright import MergePatch
from kubewright.kinds.apps_v1 import Deployment, ReplicaSet
from kubewright.kinds.core_v1 import Pod
from kubewright.testing import EmbeddedCluster, elapse, embedded_cluster, virtual_time
from tests.controlplane.chronicle import Chronicle, chronicle_of
from tests.controlplane.workloads import change, deployment, images, with_image

MINUTE = timedelta(minutes=1)


async def only_pod(cluster: EmbeddedCluster) -> Pod:
    [pod] = await cluster.client.list(Pod)
    return pod


async def annotate(cluster: EmbeddedCluster, pod: Pod, **annotations: str) -> None:
    named = {f"kubewright.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    await cluster.client.patch(pod, MergePatch({"metadata": {"annotations": named}}))


@virtual_time()
async def test_a_deployment_becomes_a_replica_set_and_that_a_pod_which_is_scheduled_and_runs() -> None:
    async with embedded_cluster() as cluster, chronicle_of(cluster.client) as chronicle:
        await cluster.client.create(deployment(1))
        await cluster.settle()

    assert chronicle.sentences == [
        "Deployment is created",
        # The Deployment's controller notices it, and makes a ReplicaSet.
        "ReplicaSet 1 is created",
        # The ReplicaSet's controller notices that, and makes its pod.
        "Pod 1 is created",
        # The scheduler notices a pod without a node, and finds one for it.
        "Pod 1 gets a node",
        # The kubelet of that node notices a pod of its own, starts it, and reports.
        "Pod 1 is Running",
        "Pod 1 is ready",
        # The ReplicaSet's controller notices, and has nothing to do but to count; so has the Deployment's.
        "ReplicaSet 1 has 1",
        "Deployment has 1",
    ]


@virtual_time()
async def test_a_kubelet_leaves_a_pod_alone_until_it_has_a_node_there() -> None:
    async with embedded_cluster(without=["scheduler"]) as cluster, chronicle_of(cluster.client) as chronicle:
        await cluster.client.create(deployment(1))
        await elapse(10 * MINUTE)
        waiting = await only_pod(cluster)
        seen = chronicle.about("Pod 1")
        await cluster.client.bind(waiting, "node-1")
        await cluster.settle()

    assert seen == ["is created"]
    assert waiting.status.conditions == []
    assert chronicle.about("Pod 1") == ["is created", "gets a node", "is Running", "is ready"]


@virtual_time()
async def test_a_container_that_ends_is_restarted_in_its_place_and_the_replica_set_makes_no_other_pod() -> None:
    async with embedded_cluster() as cluster, chronicle_of(cluster.client) as chronicle:
        made = deployment(1)
        script = {"run-for": "1m", "exit-code": "3", "crashes": "1"}
        assert made.spec.template.metadata is not None
        made.spec.template.metadata.annotations = {f"kubewright.dev/{key}": text for key, text in script.items()}
        await cluster.client.create(made)
        await elapse(2 * MINUTE)
        pod = await only_pod(cluster)

    assert chronicle.about("Pod 1") == [
        "is created",
        "gets a node",
        "is Running",
        "is ready",
        "container ended with 3",
        "is not ready",
        "container runs, restarted 1 times",
        "is ready",
    ]
    assert chronicle.about("ReplicaSet 1") == ["is created", "has 1", "has 0", "has 1"]
    assert pod.status.container_statuses[0].restart_count == 1


@virtual_time()
async def test_a_pod_that_is_evicted_is_replaced_and_the_dead_one_stays() -> None:
    async with embedded_cluster() as cluster, chronicle_of(cluster.client) as chronicle:
        await cluster.client.create(deployment(1))
        await cluster.settle()
        await annotate(cluster, await only_pod(cluster), evicted_after="1s")
        await elapse(MINUTE)
        left = {pod.status.phase: pod.status.reason for pod in await cluster.client.list(Pod)}

    assert chronicle.is_in_order(
        "Pod 1 is ready",
        "Pod 1 is Failed (Evicted)",
        "Pod 2 is created",
        "Pod 2 gets a node",
        "Pod 2 is Running",
        "Pod 2 is ready",
        "ReplicaSet 1 has 1",
    )
    assert "Pod 1 is asked to end" not in chronicle.sentences
    assert left == {"Failed": "Evicted", "Running": ""}


@virtual_time()
async def test_a_pod_that_is_deleted_is_replaced_before_it_is_gone() -> None:
    async with embedded_cluster() as cluster, chronicle_of(cluster.client) as chronicle:
        await cluster.client.create(deployment(1))
        await cluster.settle()
        pod = await only_pod(cluster)
        await annotate(cluster, pod, stop_after="10s")
        await cluster.client.delete(pod)
        await elapse(MINUTE)

    assert chronicle.is_in_order("Pod 1 is asked to end", "Pod 2 is created", "Pod 2 is ready", "Pod 1 is gone")
    assert "Pod 3 is created" not in chronicle.sentences


@virtual_time()
async def test_a_deployment_is_rolled_out_undone_and_deleted_in_less_than_a_second_of_work() -> None:
    began = time.process_time()

    async with embedded_cluster(nodes=2) as cluster, chronicle_of(cluster.client) as chronicle:
        await cluster.client.create(deployment(3, image="nginx:1"))
        await cluster.settle()
        assert await images(cluster.client) == ["nginx:1"] * 3
        await change(cluster.client, Deployment, with_image("nginx:2"))
        await cluster.settle()
        assert await images(cluster.client) == ["nginx:2"] * 3
        await change(cluster.client, Deployment, with_image("nginx:1"))
        await cluster.settle()
        assert await images(cluster.client) == ["nginx:1"] * 3
        await cluster.client.delete(Deployment, "web")
        await cluster.settle()
        left = [*await cluster.client.list(ReplicaSet), *await cluster.client.list(Pod)]

    assert left == []
    assert is_rolled_pod_by_pod(chronicle)
    assert time.process_time() - began < 1


def is_rolled_pod_by_pod(chronicle: Chronicle) -> bool:
    """Whether the second ReplicaSet grew as the first shrank, and the other way round when that was undone."""
    grown = [f"ReplicaSet 2 wants {size}" for size in (2, 3)]
    shrunk = [f"ReplicaSet 1 wants {size}" for size in (2, 1, 0)]
    regrown = [f"ReplicaSet 1 wants {size}" for size in (1, 2, 3)]
    return (
        chronicle.is_in_order("ReplicaSet 2 is created", *grown, *regrown, "ReplicaSet 2 is gone")
        and chronicle.is_in_order("ReplicaSet 2 is created", *shrunk, *regrown)
        and "Deployment has 1" not in chronicle.sentences
    )
