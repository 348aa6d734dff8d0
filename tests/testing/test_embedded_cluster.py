"""``embedded_cluster`` and ``running``: clusters for tests."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from kubewright import Context, Controller, Metadata, Operator
from kubewright.controlplane import SimulatedNode
from kubewright.controlplane.kubelet import Behaviour, Match, Stage
from kubewright.errors import WaitTimeout
from kubewright.kinds.core_v1 import ConfigMap, Container, Node, Pod, PodSpec
from kubewright.testing import elapse, embedded_cluster, embedded_server, running, virtual_time


def pod(name: str = "web", image: str = "nginx") -> Pod:
    container = Container(name="main", image=image)
    return Pod(metadata=Metadata(name=name), spec=PodSpec(containers=[container]))


async def label(config: ConfigMap, ctx: Context) -> None:
    if not config.metadata.labels:
        config.metadata.labels = {"seen": "yes"}
        await ctx.client.update(config)


def operator() -> Operator:
    return Operator("labels", [Controller(ConfigMap, label, ready_condition=None)])


@virtual_time()
async def test_a_cluster_has_the_nodes_that_are_asked_for() -> None:
    async with embedded_cluster(nodes=3) as cluster:
        numbered = [node.name for node in await cluster.client.list(Node)]
    async with embedded_cluster(nodes=[SimulatedNode(name="large", cpu="64")]) as cluster:
        [described] = await cluster.client.list(Node)

    assert numbered == ["node-1", "node-2", "node-3"]
    assert (described.name, str(described.status.capacity["cpu"])) == ("large", "64")


@virtual_time()
async def test_settling_waits_for_what_follows_at_once_and_not_for_timers() -> None:
    slow = Stage(match=Match(image="slow"), behaviour=Behaviour(start_after=timedelta(seconds=20)))
    async with embedded_cluster(stages=[slow]) as cluster:
        await cluster.client.create(pod(image="slow"))
        await cluster.settle()
        soon = await cluster.client.get(Pod, "web")
        await elapse(timedelta(seconds=20))
        await cluster.settle()
        later = await cluster.client.get(Pod, "web")

    assert soon.spec.node_name == "node-1"
    assert (soon.status.phase, later.status.phase) == ("Pending", "Running")


@virtual_time()
async def test_settling_tells_who_is_still_busy() -> None:
    async def again(config: ConfigMap, ctx: Context) -> timedelta:
        return timedelta(milliseconds=50)

    restless = Operator("restless", [Controller(ConfigMap, again, name="pacer", ready_condition=None)])

    async with running(restless, nodes=1) as cluster:
        await cluster.client.create(ConfigMap(metadata=Metadata(name="card")))
        with pytest.raises(WaitTimeout, match="the cluster is not settled after 0:00:05"):
            await cluster.settle(within=timedelta(seconds=5))


@virtual_time()
async def test_the_operator_and_the_loops_are_waited_for_together() -> None:
    async with running(operator(), nodes=1) as cluster:
        await cluster.client.create(ConfigMap(metadata=Metadata(name="card")))
        await cluster.client.create(pod())
        await cluster.settle()
        card = await cluster.client.get(ConfigMap, "card")
        web = await cluster.client.get(Pod, "web")

    assert card.metadata.labels == {"seen": "yes"}
    assert web.status.phase == "Running"


@virtual_time()
async def test_an_operator_can_be_run_on_a_cluster_that_is_there() -> None:
    async with embedded_cluster(without=["scheduler"]) as there:
        async with running(operator(), server=there) as cluster:
            await cluster.client.create(ConfigMap(metadata=Metadata(name="card")))
            await cluster.settle()
            assert cluster.operator.operator.name == "labels"
            assert cluster.loops is there.loops
        card = await there.client.get(ConfigMap, "card")

    assert card.metadata.labels == {"seen": "yes"}


@virtual_time()
async def test_an_operator_has_the_server_alone_unless_nodes_are_asked_for() -> None:
    async with running(operator()) as cluster:
        await cluster.client.create(pod())
        await elapse(timedelta(minutes=1))

        assert (await cluster.client.get(Pod, "web")).spec.node_name is None
        assert cluster.loops is None


@virtual_time()
async def test_a_cluster_without_an_operator_says_how_to_run_one() -> None:
    async with embedded_cluster(nodes=0) as cluster:
        with pytest.raises(LookupError, match=r"running\(operator, server=cluster\)"):
            _ = cluster.operator


@virtual_time()
async def test_a_server_that_is_given_is_not_ended() -> None:
    async with embedded_server() as server:
        async with running(operator(), server=server):
            pass
        async with running(operator(), server=server) as cluster:
            await cluster.client.create(ConfigMap(metadata=Metadata(name="card")))


@virtual_time()
async def test_a_cluster_begins_with_what_is_in_files(tmp_path: Path) -> None:
    (tmp_path / "card.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: card, namespace: default}}")

    async with embedded_cluster(nodes=0, manifests=[tmp_path]) as cluster:
        assert await cluster.client.get(ConfigMap, "card")


@virtual_time()
async def test_two_runs_of_one_seed_are_the_same() -> None:
    async def names(seed: int) -> list[str]:
        async with embedded_cluster(nodes=2, seed=seed) as cluster:
            made = Pod(metadata=Metadata(generate_name="web-"), spec=pod().spec)
            for _ in range(3):
                await cluster.client.create(made)
            await cluster.settle()
            return [f"{one.name} {one.metadata.uid} {one.spec.node_name}" for one in await cluster.client.list(Pod)]

    assert await names(1) == await names(1)
    assert await names(1) != await names(2)


@virtual_time()
async def test_commands_run_in_pods_of_a_cluster() -> None:
    async with embedded_cluster() as cluster:
        await cluster.client.create(pod())
        await cluster.settle()

        async with cluster.client.exec(await cluster.client.get(Pod, "web"), ["echo", "hello"]) as process:
            done = await process.wait()

    assert (done.exit_code, done.stdout) == (0, b"hello\n")
