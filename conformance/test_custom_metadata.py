"""Metadata of custom resources: read strictly from requests, leniently from the store."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.exchange import Api
from conformance.widgets import Widgets

pytestmark = pytest.mark.section("1.11")

STATUS: dict[str, Any] = {"subresources": {"status": {}}}
EMBEDDED = {
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "x-kubernetes-preserve-unknown-fields": True,
}
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"size": {"type": "integer"}, "inner": EMBEDDED}},
        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
    },
}
BAD: list[Any] = [
    {"labels": ["a"]},
    {"labels": {"a": 1}},
    {"annotations": 5},
    {"creationTimestamp": "yesterday"},
    {"deletionTimestamp": 5},
    {"finalizers": "a"},
    {"finalizers": [1]},
    {"ownerReferences": [1]},
    {"ownerReferences": [{"uid": 5}]},
    {"generation": 1.5},
    {"generation": "1"},
    {"uid": 7},
    {"managedFields": 3},
    {"resourceVersion": 5},
    {"generateName": True},
]


@pytest.mark.parametrize("metadata", BAD)
async def test_metadata_of_a_wrong_type(api: Api, widgets: Widgets, metadata: dict[str, Any]):
    await widgets.install(SCHEMA, **STATUS)
    body = widgets.widget(spec={"size": 1})
    body["metadata"] |= metadata
    await api.post(widgets.path, body)
    await widgets.create()
    await api.put(widgets.path + "/w", body)
    await api.patch(widgets.path + "/w", {"metadata": metadata})
    (name, value), *_ = metadata.items()
    await api.patch(widgets.path + "/w", [{"op": "add", "path": f"/metadata/{name}", "value": value}], type="json")
    await api.patch(widgets.path + "/w/status", {"metadata": metadata, "status": {"ready": True}})


@pytest.mark.parametrize(
    "metadata", [{"labels": ["a"]}, {"labels": {"a": 1}}, {"finalizers": "a"}, {"uid": 7}, {"x": 1}]
)
async def test_metadata_of_a_wrong_type_is_applied(api: Api, widgets: Widgets, metadata: dict[str, Any]):
    await widgets.install(SCHEMA, **STATUS)
    intent = widgets.widget(spec={"size": 1})
    intent["metadata"] |= metadata
    await api.patch(widgets.path + "/w", intent, type="apply", query={"fieldManager": "m"})


@pytest.mark.parametrize("metadata", ["text", [], 5, None])
async def test_metadata_that_is_no_object(api: Api, widgets: Widgets, metadata: Any):
    await widgets.install(SCHEMA)
    await api.post(widgets.path, {**widgets.widget(), "metadata": metadata})
    await widgets.create()
    await api.put(widgets.path + "/w", {**widgets.widget(), "metadata": metadata})
    await api.patch(widgets.path + "/w", {"metadata": metadata})


@pytest.mark.parametrize("name", [5, "", None, "Not a name", "a/b"])
async def test_a_name_that_is_none(api: Api, widgets: Widgets, name: Any):
    await widgets.install(SCHEMA)
    await api.post(widgets.path, {**widgets.widget(), "metadata": {"name": name}})


async def test_unknown_metadata(api: Api, widgets: Widgets):
    await widgets.install(SCHEMA)
    body = widgets.widget(spec={"size": 1, "more": 2})
    body["metadata"] |= {"nonsense": 1, "ownerReferences": [OWNER | {"extra": 1}]}
    await api.post(widgets.path, body, query={"fieldValidation": "Strict"})
    await api.post(widgets.path, body)
    await api.patch(widgets.path + "/w", {"metadata": {"nonsense": 2}, "spec": {"other": 1}})
    await api.patch(widgets.path + "/w", {"metadata": {"nonsense": 2}}, query={"fieldValidation": "Strict"})


OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "1"}
WRONG: list[dict[str, Any]] = [
    {"labels": {"bad key!": "x"}},
    {"labels": {"a": "bad value!"}},
    {"annotations": {"bad key!": "x"}},
    {"finalizers": ["no slash", "example.com/fine"]},
    {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "", "uid": ""}]},
    {"ownerReferences": [OWNER | {"controller": True}, OWNER | {"controller": True, "uid": "2"}]},
    {"namespace": "elsewhere"},
    {"name": "another"},
    {"uid": "not-mine"},
    {"generation": 99},
    {"creationTimestamp": "2020-01-01T00:00:00Z"},
    {"deletionGracePeriodSeconds": 5},
    {"deletionTimestamp": "2020-01-01T00:00:00Z"},
]


@pytest.mark.parametrize("metadata", WRONG)
async def test_metadata_with_wrong_values(api: Api, widgets: Widgets, metadata: dict[str, Any]):
    await widgets.install(SCHEMA, **STATUS)
    body = widgets.widget(spec={"size": 1})
    body["metadata"] |= metadata
    with api.unrecorded():
        await widgets.create("first")
    await api.post(widgets.path, body)
    with api.unrecorded():
        await api.post(widgets.path, widgets.widget())
        live = (await api.get(widgets.path + "/w")).body
    await api.put(widgets.path + "/w", {**live, "metadata": live["metadata"] | metadata})
    await api.patch(widgets.path + "/w", {"metadata": metadata})
    await api.patch(widgets.path + "/w/status", {"metadata": metadata})


async def test_finalizers_that_others_may_use_too(api: Api, widgets: Widgets):
    await widgets.install(SCHEMA)
    body = widgets.widget()
    body["metadata"]["finalizers"] = ["orphan", "mine", "example.com", "example.com/mine"]
    await api.post(widgets.path, body)
    await api.patch(widgets.path + "/w", {"metadata": {"finalizers": ["mine", "yours"]}})


INNER: list[dict[str, Any]] = [
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": ["a"]}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": 5},
    {"apiVersion": 5, "kind": "Pod"},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "nonsense": 1, "creationTimestamp": None}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "Not a name", "labels": {"bad key!": "x"}}},
    {"kind": "Pod"},
]


@pytest.mark.parametrize("inner", INNER)
async def test_metadata_of_an_inner_resource(api: Api, widgets: Widgets, inner: dict[str, Any]):
    await widgets.install(SCHEMA)
    await api.post(widgets.path, widgets.widget(spec={"inner": inner}))
    await widgets.create("v", spec={"size": 1})
    await api.patch(widgets.path + "/v", {"spec": {"inner": inner}})
    intent = widgets.widget("u", spec={"inner": inner})
    await api.patch(widgets.path + "/u", intent, type="apply", query={"fieldManager": "m"})


async def test_what_the_store_holds_is_pruned_by_a_newer_schema(api: Api, widgets: Widgets):
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    await widgets.install(anything)
    inner = {"apiVersion": 5, "kind": "Pod", "metadata": {"labels": ["a"], "name": "x", "more": 1}}
    await widgets.create(spec={"size": 1, "old": True, "inner": inner, "inner2": {"metadata": 5}})
    schema = {"versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}]}
    await widgets.redefine({"spec": schema}, lambda answer: '"old"' not in answer.text)
    await api.get(widgets.path + "/w")
    await api.get(widgets.path)
    await api.patch(widgets.path + "/w", {"metadata": {"labels": {"a": "b"}}})
    await api.patch(widgets.path + "/w", {"spec": {"size": 2}})
    await api.get(widgets.path + "/w")
