"""The garbage collector: what goes with whom, what stays, and what is never deleted on doubt."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from kubewright.api import Metadata, OwnerReference, Resource, Unstructured
from kubewright.client import Client, MergePatch, Request, Response, Send
from kubewright.controlplane.garbage_collector import garbage_collector_loop
from kubewright.controlplane.root_ca import root_ca_loop
from kubewright.errors import NotFound
from kubewright.kinds.core_v1 import ConfigMap, Namespace, Pod, Secret, Service
from kubewright.kinds.events_v1 import Event
from kubewright.kinds.rbac_v1 import ClusterRole
from kubewright.testing import elapse, embedded_server, virtual_time
from kubewright.testing.faults import delay_events, lose_request, refuse
from tests.controlplane.clusters import client_of, loops_on, loops_running
from tests.controlplane.crashes import When, end_after_crash

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
HOLD = "example.com/hold"
NOBODY = "00000000-0000-0000-0000-000000000000"


def reference(owner: Resource, *, block: bool | None = None, **other: Any) -> OwnerReference:
    said = {"api_version": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.metadata.uid}
    return OwnerReference(**{**said, **other}, block_owner_deletion=block)


def config(
    name: str, *owners: OwnerReference, namespace: str = "default", finalizers: tuple[str, ...] = ()
) -> ConfigMap:
    metadata = Metadata(name=name, namespace=namespace, owner_references=list(owners), finalizers=list(finalizers))
    return ConfigMap(metadata=metadata)


async def child(client: Client, name: str, *owners: Resource, block: bool | None = None, **other: Any) -> ConfigMap:
    return await client.create(config(name, *(reference(owner, block=block) for owner in owners), **other))


async def names(client: Client, namespace: str = "default") -> list[str]:
    return [found.name for found in await client.list(ConfigMap, namespace=namespace)]


async def owners_of(client: Client, name: str) -> list[str]:
    found = await client.get(ConfigMap, name)
    return [owner.name for owner in found.metadata.owner_references]


async def let_go(client: Client, name: str) -> None:
    await client.patch(ConfigMap, MergePatch({"metadata": {"finalizers": None}}), name=name)


@virtual_time()
async def test_dependents_of_dependents_go_after_their_owner_in_the_background() -> None:
    async with loops_running(garbage_collector_loop()) as client:
        owner = await child(client, "owner")
        below = await child(client, "below", owner)
        await child(client, "lowest", below)
        await child(client, "stranger")

        await client.delete(owner)
        assert "owner" not in await names(client)
        await elapse(SECOND)

        assert await names(client) == ["stranger"]


@virtual_time()
async def test_an_owner_deleted_in_the_foreground_goes_after_its_dependents() -> None:
    async with loops_running(garbage_collector_loop()) as client:
        owner = await child(client, "owner")
        below = await child(client, "below", owner, block=True, finalizers=(HOLD,))
        await child(client, "lowest", below, block=True)

        await client.delete(owner, propagation="Foreground")
        await elapse(MINUTE)

        assert await names(client) == ["below", "owner"]
        await let_go(client, "below")
        await elapse(SECOND)
        assert await names(client) == []


@virtual_time()
async def test_a_dependent_that_does_not_block_keeps_no_owner() -> None:
    async with loops_running(garbage_collector_loop()) as client:
        owner = await child(client, "owner")
        await child(client, "below", owner, block=False, finalizers=(HOLD,))

        await client.delete(owner, propagation="Foreground")
        await elapse(SECOND)

        assert await names(client) == ["below"]
        below = await client.get(ConfigMap, "below")
        assert below.metadata.deletion_timestamp is not None


@virtual_time()
async def test_a_dependent_that_stops_to_block_lets_its_owner_go() -> None:
    async with loops_running(garbage_collector_loop()) as client:
        owner = await child(client, "owner")
        await child(client, "below", owner, block=True, finalizers=(HOLD,))
        await client.delete(owner, propagation="Foreground")
        await elapse(SECOND)
        assert "owner" in await names(client)

        unblocked = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.metadata.uid}
        patch = MergePatch({"metadata": {"ownerReferences": [unblocked]}})
        await client.patch(ConfigMap, patch, name="below")
        await elapse(SECOND)

        assert await names(client) == ["below"]


@virtual_time()
async def test_orphans_stay_without_their_owner() -> None:
    async with loops_running(garbage_collector_loop()) as client:
        owner, other = await child(client, "owner"), await child(client, "other")
        below = await child(client, "below", owner, other, block=True)
        await child(client, "lowest", below)

        await client.delete(owner, propagation="Orphan")
        await elapse(SECOND)

        assert await names(client) == ["below", "lowest", "other"]
        assert await owners_of(client, "below") == ["other"]
        assert await owners_of(client, "lowest") == ["below"]


@virtual_time()
async def test_what_has_another_owner_stays_and_loses_the_reference() -> None:
    async with loops_running(garbage_collector_loop()) as client:
        first, second = await child(client, "first"), await child(client, "second")
        await child(client, "shared", first, second, block=True)

        await client.delete(first, propagation="Foreground")
        await elapse(SECOND)
        assert await names(client) == ["second", "shared"]
        assert await owners_of(client, "shared") == ["second"]

        await client.delete(second)
        await elapse(SECOND)
        assert await names(client) == []


async def cycle(client: Client) -> ConfigMap:
    first = await child(client, "first")
    second = await child(client, "second", first, block=True)
    first.metadata.owner_references = [reference(second, block=True)]
    return await client.update(first)


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
@virtual_time()
async def test_two_that_own_each_other_go_together(propagation: Any) -> None:
    async with loops_running(garbage_collector_loop()) as client:
        first = await cycle(client)

        await client.delete(first, propagation=propagation)
        await elapse(MINUTE)

        assert await names(client) == []


@virtual_time()
async def test_two_that_own_each_other_stay_if_nobody_deletes_them() -> None:
    async with loops_running(garbage_collector_loop()) as client:
        await cycle(client)

        await elapse(10 * MINUTE)

        assert await names(client) == ["first", "second"]


@virtual_time()
async def test_what_names_an_absent_owner_goes() -> None:
    async with loops_running(garbage_collector_loop()) as client:
        owner = await child(client, "owner")
        await client.create(config("other-uid", reference(owner, uid=NOBODY)))
        await client.create(config("other-name", reference(owner, name="nobody", uid=NOBODY)))

        await elapse(SECOND)

        assert await names(client) == ["owner"]


@virtual_time()
async def test_what_was_left_behind_before_the_start_goes() -> None:
    async with embedded_server() as server, client_of(server, "test") as client:
        owner = await child(client, "owner")
        await child(client, "below", owner)
        held = await child(client, "held", finalizers=())
        await child(client, "after", held, block=True)
        await client.delete(held, propagation="Foreground")
        await client.delete(owner)
        assert await names(client) == ["after", "below", "held"]

        async with loops_on(server, garbage_collector_loop()):
            await elapse(SECOND)

            assert await names(client) == []


@pytest.mark.parametrize("is_known", [True, False])
@virtual_time()
async def test_an_owner_in_another_namespace_is_no_owner_and_that_is_told(is_known: bool) -> None:
    late = delay_events(timedelta(milliseconds=10), kind=ConfigMap, when=lambda _: not is_known)
    async with loops_running(garbage_collector_loop(), interceptors=[late]) as client:
        await client.create(Namespace(metadata=Metadata(name="far")))
        await elapse(SECOND)
        owner = await child(client, "owner", namespace="far")
        await child(client, "below", owner)

        await elapse(SECOND)

        assert await names(client) == []
        told = [event for event in await client.list(Event) if event.reason == "OwnerRefInvalidNamespace"]
        [event] = told
        where = f"namespace: default, name: owner, uid: {owner.metadata.uid}"
        assert event.note == f'ownerRef [v1/ConfigMap, {where}] does not exist in namespace "default"'
        assert (event.type, event.reporting_controller) == ("Warning", "garbage-collector-controller")
        assert event.regarding is not None
        assert (event.regarding.kind, event.regarding.name) == ("ConfigMap", "below")


@virtual_time()
async def test_the_right_child_is_kept_beside_the_one_in_the_wrong_namespace() -> None:
    async with loops_running(garbage_collector_loop()) as client:
        await client.create(Namespace(metadata=Metadata(name="far")))
        # The wrong one first: the owner becomes known by the place where it is not.
        wrong = reference(config("owner"), uid=NOBODY)
        owner = await child(client, "owner", namespace="far")
        wrong.uid = owner.metadata.uid
        await client.create(config("wrong", wrong))
        await child(client, "right", owner, namespace="far")

        await elapse(MINUTE)

        assert await names(client) == []
        assert await names(client, "far") == ["owner", "right"]


@virtual_time()
async def test_a_cluster_scoped_owner_takes_dependents_of_all_namespaces_with_it() -> None:
    async with loops_running(garbage_collector_loop()) as client:
        await client.create(Namespace(metadata=Metadata(name="far")))
        role = await client.create(ClusterRole(metadata=Metadata(name="role")))
        await child(client, "near", role)
        await child(client, "away", role, namespace="far")
        await elapse(SECOND)
        assert await names(client) == ["near"]

        await client.delete(role)
        await elapse(SECOND)

        assert await names(client) == []
        assert await names(client, "far") == []


@virtual_time()
async def test_a_cluster_scoped_object_is_never_deleted_for_an_owner_in_a_namespace() -> None:
    async with loops_running(garbage_collector_loop()) as client:
        owner = await child(client, "owner")
        role = ClusterRole(metadata=Metadata(name="role", owner_references=[reference(owner)]))
        await client.create(role)

        await client.delete(owner)
        await elapse(10 * MINUTE)

        assert (await client.get(ClusterRole, "role")).name == "role"


@virtual_time()
async def test_an_owner_of_an_unknown_kind_keeps_its_dependents() -> None:
    async with loops_running(garbage_collector_loop()) as client:
        unknown = OwnerReference(api_version="example.com/v1", kind="Garden", name="a", uid=NOBODY)
        await client.create(config("below", unknown))

        await elapse(10 * MINUTE)

        assert await names(client) == ["below"]


@virtual_time()
async def test_an_owner_known_by_an_older_version_is_the_same_owner() -> None:
    async with loops_running(garbage_collector_loop()) as client:
        scaler = Unstructured.from_dict(
            {
                "apiVersion": "autoscaling/v2",
                "kind": "HorizontalPodAutoscaler",
                "metadata": {"name": "scaler", "namespace": "default"},
                "spec": {
                    "maxReplicas": 2,
                    "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"},
                },
            }
        )
        owner = await client.create(scaler)
        await client.create(config("below", reference(owner, api_version="autoscaling/v1")))
        await elapse(MINUTE)
        assert await names(client) == ["below"]

        await client.delete(owner)
        await elapse(MINUTE)

        assert await names(client) == []


def garden_crd() -> Unstructured:
    return Unstructured.from_dict(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "gardens.example.com"},
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": {"kind": "Garden", "plural": "gardens"},
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "schema": {"openAPIV3Schema": {"type": "object"}},
                    }
                ],
            },
        }
    )


@virtual_time()
async def test_kinds_that_come_with_a_crd_own_and_are_owned() -> None:
    Garden = Unstructured.of("example.com/v1", "Garden")
    async with loops_running(garbage_collector_loop()) as client:
        await client.create(garden_crd())
        await elapse(SECOND)
        top = await client.create(Garden(metadata=Metadata(name="top", namespace="default")))
        owned = Metadata(name="owned", namespace="default", owner_references=[reference(top, block=True)])
        owned_garden = await client.create(Garden(metadata=owned))
        await child(client, "below", owned_garden, block=True)
        await elapse(SECOND)
        assert await names(client) == ["below"]

        await client.delete(top, propagation="Foreground")
        await elapse(MINUTE)

        assert await names(client) == []
        assert [found.name for found in await client.list(Garden)] == []


@virtual_time()
async def test_custom_resources_are_orphaned_without_a_strategic_patch() -> None:
    Garden = Unstructured.of("example.com/v1", "Garden")
    async with loops_running(garbage_collector_loop()) as client:
        await client.create(garden_crd())
        await elapse(SECOND)
        owner, other = await child(client, "owner"), await child(client, "other")
        both = [reference(owner), reference(other)]
        await client.create(Garden(metadata=Metadata(name="a", namespace="default", owner_references=both)))

        await client.delete(owner, propagation="Orphan")
        await elapse(SECOND)

        garden = await client.get(Garden, "a")
        assert [kept.name for kept in garden.metadata.owner_references] == ["other"]
        assert await names(client) == ["other"]


@virtual_time()
async def test_dependents_of_custom_resources_go_with_their_crd() -> None:
    Garden = Unstructured.of("example.com/v1", "Garden")
    async with loops_running(garbage_collector_loop()) as client:
        crd = await client.create(garden_crd())
        await elapse(SECOND)
        owner = await client.create(Garden(metadata=Metadata(name="a", namespace="default")))
        await child(client, "below", owner)
        await elapse(SECOND)

        await client.delete(crd)
        await elapse(MINUTE)

        assert await names(client) == []


@virtual_time()
async def test_a_dependent_with_an_orphan_finalizer_orphans_its_own_dependents() -> None:
    async with loops_running(garbage_collector_loop()) as client:
        owner = await child(client, "owner")
        below = await child(client, "below", owner, finalizers=("orphan",))
        await child(client, "lowest", below)

        await client.delete(owner)
        await elapse(MINUTE)

        assert await names(client) == ["lowest"]
        assert await owners_of(client, "lowest") == []


@virtual_time()
async def test_an_owner_reference_added_later_counts() -> None:
    async with loops_running(garbage_collector_loop()) as client:
        owner, loose = await child(client, "owner"), await child(client, "loose")
        await elapse(SECOND)
        loose.metadata.owner_references = [reference(owner)]
        await client.update(loose)

        await client.delete(owner)
        await elapse(SECOND)

        assert await names(client) == []


@virtual_time()
async def test_other_kinds_are_collected_too() -> None:
    async with loops_running(garbage_collector_loop()) as client:
        owner = await child(client, "owner")
        await client.create(
            Secret(metadata=Metadata(name="s", namespace="default", owner_references=[reference(owner)]))
        )

        await client.delete(owner)
        await elapse(SECOND)

        assert [secret.name for secret in await client.list(Secret)] == []


@virtual_time()
async def test_nothing_is_deleted_while_the_owner_cannot_be_asked_for() -> None:
    fault = refuse(500, verb="get", name="owner")
    async with loops_running(garbage_collector_loop(), interceptors=[fault]) as client:
        owner = await child(client, "owner")
        await client.create(config("below", reference(owner, uid=NOBODY)))

        await elapse(MINUTE)

        assert fault.struck
        assert "below" in await names(client)


@virtual_time()
async def test_nothing_is_deleted_because_a_kind_is_said_not_to_be_served() -> None:
    async def not_served(request: Request, send: Send) -> Response:
        if request.verb == "get" and request.name == "owner":
            return Response(404, [("Content-Type", "text/plain")], b"404 page not found\n")
        return await send(request)

    async with loops_running(garbage_collector_loop(), interceptors=[not_served]) as client:
        owner = await child(client, "owner")
        await client.create(config("below", reference(owner, uid=NOBODY)))

        await elapse(MINUTE)

        assert "below" in await names(client)


@virtual_time()
async def test_what_gets_an_owner_at_the_last_moment_is_not_deleted() -> None:
    saved = asyncio.Event()

    async def adopt_first(request: Request, send: Send) -> Response:
        if request.verb == "delete" and request.name == "below" and not saved.is_set():
            saved.set()
            below = await test.get(ConfigMap, "below")
            below.metadata.owner_references = [reference(other)]
            await test.update(below)
        return await send(request)

    async with loops_running(garbage_collector_loop(), interceptors=[adopt_first]) as test:
        owner, other = await child(test, "owner"), await child(test, "other")
        await child(test, "below", owner)

        await test.delete(owner)
        await elapse(MINUTE)

        assert saved.is_set()
        assert await names(test) == ["below", "other"]


@virtual_time()
async def test_a_change_that_leaves_the_owners_saves_nothing() -> None:
    changed = asyncio.Event()

    async def label_first(request: Request, send: Send) -> Response:
        if request.verb == "delete" and request.name == "below" and not changed.is_set():
            changed.set()
            await test.patch(ConfigMap, MergePatch({"data": {"a": "b"}}), name="below")
        return await send(request)

    async with loops_running(garbage_collector_loop(), interceptors=[label_first]) as test:
        owner = await child(test, "owner")
        await child(test, "below", owner)

        await test.delete(owner)
        await elapse(timedelta(milliseconds=4))

        assert changed.is_set()
        assert await names(test) == []


@virtual_time()
async def test_discovery_that_fails_changes_nothing() -> None:
    fault = refuse(503, verb="get", when=lambda request: request.target == "/apis", skip=1)
    async with loops_running(garbage_collector_loop(), interceptors=[fault]) as client:
        owner = await child(client, "owner")
        await child(client, "below", owner)
        await elapse(5 * MINUTE)
        assert fault.struck
        assert await names(client) == ["below", "owner"]

        await client.delete(owner)
        await elapse(SECOND)

        assert await names(client) == []


@virtual_time()
async def test_a_server_that_tells_of_no_kinds_changes_nothing() -> None:
    is_silent = False

    async def silent(request: Request, send: Send) -> Response:
        if request.target in ("/api", "/apis") and is_silent:
            body = b'{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[]}'
            return Response(200, [("Content-Type", "application/json")], body)
        return await send(request)

    async with loops_running(garbage_collector_loop(), interceptors=[silent]) as client:
        owner = await child(client, "owner")
        await child(client, "below", owner)
        await elapse(SECOND)
        is_silent = True
        await elapse(5 * MINUTE)

        await client.delete(owner)
        await elapse(SECOND)

        assert await names(client) == []


@virtual_time()
async def test_a_kind_whose_group_is_stale_stays_watched() -> None:
    is_stale = False

    async def stale(request: Request, send: Send) -> Response:
        answer = await send(request)
        if request.target == "/apis" and is_stale:
            body = answer.body.replace(b'"freshness":"Current"', b'"freshness":"Stale"')
            return Response(answer.status, answer.headers, body)
        return answer

    async with loops_running(garbage_collector_loop(), interceptors=[stale]) as client:
        role = await client.create(ClusterRole(metadata=Metadata(name="role")))
        await child(client, "below", role)
        await elapse(SECOND)
        is_stale = True
        await elapse(5 * MINUTE)
        await client.create(config("stray", reference(role, uid=NOBODY)))
        await elapse(SECOND)
        assert await names(client) == ["below"]

        await client.delete(role)
        await elapse(SECOND)

        assert await names(client) == []


@virtual_time()
async def test_an_owner_whose_watch_is_late_keeps_its_dependents() -> None:
    late = delay_events(MINUTE, kind=Service)
    async with loops_running(garbage_collector_loop(), interceptors=[late]) as client:
        owner = await client.create(unseen_service())
        await child(client, "below", owner)
        await elapse(SECOND)
        assert await names(client) == ["below"]

        await elapse(5 * MINUTE)
        assert await names(client) == ["below"]
        await client.delete(owner)
        await elapse(5 * MINUTE)
        assert await names(client) == []


@virtual_time()
async def test_writes_that_fail_are_tried_again() -> None:
    faults = [lose_request(verb="delete", times=3), refuse(409, verb="patch", times=3)]
    async with loops_running(garbage_collector_loop(), interceptors=faults) as client:
        owner = await child(client, "owner")
        await child(client, "below", owner, block=True)
        other = await child(client, "other")
        await child(client, "orphan", other)

        await client.delete(owner, propagation="Foreground")
        await client.delete(other, propagation="Orphan")
        await elapse(5 * MINUTE)

        assert await names(client) == ["orphan"]
        assert await owners_of(client, "orphan") == []


async def a_family_deleted(client: Client) -> None:
    owner, other, away = [await child(client, name) for name in ("owner", "other", "away")]
    below = await child(client, "below", owner, block=True)
    await child(client, "lowest", below, block=True)
    await child(client, "shared", owner, other, block=True)
    await child(client, "orphan", away)
    await elapse(SECOND)
    await client.delete(owner, propagation="Foreground")
    await client.delete(away, propagation="Orphan")


async def family(client: Client) -> list[tuple[str, list[str]]]:
    found = await client.list(ConfigMap, namespace="default")
    return [(one.name, [owner.name for owner in one.metadata.owner_references]) for one in found]


WRITES_OF_A_FAMILY = 7


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("n", range(1, WRITES_OF_A_FAMILY + 1))
@virtual_time()
async def test_the_end_is_the_same_whichever_write_the_collector_dies_at(n: int, when: When) -> None:
    loops = garbage_collector_loop

    found, died = await end_after_crash(lambda: [loops()], a_family_deleted, family, n=n, when=when)

    assert died
    assert found == [("orphan", []), ("other", []), ("shared", ["other"])]


@virtual_time()
async def test_the_collector_writes_no_more_than_it_must() -> None:
    loops, more = garbage_collector_loop, WRITES_OF_A_FAMILY + 1

    _, died = await end_after_crash(lambda: [loops()], a_family_deleted, family, n=more, when="before")

    assert not died


@virtual_time()
async def test_pods_are_deleted_with_their_grace() -> None:
    async with loops_running(garbage_collector_loop()) as client:
        owner = await child(client, "owner")
        pod = Unstructured.from_dict(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "p", "namespace": "default"},
                "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
            }
        )
        pod.metadata.owner_references = [reference(owner)]
        await client.create(pod)

        await client.delete(owner)
        await elapse(SECOND)

        found = await client.get(Pod, "p")
        assert found.metadata.deletion_grace_period_seconds == 30
        with pytest.raises(NotFound):
            await client.get(ConfigMap, "owner")


@virtual_time()
async def test_the_collector_is_settled_when_nothing_is_left_to_collect() -> None:
    async with embedded_server() as server, client_of(server, "test") as client:
        async with loops_on(server, garbage_collector_loop()) as running:
            above = await child(client, "0")
            for number in range(1, 10):
                above = await child(client, str(number), above)
            await client.delete(ConfigMap, "0")

            await running.settle()

            assert await names(client) == []


@virtual_time()
async def test_a_kind_that_cannot_be_listed_holds_up_orphaning_and_nothing_else() -> None:
    fault = refuse(500, verb=("list", "watch"), kind=Secret)
    async with loops_running(garbage_collector_loop(), interceptors=[fault]) as client:
        owner, other = await child(client, "owner"), await child(client, "other")
        await child(client, "below", owner)
        await client.create(
            Secret(metadata=Metadata(name="s", namespace="default", owner_references=[reference(other)]))
        )
        await client.delete(owner)
        await client.delete(other, propagation="Orphan")

        await elapse(MINUTE)

        assert await names(client) == ["other"]
        assert (await client.get(Secret, "s")).metadata.owner_references
        fault.stop()
        await elapse(10 * MINUTE)
        assert await names(client) == []
        assert (await client.get(Secret, "s")).metadata.owner_references == []


@virtual_time()
async def test_what_controllers_watch_is_not_watched_again() -> None:
    watched: list[str] = []

    async def note(request: Request, send: Send) -> Response:
        if request.verb == "watch" and request.resource is not None:
            watched.append(request.resource.plural)
        return await send(request)

    loops = [garbage_collector_loop(), root_ca_loop(b"ca")]
    async with loops_running(*loops, interceptors=[note]) as client:
        owner = await child(client, "owner")
        below = await child(client, "below", owner, block=True)
        await child(client, "lowest", below, block=True)
        await client.delete(owner, propagation="Foreground")
        await elapse(SECOND)

        assert await names(client) == ["kube-root-ca.crt"]
        assert watched.count("configmaps") == 1
        assert watched.count("secrets") == 1


@virtual_time()
async def test_an_owner_that_comes_back_with_its_uid_is_an_owner_again() -> None:
    async with embedded_server() as server, client_of(server, "test") as client:
        async with loops_on(server, garbage_collector_loop()):
            owner, other = await child(client, "owner"), await child(client, "other")
            await child(client, "below", owner, other)
            await elapse(SECOND)
            before = server.snapshot()
            await client.delete(owner)
            await elapse(SECOND)
            assert await owners_of(client, "below") == ["other"]
            server.restore(before)
            await elapse(2 * MINUTE)
            assert await owners_of(client, "below") == ["owner", "other"]

            await client.delete(other)
            await elapse(SECOND)

            assert await names(client) == ["below", "owner"]
            assert await owners_of(client, "below") == ["owner"]


def unseen_service(name: str = "s") -> Unstructured:
    metadata = {"name": name, "namespace": "default"}
    return Unstructured.from_dict(
        {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [{"port": 80}]}}
    )


@virtual_time()
async def test_an_owner_that_some_know_by_a_wrong_name_is_still_an_owner() -> None:
    late = delay_events(MINUTE, kind=Service)
    async with loops_running(garbage_collector_loop(), interceptors=[late]) as client:
        await elapse(SECOND)
        owner = await client.create(unseen_service())
        await client.create(config("wrong", reference(owner, kind="ConfigMap")))
        await child(client, "right", owner)
        await elapse(10 * MINUTE)
        assert await names(client) == ["right"]

        await client.delete(owner)
        await elapse(10 * MINUTE)

        assert await names(client) == []


@virtual_time()
async def test_an_owner_that_no_watch_ever_told_of_is_asked_for_until_it_is_gone() -> None:
    blind = refuse(500, verb=("list", "watch"), kind=Service)
    async with loops_running(garbage_collector_loop(), interceptors=[blind]) as client:
        await elapse(MINUTE)
        owner = await client.create(unseen_service())
        await child(client, "below", owner)
        await elapse(MINUTE)
        assert await names(client) == ["below"]

        await client.delete(owner)
        await elapse(10 * MINUTE)

        assert await names(client) == []
