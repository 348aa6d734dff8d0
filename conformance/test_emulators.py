"""§6 What emulators of the API server got wrong, each line a case that fails where it is wrong.

What needs parts that come later is not here: dependents and finalizers of the garbage collector (foreground deletion
that ends, references that are cleaned up), namespaces that end by themselves, the controllers and the kubelet of a
cluster, Tables for ``kubectl get``, rights by RBAC, the costs of CEL rules.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from conformance.conftest import Forget
from conformance.exchange import Api
from conformance.objects import CRDS, DEPLOYMENTS, MAPS, PODS, config_map, crd, deployment, pod
from conformance.streams import Stream
from conformance.widgets import Widgets

pytestmark = pytest.mark.section("6")

SECRETS = "/api/v1/namespaces/{ns}/secrets"
SPEC = {
    "type": "object",
    "required": ["size"],
    "properties": {"size": {"type": "integer", "maximum": 10}, "color": {"type": "string", "default": "red"}},
}
SCHEMA = {
    "type": "object",
    "properties": {"spec": SPEC, "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
}


def version(body: Any) -> int:
    return int(body["metadata"]["resourceVersion"])


async def test_every_object_and_every_list_has_a_revision(api: Api):
    with api.unrecorded():
        created = (await api.post(MAPS, config_map())).body
        changed = (await api.patch(MAPS + "/a", {"data": {"k": "v"}})).body
        listed = (await api.get(MAPS)).body
        empty = (await api.get(SECRETS, query={"labelSelector": "none=none"})).body

    assert 0 < version(created) < version(changed) <= version(listed) <= version(empty)


async def test_what_is_created_between_a_list_and_its_watch_is_seen(api: Api):
    with api.unrecorded():
        listed = (await api.get(MAPS)).body
        await api.post(MAPS, config_map())
        events = await api.watch(MAPS, resourceVersion=version(listed))

    assert [(event["type"], event["object"]["metadata"]["name"]) for event in events] == [("ADDED", "a")]


async def test_what_is_deleted_between_a_list_and_its_watch_is_seen(api: Api):
    with api.unrecorded():
        await api.post(MAPS, config_map())
        listed = (await api.get(MAPS)).body
        await api.delete(MAPS + "/a")
        events = await api.watch(MAPS, resourceVersion=version(listed))

    assert [(event["type"], event["object"]["metadata"]["name"]) for event in events] == [("DELETED", "a")]


async def test_a_watch_list_ends_its_initial_events_with_a_bookmark(api: Api):
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    with api.unrecorded():
        for name in "abc":
            await api.post(MAPS, config_map(name))
    async with Stream(api, MAPS, **query) as stream:
        events = await stream.take(4)

    assert [event["type"] for event in events] == ["ADDED", "ADDED", "ADDED", "BOOKMARK"]
    assert events[-1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert version(events[-1]["object"]) >= max(version(event["object"]) for event in events[:-1])


async def apply(api: Api, path: str, body: Any, manager: str) -> Any:
    answer = await api.patch(path, body, type="apply", query={"fieldManager": manager})
    return answer.body


async def test_spec_and_status_are_separate_under_apply(api: Api):
    await apply(api, DEPLOYMENTS + "/d", deployment(replicas=2), "owner")
    status = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "status": {"replicas": 2}}
    await apply(api, DEPLOYMENTS + "/d/status", {**status, "spec": {"replicas": 9}}, "controller")
    found = await apply(api, DEPLOYMENTS + "/d", deployment(replicas=3) | {"status": {"replicas": 8}}, "owner")

    assert (found["spec"]["replicas"], found["status"]["replicas"]) == (3, 2)


async def test_applied_lists_are_merged_by_their_schema(api: Api):
    first, second = deployment(), deployment()
    second["spec"]["template"]["spec"]["containers"] = [{"name": "side", "image": "s:1"}]
    await apply(api, DEPLOYMENTS + "/d", first, "one")
    found = await apply(api, DEPLOYMENTS + "/d", second, "two")

    assert [each["name"] for each in found["spec"]["template"]["spec"]["containers"]] == ["c", "side"]


async def test_applied_lists_without_a_schema_that_merges_them_are_exchanged(api: Api):
    first, second = deployment(), deployment()
    for each, word in ((first, "one"), (second, "two")):
        each["spec"]["template"]["spec"]["containers"][0]["args"] = [word]
    await apply(api, DEPLOYMENTS + "/d", first, "one")
    await apply(api, DEPLOYMENTS + "/d", second, "two")
    query = {"fieldManager": "two", "force": "true"}
    answer = await api.patch(DEPLOYMENTS + "/d", second, type="apply", query=query)

    assert answer.body["spec"]["template"]["spec"]["containers"][0]["args"] == ["two"]


@pytest.mark.parametrize("verb", ["put", "patch"])
async def test_the_main_door_does_not_write_the_status_nor_the_status_door_the_spec(api: Api, verb: str):
    with api.unrecorded():
        created = (await api.post(DEPLOYMENTS, deployment(replicas=2) | {"status": {"replicas": 7}})).body
        created["status"]["replicas"] = 5
        created["spec"]["replicas"] = 3
        write = api.put if verb == "put" else api.patch
        through_main = (await write(DEPLOYMENTS + "/d", created)).body
        through_main["status"]["replicas"] = 4
        through_main["spec"]["replicas"] = 9
        through_status = (await write(DEPLOYMENTS + "/d/status", through_main)).body

    assert "replicas" not in created["status"] or created["status"]["replicas"] == 5
    assert through_status["spec"]["replicas"] == 3
    assert through_status["status"]["replicas"] == 4


async def test_a_status_in_a_creation_is_dropped(api: Api):
    with api.unrecorded():
        created = (await api.post(DEPLOYMENTS, deployment() | {"status": {"replicas": 7}})).body

    assert created["status"] == {}


@pytest.mark.parametrize("path", [DEPLOYMENTS + "/d", DEPLOYMENTS + "/d/status", DEPLOYMENTS + "/d/scale"])
async def test_an_update_from_a_stale_version_is_a_conflict_at_every_door(api: Api, path: str):
    with api.unrecorded():
        await api.post(DEPLOYMENTS, deployment())
        stale = (await api.get(path)).body
        await api.patch(DEPLOYMENTS + "/d", {"metadata": {"labels": {"x": "y"}}})
    answer = await api.put(path, stale)

    assert answer.status == 409


async def test_revisions_are_of_one_counter_for_all_objects(api: Api):
    with api.unrecorded():
        first = (await api.post(MAPS, config_map())).body
        other = (await api.post(SECRETS, {"metadata": {"name": "s"}})).body
        again = (await api.patch(MAPS + "/a", {"data": {"k": "v"}})).body
        listed = (await api.get(SECRETS)).body

    assert version(first) < version(other) < version(again) <= version(listed)


async def test_a_status_is_applied_to_an_object_with_managed_fields(api: Api, widgets: Widgets):
    await widgets.install(SCHEMA, subresources={"status": {}})
    await apply(api, widgets.path + "/w", widgets.widget(spec={"size": 1}), "owner")
    found = await apply(api, widgets.path + "/w/status", widgets.widget(status={"ready": True}), "controller")

    assert found["status"] == {"ready": True}
    assert [(each["manager"], each.get("subresource")) for each in found["metadata"]["managedFields"]] == [
        ("owner", None),
        ("controller", "status"),
    ] or len(found["metadata"]["managedFields"]) == 2


async def test_a_patch_answers_200_and_an_apply_that_creates_201(api: Api):
    with api.unrecorded():
        created = await api.patch(MAPS + "/a", config_map(k="v"), type="apply", query={"fieldManager": "m"})
        answers = [
            await api.patch(MAPS + "/a", {"data": {"k": "w"}}),
            await api.patch(MAPS + "/a", {"data": {"k": "x"}}, type="strategic"),
            await api.patch(MAPS + "/a", [{"op": "replace", "path": "/data/k", "value": "y"}], type="json"),
            await api.patch(MAPS + "/a", config_map(l="v"), type="apply", query={"fieldManager": "m"}),
        ]

    assert created.status == 201
    assert [answer.status for answer in answers] == [200, 200, 200, 200]


async def test_a_json_patch_does_not_invent_parents(api: Api):
    with api.unrecorded():
        await api.post(MAPS, config_map())
    await api.patch(MAPS + "/a", [{"op": "add", "path": "/data/k", "value": "v"}], type="json")
    await api.patch(MAPS + "/a", [{"op": "add", "path": "/metadata/labels/x", "value": "y"}], type="json")
    found = await api.get(MAPS + "/a")

    assert "data" not in found.body
    assert "labels" not in found.body["metadata"]


async def test_a_strategic_patch_merges_containers_by_name(api: Api):
    with api.unrecorded():
        await api.post(DEPLOYMENTS, deployment())
        containers = [{"name": "side", "image": "s:1"}, {"name": "c", "image": "i:2"}]
        patch = {"spec": {"template": {"spec": {"containers": containers}}}}
        answer = await api.patch(DEPLOYMENTS + "/d", patch, type="strategic")
    found = answer.body["spec"]["template"]["spec"]["containers"]

    assert {each["name"]: each["image"] for each in found} == {"c": "i:2", "side": "s:1"}


async def test_an_object_goes_with_its_last_finalizer_at_once(api: Api):
    with api.unrecorded():
        await api.post(MAPS, {"metadata": {"name": "a", "finalizers": ["example.com/f"]}})
        await api.delete(MAPS + "/a")
        waits = await api.get(MAPS + "/a")
        await api.patch(MAPS + "/a", {"metadata": {"finalizers": None}})
        gone = await api.get(MAPS + "/a")

    assert (waits.status, gone.status) == (200, 404)


async def test_a_watch_tells_that_a_deletion_began(api: Api):
    with api.unrecorded():
        created = await api.post(MAPS, {"metadata": {"name": "a", "finalizers": ["example.com/f"]}})
        await api.delete(MAPS + "/a")
        (event,) = await api.watch(MAPS, resourceVersion=version(created.body))

    assert event["type"] == "MODIFIED"
    assert event["object"]["metadata"]["deletionTimestamp"]


async def test_a_version_in_an_update_is_a_lock(api: Api):
    with api.unrecorded():
        created = (await api.post(MAPS, config_map(k="1"))).body
        first = await api.put(MAPS + "/a", created | {"data": {"k": "2"}})
        second = await api.put(MAPS + "/a", created | {"data": {"k": "3"}})
        found = await api.get(MAPS + "/a")

    assert (first.status, second.status) == (200, 409)
    assert found.body["data"] == {"k": "2"}


async def test_of_many_writers_from_one_version_one_wins(api: Api):
    with api.unrecorded():
        created = (await api.post(MAPS, config_map(k="0"))).body
        answers = await asyncio.gather(
            *(api.put(MAPS + "/a", created | {"data": {"k": str(index)}}) for index in range(1, 16))
        )

    assert sorted(answer.status for answer in answers) == [200] + [409] * 14


async def test_patches_without_a_version_all_get_through(api: Api):
    with api.unrecorded():
        await api.post(MAPS, config_map())
        answers = await asyncio.gather(*(api.patch(MAPS + "/a", {"data": {f"k{index}": "v"}}) for index in range(4)))
        found = await api.get(MAPS + "/a")

    assert {answer.status for answer in answers} == {200}
    assert set(found.body["data"]) == {f"k{index}" for index in range(4)}


async def test_applies_of_several_managers_at_once_all_get_through(api: Api):
    async def one(index: int) -> int:
        query = {"fieldManager": f"m{index}"}
        body = config_map() | {"data": {f"k{index}": "v"}}
        return (await api.patch(MAPS + "/a", body, type="apply", query=query)).status

    with api.unrecorded():
        await api.post(MAPS, config_map(k="v"))
        statuses = await asyncio.gather(*(one(index) for index in range(4)))
        found = await api.get(MAPS + "/a")

    assert set(statuses) == {200}
    assert set(found.body["data"]) == {"k", *(f"k{index}" for index in range(4))}


async def test_of_many_creators_of_one_name_one_wins(api: Api):
    with api.unrecorded():
        answers = await asyncio.gather(*(api.post(MAPS, config_map(k=str(index))) for index in range(10)))

    assert sorted(answer.status for answer in answers) == [201] + [409] * 9


async def test_a_custom_resource_is_held_to_its_schema(api: Api, widgets: Widgets):
    await widgets.install(SCHEMA)
    with api.unrecorded():
        refused = [
            await api.post(widgets.path, widgets.widget(spec=spec)) for spec in ({}, {"size": 11}, {"size": "x"})
        ]
        taken = await api.post(widgets.path, widgets.widget(spec={"size": 1, "unknown": 1}))

    assert [answer.status for answer in refused] == [422, 422, 422]
    assert taken.body["spec"] == {"size": 1, "color": "red"}


async def test_a_definition_without_a_structural_schema_is_refused(api: Api, widgets: Widgets):
    untyped = {"type": "object", "properties": {"spec": {"properties": {"a": {"type": "string"}}}}}
    schemas: list[dict[str, Any]] = [untyped, {"properties": {}}]
    answers = [await api.post(CRDS, crd("widgets", widgets.group, schema)) for schema in schemas]

    assert [answer.status for answer in answers] == [422, 422]


async def test_selectors_select_in_lists_watches_and_deletions(api: Api):
    with api.unrecorded():
        for name in "ab":
            await api.post(MAPS, config_map(name, labels={"n": name}))
        listed = await api.get(MAPS, query={"labelSelector": "n=a"})
        watched = await api.watch(MAPS, labelSelector="n=a")
        await api.delete(MAPS, query={"labelSelector": "n=a"})
        rest = await api.get(MAPS)

    assert [item["metadata"]["name"] for item in listed.body["items"]] == ["a"]
    assert [event["object"]["metadata"]["name"] for event in watched] == ["a"]
    assert [item["metadata"]["name"] for item in rest.body["items"]] == ["b"]


async def test_watchers_see_concurrent_writes_without_gap_or_disorder(api: Api):
    with api.unrecorded():
        start = version((await api.get(MAPS)).body)
    async with Stream(api, MAPS, resourceVersion=start) as stream:
        with api.unrecorded():
            answers = await asyncio.gather(*(api.post(MAPS, config_map(f"c{index}")) for index in range(20)))
        events = await stream.take(20)

    seen = [version(event["object"]) for event in events]
    assert seen == sorted(version(answer.body) for answer in answers)


async def test_a_change_of_nothing_keeps_the_revision_and_is_no_event(api: Api):
    with api.unrecorded():
        created = (await api.post(DEPLOYMENTS, deployment())).body
        answers = [
            await api.put(DEPLOYMENTS + "/d", created),
            await api.patch(DEPLOYMENTS + "/d", {}),
            await api.patch(DEPLOYMENTS + "/d", {"spec": {"replicas": 1}}),
            await api.patch(DEPLOYMENTS + "/d/status", {"status": {}}),
        ]
        events = await api.watch(DEPLOYMENTS, resourceVersion=version(created))

    assert {version(answer.body) for answer in answers} == {version(created)}
    assert events == []


async def test_the_generation_follows_the_spec_and_nothing_else(api: Api):
    with api.unrecorded():
        answers = [
            await api.post(DEPLOYMENTS, deployment()),
            await api.patch(DEPLOYMENTS + "/d", {"metadata": {"labels": {"x": "y"}}}),
            await api.patch(DEPLOYMENTS + "/d/status", {"status": {"replicas": 1}}),
            await api.patch(DEPLOYMENTS + "/d", {"spec": {"replicas": 5}}),
        ]

    assert [answer.body["metadata"]["generation"] for answer in answers] == [1, 1, 1, 2]


async def test_what_leaves_a_selection_is_deleted_with_the_labels_that_it_had(api: Api):
    with api.unrecorded():
        created = (await api.post(MAPS, config_map(labels={"in": "yes"}))).body
        changed = (await api.patch(MAPS + "/a", {"metadata": {"labels": {"in": "no"}}})).body
        (event,) = await api.watch(MAPS, resourceVersion=version(created), labelSelector="in=yes")

    assert event["type"] == "DELETED"
    assert event["object"]["metadata"]["labels"] == {"in": "yes"}
    assert version(event["object"]) == version(changed)


async def test_unknown_fields_are_not_kept(api: Api):
    with api.unrecorded():
        await api.post(MAPS, config_map() | {"nonsense": 1, "metadata": {"name": "a", "nonsense": 1}})
        found = (await api.get(MAPS + "/a")).body

    assert "nonsense" not in found
    assert "nonsense" not in found["metadata"]


async def test_defaults_are_applied_to_what_is_stored_already(api: Api, widgets: Widgets):
    await widgets.install({"type": "object", "properties": {"spec": {"type": "object"}}})
    await widgets.create(spec={})
    later = {"type": "object", "properties": {"color": {"type": "string", "default": "red"}}}
    change = {"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec", "value": later}
    await widgets.redefine([change], lambda listed: '"color":"red"' in listed.text, type="json")
    with api.unrecorded():
        found = await api.get(widgets.path + "/w")

    assert found.body["spec"] == {"color": "red"}


async def test_a_namespace_does_not_vanish_with_the_request_that_deletes_it(api: Api):
    path = f"/api/v1/namespaces/{api.namespace}-x"
    with api.unrecorded():
        await api.post("/api/v1/namespaces", {"metadata": {"name": f"{api.namespace}-x"}})
        answer = await api.delete(path)
        found = await api.get(path)

    assert answer.body["status"]["phase"] == "Terminating"
    assert found.status == 200


async def test_dependents_do_not_vanish_with_the_request_that_deletes_their_owner(api: Api):
    with api.unrecorded():
        owner = (await api.post(MAPS, config_map("owner"))).body
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
        await api.post(MAPS, {"metadata": {"name": "a", "ownerReferences": [reference]}})
        await api.delete(MAPS + "/owner")
        found = await api.get(MAPS + "/a")

    assert found.status == 200


@pytest.mark.parametrize(
    "agent", ["kubectl/v1.36.3 (linux/amd64) kubernetes/abc", "plain", "two words/1", "x" * 200 + "/1", "/1", ""]
)
async def test_the_name_of_a_manager_is_the_first_word_of_its_user_agent(api: Api, agent: str):
    with api.unrecorded():
        answer = await api.post(MAPS, config_map(k="v"), headers={"User-Agent": agent})
    api.note("manager", answer.body["metadata"]["managedFields"][0]["manager"])


async def test_the_texts_about_names_are_those_of_rfc_1123(api: Api):
    await api.post(MAPS, config_map("Bad_Name"))
    await api.post(PODS, pod("-"))
    await api.post("/api/v1/namespaces", {"metadata": {"name": "a.b"}})
    await api.post("/api/v1/namespaces/{ns}/services", {"metadata": {"name": "1a"}, "spec": {"ports": [{"port": 1}]}})
    await api.post(MAPS, config_map(labels={"a b": "c d"}))


async def test_a_new_definition_changes_the_etag_of_discovery_at_once(api: Api, widgets: Widgets):
    accept = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
    with api.unrecorded():
        before = await api.get("/apis", headers=accept)
    await widgets.install()
    after = await api.until("/apis", lambda found: widgets.group in found.text, headers=accept)
    with api.unrecorded():
        old = await api.get("/apis", headers={**accept, "If-None-Match": before.headers["etag"]})

    assert after.headers["etag"] != before.headers["etag"]
    assert old.status == 200


async def test_a_watch_that_begins_too_early_is_told_so_and_nothing_else(api: Api, forget: Forget):
    with api.unrecorded():
        start = version((await api.post(MAPS, config_map())).body)
        for name in "bcd":
            await api.post(MAPS, config_map(name))
        await api.delete(MAPS + "/a")
    await forget()
    with api.unrecorded():
        await api.post(MAPS, config_map("e"))
        events = await api.watch(MAPS, resourceVersion=start)

    assert [event["type"] for event in events] == ["ERROR"]
    assert (events[0]["object"]["code"], events[0]["object"]["reason"]) == (410, "Expired")
    assert events[0]["object"]["message"].startswith(f"too old resource version: {start} (")
