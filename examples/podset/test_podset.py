"""The PodSet operator, in virtual time on a cluster in this process: API server, control loops, two nodes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from lives import When, crashed_at, on_stage
from podset import LABEL, PodSet, PodSetSpec, least_worth, new_operator

from kubewright import Client, MergePatch, Metadata
from kubewright.kinds.core_v1 import Container, Pod, PodSpec, PodStatus
from kubewright.kinds.events_v1 import Event
from kubewright.operation import revision_of
from kubewright.testing import elapse, virtual_time
from kubewright.testing.faults import delay_events, lose_answer, refuse


def podset(size: int, name: str = "sample") -> PodSet:
    return PodSet(metadata=Metadata(name=name), spec=PodSetSpec(size=size))


def is_ready_with(size: int) -> Callable[[PodSet], bool]:
    def test(found: PodSet) -> bool:
        return found.status is not None and found.status.is_true("Ready") and len(found.status.nodes) == size

    return test


def nodes_of(found: PodSet) -> list[str]:
    return found.status.nodes if found.status is not None else []


async def settled(client: Client, size: int) -> list[str]:
    found = await client.wait_until(PodSet, "sample", is_ready_with(size), within=timedelta(minutes=10))
    assert found.status is not None
    return found.status.nodes


async def pods(client: Client) -> list[Pod]:
    return [pod async for pod in client.list(Pod)]


async def fail(client: Client, name: str, reason: str) -> None:
    patch = MergePatch({"status": {"phase": "Failed", "reason": reason, "message": "the node was low on memory"}})
    await client.patch(Pod, patch, name=name, subresource="status")


async def told(client: Client) -> list[str]:
    return [
        f"{event.type} {event.reason}: {event.note}"
        async for event in client.list(Event)
        if event.regarding.kind == "PodSet"
    ]


@virtual_time()
async def test_a_podset_gets_its_pods_and_tells_their_names() -> None:
    async with on_stage(new_operator) as stage:
        await stage.start()
        await stage.client.create(podset(3))

        names = await settled(stage.client, 3)

        found = await pods(stage.client)
        assert sorted(pod.name for pod in found) == names
        assert all(pod.controller_reference is not None for pod in found)
        assert found[0].spec.containers[0].command == ["sleep", "3600"]
        assert {pod.spec.node_name for pod in found} == {"node-1", "node-2"}


@virtual_time()
async def test_a_podset_is_scaled_as_kubectl_does_and_its_pods_go_with_it() -> None:
    async with on_stage(new_operator) as stage:
        await stage.start()
        await stage.client.create(podset(0))
        await settled(stage.client, 0)
        await stage.client.set_scale(PodSet, "sample", 3)
        await settled(stage.client, 3)
        assert (await stage.client.get_scale(PodSet, "sample")).status.replicas == 3
        await stage.client.set_scale(PodSet, "sample", 1)
        await settled(stage.client, 1)

        await stage.client.delete(PodSet, "sample")
        await stage.settle()

        assert await pods(stage.client) == []


@virtual_time()
async def test_a_pod_that_is_deleted_fails_or_is_evicted_is_replaced() -> None:
    async with on_stage(new_operator) as stage:
        await stage.start()
        await stage.client.create(podset(3))
        deleted, failed, evicted = await settled(stage.client, 3)

        await stage.client.delete(Pod, deleted)
        await fail(stage.client, failed, "Error")
        await fail(stage.client, evicted, "Evicted")
        await stage.settle()

        names = await settled(stage.client, 3)
        assert not {deleted, failed, evicted} & set(names)
        assert sorted(pod.name for pod in await pods(stage.client)) == names
        assert f"Warning PodFailed: {evicted} is replaced: Evicted" in await told(stage.client)


@virtual_time()
async def test_orphans_with_its_label_are_adopted_and_own_pods_without_it_are_released() -> None:
    async with on_stage(new_operator) as stage:
        await stage.start()
        orphan = Pod(
            metadata=Metadata(name="orphan", labels={LABEL: "sample"}),
            spec=PodSpec(containers=[Container(name="main", image="busybox")]),
        )
        await stage.client.create(orphan)
        await stage.client.create(podset(2))
        names = await settled(stage.client, 2)
        assert "orphan" in names

        await stage.client.modify(Pod, "orphan", lambda pod: pod.metadata.labels.clear())
        await stage.settle()

        assert "orphan" not in await settled(stage.client, 2)
        assert (await stage.client.get(Pod, "orphan")).controller_reference is None
        assert len(await pods(stage.client)) == 3


def test_pods_that_serve_least_are_deleted_first() -> None:
    def pod(name: str, node: str | None, phase: str) -> Pod:
        spec = PodSpec(containers=[], node_name=node)
        return Pod(metadata=Metadata(name=name), spec=spec, status=PodStatus(phase=phase))

    found = [
        pod("alone", "b", "Running"),
        pod("crowded", "a", "Running"),
        pod("pending", "a", "Pending"),
        pod("homeless", None, "Pending"),
    ]

    assert [pod.name for pod in least_worth(found, 3)] == ["homeless", "pending", "crowded"]


@virtual_time()
async def test_nothing_is_written_when_nothing_changed_nor_on_a_restart() -> None:
    async with on_stage(new_operator) as stage:
        first = await stage.start()
        await stage.client.create(podset(3))
        await settled(stage.client, 3)
        await stage.settle()

        # Less than an hour in all: then the containers have slept enough, end, and are begun again.
        idle = await stage.writes_in_the_next(timedelta(minutes=25))
        await first.crash()
        await stage.start()
        after_restart = await stage.writes_in_the_next(timedelta(minutes=25))

        assert idle == []
        assert after_restart == []


@pytest.mark.parametrize("faults", ["late events", "lost answers", "both"])
@virtual_time()
async def test_a_stale_cache_never_makes_a_pod_too_many(faults: str) -> None:
    async with on_stage(new_operator) as stage:
        late = [delay_events(timedelta(seconds=20), kind=Pod)] if faults != "lost answers" else []
        lost = [lose_answer(verb="create", kind=Pod, times=2)] if faults != "late events" else []
        await stage.start(*late, *lost)

        await stage.client.create(podset(4))
        await settled(stage.client, 4)
        await stage.client.set_scale(PodSet, "sample", 1)
        await settled(stage.client, 1)
        await stage.client.set_scale(PodSet, "sample", 4)
        await settled(stage.client, 4)

        assert stage.most_pods == 4


async def play(client: Client) -> None:
    await client.create(podset(3))
    names = await settled(client, 3)
    await client.delete(Pod, names[0])
    await client.wait_until(PodSet, "sample", lambda found: names[0] not in nodes_of(found))
    await settled(client, 3)
    await client.set_scale(PodSet, "sample", 1)
    await settled(client, 1)


@pytest.mark.parametrize("when", ["before", "after"])
@virtual_time(limit=timedelta(days=2))
async def test_it_converges_after_a_crash_at_any_write(when: When) -> None:
    n = 0
    came_so_far = True
    while came_so_far:
        n += 1
        async with on_stage(new_operator) as stage:
            came_so_far = await crashed_at(stage, n, when, play)

            assert len(await pods(stage.client)) == 1, n
            assert stage.most_pods == 3, n
            assert await stage.writes_in_the_next(timedelta(minutes=1)) == [], n
    assert n > 8


@virtual_time()
async def test_the_phase_of_scaling_is_read_off_the_object() -> None:
    async with on_stage(new_operator) as stage:
        await stage.start()
        await stage.client.create(podset(2))
        await settled(stage.client, 2)
        seen: list[str] = []
        async for event in stage.client.watch(PodSet):
            if event.type == "BOOKMARK" or (found := event.object).status is None:
                continue
            phase = found.status.phase_of(found, revision_of(found.spec.size))
            seen.append(str(phase))
            if len(seen) == 1:
                await stage.client.set_scale(PodSet, "sample", 4)
            elif phase.name == "Done":
                break

        assert seen[0] == "Done"
        assert seen[1] == "Unknown"
        assert "InProgress 2/4" in seen
        assert seen[-1] == "Done"


@virtual_time()
async def test_a_refusal_stands_in_condition_event_and_log_and_so_does_its_end(caplog: Any) -> None:
    async with on_stage(new_operator) as stage:
        quota = refuse(403, reason="Forbidden", verb="create", kind=Pod, times=4)
        await stage.start(quota)
        await stage.client.create(podset(2))
        failed = await stage.client.wait_until(PodSet, "sample", lambda found: found.status is not None)
        assert failed.status is not None
        condition = failed.status.get("Ready")
        assert condition is not None
        assert condition.reason == "ReconcileFailed"
        assert condition.message.endswith("; next try in 1 s")
        assert failed.status.progress == "InProgress 0/2"

        await settled(stage.client, 2)
        await elapse(timedelta(seconds=5))

        lines = await told(stage.client)
        assert [line for line in lines if line.startswith("Warning ReconcileFailed: Forbidden")]
        assert "Normal Reconciled: reconciles again" in lines
        assert "Normal Ready: 2 of 2 pods are ready" in lines
        assert f"reconcile failed: {condition.message}" in caplog.text
        assert len([line for line in lines if "ReconcileFailed" in line]) == 1


@virtual_time()
async def test_a_name_too_long_for_a_label_is_told_and_not_tried_again() -> None:
    async with on_stage(new_operator) as stage:
        await stage.start()
        long = "a" * 64
        await stage.client.create(podset(1, long))

        found = await stage.client.wait_until(PodSet, long, lambda found: found.status is not None)

        assert found.status is not None
        condition = found.status.get("Ready")
        assert condition is not None
        assert condition.reason == "Invalid"
        assert await pods(stage.client) == []
