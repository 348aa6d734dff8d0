"""§1.11 The life of a CustomResourceDefinition: names, versions, changes, its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.exchange import Answer, Api, is_gone, is_served
from conformance.objects import CRDS, crd
from conformance.widgets import Widgets

pytestmark = pytest.mark.section("1.11")


def typed(**properties: Any) -> dict[str, Any]:
    """A schema whose spec has these properties."""
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


def has(condition: str, status: str) -> Callable[[Answer], bool]:
    def holds(answer: Answer) -> bool:
        conditions = answer.body.get("status", {}).get("conditions") or ()
        return any((each["type"], each["status"]) == (condition, status) for each in conditions)

    return holds


async def test_names_that_are_given_are_kept(api: Api, widgets: Widgets):
    definition = crd("widgets", widgets.group)
    names = {"singular": "wi", "listKind": "Wis", "shortNames": ["w", "ww"], "categories": ["all"]}
    definition["spec"]["names"] |= names
    await api.post(CRDS, definition)
    await api.until(widgets.definition, has("Established", "True"))
    await api.get(widgets.definition)
    await api.until(widgets.path, is_served)
    await api.get(widgets.path)


async def test_a_name_that_is_taken_is_not_accepted(api: Api, widgets: Widgets):
    await widgets.install()
    await api.until(widgets.definition, has("Established", "True"))
    other = crd("gadgets", widgets.group)
    other["spec"]["names"] |= {"kind": "Widget", "shortNames": ["widgets"]}
    await api.post(CRDS, other)
    path = f"{CRDS}/gadgets.{widgets.group}"
    await api.until(path, has("NamesAccepted", "False"))
    await api.get(path)
    await api.get(widgets.path.replace("widgets", "gadgets"))


async def test_a_name_is_accepted_when_it_is_free_again(api: Api, widgets: Widgets):
    await widgets.install()
    other = crd("gadgets", widgets.group)
    other["spec"]["names"] |= {"shortNames": ["widget"]}
    path = f"{CRDS}/gadgets.{widgets.group}"
    with api.unrecorded():
        await api.post(CRDS, other)
        await api.until(path, has("NamesAccepted", "False"))
        await api.delete(widgets.definition)
    await api.until(widgets.definition, is_gone)
    found = await api.until(path, has("Established", "True"))
    conditions = {each["type"]: (each["status"], each["reason"]) for each in found.body["status"]["conditions"]}
    api.note("conditions", conditions)


async def test_stored_versions_grow_with_the_storage_version(api: Api, widgets: Widgets):
    definition = crd("widgets", widgets.group)
    first = definition["spec"]["versions"][0]
    definition["spec"]["versions"].append({**first, "name": "v2", "storage": False})
    await widgets.install_definition(definition)
    changes = [
        {"op": "replace", "path": "/spec/versions/0/storage", "value": False},
        {"op": "replace", "path": "/spec/versions/1/storage", "value": True},
    ]
    with api.unrecorded():
        answer = await api.patch(widgets.definition, changes, type="json")
    api.note("stored versions", answer.body["status"]["storedVersions"])


async def test_a_stored_version_cannot_be_taken_out(api: Api, widgets: Widgets):
    definition = crd("widgets", widgets.group)
    first = definition["spec"]["versions"][0]
    definition["spec"]["versions"].append({**first, "name": "v2", "storage": False})
    await widgets.install_definition(definition)
    changes = [
        {"op": "remove", "path": "/spec/versions/0"},
        {"op": "replace", "path": "/spec/versions/0/storage", "value": True},
    ]
    await api.patch(widgets.definition, changes, type="json")
    await api.patch(widgets.definition, {"status": {"storedVersions": ["v2"]}})
    await api.patch(widgets.definition + "/status", {"status": {"storedVersions": ["v2"]}})
    await api.patch(widgets.definition + "/status", {"status": {"storedVersions": []}})


async def test_objects_that_are_kept_keep_the_definition(api: Api, widgets: Widgets):
    await widgets.install()
    await widgets.create()
    with api.unrecorded():
        await api.patch(widgets.path + "/w", {"metadata": {"finalizers": ["example.com/f"]}})
    await api.delete(widgets.definition)
    await api.until(widgets.definition, has("Terminating", "True"))
    await api.until(widgets.path + "/w", lambda found: "deletionTimestamp" in found.text)
    with api.unrecorded():
        refused = await api.post(widgets.path, widgets.widget("new"))
        found = (await api.get(widgets.definition)).body
        api.note("finalizers", found["metadata"]["finalizers"])
        api.note("new object", [refused.status, refused.body.get("message")])
        await api.patch(widgets.path + "/w", {"metadata": {"finalizers": None}})
    await api.until(widgets.definition, is_gone)
    await api.get(widgets.definition)


async def test_a_definition_that_comes_again_has_none_of_the_old_objects(api: Api, widgets: Widgets):
    await widgets.install()
    await widgets.create()
    with api.unrecorded():
        await api.delete(widgets.definition)
    await api.until(widgets.definition, is_gone)
    await api.until(widgets.path, is_gone)
    await widgets.install()
    await api.get(widgets.path)


async def test_an_object_of_a_cluster_wide_definition(api: Api, widgets: Widgets):
    definition = crd("widgets", widgets.group)
    definition["spec"]["scope"] = "Cluster"
    path = f"/apis/{widgets.group}/v1/widgets"
    await widgets.install_definition(definition, path)
    await api.post(path, widgets.widget())
    await api.get(path)
    await api.get(path + "/w")
    await api.get(widgets.path)
    await api.post(path, {**widgets.widget("x"), "metadata": {"name": "x", "namespace": "default"}})
    await api.delete(path)


@pytest.mark.parametrize(
    "patch",
    [
        {"spec": {"group": "other.example.com"}},
        {"spec": {"scope": "Cluster"}},
        {"spec": {"names": {"kind": "Gadget", "listKind": "GadgetList"}}},
        {"spec": {"names": {"plural": "gadgets"}}},
        {"spec": {"names": {"shortNames": ["w"]}}},
        {"spec": {"versions": []}},
        {"spec": {"preserveUnknownFields": True}},
        {"spec": {"conversion": {"strategy": "Sometimes"}}},
        {"spec": {"conversion": {"strategy": "Webhook"}}},
        {"metadata": {"annotations": {"x": "y"}}},
    ],
)
async def test_a_change_of_a_definition(api: Api, widgets: Widgets, patch: dict[str, Any]):
    await widgets.install()
    await api.until(widgets.definition, has("Established", "True"))
    with api.unrecorded():
        answer = await api.patch(widgets.definition, patch)
    api.note("answer", answer.body if answer.status != 200 else answer.body["spec"])
    api.note("generation", answer.body["metadata"].get("generation"))


async def test_a_protected_group_wants_an_approval(api: Api):
    definition = crd("widgets", f"{api.namespace}.k8s.io")
    await api.post(CRDS, definition)
    definition["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, testing-only"}
    with api.unrecorded():
        answer = await api.post(CRDS, definition)
        await api.delete(f"{CRDS}/{definition['metadata']['name']}")
    api.note("status", answer.status)


async def test_a_stricter_schema_is_asked_of_new_writes_alone(api: Api, widgets: Widgets):
    await widgets.install(typed(size={"type": "integer"}))
    await widgets.create(spec={"size": 50})
    stricter = typed(size={"type": "integer", "maximum": 10}, color={"type": "string", "default": "red"})
    await widgets.redefine(
        [{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": stricter}],
        lambda answer: "red" in answer.text,
        type="json",
    )
    await api.get(widgets.path + "/w")
    await api.patch(widgets.path + "/w", {"metadata": {"labels": {"x": "y"}}})
    await api.patch(widgets.path + "/w", {"spec": {"size": 60}})
    await api.post(widgets.path, widgets.widget("new", spec={"size": 50}))


async def test_a_field_that_the_schema_lost_is_pruned_when_read(api: Api, widgets: Widgets):
    await widgets.install(typed(size={"type": "integer"}, gone={"type": "string"}))
    await widgets.create(spec={"size": 1, "gone": "x"})
    schema = typed(size={"type": "integer"})
    await widgets.redefine(
        [{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": schema}],
        lambda answer: '"gone"' not in answer.text.replace('"f:gone"', ""),
        type="json",
    )
    await api.get(widgets.path + "/w")
    await api.get(widgets.path)
    await api.watch(widgets.path)


async def test_an_object_stored_at_one_version_is_given_at_another(api: Api, widgets: Widgets):
    definition = crd("widgets", widgets.group)
    first = definition["spec"]["versions"][0]
    more = {"name": "v2", "storage": False, "deprecated": True, "deprecationWarning": "v2 is old"}
    definition["spec"]["versions"].append({**first, **more})
    newer = widgets.path.replace("/v1/", "/v2/")
    await widgets.install_definition(definition, newer)
    body = {**widgets.widget(spec={"a": 1}), "apiVersion": f"{widgets.group}/v2"}
    await api.post(newer, body)
    await api.get(widgets.path + "/w")
    await api.patch(newer + "/w", {"spec": {"a": 2}})
    await api.post(newer, widgets.widget("x"))
    await api.get(newer)
    await api.watch(newer)


async def test_a_version_that_is_not_served_is_not_there(api: Api, widgets: Widgets):
    definition = crd("widgets", widgets.group)
    first = definition["spec"]["versions"][0]
    definition["spec"]["versions"].append({**first, "name": "v2", "storage": False, "served": False})
    await widgets.install_definition(definition)
    await api.get(widgets.path.replace("/v1/", "/v2/"))
    await api.get(f"/apis/{widgets.group}/v2")


async def test_a_fresh_definition_serves_at_once_when_it_is_established(api: Api, widgets: Widgets):
    with api.unrecorded():
        await api.post(CRDS, crd("widgets", widgets.group))
    await api.until(widgets.definition, has("Established", "True"))
    listed = await api.until(widgets.path, is_served)
    created = await api.post(widgets.path, widgets.widget())
    await api.watch(widgets.path, resourceVersion=listed.body["metadata"]["resourceVersion"])

    assert created.status == 201


@pytest.mark.parametrize("verb", ["patch", "put"])
async def test_a_definition_has_a_status_door(api: Api, widgets: Widgets, verb: str):
    await widgets.install()
    await api.until(widgets.definition, has("Established", "True"))
    with api.unrecorded():
        found = (await api.get(widgets.definition)).body
        changed = {
            **found,
            "spec": {**found["spec"], "scope": "Cluster"},
            "metadata": {**found["metadata"], "labels": {"x": "y"}},
        }
        if verb == "put":
            answer = await api.put(widgets.definition + "/status", changed)
        else:
            answer = await api.patch(widgets.definition + "/status", {"metadata": changed["metadata"]})
    api.note("answer", [answer.status, answer.body["metadata"].get("labels"), answer.body["spec"]["scope"]])


SCALE = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n", "labelSelectorPath": ".status.selector"}


async def test_a_scale_of_what_says_nothing_of_replicas(api: Api, widgets: Widgets):
    await widgets.install(subresources={"status": {}, "scale": SCALE})
    await widgets.create()
    await api.get(widgets.path + "/w/scale")
    await api.patch(widgets.path + "/w/scale", {"spec": {"replicas": 2}})
    await api.patch(widgets.path + "/w/status", {"status": {"n": 1, "selector": "a=b"}})
    await api.get(widgets.path + "/w/scale")
    await api.put(widgets.path + "/w/scale", {"metadata": {"name": "w"}, "spec": {"replicas": 3}})
    await api.get(widgets.path + "/w")


async def test_a_scale_whose_replicas_are_no_number(api: Api, widgets: Widgets):
    await widgets.install(subresources={"scale": SCALE})
    await api.post(widgets.path, widgets.widget(spec={"n": "many"}))
    await api.post(widgets.path, widgets.widget(spec={"n": 1.5}))
    await api.post(widgets.path, widgets.widget(spec={"n": -1}))
    await api.post(widgets.path, widgets.widget(spec={"n": 1}))
    await api.patch(widgets.path + "/w", {"spec": {"n": True}})


@pytest.mark.parametrize(
    "subresources",
    [
        {"scale": {"specReplicasPath": "spec.n", "statusReplicasPath": ".status.n"}},
        {"scale": {"specReplicasPath": ".status.n", "statusReplicasPath": ".spec.n"}},
        {"scale": {"specReplicasPath": ".spec.n[0]", "statusReplicasPath": ".status.n"}},
        {"scale": {**SCALE, "labelSelectorPath": ".metadata.x"}},
        {"status": None},
    ],
)
async def test_subresources_of_a_definition(api: Api, widgets: Widgets, subresources: dict[str, Any]):
    with api.unrecorded():
        answer = await api.post(CRDS, crd("widgets", widgets.group, subresources=subresources))
    api.note("answer", answer.body if answer.status != 201 else answer.body["spec"]["versions"])
