"""Discovery: where a kind is served, in both forms, and a kind that came later."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.api import Metadata, Unstructured
from kubewright.errors import Forbidden, NotServed
from tests.client.scripted import Call, Server, failure, thing

Widget = Unstructured.of("example.com/v1", "Widget")


def resource(plural: str, kind: str, scope: str = "Namespaced") -> dict[str, Any]:
    return {"resource": plural, "responseKind": {"kind": kind}, "scope": scope, "singularResource": kind.lower()}


def aggregated(*groups: tuple[str, str, list[dict[str, Any]]]) -> dict[str, Any]:
    items = [
        {"metadata": {"name": name} if name else {}, "versions": [{"version": version, "resources": resources}]}
        for name, version, resources in groups
    ]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": items}


class Modern:
    """A server with aggregated discovery to which a CRD can be added."""

    def __init__(self) -> None:
        self.groups: list[tuple[str, str, list[dict[str, Any]]]] = []
        self.asked = 0

    def __call__(self, call: Call) -> tuple[int, Any]:
        if call.path == "/api":
            return 200, aggregated(("", "v1", [resource("pods", "Pod"), resource("nodes", "Node", "Cluster")]))
        if call.path == "/apis":
            self.asked += 1
            return 200, aggregated(*self.groups)
        return 200, thing()


async def test_an_untyped_kind_is_found_where_it_is_served():
    modern = Modern()
    modern.groups = [("example.com", "v1", [resource("widgetry", "Widget")])]
    server = Server(modern)

    async with server.client() as client:
        await client.get(Widget, "a")
        await client.get(Widget, "b")

    assert server.calls[-1].path == "/apis/example.com/v1/namespaces/default/widgetry/b"
    assert modern.asked == 1


async def test_a_kind_that_came_later_is_seen_without_a_restart():
    modern = Modern()
    server = Server(modern)

    async with server.client() as client:
        with pytest.raises(NotServed, match=r"does not serve Widget of example\.com/v1; if it is a custom resource"):
            await client.get(Widget, "a")
        modern.groups = [("example.com", "v1", [resource("widgets", "Widget", "Cluster")])]
        await client.create(Widget(metadata=Metadata(name="a")))

    assert server.calls[-1].path == "/apis/example.com/v1/widgets"


async def test_a_kind_served_in_another_version_is_told():
    modern = Modern()
    modern.groups = [("example.com", "v2", [resource("widgets", "Widget")])]

    async with Server(modern).client() as client:
        with pytest.raises(NotServed, match=r"it serves Widget of example\.com/v2"):
            await client.get(Widget, "a")


def legacy(call: Call) -> tuple[int, Any]:
    if "apidiscovery" in call.headers["Accept"] and call.path == "/apis":
        return 406, failure(406, "NotAcceptable")
    entry = {"name": "widgets", "kind": "Widget", "namespaced": True, "shortNames": ["w"]}
    status = {"name": "widgets/status", "kind": "Widget", "namespaced": True}
    documents: dict[str, Any] = {
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/api/v1": {"resources": [{"name": "nodes", "kind": "Node", "namespaced": False}]},
        "/apis": {"groups": [{"versions": [{"groupVersion": "example.com/v1"}, {"groupVersion": "gone.io/v1"}]}]},
        "/apis/example.com/v1": {"resources": [entry, status]},
    }
    if call.path in documents:
        return 200, documents[call.path]
    return (404, failure(404, "NotFound")) if call.path == "/apis/gone.io/v1" else (200, thing())


async def test_a_server_without_aggregated_discovery_is_asked_the_older_way():
    async with Server(legacy).client() as client:
        found = await client.discovery.resource("example.com/v1", "Widget")
        everything = await client.discovery.resources()

    assert (found.plural, found.namespaced, found.short_names) == ("widgets", True, ("w",))
    assert sorted(resource.kind for resource in everything) == ["Node", "Widget"]


def versioned(name: str, *versions: tuple[str, str, list[dict[str, Any]]]) -> dict[str, Any]:
    told = [{"version": version, "freshness": fresh, "resources": found} for version, fresh, found in versions]
    return {"metadata": {"name": name}, "versions": told}


async def test_an_inventory_says_what_can_be_done_in_which_version():
    widget = {**resource("widgets", "Widget"), "verbs": ["list", "delete"]}
    group = versioned("example.com", ("v2", "Current", [widget]), ("v1", "Current", [widget]))

    def answer(call: Call) -> tuple[int, Any]:
        items = [group] if call.path == "/apis" else []
        return 200, {"kind": "APIGroupDiscoveryList", "items": items}

    async with Server(answer).client() as client:
        inventory = await client.discovery.inventory()

    assert [served.resource.api_version for served in inventory.resources] == ["example.com/v2", "example.com/v1"]
    [preferred] = inventory.preferred()
    assert preferred.resource.version == "v2"
    assert preferred.can("list", "delete")
    assert not preferred.can("list", "watch")
    assert inventory.failures == {}


async def test_an_inventory_names_groups_that_the_server_cannot_tell_of():
    stale = versioned("example.com", ("v1", "Stale", [resource("widgets", "Widget")]))

    def answer(call: Call) -> tuple[int, Any]:
        return 200, {"kind": "APIGroupDiscoveryList", "items": [stale] if call.path == "/apis" else []}

    async with Server(answer).client() as client:
        inventory = await client.discovery.inventory()
        known = await client.discovery.resource("example.com/v1", "Widget")

    assert inventory.resources == ()
    assert inventory.failures == {"example.com/v1": "stale GroupVersion discovery: example.com/v1"}
    assert known.plural == "widgets"


async def test_an_inventory_survives_a_group_that_cannot_be_asked_the_older_way():
    def answer(call: Call) -> tuple[int, Any]:
        return (403, failure(403, "Forbidden")) if call.path == "/apis/gone.io/v1" else legacy(call)

    async with Server(answer).client() as client:
        inventory = await client.discovery.inventory()
        with pytest.raises(Forbidden):
            await client.discovery.refresh()

    assert [served.resource.kind for served in inventory.resources] == ["Node", "Widget"]
    assert list(inventory.failures) == ["gone.io/v1"]
