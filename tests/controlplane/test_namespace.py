"""The namespace loop: content goes first, what holds it is told, and then the namespace goes."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kubewright.api import Metadata, Unstructured
from kubewright.client import Client, MergePatch, Request, Response, Send
from kubewright.controlplane.namespace import namespace_loop
from kubewright.errors import NotFound
from kubewright.kinds.core_v1 import ConfigMap, Container, Namespace, Pod, PodSpec, Secret
from kubewright.testing import elapse, virtual_time
from kubewright.testing.faults import refuse
from tests.controlplane.clusters import loops_running
from tests.controlplane.crashes import When, end_after_crash

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
HOLD = "example.com/hold"
WELL = [
    ("NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered", "All resources successfully discovered"),
    (
        "NamespaceDeletionGroupVersionParsingFailure",
        "False",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    (
        "NamespaceDeletionContentFailure",
        "False",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    ("NamespaceContentRemaining", "False", "ContentRemoved", "All content successfully removed"),
    ("NamespaceFinalizersRemaining", "False", "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
]


def config(name: str, *finalizers: str) -> ConfigMap:
    return ConfigMap(metadata=Metadata(name=name, namespace="shop", finalizers=list(finalizers)))


def pod(name: str = "p", grace: int = 30) -> Pod:
    spec = PodSpec(node_name="n", containers=[Container(name="c", image="i")], termination_grace_period_seconds=grace)
    return Pod(metadata=Metadata(name=name, namespace="shop"), spec=spec)


async def shop(client: Client) -> Namespace:
    return await client.create(Namespace(metadata=Metadata(name="shop")))


async def told(client: Client) -> list[tuple[str, str, str | None, str | None]]:
    found = await client.get(Namespace, "shop")
    return [(one.type, one.status, one.reason, one.message) for one in found.status.conditions]


async def is_gone(client: Client) -> bool:
    try:
        await client.get(Namespace, "shop")
    except NotFound:
        return True
    return False


async def let_go(client: Client, name: str) -> None:
    patch = MergePatch({"metadata": {"finalizers": None}})
    await client.patch(ConfigMap, patch, name=name, namespace="shop")


@virtual_time()
async def test_a_namespace_goes_with_all_that_is_in_it() -> None:
    async with loops_running(namespace_loop()) as client:
        namespace = await shop(client)
        await client.create(config("a"))
        await client.create(Secret(metadata=Metadata(name="a", namespace="shop")))
        await client.create(ConfigMap(metadata=Metadata(name="a", namespace="default")))

        await client.delete(namespace)
        await elapse(6 * SECOND)

        assert await is_gone(client)
        assert [found.name for found in await client.list(ConfigMap, namespace="shop")] == []
        assert [found.name for found in await client.list(Secret, namespace="shop")] == []
        assert (await client.get(ConfigMap, "a")).name == "a"


@virtual_time()
async def test_a_namespace_is_left_alone_for_a_moment() -> None:
    async with loops_running(namespace_loop()) as client:
        namespace = await shop(client)
        await client.create(config("a"))

        await client.delete(namespace)
        await elapse(4 * SECOND)

        assert (await client.get(Namespace, "shop")).status.phase == "Terminating"
        assert (await client.get(ConfigMap, "a", namespace="shop")).metadata.deletion_timestamp is None


@virtual_time()
async def test_finalizers_of_the_content_are_awaited_and_told() -> None:
    async with loops_running(namespace_loop()) as client:
        namespace = await shop(client)
        await client.create(config("a", HOLD))
        await client.create(config("b", HOLD, "example.com/other"))

        await client.delete(namespace)
        await elapse(MINUTE)

        assert await told(client) == [
            *WELL[:3],
            (
                "NamespaceContentRemaining",
                "True",
                "SomeResourcesRemain",
                "Some resources are remaining: configmaps. has 2 resource instances",
            ),
            (
                "NamespaceFinalizersRemaining",
                "True",
                "SomeFinalizersRemain",
                "Some content in the namespace has finalizers remaining: example.com/hold in 2 resource instances, "
                "example.com/other in 1 resource instances",
            ),
        ]
        await let_go(client, "a")
        await let_go(client, "b")
        await elapse(MINUTE)
        assert await is_gone(client)


@virtual_time()
async def test_the_time_of_a_condition_is_when_it_turned() -> None:
    async with loops_running(namespace_loop()) as client:
        namespace = await shop(client)
        await client.create(config("a", HOLD))
        await client.create(config("b", HOLD))
        await client.delete(namespace)
        await elapse(MINUTE)
        before = (await client.get(Namespace, "shop")).status.conditions[3]

        await let_go(client, "b")
        await elapse(MINUTE)

        after = (await client.get(Namespace, "shop")).status.conditions[3]
        assert before.message != after.message
        assert before.last_transition_time == after.last_transition_time


@virtual_time()
async def test_nothing_else_goes_while_there_are_pods() -> None:
    async with loops_running(namespace_loop()) as client:
        namespace = await shop(client)
        await client.create(pod())
        await client.create(config("a"))

        await client.delete(namespace)
        await elapse(25 * SECOND)

        assert (await client.get(Pod, "p", namespace="shop")).metadata.deletion_timestamp is not None
        assert (await client.get(ConfigMap, "a", namespace="shop")).metadata.deletion_timestamp is None
        assert await told(client) == WELL
        await client.delete(Pod, "p", namespace="shop", grace=timedelta(0))
        await elapse(20 * SECOND)
        assert await is_gone(client)


@virtual_time()
async def test_pods_that_outlive_their_grace_are_told() -> None:
    async with loops_running(namespace_loop()) as client:
        namespace = await shop(client)
        await client.create(pod(grace=10))

        await client.delete(namespace)
        await elapse(MINUTE)

        text = "unexpected items still remain in namespace: shop for gvr: /v1, Resource=pods"
        failed = f"Failed to delete all resource types, 1 remaining: {text}"
        assert (await told(client))[2] == (WELL[2][0], "True", "ContentDeletionFailed", failed)


@virtual_time()
async def test_custom_resources_go_too() -> None:
    names = {"kind": "Garden", "plural": "gardens"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gardens.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }
    Garden = Unstructured.of("example.com/v1", "Garden")
    async with loops_running(namespace_loop()) as client:
        namespace = await shop(client)
        await client.create(Unstructured.from_dict(crd))
        await elapse(SECOND)
        await client.create(Garden(metadata=Metadata(name="a", namespace="shop")))

        await client.delete(namespace)
        await elapse(10 * SECOND)

        assert await is_gone(client)
        assert [found.name for found in await client.list(Garden, namespace="shop")] == []


@virtual_time()
async def test_what_cannot_be_deleted_is_told_and_tried_again() -> None:
    fault = refuse(500, verb="deletecollection", kind=ConfigMap)
    async with loops_running(namespace_loop(), interceptors=[fault]) as client:
        namespace = await shop(client)
        await client.create(config("a"))
        await client.create(Secret(metadata=Metadata(name="a", namespace="shop")))

        await client.delete(namespace)
        await elapse(MINUTE)

        kind, status, reason, message = (await told(client))[2]
        assert (kind, status, reason) == ("NamespaceDeletionContentFailure", "True", "ContentDeletionFailed")
        assert message is not None
        assert message.startswith("Failed to delete all resource types, 1 remaining: ")
        assert [found.name for found in await client.list(Secret, namespace="shop")] == []


@virtual_time()
async def test_a_namespace_stays_while_discovery_fails_in_part() -> None:
    is_stale = True

    async def stale(request: Request, send: Send) -> Response:
        answer = await send(request)
        if request.target == "/apis" and is_stale:
            body = answer.body.replace(b'"freshness":"Current"', b'"freshness":"Stale"', 1)
            return Response(answer.status, answer.headers, body)
        return answer

    async with loops_running(namespace_loop(), interceptors=[stale]) as client:
        namespace = await shop(client)
        await client.create(config("a"))
        await client.delete(namespace)
        await elapse(MINUTE)

        assert [found.name for found in await client.list(ConfigMap, namespace="shop")] == []
        kind, status, reason, message = (await told(client))[0]
        assert (kind, status, reason) == ("NamespaceDeletionDiscoveryFailure", "True", "DiscoveryFailed")
        assert message is not None
        begins = "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: "
        assert message.startswith(begins)
        assert "stale GroupVersion discovery: " in message
        is_stale = False
        await elapse(2 * MINUTE)
        assert await is_gone(client)


@virtual_time()
async def test_a_namespace_stays_while_discovery_fails() -> None:
    fault = refuse(503, verb="get", when=lambda request: request.target == "/apis")
    async with loops_running(namespace_loop(), interceptors=[fault]) as client:
        namespace = await shop(client)
        await client.create(config("a"))

        await client.delete(namespace)
        await elapse(MINUTE)

        assert (await told(client))[0][:3] == ("NamespaceDeletionDiscoveryFailure", "True", "DiscoveryFailed")
        assert (await client.get(ConfigMap, "a", namespace="shop")).metadata.deletion_timestamp is None


@virtual_time()
async def test_finalizers_of_others_keep_the_namespace() -> None:
    async with loops_running(namespace_loop()) as client:
        namespace = await shop(client)
        namespace.spec.finalizers.append(HOLD)
        namespace = await client.replace(namespace, subresource="finalize")

        await client.delete(namespace)
        await elapse(MINUTE)

        namespace = await client.get(Namespace, "shop")
        assert namespace.spec.finalizers == [HOLD]
        assert await told(client) == WELL
        namespace.spec.finalizers.clear()
        await client.replace(namespace, subresource="finalize")
        await elapse(SECOND)
        assert await is_gone(client)


@virtual_time()
async def test_a_namespace_that_lives_is_left_alone() -> None:
    async with loops_running(namespace_loop()) as client:
        await shop(client)
        await client.create(config("a"))

        await elapse(10 * MINUTE)

        assert (await client.get(ConfigMap, "a", namespace="shop")).metadata.deletion_timestamp is None


async def a_shop_deleted(client: Client) -> None:
    namespace = await shop(client)
    await client.create(config("a", HOLD))
    await client.create(Secret(metadata=Metadata(name="a", namespace="shop")))
    await client.delete(namespace)
    await elapse(20 * SECOND)
    if [found.name for found in await client.list(ConfigMap, namespace="shop")]:
        await let_go(client, "a")


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("n", [1, 2, 10, 20, 30, 31, 32, 33, 40, 50, 60])
@virtual_time()
async def test_the_end_is_the_same_whichever_write_the_loop_dies_at(n: int, when: When) -> None:
    patience = timedelta(minutes=2)

    gone, died = await end_after_crash(
        lambda: [namespace_loop()], a_shop_deleted, is_gone, n=n, when=when, patience=patience
    )

    assert died
    assert gone
