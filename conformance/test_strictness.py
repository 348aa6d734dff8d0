"""§1.9 Field validation: what becomes of fields that are unknown or come twice, on every way in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.exchange import Api
from conformance.objects import DEPLOYMENTS, MAPS, config_map, deployment
from conformance.widgets import Widgets

pytestmark = pytest.mark.section("1.9")

TWICE = b'{"metadata":{"name":"a","labels":{"x":"1","x":"2"}},"data":{"k":"1","k":"2"},"nope":1,"nope":2}'
LEVELS = ("Strict", "Warn", "Ignore")


@pytest.mark.parametrize("level", LEVELS)
async def test_a_put(api: Api, level: str):
    with api.unrecorded():
        await api.post(MAPS, config_map())
    await api.put(MAPS + "/a", TWICE, query={"fieldValidation": level})


@pytest.mark.parametrize("level", LEVELS)
async def test_yaml(api: Api, level: str):
    body = b"metadata: {name: a, nope: 1}\ndata: {k: v, k: w}\nmore: {}\n"
    await api.post(MAPS, body, content_type="application/yaml", query={"fieldValidation": level})


@pytest.mark.parametrize("level", LEVELS)
async def test_an_apply(api: Api, level: str):
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v, k: w}\n"
    query = {"fieldManager": "m", "fieldValidation": level}
    await api.patch(MAPS + "/a", body, type="apply", query=query)


@pytest.mark.parametrize("level", LEVELS)
async def test_a_merge_patch_with_a_field_twice(api: Api, level: str):
    with api.unrecorded():
        await api.post(MAPS, config_map())
        answer = await api.patch(MAPS + "/a", b'{"data":{"k":"1","k":"2"}}', query={"fieldValidation": level})
    message = answer.body.get("message", "")
    api.note("answer", [answer.status, answer.warnings, message[message.find("strict decoding") :] if message else ""])


@pytest.mark.parametrize("level", LEVELS)
async def test_a_json_patch_that_adds_an_unknown_field(api: Api, level: str):
    with api.unrecorded():
        await api.post(MAPS, config_map())
        operations = [{"op": "add", "path": "/nope", "value": 1}, {"op": "add", "path": "/data", "value": {"k": "v"}}]
        answer = await api.patch(MAPS + "/a", operations, type="json", query={"fieldValidation": level})
    message = answer.body.get("message", "")
    api.note("answer", [answer.status, answer.warnings, message[message.find("strict decoding") :] if message else ""])


async def test_unknown_fields_deep_inside_are_told_in_the_order_of_the_document(api: Api):
    body = deployment()
    body["spec"]["template"]["spec"]["containers"][0] |= {"zz": 1, "aa": 1, "ports": [{"containerPort": 1, "x": 1}]}
    body["spec"]["template"]["metadata"]["zz"] = 1
    body["spec"] = {"yy": 1, **body["spec"], "bb": 1}
    await api.post(DEPLOYMENTS, body, query={"fieldValidation": "Strict"})
    await api.post(DEPLOYMENTS, body)


async def test_a_field_in_the_wrong_case_is_another_field(api: Api):
    await api.post(MAPS, {"metadata": {"name": "a"}, "Data": {"k": "v"}})
    await api.post(MAPS, {"metadata": {"name": "b"}, "Data": {"k": "v"}}, query={"fieldValidation": "Strict"})


async def test_nulls_are_no_unknown_fields_but_unknown_nulls_are(api: Api):
    body = {"metadata": {"name": "a"}, "data": None, "nope": None}
    await api.post(MAPS, body, query={"fieldValidation": "Strict"})


async def test_free_form_maps_know_every_field(api: Api):
    body = {"metadata": {"name": "a", "labels": {"any": "x"}, "annotations": {"any": "x"}}, "data": {"any": "x"}}
    await api.post(MAPS, body, query={"fieldValidation": "Strict"})


@pytest.mark.parametrize("level", LEVELS)
async def test_a_status_door(api: Api, level: str):
    with api.unrecorded():
        created = (await api.post(DEPLOYMENTS, deployment())).body
    body = {**created, "status": {"replicas": 1, "nope": 1}, "extra": 1}
    await api.put(DEPLOYMENTS + "/d/status", body, query={"fieldValidation": level})


SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer"},
                "child": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                },
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "list": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
            },
        }
    },
}


@pytest.mark.parametrize("level", LEVELS)
async def test_duplicates_of_a_custom_resource_come_first(api: Api, widgets: Widgets, level: str):
    await widgets.install(SCHEMA)
    text = json.dumps(widgets.widget(spec={"zz": 1, "aa": 1, "size": 2, "list": [{"n": 1, "m": 1}]}))
    text = text.replace('"size": 2', '"size": 1, "size": 2').replace('"zz": 1', '"zz": 0, "zz": 1')
    await api.post(widgets.path, text.encode(), query={"fieldValidation": level})


async def test_unknown_fields_of_embedded_metadata_are_told_too(api: Api, widgets: Widgets):
    await widgets.install(SCHEMA)
    child = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "nope": 1}, "spec": {"any": 1}}
    body = widgets.widget(spec={"child": child, "free": {"any": 1}})
    body["metadata"]["nope"] = 1
    await api.post(widgets.path, body)
    await api.post(widgets.path, {**body, "metadata": {"name": "x"}}, query={"fieldValidation": "Strict"})


@pytest.mark.parametrize("level", LEVELS)
async def test_a_patch_of_a_custom_resource(api: Api, widgets: Widgets, level: str):
    await widgets.install(SCHEMA)
    await widgets.create(spec={"size": 1})
    patch: Any = {"spec": {"nope": 1, "size": 2}, "more": {}}
    with api.unrecorded():
        answer = await api.patch(widgets.path + "/w", patch, query={"fieldValidation": level})
    api.note("status", answer.status)
    api.note("warnings", answer.warnings)
    api.note("spec", answer.body.get("spec"))
    message = answer.body.get("message", "")
    api.note("message", message[message.find("strict decoding") :] if message else "")


@pytest.mark.parametrize("level", LEVELS)
async def test_an_apply_of_a_custom_resource(api: Api, widgets: Widgets, level: str):
    await widgets.install(SCHEMA)
    body = widgets.widget(spec={"nope": 1, "size": 2})
    query = {"fieldManager": "m", "fieldValidation": level}
    await api.patch(widgets.path + "/w", body, type="apply", query=query)
