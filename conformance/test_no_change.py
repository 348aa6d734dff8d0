"""Writes that change nothing: the version stays, and nobody who watches hears of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.exchange import Api
from conformance.objects import DEPLOYMENTS, MAPS, PODS, config_map, deployment, pod
from conformance.widgets import Widgets

pytestmark = pytest.mark.section("1.4")


async def test_updates_of_a_map(api: Api):
    first = await api.post(MAPS, config_map(a="b"))
    await api.put(MAPS + "/a", first.body)
    await api.put(MAPS + "/a", config_map(a="b"))
    await api.put(MAPS + "/a", first.body, query={"fieldManager": "other"})
    await api.put(MAPS + "/a", {**first.body, "metadata": {**first.body["metadata"], "generation": 7}})
    await api.put(MAPS + "/a", {**first.body, "metadata": {**first.body["metadata"], "labels": {}}, "binaryData": {}})
    await api.watch(MAPS)


async def test_patches_of_a_map(api: Api):
    await api.post(MAPS, config_map(a="b"))
    await api.patch(MAPS + "/a", {})
    await api.patch(MAPS + "/a", {"data": {"a": "b"}}, query={"fieldManager": "other"})
    await api.patch(MAPS + "/a", {"data": {"z": None}, "metadata": {"annotations": None}})
    await api.patch(MAPS + "/a", {"data": {"a": "b"}}, type="strategic")
    await api.patch(MAPS + "/a", [{"op": "replace", "path": "/data/a", "value": "b"}], type="json")
    await api.patch(MAPS + "/a", [], type="json")


async def test_an_intent_that_is_met(api: Api):
    intent = {**config_map(a="b"), "metadata": {"name": "a", "labels": {"x": "y"}}}
    await api.patch(MAPS + "/a", intent, type="apply", query={"fieldManager": "one"})
    await api.patch(MAPS + "/a", intent, type="apply", query={"fieldManager": "one"})
    await api.patch(MAPS + "/a", intent, type="apply", query={"fieldManager": "one", "force": "true"})
    await api.patch(MAPS + "/a", intent, type="apply", query={"fieldManager": "two"})
    await api.patch(MAPS + "/a", intent, type="apply", query={"fieldManager": "two"})


async def test_updates_of_a_deployment(api: Api):
    first = await api.post(DEPLOYMENTS, deployment())
    await api.put(DEPLOYMENTS + "/d", deployment())
    await api.put(DEPLOYMENTS + "/d", {**first.body, "status": {"replicas": 9}})
    await api.put(DEPLOYMENTS + "/d/status", {**first.body, "spec": {**first.body["spec"], "replicas": 9}})
    await api.patch(DEPLOYMENTS + "/d", {"spec": {"replicas": 1, "paused": False}})
    await api.patch(DEPLOYMENTS + "/d", {"spec": {"template": {"spec": {"nodeSelector": {}}}}}, type="strategic")
    await api.put(DEPLOYMENTS + "/d/scale", {"metadata": {"name": "d"}, "spec": {"replicas": 1}})
    await api.patch(DEPLOYMENTS + "/d/scale", {"spec": {"replicas": 1}})
    await api.get(DEPLOYMENTS + "/d")


async def test_updates_after_a_scale(api: Api):
    await api.post(DEPLOYMENTS, deployment())
    await api.patch(DEPLOYMENTS + "/d/scale", {"spec": {"replicas": 3}})
    live = await api.get(DEPLOYMENTS + "/d")
    await api.put(DEPLOYMENTS + "/d", live.body)
    await api.patch(DEPLOYMENTS + "/d", {"spec": {"replicas": 3}})


async def test_updates_of_a_pod(api: Api):
    first = await api.post(PODS, pod())
    await api.put(PODS + "/p", first.body)
    await api.put(PODS + "/p/status", first.body)
    await api.patch(PODS + "/p", {"spec": {"tolerations": first.body["spec"]["tolerations"]}})


async def test_updates_of_a_role(api: Api):
    path = "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles"
    first = await api.post(path, {"metadata": {"name": "r"}})
    await api.put(path + "/r", first.body)
    await api.put(path + "/r", {"metadata": {"name": "r"}, "rules": []})
    await api.patch(path + "/r", {"rules": []}, query={"fieldManager": "other"})


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"size": {"type": "number"}, "word": {"type": "string", "default": "hello"}},
        },
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}


async def test_updates_of_a_custom_object(api: Api, widgets: Widgets):
    await widgets.install(SCHEMA, subresources={"status": {}})
    first = await api.post(widgets.path, widgets.widget(spec={"size": 1, "b": {"y": 1, "x": True}, "a": []}))
    await api.put(widgets.path + "/w", first.body)
    turned = {"word": "hello", "size": 1.0, "b": {"x": True, "y": 1}, "a": []}
    await api.put(widgets.path + "/w", {**first.body, "spec": turned})
    await api.patch(widgets.path + "/w", {"spec": {"a": [], "more": None}})
    await api.patch(widgets.path + "/w", {"spec": {"word": None}})
    await api.patch(widgets.path + "/w/status", {"spec": {"size": 9}})
    await api.patch(widgets.path + "/w/status", {"status": {}})
    await api.patch(widgets.path + "/w/status", {"status": {}})
    await api.patch(widgets.path + "/w", {"spec": {"b": {"x": 1}}})
    await api.patch(widgets.path + "/w", {"spec": {"b": {"y": 1.0}}})
    await api.watch(widgets.path)


async def test_whole_numbers_written_otherwise(api: Api, widgets: Widgets):
    await widgets.install(SCHEMA)
    path, query = widgets.path + "/w", {"fieldManager": "m"}
    intent = json.dumps(widgets.widget(spec={"size": "SIZE"}))
    for size in ("1", "1.0", "1e0"):
        await api.patch(path, intent.replace('"SIZE"', size).encode(), type="apply", query=query)
    await api.patch(path, [{"op": "replace", "path": "/spec/size", "value": 1}], type="json")
    await api.patch(path, b'[{"op":"replace","path":"/spec/size","value":1.0}]', type="json")
    await api.patch(path, b'[{"op":"test","path":"/spec/size","value":1.0}]', type="json")
    await api.patch(path, b'{"spec":{"size":1.0}}')
    live = await api.patch(path, b'{"spec":{"size":1e0}}')
    text = json.dumps(live.body).replace('"size": 1', '"size": 1.0')
    await api.put(path, text.encode(), headers={"Content-Type": "application/yaml"})
    await api.put(path, text.encode())
