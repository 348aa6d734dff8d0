"""The scheduler: who goes where, and what those are told who go nowhere."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kubewright.api import LabelSelector, Metadata, Quantity
from kubewright.client import Client
from kubewright.controlplane.scheduler import scheduler_loop
from kubewright.kinds.core_v1 import (
    Affinity,
    Container,
    ContainerPort,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    PodSchedulingGate,
    PreferredSchedulingTerm,
    ResourceRequirements,
    Taint,
    Toleration,
    TopologySpreadConstraint,
)
from kubewright.kinds.events_v1 import Event
from kubewright.kinds.scheduling_v1 import PriorityClass
from kubewright.testing import elapse, embedded_server, virtual_time
from kubewright.testing.faults import delay_events
from tests.controlplane.clusters import client_of, loops_on, loops_running
from tests.controlplane.crashes import When, end_after_crash
from tests.controlplane.nodes import create_node, node_of, notes, pod

SECOND = timedelta(seconds=1)
GPU = Taint(key="gpu", value="yes", effect="NoSchedule")


def near(label: str, *, key: str = "zone") -> PodAffinityTerm:
    return PodAffinityTerm(label_selector=LabelSelector(match_labels={"app": label}), topology_key=key)


def apart(label: str, *, key: str = "zone") -> Affinity:
    required = [near(label, key=key)]
    return Affinity(pod_anti_affinity=PodAntiAffinity(required_during_scheduling_ignored_during_execution=required))


def together(label: str) -> Affinity:
    required = [near(label)]
    return Affinity(pod_affinity=PodAffinity(required_during_scheduling_ignored_during_execution=required))


def on_nodes(*names: str) -> Affinity:
    named = NodeSelectorRequirement(key="metadata.name", operator="In", values=list(names))
    selector = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_fields=[named])])
    return Affinity(node_affinity=NodeAffinity(required_during_scheduling_ignored_during_execution=selector))


async def placed(client: Client, *pods: Pod) -> list[str | None]:
    for one in pods:
        await client.create(one)
        await elapse(SECOND)
    return [await node_of(client, one.name) for one in pods]


async def told(client: Client, name: str) -> str:
    found = await client.get(Pod, name)
    condition = next(one for one in found.status.conditions if one.type == "PodScheduled")
    assert (condition.status, condition.reason) == ("False", "Unschedulable")
    assert condition.observed_generation == 1
    return condition.message or ""


@virtual_time()
async def test_a_pod_is_bound_and_told_so() -> None:
    async with loops_running(scheduler_loop()) as client:
        await create_node(client, "a")

        assert await placed(client, pod("web")) == ["a"]

        events = [event async for event in client.list(Event)]
        assert [(e.reason, e.action, e.note, e.reporting_controller, e.type) for e in events] == [
            ("Scheduled", "Binding", "Successfully assigned default/web to a", "default-scheduler", "Normal")
        ]


@virtual_time()
async def test_pods_spread_over_nodes_by_what_is_allocated() -> None:
    async with loops_running(scheduler_loop()) as client:
        for name in ("a", "b"):
            await create_node(client, name)

        assert await placed(client, *(pod(f"p{i}", cpu="500m") for i in range(4))) == ["a", "b", "a", "b"]


@virtual_time()
async def test_without_nodes_a_pod_is_told_that_there_are_none_until_one_comes() -> None:
    async with loops_running(scheduler_loop()) as client:
        await placed(client, pod("web"))
        assert await told(client, "web") == "no nodes available to schedule pods"

        await create_node(client, "a")
        await elapse(3 * SECOND)

        assert await node_of(client, "web") == "a"
        assert "FailedScheduling: no nodes available to schedule pods" in await notes(client, "web")


@virtual_time()
async def test_each_node_tells_the_first_reason_that_it_has() -> None:
    async with loops_running(scheduler_loop()) as client:
        await create_node(client, "a", cpu="1")
        await create_node(client, "b", taints=[GPU])
        cordoned = await create_node(client, "c")
        cordoned.spec.unschedulable = True
        await client.update(cordoned)

        await placed(client, pod("big", cpu="2"))

        assert await told(client, "big") == (
            "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), "
            "1 node(s) were unschedulable. no new claims to deallocate, preemption: 0/3 nodes are available: "
            "3 Preemption is not helpful for scheduling."
        )


@virtual_time()
async def test_a_full_node_has_too_many_pods() -> None:
    async with loops_running(scheduler_loop()) as client:
        await create_node(client, "a", pods="1")

        assert await placed(client, pod("one"), pod("two")) == ["a", None]
        assert await told(client, "two") == (
            "0/1 nodes are available: 1 Too many pods. no new claims to deallocate, preemption: "
            "0/1 nodes are available: 1 No preemption victims found for incoming pod."
        )


@virtual_time()
async def test_tolerated_taints_and_cordons_are_no_obstacle() -> None:
    async with loops_running(scheduler_loop()) as client:
        node = await create_node(client, "a", taints=[GPU])
        node.spec.unschedulable = True
        await client.update(node)
        tolerations = [
            Toleration(key="gpu", operator="Equal", value="yes"),
            Toleration(key="node.kubernetes.io/unschedulable", operator="Exists"),
        ]

        assert await placed(client, pod("web", tolerations=tolerations)) == ["a"]


@virtual_time()
async def test_node_selectors_and_named_nodes_choose() -> None:
    async with loops_running(scheduler_loop()) as client:
        await create_node(client, "a", labels={"disk": "hdd"})
        await create_node(client, "b", labels={"disk": "ssd"})
        nowhere = pod("nowhere", affinity=on_nodes("z"))

        where = await placed(
            client, pod("ssd", node_selector={"disk": "ssd"}), pod("named", affinity=on_nodes("b")), nowhere
        )

        assert where == ["b", "b", None]
        assert (await told(client, "nowhere")).startswith(
            "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
        )


@virtual_time()
async def test_a_preferred_node_wins_over_an_emptier_one() -> None:
    async with loops_running(scheduler_loop()) as client:
        await create_node(client, "a")
        await create_node(client, "b", labels={"disk": "ssd"}, cpu="2")
        term = NodeSelectorTerm(match_expressions=[NodeSelectorRequirement(key="disk", operator="Exists")])
        preferred = [PreferredSchedulingTerm(weight=10, preference=term)]
        wish = Affinity(node_affinity=NodeAffinity(preferred_during_scheduling_ignored_during_execution=preferred))

        assert await placed(client, pod("web", affinity=wish)) == ["b"]


@virtual_time()
async def test_a_node_that_keeps_away_softly_is_the_last_choice() -> None:
    async with loops_running(scheduler_loop()) as client:
        await create_node(client, "a", taints=[Taint(key="old", effect="PreferNoSchedule")])
        await create_node(client, "b", cpu="1")

        assert await placed(client, pod("web", cpu="500m")) == ["b"]


@virtual_time()
async def test_ports_of_a_node_are_given_once() -> None:
    async with loops_running(scheduler_loop()) as client:
        await create_node(client, "a")
        port = Container(name="main", image="web", ports=[ContainerPort(container_port=80, host_port=80)])

        assert await placed(client, pod("one", containers=[port]), pod("two", containers=[port])) == ["a", None]
        assert "1 node(s) didn't have free ports for the requested pod ports" in await told(client, "two")


@virtual_time()
async def test_pods_that_shun_each_other_are_kept_apart_both_ways() -> None:
    async with loops_running(scheduler_loop()) as client:
        await create_node(client, "a", labels={"zone": "1"})
        await create_node(client, "b", labels={"zone": "2"})

        where = await placed(
            client,
            pod("shy", labels={"app": "shy"}, affinity=apart("loud")),
            pod("loud", labels={"app": "loud"}),
            pod("shy-too", labels={"app": "shy"}, affinity=apart("shy")),
        )
        await placed(client, pod("last", labels={"app": "loud"}, node_selector={"zone": "1"}))

        assert where == ["a", "b", "b"]
        assert "1 node(s) didn't satisfy existing pods anti-affinity rules" in await told(client, "last")


@virtual_time()
async def test_pods_that_want_company_wait_for_it_and_the_first_of_a_kind_need_not() -> None:
    async with loops_running(scheduler_loop()) as client:
        await create_node(client, "a", labels={"zone": "1"})
        await create_node(client, "b", labels={"zone": "2"})

        where = await placed(client, pod("guest", affinity=together("host")))
        assert where == [None]
        assert "2 node(s) didn't match pod affinity rules" in await told(client, "guest")

        await placed(client, pod("host", labels={"app": "host"}, node_selector={"zone": "2"}))
        await placed(client, pod("flock", labels={"app": "flock"}, affinity=together("flock")))

        assert [await node_of(client, name) for name in ("guest", "flock")] == ["b", "a"]


@virtual_time()
async def test_topology_spread_keeps_the_skew() -> None:
    async with loops_running(scheduler_loop()) as client:
        await create_node(client, "a", labels={"zone": "1"})
        await create_node(client, "b", labels={"zone": "2"}, cpu="1")
        await create_node(client, "c")
        constraint = TopologySpreadConstraint(
            max_skew=1,
            topology_key="zone",
            when_unsatisfiable="DoNotSchedule",
            label_selector=LabelSelector(match_labels={"app": "web"}),
        )

        def web(name: str) -> Pod:
            return pod(name, labels={"app": "web"}, cpu="600m", topology_spread_constraints=[constraint])

        assert await placed(client, web("w1"), web("w2"), web("w3"), web("w4")) == ["a", "b", "a", None]
        assert (await told(client, "w4")).startswith(
            "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod topology spread constraints, "
            "1 node(s) didn't match pod topology spread constraints (missing required label)."
        )


@virtual_time()
async def test_init_containers_sidecars_and_overhead_count() -> None:
    def container(name: str, cpu: str, **more: Any) -> Container:
        requests = ResourceRequirements(requests={"cpu": Quantity(cpu)})
        return Container(name=name, image="web", resources=requests, **more)

    async with loops_running(scheduler_loop()) as client:
        await create_node(client, "a", cpu="2")
        init = [container("side", "500m", restart_policy="Always"), container("heavy", "1600m")]

        await placed(client, pod("heavy", init_containers=init, containers=[container("main", "100m")]))
        light = [container("side", "500m", restart_policy="Always"), container("light", "1")]
        await placed(client, pod("light", init_containers=light, containers=[container("main", "1")]))

        assert [await node_of(client, name) for name in ("heavy", "light")] == [None, "a"]


@virtual_time()
async def test_gated_pods_others_pods_and_placed_pods_are_left_alone() -> None:
    async with loops_running(scheduler_loop()) as client:
        await create_node(client, "a")
        gated = pod("gated", scheduling_gates=[PodSchedulingGate(name="wait")])

        assert await placed(client, gated, pod("other", scheduler_name="mine"), pod("set", node_name="b")) == [
            None,
            None,
            "b",
        ]

        found = await client.get(Pod, "gated")
        found.spec.scheduling_gates = []
        await client.update(found)
        await elapse(SECOND)
        assert await node_of(client, "gated") == "a"


@virtual_time()
async def test_a_pod_that_ends_makes_room() -> None:
    async with loops_running(scheduler_loop()) as client:
        await create_node(client, "a", cpu="1")
        assert await placed(client, pod("one", cpu="1"), pod("two", cpu="1")) == ["a", None]

        one = await client.get(Pod, "one")
        one.status.phase = "Succeeded"
        await client.update(one, subresource="status")
        await elapse(2 * SECOND)

        assert await node_of(client, "two") == "a"


@virtual_time()
async def test_of_pods_that_wait_together_the_most_important_goes_first() -> None:
    async with loops_running(scheduler_loop()) as client:
        await client.create(PriorityClass(metadata=Metadata(name="high"), value=1000))
        await client.create(pod("a-low", cpu="1"))
        await client.create(pod("z-high", cpu="1", priority_class_name="high"))
        await elapse(5 * SECOND)

        await create_node(client, "a", cpu="1")
        await elapse(5 * SECOND)

        assert [await node_of(client, name) for name in ("a-low", "z-high")] == [None, "a"]
        assert (await client.get(Pod, "a-low")).metadata.deletion_timestamp is None
        assert not any(note.startswith("Preempted") for note in await notes(client, "a-low"))


@virtual_time()
async def test_of_pods_that_come_together_the_most_important_goes_first() -> None:
    async with embedded_server() as server, client_of(server, "test") as client:
        await client.create(PriorityClass(metadata=Metadata(name="high"), value=1000))
        await create_node(client, "a", cpu="1")
        await client.create(pod("a-low", cpu="1"))
        await client.create(pod("z-high", cpu="1", priority_class_name="high"))

        async with loops_on(server, scheduler_loop()):
            await elapse(5 * SECOND)

        assert [await node_of(client, name) for name in ("a-low", "z-high")] == [None, "a"]


@virtual_time()
async def test_places_that_are_missing_count_as_empty() -> None:
    async with loops_running(scheduler_loop()) as client:
        await create_node(client, "a", labels={"zone": "1"})
        constraint = TopologySpreadConstraint(
            max_skew=1,
            topology_key="zone",
            when_unsatisfiable="DoNotSchedule",
            min_domains=2,
            label_selector=LabelSelector(match_labels={"app": "web"}),
        )
        web = [pod(n, labels={"app": "web"}, topology_spread_constraints=[constraint]) for n in ("w1", "w2")]

        assert await placed(client, *web) == ["a", None]


@virtual_time()
async def test_room_is_given_once_although_the_watch_tells_late() -> None:
    async with loops_running(scheduler_loop(), interceptors=[delay_events(timedelta(seconds=2))]) as client:
        await create_node(client, "a", cpu="1")
        await elapse(5 * SECOND)
        for name in ("one", "two"):
            await client.create(pod(name, cpu="600m"))
        await elapse(10 * SECOND)

        assert [await node_of(client, name) for name in ("one", "two")] == ["a", None]


@virtual_time()
async def test_a_pod_of_less_priority_makes_room_for_a_more_important_one() -> None:
    async with loops_running(scheduler_loop()) as client:
        await client.create(PriorityClass(metadata=Metadata(name="high"), value=1000))
        await create_node(client, "a", cpu="1")
        await placed(client, pod("small", cpu="200m"), pod("low", cpu="600m"))

        await placed(client, pod("high", cpu="700m", priority_class_name="high"))

        low, high, small = [await client.get(Pod, name) for name in ("low", "high", "small")]
        assert low.metadata.deletion_timestamp is not None
        assert small.metadata.deletion_timestamp is None
        disrupted = next(one for one in low.status.conditions if one.type == "DisruptionTarget")
        assert (disrupted.reason, disrupted.message) == (
            "PreemptionByScheduler",
            "default-scheduler: preempting to accommodate a higher priority pod",
        )
        assert high.status.nominated_node_name == "a"
        assert await told(client, "high") == "0/1 nodes are available: 1 Insufficient cpu."
        assert await notes(client, "low") == [
            "Scheduled: Successfully assigned default/low to a",
            f"Preempted: Preempted by pod {high.metadata.uid} on node a",
        ]

        await client.delete(low, grace=timedelta(0))
        await elapse(5 * SECOND)
        assert await node_of(client, "high") == "a"


@virtual_time()
async def test_room_that_was_made_is_kept_for_whom_it_was_made() -> None:
    async with loops_running(scheduler_loop()) as client:
        await client.create(PriorityClass(metadata=Metadata(name="high"), value=1000))
        await create_node(client, "a", cpu="1")
        await placed(client, pod("low", cpu="800m"), pod("high", cpu="1", priority_class_name="high"))

        await placed(client, pod("thief", cpu="200m"))

        assert await node_of(client, "thief") is None


async def a_crowd(client: Client) -> None:
    """Pods that fit, one that does not, and one that others must leave for."""
    await client.create(PriorityClass(metadata=Metadata(name="high"), value=1000))
    await create_node(client, "a", cpu="1")
    await placed(client, pod("one", cpu="600m"), pod("two", cpu="300m"), pod("big", cpu="5"))
    await placed(client, pod("high", cpu="700m", priority_class_name="high"))
    await elapse(10 * SECOND)
    await client.delete(Pod, "one", grace=timedelta(0))


async def who_is_where(client: Client) -> list[tuple[str, str | None, str]]:
    return [(one.name, one.spec.node_name, one.status.nominated_node_name) async for one in client.list(Pod)]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("n", range(1, 8))
@virtual_time()
async def test_whatever_write_the_scheduler_dies_at_the_pods_end_at_the_same_place(n: int, when: When) -> None:
    found, died = await end_after_crash(lambda: [scheduler_loop()], a_crowd, who_is_where, n=n, when=when)

    assert died
    assert found == [("big", None, ""), ("high", "a", ""), ("two", "a", "")]
