"""§1.4 Verbs, names, metadata, subresources."""

from __future__ import annotations

import pytest

from conformance.exchange import Api
from conformance.objects import DEPLOYMENTS, MAPS, PODS, config_map, deployment, pod

pytestmark = pytest.mark.section("1.4")


async def test_a_created_object_is_stamped(api: Api):
    await api.post(MAPS, config_map(k="v"))
    await api.get(MAPS + "/a")


async def test_kind_and_version_may_be_left_out(api: Api):
    await api.post(MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}})


async def test_what_the_server_sets_is_not_taken_from_clients(api: Api):
    metadata = {
        "name": "a",
        "uid": "11111111-1111-4111-8111-111111111111",
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z",
        "generation": 7,
        "selfLink": "/x",
    }
    await api.post(MAPS, {"metadata": metadata})


async def test_a_generated_name(api: Api):
    await api.post(MAPS, {"metadata": {"generateName": "gen-"}})
    await api.post(MAPS, {"metadata": {"generateName": "x" * 70}})


async def test_a_name_wins_over_a_generated_one(api: Api):
    await api.post(MAPS, {"metadata": {"name": "own", "generateName": "gen-"}})


async def test_generation_begins_with_one_and_follows_the_spec(api: Api):
    await api.post(DEPLOYMENTS, deployment())
    await api.patch(DEPLOYMENTS + "/d", {"metadata": {"labels": {"x": "y"}}})
    await api.patch(DEPLOYMENTS + "/d", {"spec": {"replicas": 3}})
    await api.patch(DEPLOYMENTS + "/d/status", {"status": {"replicas": 3}})


async def test_a_change_of_nothing_keeps_the_version(api: Api):
    first = await api.post(MAPS, config_map(k="v"))
    second = await api.patch(MAPS + "/a", {"data": {"k": "v"}})
    third = await api.put(MAPS + "/a", config_map(k="v"))

    versions = {answer.body["metadata"]["resourceVersion"] for answer in (first, second, third)}
    assert len(versions) == 1


async def test_an_update_without_a_version_overwrites(api: Api):
    await api.post(MAPS, config_map(k="v"))
    await api.put(MAPS + "/a", config_map(other="x"))


async def test_an_update_with_the_version_that_is_there(api: Api):
    created = await api.post(MAPS, config_map(k="v"))
    await api.put(MAPS + "/a", created.body | {"data": {"k": "w"}})


LEASES = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"
PDBS = "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets"


async def test_some_kinds_want_a_version_on_update(api: Api):
    await api.post(LEASES, {"metadata": {"name": "l"}, "spec": {"holderIdentity": "x"}})
    await api.put(LEASES + "/l", {"metadata": {"name": "l"}, "spec": {"holderIdentity": "y"}})
    await api.post(PDBS, {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {}}})
    await api.put(PDBS + "/b", {"metadata": {"name": "b"}, "spec": {"minAvailable": 2, "selector": {}}})


async def test_some_kinds_are_created_by_an_update(api: Api):
    await api.put(LEASES + "/new", {"metadata": {"name": "new"}, "spec": {"holderIdentity": "x"}})
    await api.put(
        "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles/r",
        {"metadata": {"name": "r"}, "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]},
    )


async def test_owners_named_twice_are_merged(api: Api):
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "11111111-1111-4111-8111-111111111111"}
    await api.post(MAPS, {"metadata": {"name": "a", "ownerReferences": [owner, owner]}})


async def test_the_status_has_its_own_door(api: Api):
    await api.post(DEPLOYMENTS, deployment() | {"status": {"replicas": 9}})
    await api.patch(DEPLOYMENTS + "/d", {"status": {"replicas": 8}})
    await api.patch(DEPLOYMENTS + "/d/status", {"status": {"replicas": 7}, "spec": {"replicas": 6}})
    await api.get(DEPLOYMENTS + "/d/status")


async def test_a_scale_is_read_and_written(api: Api):
    await api.post(DEPLOYMENTS, deployment(replicas=2))
    await api.get(DEPLOYMENTS + "/d/scale")
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"}, "spec": {"replicas": 5}}
    await api.put(DEPLOYMENTS + "/d/scale", scale)
    await api.patch(DEPLOYMENTS + "/d/scale", {"spec": {"replicas": 4}})
    await api.get(DEPLOYMENTS + "/d")


async def test_a_scale_that_is_invalid(api: Api):
    await api.post(DEPLOYMENTS, deployment())
    await api.patch(DEPLOYMENTS + "/d/scale", {"spec": {"replicas": -1}})


BINDING = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}


async def test_a_pod_is_bound_to_a_node_once(api: Api):
    await api.post(PODS, pod())
    await api.post(PODS + "/p/binding", BINDING)
    await api.get(PODS + "/p")
    await api.post(PODS + "/p/binding", BINDING)


async def test_a_binding_through_the_collection(api: Api):
    await api.post(PODS, pod())
    await api.post("/api/v1/namespaces/{ns}/bindings", BINDING)


async def test_ephemeral_containers_are_added_and_never_taken_away(api: Api):
    await api.post(PODS, pod())
    await api.post(PODS + "/p/binding", BINDING)
    debug = {"name": "debug", "image": "busybox"}
    await api.patch(PODS + "/p/ephemeralcontainers", {"spec": {"ephemeralContainers": [debug]}}, type="strategic")
    await api.patch(PODS + "/p/ephemeralcontainers", {"spec": {"ephemeralContainers": []}})
    await api.patch(PODS + "/p", {"spec": {"ephemeralContainers": [debug | {"name": "two"}]}})
    await api.get(PODS + "/p/ephemeralcontainers")


async def test_an_eviction_deletes(api: Api):
    await api.post(PODS, pod())
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    await api.post(PODS + "/p/eviction", eviction)
    await api.get(PODS + "/p")


async def test_an_eviction_that_a_budget_forbids(api: Api):
    await api.post(
        PDBS, {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}}
    )
    await api.post(PODS, pod())
    await api.post(PODS + "/p/binding", BINDING)
    await api.patch(PODS + "/p/status", {"status": {"phase": "Running"}})
    await api.post(PODS + "/p/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}})


async def test_a_namespace_is_finalized(api: Api):
    await api.get("/api/v1/namespaces/{ns}")
    with api.unrecorded():
        await api.post("/api/v1/namespaces", {"metadata": {"name": f"{api.namespace}-x"}})
    await api.delete("/api/v1/namespaces/{ns}-x")
    found = await api.get("/api/v1/namespaces/{ns}-x")
    await api.post("/api/v1/namespaces/{ns}-x/configmaps", config_map())
    await api.put("/api/v1/namespaces/{ns}-x/finalize", found.body | {"spec": {"finalizers": []}})
    await api.get("/api/v1/namespaces/{ns}-x")


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_some_namespaces_stay(api: Api, name: str):
    await api.delete(f"/api/v1/namespaces/{name}", query={"dryRun": "All"})


async def test_a_subresource_that_the_kind_does_not_have(api: Api):
    await api.post(MAPS, config_map())
    await api.get(MAPS + "/a/status")
    await api.get(PODS + "/a/nothing")


async def test_the_finalizers_of_clients_are_kept_in_order(api: Api):
    await api.post(MAPS, {"metadata": {"name": "a", "finalizers": ["example.com/b", "example.com/a"]}})
    await api.patch(MAPS + "/a", {"metadata": {"finalizers": ["example.com/a", "example.com/b"]}}, type="strategic")
    await api.patch(MAPS + "/a", {"metadata": {"finalizers": []}})


async def test_what_an_update_cannot_change(api: Api):
    created = (await api.post(DEPLOYMENTS, deployment())).body
    metadata = {
        **created["metadata"],
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 5,
        "generation": 77,
        "selfLink": "/x",
        "generateName": "gen-",
    }
    await api.put(DEPLOYMENTS + "/d", {**created, "metadata": metadata})
    await api.patch(DEPLOYMENTS + "/d", {"metadata": {"generation": 99, "creationTimestamp": None}})
    await api.patch(DEPLOYMENTS + "/d", {"metadata": {"uid": None, "resourceVersion": None}})


async def test_a_generated_name_wants_a_prefix_that_may_be_one(api: Api):
    for prefix in ("Bad_", "", "a.b-", "x" * 300):
        with api.unrecorded():
            answer = await api.post(MAPS, {"metadata": {"generateName": prefix}})
        causes = answer.body.get("details", {}).get("causes", ())
        api.note(prefix, [answer.status, [(cause["field"], cause["reason"]) for cause in causes]])


async def test_generated_names_differ_and_are_of_few_letters(api: Api):
    with api.unrecorded():
        answers = [await api.post(MAPS, {"metadata": {"generateName": "g-"}}) for _ in range(8)]
    names = {answer.body["metadata"]["name"] for answer in answers}

    assert len(names) == 8
    assert set("".join(name.removeprefix("g-") for name in names)) <= set("bcdfghjklmnpqrstvwxz2456789")
    assert all(answer.body["metadata"]["generateName"] == "g-" for answer in answers)


async def test_owners_are_one_for_each_uid(api: Api):
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "11111111-1111-4111-8111-111111111111"}
    other = {**owner, "name": "p", "uid": "22222222-2222-4222-8222-222222222222"}
    await api.post(MAPS, {"metadata": {"name": "a", "ownerReferences": [owner, {**owner, "controller": True}]}})
    await api.post(MAPS, {"metadata": {"name": "b", "ownerReferences": [owner, other, owner]}})
    both = [{**owner, "controller": True}, {**other, "controller": True}]
    await api.post(MAPS, {"metadata": {"name": "c", "ownerReferences": both}})
    await api.post(MAPS, {"metadata": {"name": "d"}})
    await api.patch(MAPS + "/d", {"metadata": {"ownerReferences": [owner, owner]}})
    await api.put(MAPS + "/d", {"metadata": {"name": "d", "ownerReferences": [other, other]}})


async def test_lists_of_all_namespaces_and_of_none(api: Api):
    await api.post(MAPS, config_map("a", labels={"of": api.namespace}))
    await api.get("/api/v1/configmaps", query={"labelSelector": f"of={api.namespace}"})
    await api.get("/api/v1/configmaps", query={"fieldSelector": f"metadata.namespace={api.namespace},metadata.name=a"})
    await api.get("/api/v1/namespaces", query={"fieldSelector": f"metadata.name={api.namespace}"})


async def test_the_label_of_a_namespace_is_its_name(api: Api):
    path = "/api/v1/namespaces/{ns}"
    await api.patch(path, {"metadata": {"labels": {"kubernetes.io/metadata.name": "other"}}})
    await api.patch(path, {"metadata": {"labels": None}})
    await api.put(path, {"metadata": {"name": api.namespace}})
