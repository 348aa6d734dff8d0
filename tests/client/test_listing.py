"""Lists: page by page or whole, complete, and honest about what does not fit."""

from __future__ import annotations

import pytest

from kubewright.api import LabelSelector, MetadataOnly
from kubewright.client import ALL_NAMESPACES
from kubewright.errors import Gone, ProtocolError
from kubewright.kinds.core_v1 import ConfigMap, Namespace, Pod
from tests.client.scripted import Server, failure, page, thing


async def test_a_list_fetches_page_after_page():
    server = Server((200, page(thing("a"), thing("b"), token="t1")), (200, page(thing("c"))))

    async with server.client() as client:
        found = await client.list(ConfigMap, page_size=2)

    assert [config.name for config in found] == ["a", "b", "c"]
    assert found.resource_version == "9"
    assert server.calls[1].query == {"limit": "2", "continue": "t1"}


async def test_iterating_asks_for_the_next_page_only_when_it_is_needed():
    server = Server((200, page(thing("a"), thing("b"), token="t1")), (200, page(thing("c"))))

    async with server.client() as client:
        async for config in client.list(ConfigMap):
            if config.name == "b":
                break

    assert len(server.calls) == 1


async def test_a_whole_list_starts_again_when_its_revision_is_forgotten():
    expired = (410, failure(410, "Expired", "The provided continue parameter is too old"))
    server = Server((200, page(thing("a"), token="t1")), expired, (200, page(thing("a"), thing("b"))))

    async with server.client() as client:
        found = await client.list(ConfigMap)

    assert len(found) == 2
    assert server.calls[2].query == {}


async def test_an_iteration_tells_that_its_revision_is_forgotten():
    server = Server((200, page(thing("a"), token="t1")), (410, failure(410, "Expired")))

    async with server.client() as client:
        with pytest.raises(Gone):
            _ = [config async for config in client.list(ConfigMap)]


async def test_an_undecodable_object_is_told_and_the_others_are_listed(caplog: pytest.LogCaptureFixture):
    server = Server((200, page(thing("a"), thing("broken", data={"k": 1}), thing("c"))))

    async with server.client() as client:
        found = await client.list(ConfigMap)

    assert [config.name for config in found] == ["a", "c"]
    assert "default/broken" in str(found.undecodable[0])
    assert "$.data" in caplog.text


async def test_null_items_are_no_items():
    server = Server((200, {"metadata": {"resourceVersion": "3"}, "items": None}))

    async with server.client() as client:
        found = await client.list(ConfigMap)

    assert list(found) == []
    assert found.resource_version == "3"


async def test_selectors_are_sent_as_kubernetes_writes_them():
    server = Server((200, page()))

    async with server.client() as client:
        await client.list(Pod, labels={"app": "web"}, fields={"spec.nodeName": "n1"})
        await client.list(Pod, labels=LabelSelector.parse("tier in (a, b),!old"))

    assert server.calls[0].query.items() >= {"labelSelector": "app=web", "fieldSelector": "spec.nodeName=n1"}.items()
    assert server.calls[1].query["labelSelector"] == "!old,tier in (a,b)"


async def test_a_malformed_selector_is_refused_before_it_is_sent():
    server = Server((200, page()))

    async with server.client() as client:
        with pytest.raises(ValueError, match="a b"):
            await client.list(Pod, labels="a b")

    assert server.calls == []


async def test_a_revision_and_how_to_match_it_are_asked_for_on_the_first_page_only():
    server = Server((200, page(thing("a"), token="t1")), (200, page(thing("b"))))

    async with server.client() as client:
        await client.list(ConfigMap, resource_version="5", match="Exact")

    assert server.calls[0].query.items() >= {"resourceVersion": "5", "resourceVersionMatch": "Exact"}.items()
    assert "resourceVersion" not in server.calls[1].query


async def test_all_namespaces_one_namespace_and_cluster_scope_have_their_paths():
    server = Server((200, page()))

    async with server.client() as client:
        await client.list(ConfigMap, namespace=ALL_NAMESPACES)
        await client.list(ConfigMap, namespace="x")
        await client.using(namespace="y").list(ConfigMap)
        await client.list(Namespace)

    paths = [call.path for call in server.calls]
    assert paths == [
        "/api/v1/configmaps",
        "/api/v1/namespaces/x/configmaps",
        "/api/v1/namespaces/y/configmaps",
        "/api/v1/namespaces",
    ]


async def test_a_metadata_only_list_asks_for_metadata_only():
    server = Server((200, page(thing("a", data={"k": 1}))))

    async with server.client() as client:
        found = await client.list(MetadataOnly.of(ConfigMap))

    assert found[0].name == "a"
    assert "as=PartialObjectMetadataList" in server.calls[0].headers["Accept"]


async def test_what_is_no_list_is_a_protocol_error():
    server = Server((200, {"kind": "Pod"}))

    async with server.client() as client:
        with pytest.raises(ProtocolError, match="not a Kubernetes list"):
            await client.list(ConfigMap)
