"""§1.11 CustomResourceDefinitions."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.exchange import Api, is_gone, is_served
from conformance.objects import CRDS, crd
from conformance.widgets import Widgets

pytestmark = pytest.mark.section("1.11")

SPEC = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 10},
        "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
        "name": {"type": "string", "maxLength": 5, "pattern": "^[a-z]*$"},
        "port": {"x-kubernetes-int-or-string": True},
        "maybe": {"type": "string", "nullable": True},
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "parts": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "n": {"type": "integer", "default": 7}},
            },
        },
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
}
SCHEMA = {
    "type": "object",
    "properties": {"spec": SPEC, "status": {"type": "object", "properties": {"ready": {"type": "integer"}}}},
}


async def test_a_definition_is_filled_in_and_established(api: Api, widgets: Widgets):
    await api.post(CRDS, crd("widgets", widgets.group))
    await api.until(widgets.definition, lambda found: '"reason":"InitialNamesAccepted"' in found.text)
    await api.get(widgets.definition)


async def test_an_object_is_defaulted(api: Api, widgets: Widgets):
    await widgets.install(SCHEMA)
    await api.post(widgets.path, widgets.widget(spec={"size": 2, "parts": [{"name": "a"}]}))
    await api.get(widgets.path)


async def test_an_object_is_pruned(api: Api, widgets: Widgets):
    await widgets.install(SCHEMA)
    spec = {"size": 2, "nope": 1, "free": {"any": {"thing": 1}}, "parts": [{"name": "a", "x": 1}], "map": {"k": 1}}
    await api.post(widgets.path, widgets.widget(spec=spec, extra=1))


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"size": 0},
        {"size": 11},
        {"size": "x"},
        {"size": 1.5},
        {"size": 1, "color": "green"},
        {"size": 1, "name": "toolong"},
        {"size": 1, "name": "ABC"},
        {"size": 1, "port": 80},
        {"size": 1, "port": "http"},
        {"size": 1, "port": True},
        {"size": 1, "maybe": None},
        {"size": 1, "color": None},
        {"size": 1, "name": None},
        {"size": 1, "tags": ["a", "a"]},
        {"size": 1, "parts": [{"name": "a"}, {"name": "a"}]},
        {"size": 1, "parts": [{"n": 1}]},
        {"size": 1, "parts": {}},
        {"size": 1, "map": {"k": "x"}},
        {"size": 1, "free": 5},
        {"size": 99, "color": "x", "name": "X"},
        5,
        None,
    ],
)
async def test_what_a_schema_says_of_a_spec(api: Api, widgets: Widgets, spec: Any):
    await widgets.install(SCHEMA)
    await api.post(widgets.path, widgets.widget(spec=spec))


async def test_generation_without_a_status_door(api: Api, widgets: Widgets):
    await widgets.install(SCHEMA)
    await api.post(widgets.path, widgets.widget(spec={"size": 1}))
    await api.patch(widgets.path + "/w", {"metadata": {"labels": {"a": "b"}}})
    await api.patch(widgets.path + "/w", {"status": {"ready": 1}})
    await api.get(widgets.path + "/w/status")


async def test_generation_with_a_status_door(api: Api, widgets: Widgets):
    await widgets.install(SCHEMA, subresources={"status": {}})
    await api.post(widgets.path, widgets.widget(spec={"size": 1}, status={"ready": 9}))
    await api.patch(widgets.path + "/w", {"status": {"ready": 1}})
    await api.patch(
        widgets.path + "/w/status", {"status": {"ready": 2}, "spec": {"size": 5}, "metadata": {"labels": {"a": "b"}}}
    )
    await api.patch(widgets.path + "/w", {"spec": {"size": 5}})


async def test_an_update_wants_a_version(api: Api, widgets: Widgets):
    await widgets.install(SCHEMA)
    created = await api.post(widgets.path, widgets.widget(spec={"size": 1}))
    await api.put(widgets.path + "/w", widgets.widget(spec={"size": 2}))
    await api.put(widgets.path + "/w", created.body | {"spec": {"size": 2}})


async def test_a_scale_door(api: Api, widgets: Widgets):
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.ready"}
    await widgets.install(SCHEMA, subresources={"status": {}, "scale": scale})
    await api.post(widgets.path, widgets.widget(spec={"size": 1}))
    await api.get(widgets.path + "/w/scale")
    await api.patch(widgets.path + "/w/scale", {"spec": {"replicas": 4}})
    await api.get(widgets.path + "/w")


async def test_apply_follows_the_schemas_lists(api: Api, widgets: Widgets):
    await widgets.install(SCHEMA)
    one = widgets.widget(spec={"size": 1, "parts": [{"name": "a", "n": 1}], "tags": ["x"]})
    two = widgets.widget(spec={"size": 1, "parts": [{"name": "b", "n": 2}], "tags": ["y"]})
    await api.patch(widgets.path + "/w", one, type="apply", query={"fieldManager": "one"})
    await api.patch(widgets.path + "/w", two, type="apply", query={"fieldManager": "two"})
    await api.patch(widgets.path + "/w", widgets.widget(spec={"size": 1}), type="apply", query={"fieldManager": "one"})


@pytest.mark.parametrize("validation", ["Strict", "Warn", "Ignore"])
async def test_unknown_fields_of_a_custom_resource(api: Api, widgets: Widgets, validation: str):
    await widgets.install(SCHEMA)
    body = widgets.widget(spec={"size": 1, "zz": 1, "aa": 2}, extra=1)
    await api.post(widgets.path, body, query={"fieldValidation": validation})


async def test_selectable_fields(api: Api, widgets: Widgets):
    await widgets.install(SCHEMA, selectableFields=[{"jsonPath": ".spec.color"}])
    await api.post(widgets.path, widgets.widget("a", spec={"size": 1}))
    await api.post(widgets.path, widgets.widget("b", spec={"size": 1, "color": "blue"}))
    await api.get(widgets.path, query={"fieldSelector": "spec.color=blue"})
    await api.get(widgets.path, query={"fieldSelector": "spec.size=1"})


async def test_two_versions_of_one_object(api: Api, widgets: Widgets):
    definition = crd("widgets", widgets.group)
    first = definition["spec"]["versions"][0]
    definition["spec"]["versions"].append({**first, "name": "v2", "storage": False, "deprecated": True})
    await widgets.install_definition(definition, widgets.path.replace("/v1/", "/v2/"))
    await api.post(widgets.path, widgets.widget(spec={"a": 1}))
    await api.get(widgets.path.replace("/v1/", "/v2/") + "/w")
    await api.get(widgets.path.replace("/v1/", "/v2/"))
    await api.get(f"/apis/{widgets.group}")


async def test_discovery_of_a_custom_resource(api: Api, widgets: Widgets):
    await widgets.install(SCHEMA, subresources={"status": {}})
    await api.until(f"/apis/{widgets.group}/v1", is_served)
    await api.get(f"/apis/{widgets.group}/v1")
    await api.get(f"/apis/{widgets.group}")


async def test_a_definition_that_is_deleted_takes_its_objects(api: Api, widgets: Widgets):
    await widgets.install(SCHEMA)
    await api.post(widgets.path, widgets.widget(spec={"size": 1}))
    await api.delete(widgets.definition)
    await api.until(widgets.path, is_gone)
    await api.until(widgets.definition, is_gone)
    await api.get(widgets.path)


def changed(**changes: Any) -> dict[str, Any]:
    return {"spec": changes}


@pytest.mark.parametrize(
    "path_and_value",
    [
        ("metadata.name", "other.example.com"),
        ("spec.scope", "Somewhere"),
        ("spec.names.kind", ""),
        ("spec.names.plural", "Widgets"),
        ("spec.versions", []),
        ("spec.versions.0.storage", False),
        ("spec.versions.0.schema", {}),
        ("spec.versions.0.name", "V1"),
        ("spec.versions.0.schema.openAPIV3Schema", {"type": "string"}),
        ("spec.versions.0.schema.openAPIV3Schema", {"type": "object", "properties": {"spec": {}}}),
        (
            "spec.versions.0.schema.openAPIV3Schema",
            {"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}},
        ),
        (
            "spec.versions.0.schema.openAPIV3Schema",
            {
                "type": "object",
                "properties": {"a": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "map"}},
            },
        ),
        (
            "spec.versions.0.schema.openAPIV3Schema",
            {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}},
        ),
        ("spec.versions.0.subresources", {"scale": {}}),
        ("spec.versions.0.additionalPrinterColumns", [{"name": "A", "type": "nonsense", "jsonPath": ".spec.a"}]),
        ("spec.preserveUnknownFields", True),
    ],
    ids=str,
)
async def test_a_definition_that_is_refused(api: Api, widgets: Widgets, path_and_value: tuple[str, Any]):
    path, value = path_and_value
    definition: Any = crd("widgets", widgets.group)
    *parents, last = path.split(".")
    place = definition
    for part in parents:
        place = place[int(part) if part.isdigit() else part]
    place[last] = value
    await api.post(CRDS, definition)
