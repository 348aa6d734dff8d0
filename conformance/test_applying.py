"""§1.9 Server-side apply: who owns what, and what becomes of it."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.exchange import Answer, Api
from conformance.objects import DEPLOYMENTS, MAPS, PODS, config_map, deployment, pod
from conformance.widgets import Widgets

pytestmark = pytest.mark.section("1.9")

SERVICES = "/api/v1/namespaces/{ns}/services"
SCALERS = "/apis/autoscaling/{}/namespaces/{{ns}}/horizontalpodautoscalers"


async def apply(api: Api, path: str, body: Any, manager: str = "m", **query: Any) -> Answer:
    return await api.patch(path, body, type="apply", query={"fieldManager": manager, **query})


async def test_apply_answers_created_and_then_ok(api: Api):
    first = await apply(api, MAPS + "/a", config_map(k="v"))
    second = await apply(api, MAPS + "/a", config_map(k="w"))

    assert (first.status, second.status) == (201, 200)


async def test_apply_of_the_same_keeps_the_version(api: Api):
    first = await apply(api, DEPLOYMENTS + "/d", deployment())
    second = await apply(api, DEPLOYMENTS + "/d", deployment())

    assert first.body["metadata"] == second.body["metadata"]


async def test_an_item_of_a_list_goes_when_its_last_owner_drops_it(api: Api):
    both = deployment()
    both["spec"]["template"]["spec"]["containers"].append({"name": "side", "image": "s:1"})
    await apply(api, DEPLOYMENTS + "/d", both, "one")
    await apply(api, DEPLOYMENTS + "/d", both, "two")
    await apply(api, DEPLOYMENTS + "/d", deployment(), "one")
    await apply(api, DEPLOYMENTS + "/d", deployment(), "two")


async def test_an_item_of_a_list_stays_while_somebody_owns_a_part_of_it(api: Api):
    await apply(api, DEPLOYMENTS + "/d", deployment(), "one")
    extra = deployment()
    extra["spec"]["template"]["spec"]["containers"][0] |= {"env": [{"name": "A", "value": "1"}]}
    del extra["spec"]["template"]["spec"]["containers"][0]["image"]
    await apply(api, DEPLOYMENTS + "/d", extra, "two")
    await apply(api, DEPLOYMENTS + "/d", deployment(), "one")


async def test_ports_are_told_apart_by_port_and_protocol(api: Api):
    def service(*ports: dict[str, Any]) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": list(ports)}}

    udp = {"port": 53, "protocol": "UDP", "name": "u"}
    tcp = {"port": 53, "protocol": "TCP", "name": "t"}
    await apply(api, SERVICES + "/s", service(udp), "one")
    await apply(api, SERVICES + "/s", service(tcp), "two")
    await apply(api, SERVICES + "/s", service({"port": 53, "name": "plain"}), "three")
    await apply(api, SERVICES + "/s", service({**udp, "targetPort": 5353}), "one")


async def test_sets_are_owned_value_by_value(api: Api):
    first = config_map() | {"metadata": {"name": "a", "finalizers": ["example.com/a", "example.com/b"]}}
    second = config_map() | {"metadata": {"name": "a", "finalizers": ["example.com/b", "example.com/c"]}}
    await apply(api, MAPS + "/a", first, "one")
    await apply(api, MAPS + "/a", second, "two")
    await apply(api, MAPS + "/a", config_map(), "one")


async def test_atomic_parts_have_one_owner(api: Api):
    first, second = deployment(), deployment()
    first["spec"]["selector"] = {"matchLabels": {"app": "web"}}
    second["spec"]["selector"] = {"matchLabels": {"app": "web", "x": "y"}}
    await apply(api, DEPLOYMENTS + "/d", first, "one")
    await apply(api, DEPLOYMENTS + "/d", second, "two")
    await apply(api, DEPLOYMENTS + "/d", second, "two", force="true")


async def test_force_takes_from_appliers_and_updaters(api: Api):
    await apply(api, MAPS + "/a", config_map(k="1", l="1"), "one")
    await api.patch(MAPS + "/a", {"data": {"l": "2", "m": "2"}}, query={"fieldManager": "updater"})
    await apply(api, MAPS + "/a", config_map(k="3", l="3", m="3"), "three")
    await apply(api, MAPS + "/a", config_map(k="3", l="3", m="3"), "three", force="true")


async def test_conflicts_with_many_are_told_by_manager(api: Api):
    await apply(api, MAPS + "/a", config_map(k="1"), "one")
    await apply(api, MAPS + "/a", config_map(l="1"), "two")
    await api.patch(MAPS + "/a", {"data": {"m": "1"}}, query={"fieldManager": "three"})
    await apply(api, MAPS + "/a", config_map(k="x", l="x", m="x"), "four")


async def test_a_manager_has_an_entry_for_each_operation_and_subresource(api: Api):
    api.is_timed = False
    await apply(api, DEPLOYMENTS + "/d", deployment(replicas=1))
    await api.patch(DEPLOYMENTS + "/d", {"metadata": {"labels": {"a": "b"}}}, query={"fieldManager": "m"})
    await api.patch(DEPLOYMENTS + "/d/status", {"status": {"replicas": 1}}, query={"fieldManager": "m"})
    await api.patch(DEPLOYMENTS + "/d/scale", {"spec": {"replicas": 2}}, query={"fieldManager": "m"})
    await api.get(DEPLOYMENTS + "/d")


async def test_the_eleventh_updater_folds_the_oldest(api: Api):
    api.is_timed = False
    await api.post(MAPS, config_map(k="v"), query={"fieldManager": "m00"})
    with api.unrecorded():
        for index in range(1, 12):
            query = {"fieldManager": f"m{index:02}"}
            answer = await api.patch(MAPS + "/a", {"data": {f"k{index}": "v"}}, query=query)
    managers = [entry["manager"] for entry in answer.body["metadata"]["managedFields"]]
    api.note("how many", len(managers))

    assert "ancient-changes" in managers


async def test_the_annotation_of_kubectl_follows_its_apply(api: Api):
    body = config_map(k="v")
    body["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    await apply(api, MAPS + "/a", body, "kubectl")
    await apply(api, MAPS + "/a", config_map(k="w"), "kubectl")
    await apply(api, MAPS + "/b", config_map("b", k="v"), "kubectl")
    await apply(api, MAPS + "/c", {**body, "metadata": {**body["metadata"], "name": "c"}}, "other")


async def test_owners_of_one_version_meet_those_of_another(api: Api):
    spec = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}, "maxReplicas": 3}
    body = {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}, "spec": spec}
    await apply(api, SCALERS.format("v1") + "/h", {**body, "apiVersion": "autoscaling/v1"}, "one")
    other = {**body, "apiVersion": "autoscaling/v2", "spec": {**spec, "maxReplicas": 4}}
    await apply(api, SCALERS.format("v2") + "/h", other, "two")
    await apply(api, SCALERS.format("v2") + "/h", other, "two", force="true")
    await api.get(SCALERS.format("v1") + "/h")


async def test_what_is_sent_is_owned_even_if_it_is_the_default(api: Api):
    await apply(api, DEPLOYMENTS + "/d", deployment(replicas=1, revisionHistoryLimit=10))
    await apply(api, DEPLOYMENTS + "/d", deployment())


async def test_empty_maps_and_lists_are_owned(api: Api):
    body = config_map() | {"metadata": {"name": "a", "labels": {}, "annotations": {}}, "data": {}}
    await apply(api, MAPS + "/a", body)
    await apply(api, PODS + "/p", pod(tolerations=[], nodeSelector={}, volumes=[]))


async def test_nulls_in_an_intent(api: Api):
    await apply(api, MAPS + "/a", config_map() | {"data": None})
    await apply(api, MAPS + "/a", config_map() | {"data": {"k": None}})
    await apply(api, DEPLOYMENTS + "/d", deployment(replicas=None, paused=None))


async def test_a_version_in_an_intent_is_a_condition(api: Api):
    with api.unrecorded():
        first = await apply(api, MAPS + "/a", config_map(k="1"))
        await apply(api, MAPS + "/a", config_map(k="2"))
    version = first.body["metadata"]["resourceVersion"]
    stale = config_map(k="3") | {"metadata": {"name": "a", "resourceVersion": version}}
    await apply(api, MAPS + "/a", stale)
    await apply(api, MAPS + "/a", {**stale, "metadata": {"name": "a", "resourceVersion": "x"}})


async def test_a_uid_in_an_intent_is_a_condition(api: Api):
    uid = "11111111-1111-4111-8111-111111111111"
    await apply(api, MAPS + "/a", config_map() | {"metadata": {"name": "a", "uid": uid}})
    await apply(api, MAPS + "/a", config_map(k="v"))
    await apply(api, MAPS + "/a", config_map(k="v") | {"metadata": {"name": "a", "uid": uid}})


async def test_what_only_the_server_sets_is_not_owned(api: Api):
    metadata = {"name": "a", "generation": 5, "creationTimestamp": "2001-01-01T00:00:00Z", "selfLink": "/x"}
    await apply(api, MAPS + "/a", config_map(k="v") | {"metadata": metadata})


async def test_a_status_on_the_main_door_is_passed_over_and_not_owned(api: Api):
    await apply(api, DEPLOYMENTS + "/d", deployment() | {"status": {"replicas": 5}})
    status = {"apiVersion": "apps/v1", "kind": "Deployment", "status": {"replicas": 2}, "spec": {"replicas": 7}}
    await apply(api, DEPLOYMENTS + "/d/status", status, "other")


async def test_apply_of_a_scale(api: Api):
    await apply(api, DEPLOYMENTS + "/d", deployment(replicas=1), "one")
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"}, "spec": {"replicas": 3}}
    await apply(api, DEPLOYMENTS + "/d/scale", scale, "two")
    await apply(api, DEPLOYMENTS + "/d/scale", scale, "two", force="true")
    await api.get(DEPLOYMENTS + "/d")
    await apply(api, DEPLOYMENTS + "/d/scale", deployment(), "two")


async def test_a_dry_run_of_an_apply(api: Api):
    await apply(api, MAPS + "/a", config_map(k="v"), dryRun="All")
    await api.get(MAPS + "/a")
    await apply(api, MAPS + "/a", config_map(k="v"))
    await apply(api, MAPS + "/a", config_map(k="w"), "other", dryRun="All")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"5",
        b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: 5}",
        b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: [k]",
        b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: x}",
        b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, nonsense: x}",
        b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: other}",
        b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v, k: w}",
        b"kind: ConfigMap\nmetadata: {name: a}",
        b"apiVersion: v2\nkind: ConfigMap\nmetadata: {name: a}",
        b"apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}",
        b"apiVersion: v1\nkind: ConfigMap",
        b"a: [",
    ],
)
async def test_an_intent(api: Api, body: bytes):
    await api.patch(MAPS + "/a", body, type="apply", query={"fieldManager": "m"})


async def test_an_intent_that_is_invalid(api: Api):
    await apply(api, DEPLOYMENTS + "/d", deployment(replicas=-1))
    await apply(api, MAPS + "/Bad", config_map("Bad"))
    await apply(api, DEPLOYMENTS + "/d", deployment(selector=None))


async def test_a_list_map_whose_key_is_missing(api: Api):
    body = deployment()
    body["spec"]["template"]["spec"]["containers"] = [{"image": "x"}]
    await apply(api, DEPLOYMENTS + "/d", body)
    body["spec"]["template"]["spec"]["containers"] = [{"name": "c", "image": "x", "ports": [{"name": "x"}]}]
    await apply(api, DEPLOYMENTS + "/d", body)


async def test_sets_with_duplicates(api: Api):
    body = config_map() | {"metadata": {"name": "a", "finalizers": ["example.com/a", "example.com/a"]}}
    await apply(api, MAPS + "/a", body)


async def test_custom_resources_without_a_schema_are_owned_leaf_by_leaf(api: Api, widgets: Widgets):
    await widgets.install()
    one = widgets.widget(spec={"a": {"b": 1}, "list": [{"name": "x"}]})
    two = widgets.widget(spec={"a": {"c": 2}})
    await apply(api, widgets.path + "/w", one, "one")
    await apply(api, widgets.path + "/w", two, "two")
    await apply(api, widgets.path + "/w", widgets.widget(spec={"list": []}), "two")


async def test_custom_resources_with_atomic_maps_and_structs(api: Api, widgets: Widgets):
    properties = {
        "map": {"type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-map-type": "atomic"},
        "granular": {"type": "object", "additionalProperties": {"type": "string"}},
        "list": {"type": "array", "items": {"type": "string"}},
    }
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
    await widgets.install(schema)
    one = widgets.widget(spec={"map": {"a": "1"}, "granular": {"a": "1"}, "list": ["a"]})
    two = widgets.widget(spec={"map": {"b": "1"}, "granular": {"b": "1"}, "list": ["b"]})
    await apply(api, widgets.path + "/w", one, "one")
    await apply(api, widgets.path + "/w", two, "two")


async def test_the_status_of_a_custom_resource_is_applied_apart(api: Api, widgets: Widgets):
    part = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": part, "status": part}}
    await widgets.install(schema, subresources={"status": {}})
    await apply(api, widgets.path + "/w", widgets.widget(spec={"a": 1}, status={"b": 1}), "one")
    await apply(api, widgets.path + "/w/status", widgets.widget(spec={"a": 2}, status={"b": 2}), "two")
    await apply(api, widgets.path + "/w", widgets.widget(spec={"a": 3}), "one")


async def test_managed_fields_that_a_client_writes(api: Api):
    created = await api.post(MAPS, config_map(k="v"), query={"fieldManager": "one"})
    entry = created.body["metadata"]["managedFields"][0]
    await api.patch(MAPS + "/a", {"metadata": {"managedFields": [{**entry, "manager": "two"}]}})
    await api.patch(MAPS + "/a", {"metadata": {"managedFields": [{**entry, "operation": "Nonsense"}]}})
    await api.patch(MAPS + "/a", {"metadata": {"managedFields": []}})
    await api.patch(MAPS + "/a", {"metadata": {"managedFields": None}})
    await api.patch(MAPS + "/a", {"metadata": {"managedFields": [{**entry, "fieldsV1": {"f:nope": 5}}]}})
