"""The control plane as a whole: loops left out and replaced, each under its own name, together a cluster."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta

import pytest

from kubewright import Context, Controller, Metadata, Operator
from kubewright.controlplane import LOOPS, Loop, control_plane
from kubewright.errors import Forbidden
from kubewright.kinds.apps_v1 import Deployment, ReplicaSet
from kubewright.kinds.core_v1 import ConfigMap, Namespace, Node, Pod, Service, ServicePort, ServiceSpec
from kubewright.testing import EmbeddedCluster, elapse, embedded_cluster, running, virtual_time
from tests.controlplane.workloads import change, deployment, images, pod, with_image

MINUTE = timedelta(minutes=1)
ACCOUNT = "system:serviceaccount:kube-system:"


@virtual_time()
async def test_a_loop_of_the_users_own_stands_in_for_one_of_kubernetes() -> None:
    async def one_pod_each(found: ReplicaSet, ctx: Context) -> None:
        """A controller that keeps a single pod by name, whatever is asked for."""
        assert found.spec.template is not None
        await ctx.apply(Pod(metadata=Metadata(name=f"{found.name}-only"), spec=found.spec.template.spec))

    own = Loop("replicaset", [Controller(ReplicaSet, one_pod_each, owns=[Pod], ready_condition=None)])

    async with embedded_cluster(instead=[own]) as cluster:
        await cluster.client.create(deployment(3))
        await cluster.settle()
        pods = [found.name for found in await cluster.client.list(Pod)]
        [made] = await cluster.client.list(ReplicaSet)

    assert pods == [f"{made.name}-only"]


@pytest.mark.parametrize("name", LOOPS)
def test_each_loop_can_be_left_out(name: str) -> None:
    whole, less = control_plane(ca=b"any"), control_plane(ca=b"any", without=[name])

    assert parts(less) < parts(whole)


def parts(operator: Operator) -> set[str]:
    controllers = {controller.name for controller in operator.controllers}
    return controllers | {background.name for background in operator.background}


def test_a_loop_that_there_is_not_cannot_be_left_out() -> None:
    with pytest.raises(ValueError, match=r"there is no control loop 'kublet'; there are .*kubelet"):
        control_plane(without=["kublet"])


@virtual_time()
async def test_without_a_kubelet_nodes_stay_ready_and_nothing_runs() -> None:
    async with embedded_cluster(nodes=2, without=["kubelet"]) as cluster:
        await cluster.client.create(pod("web"))
        await elapse(10 * MINUTE)
        found = await cluster.client.get(Pod, "web")
        nodes = [is_ready(node) for node in await cluster.client.list(Node)]

    assert found.spec.node_name
    assert found.status.phase == "Pending"
    assert nodes == [True, True]


def is_ready(node: Node) -> bool:
    return any(one.type == "Ready" and one.status == "True" for one in node.status.conditions)


@virtual_time()
async def test_without_a_scheduler_pods_wait_for_a_node() -> None:
    async with embedded_cluster(without=["scheduler"]) as cluster:
        await cluster.client.create(pod("web"))
        await cluster.settle()

        assert (await cluster.client.get(Pod, "web")).spec.node_name is None


@virtual_time()
async def test_a_pod_needs_an_account_unless_nobody_makes_accounts() -> None:
    async with embedded_cluster() as cluster:
        lonely = pod("web")
        lonely.spec.service_account_name = "nobody"
        with pytest.raises(Forbidden, match='serviceaccount "nobody" not found'):
            await cluster.client.create(lonely)

    async with embedded_cluster(without=["serviceaccount"]) as cluster:
        await cluster.client.create(pod("web"))


@virtual_time()
async def test_a_pod_can_be_made_as_soon_as_its_namespace_is() -> None:
    async with embedded_cluster() as cluster:
        await cluster.client.create(Namespace(metadata=Metadata(name="new")))
        found = await cluster.client.using(namespace="new").create(pod("web"))

        assert found.spec.service_account_name == "default"


async def play(cluster: EmbeddedCluster) -> None:
    """Let every loop do something."""
    client = cluster.client
    await client.create(Namespace(metadata=Metadata(name="shop")))
    await cluster.settle()
    there = client.using(namespace="shop")
    await there.create(deployment(3))
    port = ServicePort(name="web", port=80)
    await there.create(Service(metadata=Metadata(name="web"), spec=ServiceSpec(selector={"app": "web"}, ports=[port])))
    await cluster.settle()
    await change(there, Deployment, with_image("nginx:2"))
    await cluster.settle()
    assert await images(there) == ["nginx:2"] * 3
    await there.delete(Deployment, "web")
    await there.delete(Service, "web")
    await cluster.settle()
    await client.delete(Namespace, "shop")
    await client.wait_gone(Namespace, "shop")


@virtual_time()
async def test_loops_are_never_refused_and_each_acts_under_its_own_name() -> None:
    async with embedded_cluster(nodes=2) as cluster:
        await play(cluster)
        asked = list(cluster.server.requests)

    acted: dict[str, set[str]] = defaultdict(set)
    for request in asked:
        assert request.status not in (401, 403), str(request)
        if request.is_write and request.resource != "events":
            acted[request.user.removeprefix(ACCOUNT)].add(f"{request.verb} {request.resource}")
    assert acted["deployment-controller"] == {"create replicasets", "update replicasets", "update deployments"}
    assert acted["replicaset-controller"] == {"create pods", "delete pods", "update replicasets"}
    assert acted["system:kube-scheduler"] == {"create pods"}
    assert acted["endpoint-controller"] <= {"create endpoints", "update endpoints", "delete endpoints"}
    assert acted["endpointslice-controller"] <= {f"{verb} endpointslices" for verb in ("create", "update", "delete")}
    assert acted["generic-garbage-collector"] >= {"delete pods", "delete replicasets"}
    assert acted["namespace-controller"] >= {"update namespaces", "deletecollection pods"}
    assert acted["service-account-controller"] == {"create serviceaccounts"}
    assert acted["root-ca-cert-publisher"] == {"create configmaps"}
    assert "patch nodes" in acted["node-controller"]


@virtual_time()
async def test_a_namespace_with_pods_in_it_is_gone_ten_seconds_after_its_deletion() -> None:
    async with embedded_cluster() as cluster:
        await cluster.client.create(Namespace(metadata=Metadata(name="shop")))
        await cluster.settle()
        await cluster.client.using(namespace="shop").create(deployment(2))
        await cluster.settle()

        await cluster.client.delete(Namespace, "shop")
        await cluster.wait_gone(Namespace, "shop", within=timedelta(seconds=12))


@virtual_time()
async def test_an_operator_has_a_cluster_that_behaves_under_it() -> None:
    async def shop(config: ConfigMap, ctx: Context) -> None:
        if config.name == "shop" and ctx.cache.get(Deployment, "web") is None:
            made = deployment(int(config.data["size"]))
            made.metadata.namespace = config.namespace
            await ctx.client.create(made)

    operator = Operator("shops", [Controller(ConfigMap, shop, reads=[Deployment], ready_condition=None)])

    async with running(operator, nodes=2) as cluster:
        await cluster.client.create(ConfigMap(metadata=Metadata(name="shop"), data={"size": "2"}))
        await cluster.settle()
        pods = [found.status.phase for found in await cluster.client.list(Pod)]

    assert pods == ["Running", "Running"]
