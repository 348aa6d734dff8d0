"""The node-lifecycle loop: nodes that fall silent, and what becomes of their pods."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kubewright.api import Metadata, now
from kubewright.client import Client, MergePatch, StrategicPatch
from kubewright.controlplane.kubelet import LOST, NOT_READY, SimulatedNode, kubelet_loop, node_loop
from kubewright.controlplane.node_lifecycle import node_lifecycle_loop
from kubewright.errors import NotFound
from kubewright.kinds.core_v1 import Node, Pod, PodCondition, Taint, Toleration
from kubewright.testing import elapse, virtual_time
from tests.controlplane.clusters import loops_running
from tests.controlplane.crashes import When, end_after_crash
from tests.controlplane.nodes import create_node, notes, pod

SECOND = timedelta(seconds=1)
NODES = [SimulatedNode(name="a"), SimulatedNode(name="b")]


async def annotate(client: Client, node: str, key: str, value: str | None) -> None:
    await client.patch(Node, MergePatch({"metadata": {"annotations": {key: value}}}), name=node)


async def taints(client: Client, node: str) -> list[str]:
    found = await client.get(Node, node)
    return [f"{taint.key}:{taint.effect}" for taint in found.spec.taints]


async def condition(client: Client, node: str, type: str = "Ready") -> tuple[str, str | None, str | None]:
    found = await client.get(Node, node)
    return next((one.status, one.reason, one.message) for one in found.status.conditions if one.type == type)


async def is_ready(client: Client, name: str) -> str:
    found = await client.get(Pod, name)
    return next(one.status for one in found.status.conditions if one.type == "Ready")


@virtual_time()
async def test_a_new_node_loses_its_first_taint_when_it_is_ready() -> None:
    async with loops_running(node_loop(NODES), node_lifecycle_loop()) as client:
        await elapse(2 * SECOND)

        assert await taints(client, "a") == []
        assert "RegisteredNode: Node a event: Registered Node a in Controller" in await notes(client, "a")


@virtual_time()
async def test_nodes_with_a_heart_stay_ready() -> None:
    async with loops_running(node_loop(NODES), node_lifecycle_loop()) as client:
        await elapse(timedelta(minutes=8))

        assert (await condition(client, "a"))[0] == "True"
        assert await taints(client, "a") == []


@virtual_time()
async def test_a_silent_node_is_unknown_after_fifty_seconds_and_tainted() -> None:
    async with loops_running(node_loop(NODES), node_lifecycle_loop()) as client:
        await elapse(5 * SECOND)
        await annotate(client, "a", LOST, "yes")
        await elapse(44 * SECOND)
        assert (await condition(client, "a"))[0] == "True"

        await elapse(7 * SECOND)

        unknown = ("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
        assert [await condition(client, "a", type) for type in ("Ready", "MemoryPressure")] == [unknown, unknown]
        assert await taints(client, "a") == [
            "node.kubernetes.io/unreachable:NoSchedule",
            "node.kubernetes.io/unreachable:NoExecute",
        ]
        assert "NodeNotReady: Node a status is now: NodeNotReady" in await notes(client, "a")


@virtual_time()
async def test_the_grace_counts_from_the_last_renewal_and_not_from_when_it_was_looked_at() -> None:
    async with loops_running(node_loop(NODES), node_lifecycle_loop()) as client:
        await elapse(39 * SECOND)
        await annotate(client, "a", LOST, "yes")

        await elapse(40 * SECOND)
        assert (await condition(client, "a"))[0] == "True"
        await elapse(3 * SECOND)
        assert (await condition(client, "a"))[0] == "Unknown"


@virtual_time()
async def test_a_node_that_comes_back_is_clean_again() -> None:
    async with loops_running(kubelet_loop(NODES), node_lifecycle_loop()) as client:
        await client.create(pod("web", node_name="a"))
        await elapse(5 * SECOND)
        await annotate(client, "a", LOST, "yes")
        await elapse(60 * SECOND)
        assert await is_ready(client, "web") == "False"
        assert "NodeNotReady: Node is not ready" in await notes(client, "web")

        await annotate(client, "a", LOST, None)
        await elapse(15 * SECOND)

        assert (await condition(client, "a"))[0] == "True"
        assert await taints(client, "a") == []
        assert await is_ready(client, "web") == "True"
        assert "TaintManagerEviction: Cancelling deletion of Pod default/web" in await notes(client, "web")


@virtual_time()
async def test_pods_leave_a_silent_node_when_their_toleration_ends() -> None:
    async with loops_running(kubelet_loop(NODES), node_lifecycle_loop()) as client:
        await client.create(pod("web", node_name="a"))
        forever = Toleration(key="node.kubernetes.io/unreachable", operator="Exists", effect="NoExecute")
        await client.create(pod("rock", node_name="a", tolerations=[forever]))
        await elapse(5 * SECOND)
        await annotate(client, "a", LOST, "yes")

        await elapse(55 * SECOND + 290 * SECOND)
        assert (await client.get(Pod, "web")).metadata.deletion_timestamp is None
        await elapse(20 * SECOND)

        web = await client.get(Pod, "web")
        assert web.metadata.deletion_timestamp is not None
        disrupted = next(one for one in web.status.conditions if one.type == "DisruptionTarget")
        assert (disrupted.reason, disrupted.message) == (
            "DeletionByTaintManager",
            "Taint manager: deleting due to NoExecute taint",
        )
        assert "TaintManagerEviction: Marking for deletion Pod default/web" in await notes(client, "web")
        assert (await client.get(Pod, "rock")).metadata.deletion_timestamp is None

        await annotate(client, "a", LOST, None)
        await elapse(60 * SECOND)
        try:
            await client.get(Pod, "web")
            raise AssertionError("the kubelet is back, and the pod is still there")
        except NotFound:
            pass


@virtual_time()
async def test_nobody_is_driven_out_when_all_nodes_are_silent() -> None:
    async with loops_running(node_loop(NODES), node_lifecycle_loop()) as client:
        await elapse(5 * SECOND)
        for name in ("a", "b"):
            await annotate(client, name, LOST, "yes")

        await elapse(90 * SECOND)
        assert [await taints(client, name) for name in ("a", "b")] == [
            ["node.kubernetes.io/unreachable:NoSchedule"]
        ] * 2

        await annotate(client, "b", LOST, None)
        await elapse(20 * SECOND)
        assert "node.kubernetes.io/unreachable:NoExecute" in await taints(client, "a")
        assert await taints(client, "b") == []


@virtual_time()
async def test_a_node_that_says_it_is_not_ready_is_tainted_so() -> None:
    async with loops_running(node_loop(NODES), node_lifecycle_loop()) as client:
        await elapse(5 * SECOND)
        await annotate(client, "a", NOT_READY, "container runtime is down")
        await elapse(5 * SECOND)

        assert await condition(client, "a") == ("False", "KubeletNotReady", "container runtime is down")
        assert await taints(client, "a") == [
            "node.kubernetes.io/not-ready:NoSchedule",
            "node.kubernetes.io/not-ready:NoExecute",
        ]


@virtual_time()
async def test_a_node_that_never_said_a_word_is_unknown_after_a_minute() -> None:
    async with loops_running(node_lifecycle_loop()) as client:
        await client.create(Node(metadata=Metadata(name="mute")))
        await elapse(59 * SECOND)
        assert (await client.get(Node, "mute")).status.conditions == []
        await elapse(3 * SECOND)

        never = ("Unknown", "NodeStatusNeverUpdated", "Kubelet never posted node status.")
        assert await condition(client, "mute") == never


@virtual_time()
async def test_a_cordoned_node_carries_the_taint_of_it() -> None:
    async with loops_running(node_loop(NODES), node_lifecycle_loop()) as client:
        await elapse(5 * SECOND)
        await client.patch(Node, MergePatch({"spec": {"unschedulable": True}}), name="a")
        await elapse(SECOND)
        assert await taints(client, "a") == ["node.kubernetes.io/unschedulable:NoSchedule"]

        await client.patch(Node, MergePatch({"spec": {"unschedulable": None}}), name="a")
        await elapse(SECOND)
        assert await taints(client, "a") == []


@virtual_time()
async def test_a_pod_that_tolerates_nothing_leaves_at_once() -> None:
    async with loops_running(kubelet_loop(NODES), node_lifecycle_loop()) as client:
        await elapse(5 * SECOND)
        await client.create(pod("web", node_name="a"))
        await elapse(5 * SECOND)
        taint = {"key": "maintenance", "effect": "NoExecute"}
        await client.patch(Node, MergePatch({"spec": {"taints": [taint]}}), name="a")
        await elapse(SECOND)

        await client.wait_gone(Pod, "web")


@virtual_time()
async def test_a_node_that_is_deleted_is_told() -> None:
    async with loops_running(node_loop(NODES), node_lifecycle_loop()) as client:
        await elapse(5 * SECOND)
        await client.delete(Node, "a")
        await elapse(SECOND)

        assert "RemovingNode: Node a event: Removing Node a from Controller" in await notes(client, "a")


async def a_node_dies(client: Client) -> None:
    """Nodes and their pods as kubelets leave them; one kubelet says nothing more, the other goes on."""
    for name in ("a", "b"):
        await create_node(client, name, taints=[Taint(key="node.kubernetes.io/not-ready", effect="NoSchedule")])
    short = Toleration(
        key="node.kubernetes.io/unreachable", operator="Exists", effect="NoExecute", toleration_seconds=5
    )
    for made in (pod("web", node_name="a"), pod("hasty", node_name="a", tolerations=[short])):
        created = await client.create(made)
        created.status.conditions = [PodCondition(type="Ready", status="True")]
        await client.update(created, subresource="status")
    for _ in range(15):
        await elapse(10 * SECOND)
        stamp = now().replace(microsecond=0)
        ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": stamp.isoformat().replace("+00:00", "Z")}
        await client.patch(Node, StrategicPatch({"status": {"conditions": [ready]}}), name="b", subresource="status")


async def what_is_left(client: Client) -> list[object]:
    pods = [(one.name, one.metadata.deletion_timestamp is not None) async for one in client.list(Pod)]
    return [pods, await is_ready(client, "web"), await taints(client, "a"), await taints(client, "b")]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("n", range(1, 9))
@virtual_time()
async def test_whatever_write_the_loop_dies_at_the_end_is_the_same(n: int, when: When) -> None:
    found, died = await end_after_crash(lambda: [node_lifecycle_loop()], a_node_dies, what_is_left, n=n, when=when)

    assert died
    assert found == [
        [("hasty", True), ("web", False)],
        "False",
        ["node.kubernetes.io/unreachable:NoSchedule", "node.kubernetes.io/unreachable:NoExecute"],
        [],
    ]
