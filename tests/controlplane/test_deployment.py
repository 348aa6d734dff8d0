"""Deployment: rollouts in steps, revisions, pauses, deadlines, scaling, and what is told of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from kubewright import Client, LabelSelector, Metadata
from kubewright.client import Interceptor, MergePatch
from kubewright.controlplane.deployment import deployment_loop
from kubewright.controlplane.deployment.revisions import last_revision, set_annotations
from kubewright.controlplane.deployment.sizes import max_surge, max_unavailable, shares
from kubewright.controlplane.replicaset import replica_set_loop
from kubewright.kinds.apps_v1 import (
    Deployment,
    DeploymentCondition,
    DeploymentStatus,
    DeploymentStrategy,
    ReplicaSet,
    ReplicaSetSpec,
)
from kubewright.kinds.core_v1 import Pod
from kubewright.testing import elapse, embedded_server, run_virtual, virtual_time
from kubewright.testing.faults import refuse
from tests.controlplane.clusters import client_of, loops_on, loops_running
from tests.controlplane.crashes import When, end_after_crash
from tests.controlplane.workloads import (
    change,
    deployment,
    images,
    notes,
    replica_set,
    rolling,
    settle,
    sizes,
    template,
    with_image,
)

SECOND = timedelta(seconds=1)
REVISION = "deployment.kubernetes.io/revision"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MAX = "deployment.kubernetes.io/max-replicas"
HISTORY = "deployment.kubernetes.io/revision-history"
RECREATE = DeploymentStrategy(type="Recreate")


@asynccontextmanager
async def running(*interceptors: Interceptor) -> AsyncIterator[Client]:
    async with loops_running(deployment_loop(), replica_set_loop(), interceptors=interceptors) as client:
        yield client


async def get(client: Client) -> Deployment:
    return await client.get(Deployment, "web")


async def progress(client: Client) -> DeploymentCondition:
    return next(found for found in (await get(client)).status.conditions if found.type == "Progressing")


async def revisions(client: Client) -> dict[str, str]:
    """The revision of each ReplicaSet, by the image of its pods."""
    found = await client.list(ReplicaSet)
    return {image_of(each): each.metadata.annotations[REVISION] for each in found}


def image_of(found: ReplicaSet) -> str:
    assert found.spec.template is not None
    return found.spec.template.spec.containers[0].image or ""


@virtual_time()
async def test_a_new_deployment_makes_a_replica_set_named_by_the_hash_of_its_template() -> None:
    async with running() as client:
        made = deployment(3, min_ready_seconds=0)
        made.metadata.annotations = {"note": "x", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
        await client.create(made)
        await settle(client)

        owner = await get(client)
        (found,) = list(await client.list(ReplicaSet))
        labels = {"app": "web", "pod-template-hash": "7688cfc66b"}
        assert found.name == "web-7688cfc66b"
        assert found.metadata.labels == labels
        assert found.spec.selector.match_labels == labels
        assert found.spec.template is not None
        assert found.spec.template.metadata.labels == labels
        assert found.metadata.owner_references == [owner.owner_reference]
        assert found.metadata.annotations == {"note": "x", REVISION: "1", DESIRED: "3", MAX: "4"}
        assert [each.metadata.labels for each in await client.list(Pod)] == [labels] * 3
        assert owner.metadata.annotations[REVISION] == "1"
        assert await notes(client, "ScalingReplicaSet") == ["Scaled up replica set web-7688cfc66b from 0 to 3"]


@virtual_time()
async def test_the_status_tells_counts_and_conditions_when_all_is_done() -> None:
    async with running() as client:
        await client.create(deployment(3))
        await settle(client)

        status = (await get(client)).status
        told = {found.type: (found.status, found.reason, found.message) for found in status.conditions}
        status.conditions = []
        assert told == {
            "Available": ("True", "MinimumReplicasAvailable", "Deployment has minimum availability."),
            "Progressing": (
                "True",
                "NewReplicaSetAvailable",
                'ReplicaSet "web-7688cfc66b" has successfully progressed.',
            ),
        }
        assert status == DeploymentStatus(
            observed_generation=1,
            replicas=3,
            updated_replicas=3,
            ready_replicas=3,
            available_replicas=3,
            terminating_replicas=0,
        )


@virtual_time()
async def test_pods_that_are_not_ready_are_told_as_unavailable() -> None:
    async with running() as client:
        await client.create(deployment(3))
        await settle(client, broken="nginx")

        found = await get(client)
        available = next(each for each in found.status.conditions if each.type == "Available")
        assert found.status.unavailable_replicas == 3
        assert (available.status, available.reason) == ("False", "MinimumReplicasUnavailable")
        assert available.message == "Deployment does not have minimum availability."
        assert (await progress(client)).reason == "ReplicaSetUpdated"
        assert (await progress(client)).message == 'ReplicaSet "web-7688cfc66b" is progressing.'


@virtual_time()
async def test_a_rollout_keeps_to_surge_and_unavailability() -> None:
    async with running() as client:
        await client.create(deployment(10, strategy=rolling(3, 2)))
        await settle(client)
        await change(client, Deployment, with_image("broken"))
        await settle(client, broken="broken")

        assert await sizes(client) == {"nginx:1": 8, "broken": 5}


@virtual_time()
async def test_a_rollout_never_has_too_many_or_too_few_pods() -> None:
    async with running() as client:
        await client.create(deployment(4, strategy=rolling(1, 0)))
        await settle(client)
        await change(client, Deployment, with_image("nginx:2"))
        seen = []
        async for _ in steps(client):
            seen.append((await sizes(client))["nginx:1"] + (await sizes(client)).get("nginx:2", 0))

        assert set(seen) <= {4, 5}
        assert await images(client) == ["nginx:2"] * 4
        assert await sizes(client) == {"nginx:1": 0, "nginx:2": 4}


async def steps(client: Client) -> AsyncIterator[None]:
    """One pod after another becomes ready, until nothing more happens."""
    for _ in range(12):
        await elapse(SECOND)
        yield
        waiting = [found for found in await client.list(Pod) if found.status.phase == "Pending"]
        for found in waiting[:1]:
            ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
            status = {"phase": "Running", "conditions": [ready]}
            await client.patch(found, MergePatch({"status": status}), subresource="status")
    await settle(client)


@virtual_time()
async def test_unavailable_old_pods_make_room_first() -> None:
    async with running() as client:
        await client.create(deployment(4, image="broken:1", strategy=rolling(0, 1)))
        await settle(client, broken="broken")
        await change(client, Deployment, with_image("nginx:2"))
        await settle(client, broken="broken")

        assert await images(client) == ["nginx:2"] * 4


@virtual_time()
async def test_recreate_waits_until_the_last_old_pod_is_gone() -> None:
    async with running() as client:
        await client.create(deployment(2, strategy=RECREATE))
        await settle(client)
        for found in await client.list(Pod):
            await client.patch(found, MergePatch({"metadata": {"finalizers": ["example.com/hold"]}}))
        await change(client, Deployment, with_image("nginx:2"))
        await settle(client, ready=False)
        assert await sizes(client) == {"nginx:1": 0}

        for found in await client.list(Pod):
            await client.patch(found, MergePatch({"metadata": {"finalizers": None}}))
        await settle(client)

        assert await sizes(client) == {"nginx:1": 0, "nginx:2": 2}
        assert await images(client) == ["nginx:2"] * 2


@virtual_time()
async def test_going_back_to_an_old_template_moves_its_revision() -> None:
    async with running() as client:
        await client.create(deployment(1))
        await settle(client)
        for image in ("nginx:2", "nginx:1", "nginx:2"):
            await change(client, Deployment, with_image(image))
            await settle(client)

        assert await revisions(client) == {"nginx:1": "3", "nginx:2": "4"}
        histories = {
            image_of(found): found.metadata.annotations.get(HISTORY) for found in await client.list(ReplicaSet)
        }
        assert histories == {"nginx:1": "1", "nginx:2": "2"}
        assert (await get(client)).metadata.annotations[REVISION] == "4"


@virtual_time()
async def test_the_rollback_annotation_brings_template_and_annotations_back() -> None:
    async with running() as client:
        first = deployment(1)
        first.metadata.annotations = {"cause": "first"}
        await client.create(first)
        await settle(client)
        await change(client, Deployment, {**with_image("nginx:2"), "metadata": {"annotations": {"cause": "second"}}})
        await settle(client)
        await change(client, Deployment, {"metadata": {"annotations": {"deprecated.deployment.rollback.to": "0"}}})
        await settle(client)

        found = await get(client)
        assert found.metadata.annotations == {"cause": "first", REVISION: "3"}
        assert await images(client) == ["nginx:1"]
        assert await notes(client, "DeploymentRollback") == ['Rolled back deployment "web" to revision 1']


@pytest.mark.parametrize(
    ("target", "reason", "note"),
    [
        ("0", "DeploymentRollbackRevisionNotFound", "Unable to find last revision."),
        ("9", "DeploymentRollbackRevisionNotFound", "Unable to find the revision to rollback to."),
        (
            "1",
            "DeploymentRollbackTemplateUnchanged",
            'The rollback revision contains the same template as current deployment "web"',
        ),
    ],
)
@virtual_time()
async def test_a_rollback_that_cannot_be_is_told_and_forgotten(target: str, reason: str, note: str) -> None:
    async with running() as client:
        await client.create(deployment(1))
        await settle(client)
        await change(client, Deployment, {"metadata": {"annotations": {"deprecated.deployment.rollback.to": target}}})
        await settle(client)

        assert await notes(client, reason) == [note]
        assert (await get(client)).metadata.annotations == {REVISION: "1"}


@virtual_time()
async def test_only_as_many_old_sets_are_kept_as_the_history_allows() -> None:
    async with running() as client:
        await client.create(deployment(1, revision_history_limit=1))
        await settle(client)
        for image in ("nginx:2", "nginx:3", "nginx:4"):
            await change(client, Deployment, with_image(image))
            await settle(client)

        assert await sizes(client) == {"nginx:3": 0, "nginx:4": 1}


@virtual_time()
async def test_a_paused_deployment_is_scaled_but_not_rolled_out() -> None:
    async with running() as client:
        await client.create(deployment(2, progress_deadline_seconds=30))
        await settle(client)
        await change(client, Deployment, {"spec": {"paused": True}})
        await settle(client)
        paused = await progress(client)
        assert (paused.status, paused.reason, paused.message) == ("Unknown", "DeploymentPaused", "Deployment is paused")
        await change(client, Deployment, {**with_image("nginx:2")})
        await change(client, Deployment, {"spec": {"replicas": 3}})
        await elapse(timedelta(minutes=2))
        await settle(client)
        assert await sizes(client) == {"nginx:1": 3}
        assert (await progress(client)).reason == "DeploymentPaused"

        await change(client, Deployment, {"spec": {"paused": None}})
        await settle(client)

        assert await images(client) == ["nginx:2"] * 3
        assert (await progress(client)).reason == "NewReplicaSetAvailable"


@virtual_time()
async def test_a_resumed_deployment_says_so_until_there_is_progress() -> None:
    async with running() as client:
        await client.create(deployment(2, paused=True))
        await settle(client)
        assert await sizes(client) == {}
        revision = (await get(client)).metadata.resource_version
        seen = [(await progress(client)).reason]
        await change(client, Deployment, {"spec": {"paused": None}})
        async for event in client.watch(Deployment, resource_version=revision):
            seen += [found.reason for found in event.object.status.conditions if found.type == "Progressing"]
            if seen[-1] == "NewReplicaSetCreated":
                break

        assert list(dict.fromkeys(seen)) == ["DeploymentPaused", "DeploymentResumed", "NewReplicaSetCreated"]


@virtual_time()
async def test_a_rollout_without_progress_is_told_after_its_deadline() -> None:
    async with running() as client:
        await client.create(deployment(2, progress_deadline_seconds=60))
        await settle(client)
        await change(client, Deployment, with_image("broken"))
        await settle(client, broken="broken")
        (newest,) = [found.name for found in await client.list(ReplicaSet) if image_of(found) == "broken"]
        await elapse(timedelta(seconds=50))
        assert (await progress(client)).reason == "ReplicaSetUpdated"
        await elapse(timedelta(seconds=15))

        stuck = await progress(client)
        assert (stuck.status, stuck.reason) == ("False", "ProgressDeadlineExceeded")
        assert stuck.message == f'ReplicaSet "{newest}" has timed out progressing.'

        await change(client, Deployment, with_image("nginx:1"))
        await settle(client, broken="broken")

        assert (await progress(client)).reason == "NewReplicaSetAvailable"


@virtual_time()
async def test_without_a_deadline_no_progress_is_told() -> None:
    async with running() as client:
        await client.create(deployment(1, progress_deadline_seconds=2**31 - 1))
        await settle(client)

        assert [found.type for found in (await get(client)).status.conditions] == ["Available"]


@virtual_time()
async def test_scaling_in_a_rollout_keeps_the_shares() -> None:
    async with running() as client:
        await client.create(deployment(4, strategy=rolling(2, 0)))
        await settle(client)
        await change(client, Deployment, with_image("broken"))
        await settle(client, broken="broken")
        await change(client, Deployment, {"spec": {"replicas": 8}})
        await settle(client, broken="broken")

        assert await sizes(client) == {"nginx:1": 7, "broken": 3}
        found = await client.list(ReplicaSet)
        assert {each.metadata.annotations[DESIRED] for each in found} == {"8"}


async def tell_available(client: Client, image: str, number: int) -> None:
    """Have a ReplicaSet tell that all its pods are available, as its loop would."""
    (found,) = [each for each in await client.list(ReplicaSet) if image_of(each) == image]
    status = {"replicas": number, "readyReplicas": number, "availableReplicas": number, "observedGeneration": 1}
    await client.patch(found, MergePatch({"status": status}), subresource="status")
    await elapse(SECOND)


@virtual_time()
async def test_no_more_pods_are_taken_from_a_set_that_does_not_tell_yet_how_many_it_has() -> None:
    async with loops_running(deployment_loop()) as client:
        await client.create(deployment(20, strategy=rolling(3, 2)))
        await elapse(SECOND)
        await tell_available(client, "nginx:1", 20)
        await change(client, Deployment, with_image("nginx:2"))
        await elapse(SECOND)
        await tell_available(client, "nginx:1", 18)
        assert await sizes(client) == {"nginx:1": 18, "nginx:2": 5}

        await change(client, Deployment, {"spec": {"replicas": 6}})
        await elapse(SECOND)
        assert await sizes(client) == {"nginx:1": 7, "nginx:2": 2}

        await tell_available(client, "nginx:1", 7)
        assert await sizes(client) == {"nginx:1": 4, "nginx:2": 5}


@virtual_time()
async def test_a_deployment_scaled_to_nothing_and_back_tells_each_step() -> None:
    async with running() as client:
        await client.create(deployment(2))
        await settle(client)
        await change(client, Deployment, {"spec": {"replicas": 0}})
        await settle(client)
        await change(client, Deployment, {"spec": {"replicas": 5}})
        await settle(client)

        assert (await notes(client, "ScalingReplicaSet"))[1:] == [
            "Scaled down replica set web-7688cfc66b from 2 to 0",
            "Scaled up replica set web-7688cfc66b from 0 to 5",
        ]
        assert len(await client.list(Pod)) == 5


@virtual_time()
async def test_a_taken_name_is_evaded_by_another_hash() -> None:
    async with running() as client:
        await client.create(replica_set(0, name="web-7688cfc66b", selector=LabelSelector(match_labels={"app": "web"})))
        await client.patch(ReplicaSet, MergePatch({"metadata": {"labels": {"app": "other"}}}), name="web-7688cfc66b")
        await client.create(deployment(1))
        await settle(client)

        found = await get(client)
        (mine,) = [each for each in await client.list(ReplicaSet) if each.is_controlled_by(found)]
        assert found.status.collision_count == 1
        assert mine.name != "web-7688cfc66b"
        assert found.status.available_replicas == 1


@virtual_time()
async def test_a_set_with_the_same_template_is_adopted_and_one_that_no_longer_matches_released() -> None:
    async with running() as client:
        labels = {"app": "web", "pod-template-hash": "abc"}
        spec = ReplicaSetSpec(
            replicas=2, selector=LabelSelector(match_labels=labels), template=template(**{"pod-template-hash": "abc"})
        )
        await client.create(ReplicaSet(metadata=Metadata(name="web-abc", labels=labels), spec=spec))
        await settle(client)
        await client.create(deployment(3))
        await settle(client)
        owner = await get(client)
        adopted = await client.get(ReplicaSet, "web-abc")
        assert adopted.is_controlled_by(owner)
        assert (adopted.spec.replicas, adopted.metadata.annotations[REVISION]) == (3, "1")

        await client.patch(ReplicaSet, MergePatch({"metadata": {"labels": {"app": "other"}}}), name="web-abc")
        await settle(client)

        assert (await client.get(ReplicaSet, "web-abc")).metadata.owner_references == []
        assert len([each for each in await client.list(ReplicaSet) if each.is_controlled_by(owner)]) == 1


@virtual_time()
async def test_a_set_that_cannot_be_made_is_told() -> None:
    async with running(refuse(403, kind=ReplicaSet, verb="create")) as client:
        await client.create(deployment(1))
        await elapse(SECOND)

        failed = await progress(client)
        text = 'Failed to create new replica set "web-7688cfc66b": a fault refuses this create with 403 Forbidden'
        assert (failed.status, failed.reason, failed.message) == ("False", "ReplicaSetCreateError", text)
        assert (await notes(client, "ReplicaSetCreateError"))[0] == text
        assert await notes(client, "ReconcileFailed") == []


@virtual_time()
async def test_why_pods_are_missing_stands_in_the_deployment_too() -> None:
    full = refuse(403, kind=Pod, verb="create")
    async with running(full) as client:
        await client.create(deployment(1))
        await elapse(SECOND)
        failure = next(found for found in (await get(client)).status.conditions if found.type == "ReplicaFailure")
        assert (failure.status, failure.reason) == ("True", "FailedCreate")
        assert failure.message == "a fault refuses this create with 403 Forbidden"

        full.stop()
        await elapse(timedelta(minutes=1))

        assert "ReplicaFailure" not in [found.type for found in (await get(client)).status.conditions]


@virtual_time()
async def test_the_time_that_pods_must_be_ready_goes_on_to_the_set() -> None:
    async with running() as client:
        await client.create(deployment(1))
        await settle(client)
        await change(client, Deployment, {"spec": {"minReadySeconds": 7}, "metadata": {"annotations": {"a": "b"}}})
        await settle(client)

        (found,) = list(await client.list(ReplicaSet))
        assert found.spec.min_ready_seconds == 7
        assert found.metadata.annotations["a"] == "b"


@virtual_time()
async def test_a_deployment_that_is_being_deleted_only_counts() -> None:
    async with running() as client:
        made = deployment(2)
        made.metadata.finalizers = ["example.com/hold"]
        await client.create(made)
        await settle(client)
        await client.delete(Deployment, "web")
        await change(client, Deployment, {"spec": {"replicas": 5}})
        (found,) = list(await client.list(ReplicaSet))
        await client.patch(found, MergePatch({"spec": {"replicas": 1}}))
        await settle(client)

        assert await sizes(client) == {"nginx:1": 1}
        assert (await get(client)).status.replicas == 1


@virtual_time()
async def test_a_settled_deployment_makes_no_requests() -> None:
    loops = (deployment_loop(), replica_set_loop())
    async with embedded_server() as server, client_of(server, "test") as client, loops_on(server, *loops):
        await client.create(deployment(2))
        await settle(client)
        before = len(server.requests)
        await elapse(timedelta(minutes=2))

        written = [record for record in list(server.requests)[before:] if record.method != "GET"]
        assert written == []


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        (10, "25%", "25%", (3, 2)),
        (1, "25%", "25%", (1, 0)),
        (2, "1%", "0%", (1, 0)),
        (2, "0%", "1%", (0, 1)),
        (4, 0, 9, (0, 4)),
        (0, "25%", "25%", (0, 0)),
        (3, 2, 1, (2, 1)),
    ],
)
def test_percentages_of_surge_are_rounded_up_and_of_unavailability_down(
    replicas: int, surge: int | str, unavailable: int | str, expected: tuple[int, int]
) -> None:
    made = deployment(replicas, strategy=rolling(surge, unavailable))

    assert (max_surge(made), max_unavailable(made)) == expected


@pytest.mark.parametrize(
    ("replicas", "found", "before", "expected"),
    [
        (10, [5, 5], [10, 10], [5, 5]),
        (20, [5, 5], [10, 10], [10, 10]),
        (6, [5, 3, 2], [10, 10, 10], [3, 2, 1]),
        (15, [5, 3, 2], [10, 10, 10], [8, 5, 2]),
        (0, [5, 3], [8, 8], [0, 0]),
        (12, [4, 4], [None, None], [6, 6]),
    ],
)
def test_sets_keep_their_share_and_the_first_takes_what_is_left_over(
    replicas: int, found: list[int], before: list[int | None], expected: list[int]
) -> None:
    made = deployment(replicas, strategy=rolling(0, 1))
    made.status = DeploymentStatus(replicas=sum(found))

    assert shares(made, [replica_set(size) for size in found], before) == expected


def test_the_history_of_revisions_stays_short() -> None:
    found = replica_set()
    found.metadata.annotations = {
        REVISION: "1000",
        HISTORY: ",".join(str(number) for number in range(600, 1000))[:2000],
    }

    set_annotations(found, deployment(), 1001, exists=True)

    history = found.metadata.annotations[HISTORY]
    assert len(history) <= 2000
    assert history.endswith(",1000")


@pytest.mark.parametrize(("numbers", "expected"), [([1, 2, 3], 2), ([3], 0), ([], 0), ([2, 2], 2)])
def test_the_last_revision_is_the_one_before_the_highest(numbers: list[int], expected: int) -> None:
    found = [replica_set() for _ in numbers]
    for each, number in zip(found, numbers, strict=True):
        each.metadata.annotations = {REVISION: str(number)}

    assert last_revision(found) == expected


async def create_and_update(client: Client) -> None:
    await client.create(deployment(1))
    await settle(client)
    await change(client, Deployment, with_image("nginx:2"))
    await settle(client)


async def look(client: Client) -> Any:
    found = await get(client)
    conditions = sorted((each.type, each.status, each.reason) for each in found.status.conditions)
    counts = (found.status.replicas, found.status.available_replicas, found.status.observed_generation)
    return await sizes(client), await images(client), await revisions(client), conditions, counts


# As many as the loops make on the way; there may be more only together with more deaths.
WRITES = 23


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("n", range(1, WRITES + 2))
def test_loops_that_die_at_a_write_come_to_the_same_end(n: int, when: When) -> None:
    loops = (deployment_loop, replica_set_loop)
    end, died = run_virtual(
        end_after_crash(lambda: [loop() for loop in loops], create_and_update, look, n=n, when=when, patience=SECOND)
    )

    assert end == (
        {"nginx:1": 0, "nginx:2": 1},
        ["nginx:2"],
        {"nginx:1": "1", "nginx:2": "2"},
        [("Available", "True", "MinimumReplicasAvailable"), ("Progressing", "True", "NewReplicaSetAvailable")],
        (1, 1, 2),
    )
    assert died == (n <= WRITES)
