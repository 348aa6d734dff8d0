"""§1.8 Deletion."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.exchange import Api
from conformance.objects import DEPLOYMENTS, MAPS, PODS, config_map, deployment, pod

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
