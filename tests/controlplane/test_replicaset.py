"""ReplicaSet and ReplicationController: as many pods as wanted, which go first, whose they are, what is told."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import pytest

from kubewright import Client, LabelSelector, Metadata
from kubewright.client import MergePatch, Request, Response, Send
from kubewright.controlplane.replicaset import replica_set_loop, replication_controller_loop
from kubewright.controlplane.replicaset.ranking import first_to_delete
from kubewright.controlplane.replicaset.replicas import BURST
from kubewright.errors import NotFound
from kubewright.kinds.apps_v1 import Deployment, DeploymentSpec, ReplicaSet
from kubewright.kinds.core_v1 import (
    Container,
    ContainerStatus,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    PodTemplateSpec,
    ReplicationController,
    ReplicationControllerSpec,
)
from kubewright.testing import elapse, run_virtual, virtual_time
from kubewright.testing.faults import refuse
from tests.controlplane.clusters import loops_running
from tests.controlplane.crashes import When, end_after_crash
from tests.controlplane.workloads import change, make_ready, notes, pod, pod_spec, replica_set, settle, template

SECOND = timedelta(seconds=1)


async def status_of(client: Client) -> Any:
    return (await client.get(ReplicaSet, "web")).status


@virtual_time()
async def test_missing_pods_are_made_and_told() -> None:
    async with loops_running(replica_set_loop()) as client:
        await client.create(replica_set(3))
        await settle(client)

        pods = list(await client.list(Pod))
        owner = await client.get(ReplicaSet, "web")
        assert len(pods) == 3
        assert all(found.name.startswith("web-") and found.metadata.generate_name == "web-" for found in pods)
        assert all(found.metadata.owner_references == [owner.owner_reference] for found in pods)
        assert (owner.status.replicas, owner.status.fully_labeled_replicas) == (3, 3)
        assert (owner.status.ready_replicas, owner.status.available_replicas) == (3, 3)
        assert (owner.status.terminating_replicas, owner.status.observed_generation) == (0, 1)
        told = await notes(client, "SuccessfulCreate")
        assert sorted(told) == sorted(f"Created pod: {found.name}" for found in pods)


@virtual_time()
async def test_pods_that_are_too_many_are_deleted_and_counted_until_they_are_gone() -> None:
    async with loops_running(replica_set_loop()) as client:
        await client.create(replica_set(3))
        await settle(client)
        for found in await client.list(Pod):
            await client.patch(found, MergePatch({"metadata": {"finalizers": ["example.com/hold"]}}))
        await change(client, ReplicaSet, {"spec": {"replicas": 1}})
        await settle(client, ready=False)

        held = [found.name for found in await client.list(Pod) if found.metadata.deletion_timestamp is not None]
        status = await status_of(client)
        assert (status.replicas, status.terminating_replicas, status.observed_generation) == (1, 2, 2)
        assert sorted(await notes(client, "SuccessfulDelete")) == sorted(f"Deleted pod: {name}" for name in held)

        for name in held:
            await client.patch(Pod, MergePatch({"metadata": {"finalizers": None}}), name=name)
            with suppress(NotFound):
                await client.delete(Pod, name, grace=timedelta(0))
        await settle(client)

        assert (await status_of(client)).terminating_replicas == 0


@virtual_time()
async def test_a_pod_that_ended_is_replaced_and_left() -> None:
    async with loops_running(replica_set_loop()) as client:
        await client.create(replica_set(2))
        await settle(client)
        first, second = list(await client.list(Pod))
        await client.patch(first, MergePatch({"status": {"phase": "Failed"}}), subresource="status")
        await client.patch(second, MergePatch({"status": {"phase": "Succeeded"}}), subresource="status")
        await settle(client)

        phases = sorted(found.status.phase or "" for found in await client.list(Pod))
        assert phases == ["Failed", "Running", "Running", "Succeeded"]
        assert (await status_of(client)).replicas == 2


@virtual_time()
async def test_a_pod_that_is_deleted_is_replaced_before_it_is_gone() -> None:
    async with loops_running(replica_set_loop()) as client:
        await client.create(replica_set(1))
        await settle(client)
        (victim,) = list(await client.list(Pod))
        await client.patch(victim, MergePatch({"metadata": {"finalizers": ["example.com/hold"]}}))
        await client.delete(Pod, victim.name)
        await settle(client, ready=False)

        assert len(await client.list(Pod)) == 2
        assert (await status_of(client)).terminating_replicas == 1


@virtual_time()
async def test_available_pods_have_been_ready_for_long_enough() -> None:
    async with loops_running(replica_set_loop()) as client:
        await client.create(replica_set(2, min_ready_seconds=30))
        await elapse(SECOND)
        first, second = list(await client.list(Pod))
        await make_ready(client, first)
        await elapse(10 * SECOND)
        await make_ready(client, second)
        seen = []
        for _ in range(4):
            await elapse(10 * SECOND)
            status = await status_of(client)
            seen.append((status.ready_replicas, status.available_replicas))

        assert seen == [(2, 0), (2, 1), (2, 2), (2, 2)]


@virtual_time()
async def test_pods_with_other_labels_than_the_template_are_not_fully_labelled() -> None:
    async with loops_running(replica_set_loop()) as client:
        await client.create(pod("mine", app="web"))
        await client.create(replica_set(2, template=template(tier="front")))
        await settle(client)

        status = await status_of(client)
        assert (status.replicas, status.fully_labeled_replicas) == (2, 1)


@virtual_time()
async def test_orphans_that_match_are_adopted_and_what_no_longer_matches_is_released() -> None:
    async with loops_running(replica_set_loop()) as client:
        await client.create(replica_set(1))
        await settle(client)
        (own,) = list(await client.list(Pod))
        await client.patch(own, MergePatch({"metadata": {"labels": {"app": "other"}}}))
        await settle(client)
        assert (await client.get(Pod, own.name)).metadata.owner_references == []
        assert len(await client.list(Pod)) == 2

        await change(client, ReplicaSet, {"spec": {"replicas": 2}})
        await settle(client)
        await client.patch(Pod, MergePatch({"metadata": {"labels": {"app": "web"}}}), name=own.name)
        await settle(client)

        owner = await client.get(ReplicaSet, "web")
        assert owner.status.replicas == 2
        assert len(await client.list(Pod)) == 2


@virtual_time()
async def test_an_orphan_that_ended_or_is_anothers_is_left_alone() -> None:
    async with loops_running(replica_set_loop()) as client:
        ended = await client.create(pod("ended", app="web"))
        await client.patch(ended, MergePatch({"status": {"phase": "Failed"}}), subresource="status")
        other = await client.create(unmanaged_deployment())
        foreign = pod("foreign", app="web")
        foreign.metadata.owner_references = [other.owner_reference]
        await client.create(foreign)
        await client.create(replica_set(1))
        await settle(client)

        assert (await client.get(Pod, "ended")).metadata.owner_references == []
        assert (await client.get(Pod, "foreign")).is_controlled_by(other)
        assert (await status_of(client)).replicas == 1


@virtual_time()
async def test_a_set_that_is_being_deleted_counts_but_makes_and_adopts_nothing() -> None:
    async with loops_running(replica_set_loop()) as client:
        made = replica_set(2)
        made.metadata.finalizers = ["example.com/hold"]
        await client.create(made)
        await settle(client)
        await client.delete(ReplicaSet, "web")
        first, _ = list(await client.list(Pod))
        await client.delete(Pod, first.name, grace=timedelta(0))
        await client.create(pod("orphan", app="web"))
        await settle(client)

        assert (await status_of(client)).replicas == 1
        assert len(await client.list(Pod)) == 2
        assert (await client.get(Pod, "orphan")).metadata.owner_references == []


@virtual_time()
async def test_what_cannot_be_made_is_told_and_tried_again_ever_more_slowly() -> None:
    full = refuse(403, kind=Pod, verb="create")
    async with loops_running(replica_set_loop(), interceptors=[full]) as client:
        await client.create(replica_set(10))
        await elapse(10 * SECOND)

        status = await status_of(client)
        (condition,) = status.conditions
        assert (condition.type, condition.status, condition.reason) == ("ReplicaFailure", "True", "FailedCreate")
        assert condition.message == "a fault refuses this create with 403 Forbidden"
        assert (await notes(client, "FailedCreate"))[0] == f"Error creating: {condition.message}"
        assert await notes(client, "ReconcileFailed") == []
        assert 5 < full.struck < 20


@virtual_time()
async def test_the_failure_is_taken_back_when_pods_can_be_made() -> None:
    full = refuse(403, kind=Pod, verb="create", times=4)
    async with loops_running(replica_set_loop(), interceptors=[full]) as client:
        await client.create(replica_set(5))
        await settle(client)

        status = await status_of(client)
        assert status.conditions == []
        assert status.replicas == 5
        assert len(await client.list(Pod)) == 5


@virtual_time()
async def test_what_cannot_be_deleted_is_told() -> None:
    async with loops_running(replica_set_loop(), interceptors=[refuse(403, kind=Pod, verb="delete")]) as client:
        await client.create(replica_set(2))
        await settle(client)
        await change(client, ReplicaSet, {"spec": {"replicas": 0}})
        await elapse(SECOND)

        (condition,) = (await status_of(client)).conditions
        refusal = "a fault refuses this delete with 403 Forbidden"
        assert (condition.reason, condition.message) == ("FailedDelete", f"unable to delete pods: {refusal}")
        assert f"Error deleting: {refusal}" in await notes(client, "FailedDelete")


class Batches:
    """How many pods were under way at once."""

    def __init__(self) -> None:
        self.under_way = 0
        self.seen: list[int] = []

    async def __call__(self, request: Request, send: Send) -> Response:
        if request.verb != "create" or request.resource is None or request.resource.kind != "Pod":
            return await send(request)
        self.under_way += 1
        await elapse(timedelta(milliseconds=1))
        self.seen.append(self.under_way)
        response = await send(request)
        self.under_way -= 1
        return response


@virtual_time()
async def test_pods_are_made_in_batches_that_double() -> None:
    batches = Batches()
    async with loops_running(replica_set_loop(), interceptors=[batches]) as client:
        await client.create(replica_set(10))
        await elapse(SECOND)

        assert [max(batches.seen[at : at + size]) for at, size in ((0, 1), (1, 2), (3, 4), (7, 3))] == [1, 2, 4, 3]


@virtual_time()
async def test_a_round_makes_no_more_than_the_burst_and_the_next_goes_on() -> None:
    batches = Batches()
    async with loops_running(replica_set_loop(burst=4), interceptors=[batches]) as client:
        await client.create(replica_set(10))
        await settle(client)

        assert batches.seen == [1, 2, 2, 1, 1, 2, 2, 1, 1, 1]
        assert len(await client.list(Pod)) == 10
        assert BURST == 500


@virtual_time()
async def test_a_replication_controller_does_the_same() -> None:
    async with loops_running(replication_controller_loop()) as client:
        labels = {"app": "old"}
        spec = ReplicationControllerSpec(
            replicas=2,
            selector=labels,
            template=PodTemplateSpec(metadata=Metadata(labels=labels), spec=pod_spec()),
        )
        await client.create(pod("orphan", app="old"))
        await client.create(ReplicationController(metadata=Metadata(name="rc"), spec=spec))
        await settle(client)

        found = await client.get(ReplicationController, "rc")
        assert (found.status.replicas, found.status.available_replicas, found.status.observed_generation) == (2, 2, 1)
        pods = list(await client.list(Pod))
        assert [each.metadata.owner_references for each in pods] == [[found.owner_reference]] * 2
        assert "orphan" in [each.name for each in pods]

        await client.patch(ReplicationController, MergePatch({"spec": {"replicas": 0}}), name="rc")
        await settle(client)

        assert list(await client.list(Pod)) == []


def ranked(
    name: str, *, node: str | None = "a", phase: str = "Running", ready: str | None = "10:00:00", **more: Any
) -> Pod:
    conditions = []
    if ready is not None:
        conditions = [PodCondition(type="Ready", status="True", last_transition_time=at(ready))]
    status = PodStatus(phase=phase, conditions=conditions)
    status.container_statuses = [
        ContainerStatus(name="main", image="i", image_id="i", ready=True, restart_count=more.get("restarts", 0))
    ]
    status.init_container_statuses = [
        ContainerStatus(name="side", image="i", image_id="i", ready=True, restart_count=more.get("sidecar_restarts", 0))
    ]
    side = Container(name="side", image="i", restart_policy="Always")
    spec = PodSpec(node_name=node, containers=[Container(name="main", image="i")], init_containers=[side])
    cost = {"controller.kubernetes.io/pod-deletion-cost": more["cost"]} if "cost" in more else {}
    metadata = Metadata(name=name, uid=name, annotations=cost, creation_timestamp=at(more.get("created", "09:00:00")))
    return Pod(metadata=metadata, spec=spec, status=status)


def at(time: str) -> datetime:
    return datetime.fromisoformat(f"2026-01-01T{time}+00:00")


@pytest.mark.parametrize(
    ("goes", "stays"),
    [
        (ranked("z", node=None), ranked("a", phase="Pending", ready=None)),
        (ranked("z", phase="Pending"), ranked("a", phase="Unknown")),
        (ranked("z", phase="Unknown"), ranked("a", ready=None)),
        (ranked("z", ready=None, cost="9"), ranked("a", cost="-9")),
        (ranked("z", cost="-1"), ranked("a")),
        (ranked("z", cost="x"), ranked("a", cost="1")),
        (ranked("z", cost="+5"), ranked("a", cost="1")),
        (ranked("z", ready="11:59:00"), ranked("a", ready="10:00:00")),
        (ranked("a", ready="11:00:00"), ranked("z", ready="10:55:00")),
        (ranked("z", restarts=2), ranked("a", restarts=1, sidecar_restarts=9)),
        (ranked("z", sidecar_restarts=2), ranked("a", sidecar_restarts=1)),
        (ranked("z", created="11:59:00"), ranked("a", created="09:00:00")),
        (ranked("a", created="11:00:00"), ranked("z", created="10:55:00")),
    ],
)
def test_of_two_pods_the_one_goes_that_serves_less(goes: Pod, stays: Pod) -> None:
    now = at("12:00:00")

    assert first_to_delete([stays, goes], (), 1, now) == [goes]
    assert first_to_delete([goes, stays], (), 1, now) == [goes]


def test_of_equal_pods_the_one_on_the_more_crowded_node_goes() -> None:
    lonely, crowded = ranked("a", node="a"), ranked("z", node="b")
    neighbour, dead = ranked("n", node="b"), ranked("d", node="a", phase="Failed")

    assert first_to_delete([lonely, crowded], [lonely, crowded, neighbour, dead], 1, at("12:00:00")) == [crowded]


@virtual_time()
async def test_pods_of_sister_sets_count_as_neighbours() -> None:
    async with loops_running(replica_set_loop()) as client:
        owner = await client.create(unmanaged_deployment())
        old, new = replica_set(1, name="old"), replica_set(2, name="web")
        for made, version in ((old, "1"), (new, "2")):
            made.metadata.owner_references = [owner.owner_reference]
            made.spec.selector = LabelSelector(match_labels={"app": "web", "v": version})
            made.spec.template = template(v=version)
            await client.create(made)
        await settle(client, ready=False)
        pods = {found.name: found for found in await client.list(Pod)}
        (neighbour,) = [name for name in pods if name.startswith("old-")]
        crowded, lonely = sorted((name for name in pods if name.startswith("web-")), reverse=True)
        for name, node in ((neighbour, "b"), (crowded, "b"), (lonely, "a")):
            await client.bind(pods[name], node)
            await make_ready(client, pods[name], since="2026-01-01T00:00:00Z")
        await change(client, ReplicaSet, {"spec": {"replicas": 1}})
        await settle(client, ready=False)

        left = [found.name for found in await client.list(Pod) if found.metadata.deletion_timestamp is None]
        assert sorted(left) == sorted([neighbour, lonely])


def unmanaged_deployment() -> Deployment:
    spec = DeploymentSpec(selector=LabelSelector(match_labels={"app": "web"}), template=template())
    return Deployment(metadata=Metadata(name="web"), spec=spec)


async def scale_up_and_down(client: Client) -> None:
    await client.create(pod("orphan", app="web"))
    await client.create(replica_set(3))
    await settle(client)
    await change(client, ReplicaSet, {"spec": {"replicas": 1}})
    await settle(client)


async def look(client: Client) -> Any:
    status = await status_of(client)
    owners = [found.metadata.owner_references[0].name for found in await client.list(Pod)]
    return owners, (status.replicas, status.available_replicas, status.observed_generation)


# As many as the loop makes on the way; there may be more only together with more deaths.
WRITES = 11


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("n", range(1, WRITES + 2))
def test_a_loop_that_dies_at_a_write_comes_to_the_same_end(n: int, when: When) -> None:
    end, died = run_virtual(
        end_after_crash(lambda: [replica_set_loop()], scale_up_and_down, look, n=n, when=when, patience=SECOND)
    )

    assert end == (["web"], (1, 1, 2))
    assert died == (n <= WRITES)
