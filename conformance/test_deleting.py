"""§1.8 Deletion."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.exchange import Api
from conformance.objects import DEPLOYMENTS, MAPS, PODS, config_map, deployment, pod
from conformance.widgets import Widgets

pytestmark = pytest.mark.section("1.8")

UID = "11111111-1111-4111-8111-111111111111"


def kept(name: str = "a") -> dict[str, Any]:
    return {"metadata": {"name": name, "finalizers": ["example.com/f"]}}


async def test_most_kinds_answer_with_a_status(api: Api):
    await api.post(MAPS, config_map())
    await api.delete(MAPS + "/a")
    await api.post(DEPLOYMENTS, deployment())
    await api.delete(DEPLOYMENTS + "/d")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/v1/namespaces/{ns}/serviceaccounts", {}),
        ("/api/v1/namespaces/{ns}/secrets", {}),
        ("/api/v1/namespaces/{ns}/services", {"spec": {"ports": [{"port": 80}]}}),
        ("/api/v1/namespaces/{ns}/resourcequotas", {"spec": {}}),
        (
            "/api/v1/namespaces/{ns}/podtemplates",
            {"template": {"metadata": {"labels": {"a": "b"}}, "spec": pod()["spec"]}},
        ),
        (
            "/apis/batch/v1/namespaces/{ns}/cronjobs",
            {
                "spec": {
                    "schedule": "* * * * *",
                    "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", **pod()["spec"]}}}},
                }
            },
        ),
    ],
)
async def test_what_each_kind_answers_with(api: Api, path: str, body: dict[str, Any]):
    with api.unrecorded():
        await api.post(path, {"metadata": {"name": "x"}, **body})
    await api.delete(path + "/x")


async def test_a_finalizer_makes_it_wait(api: Api):
    await api.post(MAPS, kept())
    await api.delete(MAPS + "/a")
    await api.delete(MAPS + "/a")
    await api.get(MAPS + "/a")


async def test_no_new_finalizers_while_it_goes(api: Api):
    await api.post(MAPS, kept())
    await api.delete(MAPS + "/a")
    await api.patch(MAPS + "/a", {"metadata": {"finalizers": ["example.com/f", "example.com/g"]}})


async def test_the_last_finalizer_ends_it(api: Api):
    await api.post(MAPS, kept())
    await api.delete(MAPS + "/a")
    await api.patch(MAPS + "/a", {"metadata": {"finalizers": []}})
    await api.get(MAPS + "/a")


async def test_a_going_object_can_still_be_changed(api: Api):
    await api.post(DEPLOYMENTS, deployment() | {"metadata": {"name": "d", "finalizers": ["example.com/f"]}})
    await api.delete(DEPLOYMENTS + "/d")
    await api.patch(DEPLOYMENTS + "/d", {"spec": {"replicas": 4}})


@pytest.mark.parametrize("policy", ["Background", "Foreground", "Orphan"])
async def test_propagation(api: Api, policy: str):
    await api.post(MAPS, config_map())
    await api.delete(MAPS + "/a", query={"propagationPolicy": policy})


async def test_propagation_in_the_body(api: Api):
    await api.post(MAPS, config_map())
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground"}
    await api.delete(MAPS + "/a", options)


async def test_foreground_of_what_has_a_finalizer_already(api: Api):
    await api.post(MAPS, kept())
    await api.delete(MAPS + "/a", query={"propagationPolicy": "Foreground"})
    await api.delete(MAPS + "/a", query={"propagationPolicy": "Orphan"})


@pytest.mark.parametrize("old", ["true", "false"])
async def test_the_old_way_to_say_orphan(api: Api, old: str):
    await api.post(MAPS, config_map())
    await api.delete(MAPS + "/a", query={"orphanDependents": old})


@pytest.mark.parametrize(
    "options",
    [
        {"orphanDependents": True, "propagationPolicy": "Orphan"},
        {"propagationPolicy": "Sometimes"},
        {"dryRun": ["Some"]},
        {"gracePeriodSeconds": "x"},
        {"kind": "Pod", "apiVersion": "v1"},
    ],
)
async def test_options_that_are_refused(api: Api, options: dict[str, Any]):
    await api.post(MAPS, config_map())
    await api.delete(MAPS + "/a", {"kind": "DeleteOptions", "apiVersion": "v1", **options})


@pytest.mark.parametrize("precondition", [{"uid": UID}, {"resourceVersion": "1"}])
async def test_a_precondition_that_does_not_hold(api: Api, precondition: dict[str, str]):
    await api.post(MAPS, config_map())
    answer = await api.call(
        "DELETE", MAPS + "/a", {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": precondition}
    )

    assert answer.status == 409


async def test_preconditions_that_hold(api: Api):
    created = await api.post(MAPS, config_map())
    metadata = created.body["metadata"]
    conditions = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    await api.delete(MAPS + "/a", {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": conditions})


async def test_a_dry_run_deletes_nothing(api: Api):
    await api.post(MAPS, config_map())
    await api.delete(MAPS + "/a", query={"dryRun": "All"})
    await api.get(MAPS + "/a")


async def bound(api: Api) -> None:
    with api.unrecorded():
        created = await api.post(PODS, pod())
        assert created.status == 201, created.text
        binding = {"kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
        answer = await api.post(PODS + "/p/binding", binding)
        assert answer.status == 201, answer.text


async def test_a_pod_without_a_node_is_gone_at_once(api: Api):
    await api.post(PODS, pod())
    await api.delete(PODS + "/p")
    await api.get(PODS + "/p")


async def test_a_pod_on_a_node_is_given_its_grace(api: Api):
    await bound(api)
    await api.delete(PODS + "/p")
    await api.get(PODS + "/p")


async def test_grace_is_shortened_and_never_lengthened(api: Api):
    await bound(api)
    await api.delete(PODS + "/p", query={"gracePeriodSeconds": "20"})
    await api.delete(PODS + "/p", query={"gracePeriodSeconds": "40"})
    await api.delete(PODS + "/p", query={"gracePeriodSeconds": "10"})
    await api.delete(PODS + "/p", query={"gracePeriodSeconds": "0"})
    await api.get(PODS + "/p")


async def test_a_forced_deletion_is_two_changes(api: Api):
    await bound(api)
    with api.unrecorded():
        start = (await api.get(PODS)).body["metadata"]["resourceVersion"]
    await api.delete(PODS + "/p", query={"gracePeriodSeconds": "0"})
    with api.unrecorded():
        events = await api.watch(PODS, resourceVersion=start)

    assert [event["type"] for event in events] == ["MODIFIED", "DELETED"]


async def test_a_collection(api: Api):
    for name, label in (("a", "x"), ("b", "x"), ("c", "y")):
        await api.post(MAPS, config_map(name, labels={"l": label}))
    await api.delete(MAPS, query={"labelSelector": "l=x"})
    await api.get(MAPS)


async def test_a_collection_of_what_waits(api: Api):
    await api.post(MAPS, kept("a"))
    await api.post(MAPS, config_map("b"))
    await api.delete(MAPS)
    await api.get(MAPS)


async def test_a_dry_run_of_a_collection(api: Api):
    await api.post(MAPS, config_map("a"))
    await api.delete(MAPS, query={"dryRun": "All"})
    await api.get(MAPS)


async def test_an_orphaning_kind(api: Api):
    controllers = "/api/v1/namespaces/{ns}/replicationcontrollers"
    await api.post(controllers, {"metadata": {"name": "r"}, "spec": {"selector": {"a": "b"}, "replicas": 0}})
    await api.delete(controllers + "/r")


async def test_a_job_orphans_with_a_warning(api: Api):
    template = {"spec": {"restartPolicy": "Never", **pod()["spec"]}}
    await api.post("/apis/batch/v1/namespaces/{ns}/jobs", {"metadata": {"name": "j"}, "spec": {"template": template}})
    await api.delete("/apis/batch/v1/namespaces/{ns}/jobs/j")


async def test_options_in_the_body_and_in_the_query(api: Api):
    await api.post(MAPS, config_map())
    await api.delete(MAPS + "/a", {"propagationPolicy": "Orphan"}, query={"propagationPolicy": "Foreground"})


async def test_options_of_another_version(api: Api):
    for version in ("apps/v1", "meta.k8s.io/v1", "nonsense/v1"):
        await api.post(MAPS, config_map())
        await api.delete(MAPS + "/a", {"kind": "DeleteOptions", "apiVersion": version, "propagationPolicy": "Orphan"})


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"null", b"[]", b"{", b'{"unknown": 1}', b'{"preconditions": null}', b'{"gracePeriodSeconds": 1.5}'],
)
async def test_a_body_of_a_deletion(api: Api, body: bytes):
    await api.post(MAPS, config_map())
    await api.delete(MAPS + "/a", body)


@pytest.mark.parametrize(
    "query",
    [
        {"gracePeriodSeconds": "x"},
        {"gracePeriodSeconds": "-5"},
        {"propagationPolicy": "Sometimes"},
        {"orphanDependents": "x"},
        {"dryRun": "Some"},
        {"preconditions": "x"},
        {"ignoreStoreReadErrorWithClusterBreakingPotential": "true"},
        {"gracePeriodSeconds": "5", "propagationPolicy": "Background"},
    ],
)
async def test_options_in_the_query(api: Api, query: dict[str, str]):
    await api.post(MAPS, config_map())
    await api.delete(MAPS + "/a", query=query)


async def test_a_precondition_of_a_going_object(api: Api):
    await api.post(MAPS, kept())
    await api.delete(MAPS + "/a")
    await api.delete(MAPS + "/a", {"preconditions": {"uid": UID}})
    await api.delete(MAPS + "/a", {"preconditions": {"resourceVersion": ""}})


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (
            "/api/v1/namespaces/{ns}/persistentvolumeclaims",
            {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}},
        ),
        ("/apis/apps/v1/namespaces/{ns}/replicasets", {"spec": deployment()["spec"]}),
        ("/apis/apps/v1/namespaces/{ns}/statefulsets", {"spec": {**deployment()["spec"], "serviceName": "s"}}),
        ("/apis/apps/v1/namespaces/{ns}/daemonsets", {"spec": deployment()["spec"]}),
        ("/apis/coordination.k8s.io/v1/namespaces/{ns}/leases", {}),
        ("/api/v1/namespaces/{ns}/endpoints", {}),
        ("/api/v1/namespaces/{ns}/limitranges", {"spec": {"limits": []}}),
        ("/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets", {"spec": {}}),
    ],
)
async def test_what_still_other_kinds_answer_with(api: Api, path: str, body: dict[str, Any]):
    with api.unrecorded():
        await api.post(path, {"metadata": {"name": "x"}, **body})
    await api.delete(path + "/x")
    await api.get(path + "/x")


async def test_what_cluster_wide_kinds_answer_with(api: Api):
    source = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    for path, body in (
        ("/api/v1/persistentvolumes", {"spec": source}),
        ("/apis/rbac.authorization.k8s.io/v1/clusterroles", {}),
        ("/apis/storage.k8s.io/v1/storageclasses", {"provisioner": "example.com/p"}),
        ("/apis/scheduling.k8s.io/v1/priorityclasses", {"value": 1}),
        ("/api/v1/nodes", {}),
    ):
        with api.unrecorded():
            await api.post(path, {"metadata": {"name": f"{api.namespace}-x"}, **body})
        await api.delete(f"{path}/{{ns}}-x")


async def test_a_namespace_answers_with_itself_and_waits(api: Api):
    with api.unrecorded():
        await api.post("/api/v1/namespaces", {"metadata": {"name": f"{api.namespace}-x"}})
    await api.delete("/api/v1/namespaces/{ns}-x")
    await api.delete("/api/v1/namespaces/{ns}-x")
    await api.get("/api/v1/namespaces/{ns}-x")


async def test_what_can_be_done_in_a_namespace_that_ends(api: Api):
    inside = "/api/v1/namespaces/{ns}-x/configmaps"
    with api.unrecorded():
        await api.post("/api/v1/namespaces", {"metadata": {"name": f"{api.namespace}-x"}})
        await api.post(inside, config_map())
        await api.post(inside, config_map("b"))
        await api.delete("/api/v1/namespaces/{ns}-x")
    await api.patch(inside + "/a", {"data": {"k": "v"}})
    await api.patch(inside + "/new", config_map("new"), type="apply", query={"fieldManager": "m"})
    await api.delete(inside + "/a")
    await api.post(inside, {"metadata": {"generateName": "g-"}})
    await api.delete(inside)
    await api.get(inside)


async def test_the_namespace_of_node_leases_is_not_protected(api: Api):
    await api.delete("/api/v1/namespaces/kube-node-lease", query={"dryRun": "All"})


async def test_foreground_waits_and_is_not_anybodys_field(api: Api):
    await api.post(DEPLOYMENTS, deployment())
    await api.delete(DEPLOYMENTS + "/d", {"propagationPolicy": "Foreground"})
    await api.get(DEPLOYMENTS + "/d")
    await api.patch(DEPLOYMENTS + "/d", {"metadata": {"finalizers": None}})
    await api.get(DEPLOYMENTS + "/d")


async def test_a_finalizer_may_go_while_others_stay(api: Api):
    both = ["example.com/f", "example.com/g"]
    await api.post(MAPS, {"metadata": {"name": "a", "finalizers": both}})
    await api.delete(MAPS + "/a")
    await api.patch(MAPS + "/a", {"metadata": {"finalizers": ["example.com/g"]}})
    await api.patch(MAPS + "/a", {"metadata": {"finalizers": ["example.com/g", "example.com/h"]}})
    await api.put(MAPS + "/a", config_map())
    await api.get(MAPS + "/a")


async def test_a_deletion_cannot_be_taken_back(api: Api):
    await api.post(MAPS, kept())
    deleted = await api.delete(MAPS + "/a")
    metadata = {k: v for k, v in deleted.body["metadata"].items() if not k.startswith("deletion")}
    await api.put(MAPS + "/a", {**deleted.body, "metadata": metadata})
    await api.patch(MAPS + "/a", {"metadata": {"deletionTimestamp": None, "deletionGracePeriodSeconds": None}})


async def test_a_name_is_free_when_the_last_finalizer_is_gone(api: Api):
    await api.post(MAPS, kept())
    await api.delete(MAPS + "/a")
    await api.post(MAPS, config_map())
    await api.patch(MAPS + "/a", {"metadata": {"finalizers": None}})
    await api.post(MAPS, config_map())


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_a_pod_that_is_over_is_given_no_grace(api: Api, phase: str):
    await bound(api)
    with api.unrecorded():
        await api.patch(PODS + "/p/status", {"status": {"phase": phase}})
    await api.delete(PODS + "/p")
    await api.get(PODS + "/p")


async def test_a_pod_has_the_grace_that_its_spec_says(api: Api):
    with api.unrecorded():
        await api.post(PODS, pod(terminationGracePeriodSeconds=5, nodeName="n"))
    await api.delete(PODS + "/p")
    with api.unrecorded():
        found = await api.get(PODS + "/p")

    assert found.body["metadata"]["deletionGracePeriodSeconds"] == 5


async def test_a_pod_with_a_finalizer_and_a_grace(api: Api):
    body = pod(nodeName="n")
    body["metadata"]["finalizers"] = ["example.com/f"]
    await api.post(PODS, body)
    await api.delete(PODS + "/p")
    await api.delete(PODS + "/p", query={"gracePeriodSeconds": "0"})
    await api.patch(PODS + "/p", {"metadata": {"finalizers": None}})
    await api.get(PODS + "/p")


async def test_a_dry_run_of_a_deletion_with_a_grace(api: Api):
    await bound(api)
    await api.delete(PODS + "/p", query={"dryRun": "All"})
    await api.delete(PODS + "/p", {"dryRun": ["All"], "gracePeriodSeconds": 0})
    with api.unrecorded():
        found = await api.get(PODS + "/p")

    assert "deletionTimestamp" not in found.body["metadata"]


async def test_a_collection_by_fields_and_of_nothing(api: Api):
    for name in "abc":
        await api.post(MAPS, config_map(name))
    await api.delete(MAPS, query={"fieldSelector": "metadata.name!=b"})
    await api.delete(MAPS, query={"labelSelector": "none=none"})
    await api.get(MAPS)


async def test_a_collection_with_a_limit(api: Api):
    for name in "abc":
        await api.post(MAPS, config_map(name))
    answer = await api.delete(MAPS, query={"limit": 1})
    await api.get(MAPS)

    assert answer.status == 200


async def test_a_collection_with_options_in_the_body(api: Api):
    await api.post(MAPS, config_map())
    await api.delete(MAPS, {"propagationPolicy": "Foreground"})
    await api.get(MAPS)


async def test_a_collection_that_is_refused(api: Api):
    await api.post(MAPS, config_map())
    await api.delete(MAPS, query={"labelSelector": "a b"})
    await api.delete(MAPS, query={"fieldSelector": "spec.x=1"})
    await api.delete(MAPS, {"propagationPolicy": "Sometimes"})
    await api.delete(MAPS, {"preconditions": {"uid": UID}})
    await api.get(MAPS)


async def test_a_collection_of_pods(api: Api):
    await bound(api)
    with api.unrecorded():
        await api.post(PODS, pod("q"))
    await api.delete(PODS, query={"gracePeriodSeconds": "7"})
    await api.get(PODS)


async def test_a_collection_of_services_is_not_one_request(api: Api):
    services = "/api/v1/namespaces/{ns}/services"
    await api.post(services, {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})
    await api.delete(services)
    await api.get(services)


@pytest.mark.parametrize("policy", ["Background", "Foreground", "Orphan"])
async def test_a_job_with_a_policy_gives_no_warning(api: Api, policy: str):
    template = {"spec": {"restartPolicy": "Never", **pod()["spec"]}}
    with api.unrecorded():
        await api.post(
            "/apis/batch/v1/namespaces/{ns}/jobs", {"metadata": {"name": "j"}, "spec": {"template": template}}
        )
    await api.delete("/apis/batch/v1/namespaces/{ns}/jobs/j", query={"propagationPolicy": policy})


async def test_a_custom_resource_is_deleted_like_any_other(api: Api, widgets: Widgets):
    await widgets.install()
    await widgets.create("a")
    await widgets.create("b")
    await api.delete(widgets.path + "/a")
    await api.delete(widgets.path + "/b", {"propagationPolicy": "Foreground"})
    await api.delete(widgets.path)
    await api.get(widgets.path)
