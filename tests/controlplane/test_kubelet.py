"""The kubelet on simulated nodes: what becomes of pods, step by step, as their statuses and Events tell it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from kubewright.api import Quantity
from kubewright.client import Client, MergePatch, StrategicPatch
from kubewright.controlplane.kubelet import LOST, Behaviour, Match, SimulatedNode, Stage, kubelet_loop
from kubewright.errors import NotFound
from kubewright.kinds.coordination_v1 import Lease
from kubewright.kinds.core_v1 import (
    Container,
    ContainerStatus,
    EphemeralContainer,
    ExecAction,
    HTTPGetAction,
    Lifecycle,
    LifecycleHandler,
    Node,
    Pod,
    PodReadinessGate,
    Probe,
    SleepAction,
)
from kubewright.kinds.events_v1 import Event
from kubewright.testing import elapse, embedded_server, virtual_time
from tests.controlplane.clusters import client_of, loops_on, loops_running
from tests.controlplane.crashes import When, end_after_crash
from tests.controlplane.nodes import notes, pod

SECOND = timedelta(seconds=1)
NODES = [SimulatedNode(name="a"), SimulatedNode(name="b")]


def scripted(name: str, *command: str, script: dict[str, str] | None = None, **spec: Any) -> Pod:
    """A pod on node a with one container, which does what the command or the annotations say."""
    probes = {
        key: spec.pop(key) for key in ("readiness_probe", "liveness_probe", "startup_probe", "lifecycle") if key in spec
    }
    made = pod(name, **{"node_name": "a", **spec})
    made.spec.containers[0].command = list(command)
    for key, value in probes.items():
        setattr(made.spec.containers[0], key, value)
    made.metadata.annotations = {f"kubewright.dev/{key}": value for key, value in (script or {}).items()}
    return made


def state(status: ContainerStatus) -> str:
    """A container's state in one word or two."""
    found = status.state
    assert found is not None
    if found.running is not None:
        return "running"
    if found.terminated is not None:
        return f"{found.terminated.reason} {found.terminated.exit_code}"
    assert found.waiting is not None
    return str(found.waiting.reason)


def seen(found: Pod) -> str:
    """Phase, states of all containers and readiness, for short."""
    statuses = [*found.status.init_container_statuses, *found.status.container_statuses]
    statuses += found.status.ephemeral_container_statuses
    ready = next((one.status for one in found.status.conditions if one.type == "Ready"), "-")
    return f"{found.status.phase}: {', '.join(map(state, statuses)) or '-'}; {ready}"


async def main_of(client: Client, name: str) -> ContainerStatus:
    return (await client.get(Pod, name)).status.container_statuses[0]


async def look(client: Client, name: str) -> str:
    return seen(await client.get(Pod, name))


@asynccontextmanager
async def followed(client: Client, name: str) -> AsyncIterator[list[str]]:
    """What a pod goes through while the block runs, each state once."""
    course: list[str] = []

    async def follow() -> None:
        async for event in client.watch(Pod, fields={"metadata.name": name}):
            if event.type in ("ADDED", "MODIFIED") and (not course or course[-1] != seen(event.object)):
                course.append(seen(event.object))
            if event.type == "DELETED":
                course.append("gone")

    task = asyncio.create_task(follow())
    yield course
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@virtual_time()
async def test_nodes_are_registered_as_a_kubelet_does() -> None:
    async with loops_running(kubelet_loop(NODES)) as client:
        await elapse(SECOND)
        node = await client.get(Node, "a")

    assert node.metadata.labels["kubernetes.io/hostname"] == "a"
    assert node.status.allocatable["pods"] == Quantity(110)
    assert [(one.type, one.status, one.reason) for one in node.status.conditions] == [
        ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID"),
        ("Ready", "True", "KubeletReady"),
    ]
    assert [one.address for one in node.status.addresses] == ["172.18.0.2", "a"]
    assert node.status.node_info is not None
    assert node.status.node_info.kubelet_version == "v1.36.3"


@virtual_time()
async def test_leases_are_renewed_every_ten_seconds_and_the_status_every_five_minutes() -> None:
    async with loops_running(kubelet_loop(NODES)) as client:
        await elapse(SECOND)
        first = await client.get(Lease, "a", namespace="kube-node-lease")
        node = await client.get(Node, "a")
        await elapse(10 * SECOND)
        second = await client.get(Lease, "a", namespace="kube-node-lease")
        same = await client.get(Node, "a")
        await elapse(timedelta(minutes=5))
        later = await client.get(Node, "a")

    assert (first.spec.holder_identity, first.spec.lease_duration_seconds) == ("a", 40)
    assert first.metadata.owner_references[0].uid == node.metadata.uid
    assert str(first.spec.renew_time) < str(second.spec.renew_time)
    assert same.metadata.resource_version == node.metadata.resource_version
    assert later.status.conditions[0].last_heartbeat_time != node.status.conditions[0].last_heartbeat_time


@virtual_time()
async def test_a_pod_is_created_runs_and_is_ready() -> None:
    async with loops_running(kubelet_loop(NODES)) as client, followed(client, "web") as course:
        await client.create(scripted("web"))
        await elapse(2 * SECOND)
        found = await client.get(Pod, "web")

        assert course == ["Pending: -; -", "Pending: ContainerCreating; False", "Running: running; True"]
        assert await notes(client, "web") == [
            'Pulling: Pulling image "busybox"',
            'Pulled: Successfully pulled image "busybox" in 1ms (1ms including waiting). Image size: 4474115 bytes.',
            "Created: Container created",
            "Started: Container started",
        ]
    assert [(one.type, one.status, one.observed_generation) for one in found.status.conditions] == [
        (type, "True", 1)
        for type in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    ]
    assert (found.status.host_ip, found.status.pod_ip) == ("172.18.0.2", "10.244.0.2")
    assert found.status.observed_generation == 1
    main = found.status.container_statuses[0]
    assert (main.image, main.started, main.ready) == ("docker.io/library/busybox:latest", True, True)
    assert main.container_id is not None
    assert main.container_id.startswith("containerd://")


@virtual_time()
async def test_events_of_a_container_name_it() -> None:
    async with loops_running(kubelet_loop(NODES)) as client:
        await client.create(scripted("web"))
        await elapse(2 * SECOND)
        events = [event async for event in client.list(Event) if event.reason == "Started"]

    assert [event.regarding.field_path for event in events] == ["spec.containers{main}"]
    assert [event.reporting_controller for event in events] == ["kubelet"]


@virtual_time()
async def test_every_pod_has_an_address_of_its_own_also_after_a_new_start() -> None:
    async with embedded_server() as server, client_of(server, "test") as client:
        for numbers in (range(3), range(3, 6)):
            async with loops_on(server, kubelet_loop(NODES)):
                for number in numbers:
                    await client.create(scripted(f"p{number}"))
                await elapse(2 * SECOND)
        addresses = [one.status.pod_ip async for one in client.list(Pod)]

    assert len(set(addresses)) == 6
    assert all(address.startswith("10.244.0.") for address in addresses)


@virtual_time()
async def test_a_host_network_pod_has_the_address_of_its_node() -> None:
    async with loops_running(kubelet_loop(NODES)) as client:
        await client.create(scripted("web", host_network=True))
        await elapse(2 * SECOND)

        assert (await client.get(Pod, "web")).status.pod_ip == "172.18.0.2"


@virtual_time()
async def test_resources_and_user_are_reported_as_they_were_asked_for() -> None:
    async with loops_running(kubelet_loop(NODES)) as client:
        await client.create(scripted("web", cpu="250m"))
        await elapse(2 * SECOND)
        found = await client.get(Pod, "web")

    main = found.status.container_statuses[0]
    assert main.allocated_resources == {"cpu": Quantity("250m")}
    assert main.resources is not None
    assert main.resources.requests == {"cpu": Quantity("250m")}
    assert main.user is not None
    assert main.user.linux is not None
    assert (main.user.linux.uid, main.user.linux.supplemental_groups) == (0, [0])
    assert found.status.allocated_resources == {"cpu": Quantity("250m")}


@virtual_time()
async def test_a_container_is_resized_in_place() -> None:
    async with loops_running(kubelet_loop(NODES)) as client:
        await client.create(scripted("web", cpu="250m"))
        await elapse(2 * SECOND)
        larger = {"containers": [{"name": "main", "resources": {"requests": {"cpu": "500m"}}}]}
        await client.patch(Pod, StrategicPatch({"spec": larger}), name="web", subresource="resize")
        await elapse(2 * SECOND)

        main = await main_of(client, "web")
        assert (main.allocated_resources, main.restart_count) == ({"cpu": Quantity("500m")}, 0)
        assert (await client.get(Pod, "web")).status.observed_generation == 2


@pytest.mark.parametrize(
    ("command", "policy", "end"),
    [
        (["true"], "Never", "Succeeded: Completed 0; False"),
        (["false"], "Never", "Failed: Error 1; False"),
        (["sh", "-c", "echo hi; sleep 5; exit 3"], "Never", "Failed: Error 3; False"),
        (["/bin/sleep", "5"], "OnFailure", "Succeeded: Completed 0; False"),
        (["nginx"], "Never", "Running: running; True"),
    ],
)
@virtual_time()
async def test_a_container_does_what_its_command_says(command: list[str], policy: str, end: str) -> None:
    async with loops_running(kubelet_loop(NODES)) as client:
        await client.create(scripted("job", *command, restart_policy=policy))
        await elapse(10 * SECOND)

        assert await look(client, "job") == end


@virtual_time()
async def test_a_pod_that_ended_says_so_in_its_conditions() -> None:
    async with loops_running(kubelet_loop(NODES)) as client:
        await client.create(scripted("job", "sleep", "3", restart_policy="Never"))
        await elapse(10 * SECOND)
        found = await client.get(Pod, "job")

    assert [(one.type, one.status, one.reason) for one in found.status.conditions] == [
        ("PodReadyToStartContainers", "False", None),
        ("Initialized", "True", "PodCompleted"),
        ("Ready", "False", "PodCompleted"),
        ("ContainersReady", "False", "PodCompleted"),
        ("PodScheduled", "True", None),
    ]
    ended = found.status.container_statuses[0].state
    assert ended is not None
    assert ended.terminated is not None
    assert ended.terminated.started_at is not None
    assert ended.terminated.finished_at == ended.terminated.started_at + 3 * SECOND


@virtual_time()
async def test_a_container_that_crashes_is_restarted_at_once_and_then_ever_later() -> None:
    async with loops_running(kubelet_loop(NODES)) as client, followed(client, "web") as course:
        created = await client.create(scripted("web", "sh", "-c", "sleep 1; exit 7"))
        await elapse(20 * SECOND)
        main = await main_of(client, "web")

        assert course[2:] == [
            "Running: running; True",
            "Running: Error 7; False",
            "Running: running; True",
            "Running: Error 7; False",
            "Running: CrashLoopBackOff; False",
            "Running: running; True",
            "Running: Error 7; False",
            "Running: CrashLoopBackOff; False",
        ]
        assert main.restart_count == 2
        assert main.last_state is not None
        assert main.last_state.terminated is not None
        assert main.last_state.terminated.exit_code == 7
        name = f"web_default({created.metadata.uid})"
        assert main.state is not None
        assert main.state.waiting is not None
        assert main.state.waiting.message == f"back-off 20s restarting failed container=main pod={name}"
        assert f"BackOff: Back-off restarting failed container main in pod {name}" in await notes(client, "web")
        await elapse(timedelta(minutes=8))
        assert "back-off 5m0s" in str((await main_of(client, "web")).state)


@virtual_time()
async def test_back_off_begins_anew_after_a_run_of_more_than_ten_minutes() -> None:
    async with loops_running(kubelet_loop(NODES[:1])) as client, followed(client, "web") as course:
        await client.create(scripted("web", script={"run-for": "11m", "exit-code": "1"}))
        await elapse(timedelta(minutes=24))

        assert (await main_of(client, "web")).restart_count == 2
        assert "Running: CrashLoopBackOff; False" not in course


@virtual_time()
async def test_on_failure_restarts_only_what_failed() -> None:
    async with loops_running(kubelet_loop(NODES)) as client:
        await client.create(scripted("job", "sleep", "2", script={"crashes": "1"}, restart_policy="OnFailure"))
        await elapse(5 * SECOND)

        main = await main_of(client, "job")
        assert (main.restart_count, state(main)) == (1, "running")


@virtual_time()
async def test_init_containers_run_one_after_the_other() -> None:
    init = [
        Container(name="one", image="busybox", command=["sleep", "2"]),
        Container(name="two", image="busybox", command=["sleep", "3"]),
    ]
    async with loops_running(kubelet_loop(NODES)) as client, followed(client, "web") as course:
        await client.create(scripted("web", init_containers=init))
        await elapse(SECOND)
        found = await client.get(Pod, "web")
        await elapse(9 * SECOND)

    initialized = next(one for one in found.status.conditions if one.type == "Initialized")
    assert (initialized.reason, initialized.message) == (
        "ContainersNotInitialized",
        "containers with incomplete status: [one two]",
    )
    assert course == [
        "Pending: -; -",
        "Pending: PodInitializing, PodInitializing, PodInitializing; False",
        "Pending: running, PodInitializing, PodInitializing; False",
        "Pending: Completed 0, PodInitializing, PodInitializing; False",
        "Pending: Completed 0, running, PodInitializing; False",
        "Pending: Completed 0, Completed 0, PodInitializing; False",
        "Running: Completed 0, Completed 0, running; True",
    ]


@virtual_time()
async def test_an_init_container_that_fails_is_tried_again_or_fails_the_pod() -> None:
    init = [Container(name="one", image="busybox", command=["false"])]
    async with loops_running(kubelet_loop(NODES)) as client:
        await client.create(scripted("again", init_containers=init))
        await client.create(scripted("once", init_containers=init, restart_policy="Never"))
        await elapse(5 * SECOND)

        assert await look(client, "again") == "Pending: CrashLoopBackOff, PodInitializing; False"
        assert await look(client, "once") == "Failed: Error 1, PodInitializing; False"


@virtual_time()
async def test_a_sidecar_starts_before_and_ends_after_the_others() -> None:
    side = [Container(name="side", image="busybox", restart_policy="Always")]
    async with loops_running(kubelet_loop(NODES)) as client, followed(client, "job") as course:
        await client.create(scripted("job", "sleep", "2", init_containers=side, restart_policy="Never"))
        await elapse(10 * SECOND)

    assert course[2:] == [
        "Pending: running, PodInitializing; False",
        "Running: running, running; True",
        "Running: running, Completed 0; False",
        "Succeeded: Completed 0, Completed 0; False",
    ]


@virtual_time()
async def test_an_ephemeral_container_joins_a_running_pod() -> None:
    async with loops_running(kubelet_loop(NODES)) as client:
        await client.create(scripted("web"))
        await elapse(2 * SECOND)
        found = await client.get(Pod, "web")
        found.spec.ephemeral_containers = [EphemeralContainer(name="debug", image="busybox", command=["sleep", "5"])]
        await client.update(found, subresource="ephemeralcontainers")
        await elapse(2 * SECOND)
        assert await look(client, "web") == "Running: running, running; True"

        await elapse(10 * SECOND)
        assert await look(client, "web") == "Running: running, Completed 0; True"


@virtual_time()
async def test_a_container_may_take_its_time_to_start_and_to_be_ready() -> None:
    async with loops_running(kubelet_loop(NODES)) as client:
        await client.create(scripted("slow", script={"start-after": "5s", "ready-after": "10s"}))
        await elapse(4 * SECOND)
        assert await look(client, "slow") == "Pending: ContainerCreating; False"
        await elapse(5 * SECOND)
        assert await look(client, "slow") == "Running: running; False"
        await elapse(10 * SECOND)
        assert await look(client, "slow") == "Running: running; True"


@virtual_time()
async def test_an_annotation_may_be_for_one_container() -> None:
    containers = [Container(name="one", image="busybox"), Container(name="two", image="busybox")]
    async with loops_running(kubelet_loop(NODES)) as client:
        await client.create(scripted("web", containers=containers, script={"never-ready.two": "true"}))
        await elapse(2 * SECOND)
        found = await client.get(Pod, "web")

    ready = next(one for one in found.status.conditions if one.type == "Ready")
    assert (ready.reason, ready.message) == ("ContainersNotReady", "containers with unready status: [two]")


@virtual_time()
async def test_stages_script_many_pods_and_annotations_win() -> None:
    stages = [
        Stage(match=Match(image="busy*"), behaviour=Behaviour(run_for=2 * SECOND, exit_code=4)),
        Stage(match=Match(labels="calm=yes"), behaviour=Behaviour(exit_code=0)),
    ]
    async with loops_running(kubelet_loop(NODES, stages=stages)) as client:
        await client.create(scripted("wild", restart_policy="Never"))
        await client.create(scripted("calm", restart_policy="Never", labels={"calm": "yes"}))
        await client.create(scripted("own", restart_policy="Never", script={"exit-code": "5"}))
        await elapse(5 * SECOND)

        assert await look(client, "wild") == "Failed: Error 4; False"
        assert await look(client, "calm") == "Succeeded: Completed 0; False"
        assert await look(client, "own") == "Failed: Error 5; False"


@virtual_time()
async def test_an_annotation_that_makes_no_sense_is_told_and_ignored() -> None:
    async with loops_running(kubelet_loop(NODES)) as client:
        await client.create(scripted("web", script={"start-after": "soon"}))
        await elapse(2 * SECOND)

        assert await look(client, "web") == "Running: running; True"
        assert (
            "InvalidBehaviour: annotation kubewright.dev/start-after: 'soon' is no duration; "
            "write for example 90s, 1m30s or 500ms; it is ignored"
        ) in await notes(client, "web")


@virtual_time()
async def test_an_image_that_cannot_be_pulled_is_tried_again_with_back_off() -> None:
    script = {"image-pull-error": "no such image", "image-pull-failures": "2"}
    async with loops_running(kubelet_loop(NODES)) as client, followed(client, "web") as course:
        await client.create(scripted("web", script=script))
        await elapse(5 * SECOND)
        waiting = (await main_of(client, "web")).state
        told = await notes(client, "web")
        await elapse(40 * SECOND)

    assert waiting is not None
    assert waiting.waiting is not None
    assert waiting.waiting.message == 'Back-off pulling image "busybox": ErrImagePull: no such image'
    assert told == [
        'Pulling: Pulling image "busybox"',
        'Failed: Failed to pull image "busybox": no such image',
        "Failed: Error: ErrImagePull",
        'BackOff: Back-off pulling image "busybox"',
        "Failed: Error: ImagePullBackOff",
    ]
    assert course[2:] == [
        "Pending: ErrImagePull; False",
        "Pending: ImagePullBackOff; False",
        "Pending: ErrImagePull; False",
        "Pending: ImagePullBackOff; False",
        "Running: running; True",
    ]


@virtual_time()
async def test_an_image_that_is_there_is_not_pulled_again() -> None:
    containers = [Container(name="main", image="nginx:1.27")]
    async with loops_running(kubelet_loop(NODES)) as client:
        for name in ("one", "two"):
            await client.create(scripted(name, containers=containers))
            await elapse(2 * SECOND)

        assert (await notes(client, "two"))[0] == (
            'Pulled: Container image "nginx:1.27" already present on machine and can be accessed by the pod'
        )


@virtual_time()
async def test_a_container_may_be_killed_for_want_of_memory() -> None:
    script = {"oom-killed": "true", "run-for": "2s", "termination-message": "too much"}
    async with loops_running(kubelet_loop(NODES)) as client:
        await client.create(scripted("web", restart_policy="Never", script=script))
        await elapse(5 * SECOND)
        main = await main_of(client, "web")

    assert state(main) == "OOMKilled 137"
    assert main.state is not None
    assert main.state.terminated is not None
    assert main.state.terminated.message == "too much"


@virtual_time()
async def test_a_readiness_probe_succeeds_when_it_next_looks() -> None:
    probe = Probe(http_get=HTTPGetAction(port=80), initial_delay_seconds=2, period_seconds=5)
    async with loops_running(kubelet_loop(NODES)) as client:
        await client.create(scripted("web", readiness_probe=probe, script={"ready-after": "4s"}))
        await elapse(6 * SECOND)
        assert await look(client, "web") == "Running: running; False"
        assert "Unhealthy: Readiness probe failed: HTTP probe failed with statuscode: 503" in await notes(client, "web")
        await elapse(2 * SECOND)
        assert await look(client, "web") == "Running: running; True"


@virtual_time()
async def test_a_container_whose_liveness_probe_fails_thrice_is_restarted() -> None:
    probe = Probe(exec=ExecAction(command=["check"]), period_seconds=5, failure_threshold=3)
    async with loops_running(kubelet_loop(NODES)) as client:
        await client.create(
            scripted("web", liveness_probe=probe, script={"live-until": "10s", "stop-exit-code": "143"})
        )
        await elapse(19 * SECOND)
        assert (await main_of(client, "web")).restart_count == 0
        await elapse(3 * SECOND)

        main = await main_of(client, "web")
        assert main.restart_count == 1
        assert main.last_state is not None
        assert main.last_state.terminated is not None
        assert main.last_state.terminated.exit_code == 143
        told = await notes(client, "web")
        assert "Unhealthy: Liveness probe failed: " in told
        assert "Killing: Container main failed liveness probe, will be restarted" in told


@virtual_time()
async def test_a_startup_probe_holds_back_readiness_or_ends_the_container() -> None:
    probe = Probe(exec=ExecAction(command=["check"]), period_seconds=2, failure_threshold=5)
    async with loops_running(kubelet_loop(NODES)) as client:
        await client.create(scripted("late", startup_probe=probe, script={"startup-after": "5s"}))
        await client.create(scripted("never", startup_probe=probe, script={"startup-after": "1h"}))
        await elapse(3 * SECOND)
        main = await main_of(client, "late")
        assert (main.started, main.ready) == (False, False)
        await elapse(4 * SECOND)
        main = await main_of(client, "late")
        assert (main.started, main.ready) == (True, True)

        await elapse(3 * SECOND)
        assert (await main_of(client, "never")).restart_count == 1
        assert "Killing: Container main failed startup probe, will be restarted" in await notes(client, "never")


@virtual_time()
async def test_readiness_gates_are_waited_for() -> None:
    async with loops_running(kubelet_loop(NODES)) as client:
        await client.create(scripted("web", readiness_gates=[PodReadinessGate(condition_type="example.com/ok")]))
        await elapse(2 * SECOND)
        found = await client.get(Pod, "web")
        ready = next(one for one in found.status.conditions if one.type == "Ready")
        assert (ready.reason, ready.message) == (
            "ReadinessGatesNotReady",
            'corresponding condition of pod readiness gate "example.com/ok" does not exist.',
        )

        found.status.conditions = [*found.status.conditions, type(ready)(type="example.com/ok", status="True")]
        await client.update(found, subresource="status")
        await elapse(2 * SECOND)
        assert await look(client, "web") == "Running: running; True"


@virtual_time()
async def test_a_deleted_pod_ends_and_is_gone() -> None:
    async with loops_running(kubelet_loop(NODES)) as client, followed(client, "web") as course:
        await client.create(scripted("web"))
        await elapse(2 * SECOND)
        await client.delete(Pod, "web")
        await elapse(2 * SECOND)

        assert course[-2:] == ["Succeeded: Completed 0; False", "gone"]
        assert "Killing: Stopping container main" in await notes(client, "web")


@virtual_time()
async def test_a_pod_that_is_slow_to_stop_is_killed_when_its_grace_is_over() -> None:
    async with loops_running(kubelet_loop(NODES)) as client, followed(client, "deaf") as course:
        await client.create(scripted("slow", script={"stop-after": "8s"}))
        await client.create(scripted("deaf", script={"stop-after": "1h"}, termination_grace_period_seconds=20))
        await client.create(
            scripted("hooked", lifecycle=Lifecycle(pre_stop=LifecycleHandler(sleep=SleepAction(seconds=12))))
        )
        await elapse(2 * SECOND)
        for name in ("slow", "deaf", "hooked"):
            await client.delete(Pod, name)

        await elapse(7 * SECOND)
        assert await look(client, "slow") == "Running: running; True"
        await elapse(3 * SECOND)
        with pytest.raises(NotFound):
            await client.get(Pod, "slow")
        assert await look(client, "hooked") == "Running: running; True"
        await elapse(15 * SECOND)

        assert course[-2:] == ["Failed: Error 137; False", "gone"]
        assert [one.name async for one in client.list(Pod)] == []


@virtual_time()
async def test_a_pod_held_by_a_finalizer_ends_and_stays() -> None:
    async with loops_running(kubelet_loop(NODES)) as client:
        held = scripted("web")
        held.metadata.finalizers = ["example.com/hold"]
        await client.create(held)
        await elapse(2 * SECOND)
        await client.delete(Pod, "web")
        await elapse(5 * SECOND)
        assert await look(client, "web") == "Succeeded: Completed 0; False"

        await client.patch(Pod, MergePatch({"metadata": {"finalizers": None}}), name="web")
        await client.wait_gone(Pod, "web")


@virtual_time()
async def test_a_pod_ends_at_its_deadline() -> None:
    async with loops_running(kubelet_loop(NODES)) as client:
        await client.create(scripted("job", active_deadline_seconds=5))
        await elapse(7 * SECOND)
        found = await client.get(Pod, "job")

        text = "Pod was active on the node longer than the specified deadline"
        assert (found.status.phase, found.status.reason, found.status.message) == ("Failed", "DeadlineExceeded", text)
        assert f"DeadlineExceeded: {text}" in await notes(client, "job")


@virtual_time()
async def test_a_node_may_drive_a_pod_out() -> None:
    async with loops_running(kubelet_loop(NODES)) as client:
        await client.create(scripted("web", script={"evicted-after": "5s", "evicted-for": "ephemeral-storage"}))
        await elapse(7 * SECOND)
        found = await client.get(Pod, "web")

    text = "The node was low on resource: ephemeral-storage. "
    assert (found.status.phase, found.status.reason, found.status.message) == ("Failed", "Evicted", text)
    disrupted = next(one for one in found.status.conditions if one.type == "DisruptionTarget")
    assert (disrupted.status, disrupted.reason) == ("True", "TerminationByKubelet")


@virtual_time()
async def test_a_lost_node_does_nothing_until_it_is_back() -> None:
    async with loops_running(kubelet_loop(NODES)) as client:
        await client.create(scripted("web", "sleep", "10", restart_policy="Never"))
        await elapse(2 * SECOND)
        await client.patch(Node, MergePatch({"metadata": {"annotations": {LOST: "yes"}}}), name="a")
        await client.create(scripted("new"))
        await elapse(60 * SECOND)
        assert await look(client, "web") == "Running: running; True"
        assert (await client.get(Pod, "new")).status.start_time is None

        await client.patch(Node, MergePatch({"metadata": {"annotations": {LOST: None}}}), name="a")
        await elapse(2 * SECOND)
        assert await look(client, "web") == "Succeeded: Completed 0; False"
        assert await look(client, "new") == "Running: running; True"


@virtual_time()
async def test_containers_outlive_the_kubelet() -> None:
    async with embedded_server() as server, client_of(server, "test") as client:
        async with loops_on(server, kubelet_loop(NODES)):
            await client.create(scripted("job", "sleep", "30", restart_policy="Never"))
            await client.create(scripted("web", "sh", "-c", "sleep 1; exit 1"))
            await elapse(20 * SECOND)
            before = await client.get(Pod, "web")
        await elapse(5 * SECOND)
        async with loops_on(server, kubelet_loop(NODES)):
            await elapse(2 * SECOND)
            assert await look(client, "job") == "Running: running; True"
            assert (await client.get(Pod, "web")).status == before.status
            await elapse(10 * SECOND)
            assert await look(client, "job") == "Succeeded: Completed 0; False"
            assert (await main_of(client, "web")).restart_count == 3


@virtual_time()
async def test_a_pod_that_stands_still_costs_nothing() -> None:
    async with loops_running(kubelet_loop(NODES)) as client:
        probe = Probe(http_get=HTTPGetAction(port=80), period_seconds=1)
        await client.create(scripted("web", readiness_probe=probe, liveness_probe=probe))
        await elapse(5 * SECOND)
        before = await client.get(Pod, "web")
        await elapse(timedelta(minutes=6))

        assert (await client.get(Pod, "web")).metadata.resource_version == before.metadata.resource_version


async def a_life(client: Client) -> None:
    """A pod with an init container that crashes once, and one that is deleted."""
    init = [Container(name="first", image="busybox", command=["sleep", "1"])]
    await client.create(
        scripted("web", "sh", "-c", "sleep 2; exit 1", init_containers=init, script={"crashes.main": "1"})
    )
    await client.create(scripted("old", script={"stop-after": "3s"}))
    await elapse(3 * SECOND)
    await client.delete(Pod, "old")


async def what_lives(client: Client) -> list[tuple[str, int, str]]:
    pods = [one async for one in client.list(Pod)]
    return [(seen(one), one.status.container_statuses[0].restart_count, one.status.pod_ip[:8]) for one in pods]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("n", range(1, 19))
@virtual_time()
async def test_whatever_write_a_kubelet_dies_at_the_pods_end_the_same(n: int, when: When) -> None:
    found, died = await end_after_crash(lambda: [kubelet_loop(NODES)], a_life, what_lives, n=n, when=when)

    assert died
    assert found == [("Running: Completed 0, running; True", 1, "10.244.0")]
