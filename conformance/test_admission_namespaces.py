"""§1.12 NamespaceLifecycle: nothing new in namespaces that are not there or end, and some that stay for ever."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.admission import NAMESPACES
from conformance.exchange import Api
from conformance.objects import MAPS, PODS, config_map, deployment, pod
from conformance.widgets import Widgets

pytestmark = pytest.mark.section("1.12")


async def ended(api: Api) -> None:
    """The case's namespace begins to go: without a controller it stays so."""
    with api.unrecorded():
        await api.delete(NAMESPACES + "/{ns}")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/v1/namespaces/nowhere/configmaps", config_map()),
        ("/api/v1/namespaces/nowhere/pods", pod()),
        ("/api/v1/namespaces/nowhere/pods", {"metadata": {"name": "UPPER"}}),
        ("/apis/apps/v1/namespaces/nowhere/deployments", deployment()),
        ("/apis/coordination.k8s.io/v1/namespaces/nowhere/leases", {"metadata": {"generateName": "x-"}}),
        ("/api/v1/namespaces/nowhere/pods/p/binding", {"metadata": {"name": "p"}, "target": {"name": "n"}}),
        ("/api/v1/namespaces/nowhere/pods/p/eviction", {"metadata": {"name": "p"}}),
        ("/api/v1/namespaces/nowhere/bindings", {"metadata": {"name": "p"}, "target": {"name": "n"}}),
    ],
)
async def test_nothing_is_created_in_a_namespace_that_is_not_there(api: Api, path: str, body: dict[str, Any]):
    await api.post(path, body)


async def test_nothing_is_created_in_a_namespace_that_is_not_there_by_a_dry_run(api: Api):
    await api.post("/api/v1/namespaces/nowhere/configmaps", config_map(), query={"dryRun": "All"})


@pytest.mark.parametrize("verb", ["put", "patch", "delete", "get", "list", "apply"])
async def test_other_verbs_in_a_namespace_that_is_not_there(api: Api, verb: str):
    path = "/api/v1/namespaces/nowhere/configmaps"
    if verb == "put":
        await api.put(path + "/a", config_map())
    elif verb == "patch":
        await api.patch(path + "/a", {"data": {"a": "b"}})
    elif verb == "apply":
        await api.patch(path + "/a", config_map(), type="apply", query={"fieldManager": "m"})
    elif verb == "delete":
        await api.delete(path + "/a")
    else:
        await api.get(path + ("/a" if verb == "get" else ""))


async def test_an_update_that_would_create_needs_a_namespace(api: Api):
    await api.put("/apis/coordination.k8s.io/v1/namespaces/nowhere/leases/l", {"metadata": {"name": "l"}})


@pytest.mark.parametrize(
    "body",
    [config_map(), {"metadata": {"generateName": "g-"}}, {"metadata": {}}],
    ids=["named", "generated", "nameless"],
)
async def test_nothing_new_in_a_namespace_that_ends(api: Api, body: dict[str, Any]):
    await ended(api)
    await api.post(MAPS, body)


async def test_no_custom_object_in_a_namespace_that_ends(api: Api, widgets: Widgets):
    await widgets.install()
    await ended(api)
    await api.post(widgets.path, widgets.widget())


async def test_nothing_is_applied_anew_in_a_namespace_that_ends(api: Api):
    await ended(api)
    await api.patch(MAPS + "/a", config_map(), type="apply", query={"fieldManager": "m"})


async def test_what_is_there_can_change_in_a_namespace_that_ends(api: Api):
    with api.unrecorded():
        await api.post(MAPS, config_map())
    await ended(api)
    await api.patch(MAPS + "/a", {"data": {"a": "b"}})
    await api.put(MAPS + "/a", config_map(a="c"))
    await api.delete(MAPS + "/a")


async def test_no_pod_is_bound_in_a_namespace_that_ends(api: Api):
    with api.unrecorded():
        await api.post(PODS, pod())
    await ended(api)
    await api.post(PODS + "/p/binding", {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}})


async def test_no_pod_is_evicted_in_a_namespace_that_ends(api: Api):
    with api.unrecorded():
        await api.post(PODS, pod())
    await ended(api)
    await api.post(PODS + "/p/eviction", {"metadata": {"name": "p"}})


async def test_rights_in_a_namespace_that_is_not_there_can_be_asked_for(api: Api):
    path = "/apis/authorization.k8s.io/v1/namespaces/nowhere/localsubjectaccessreviews"
    attributes = {"namespace": "nowhere", "verb": "get", "resource": "pods"}
    with api.unrecorded():
        answer = await api.post(path, {"spec": {"user": "nobody", "resourceAttributes": attributes}})
    api.note("status", answer.status)


async def test_what_was_left_in_a_namespace_that_is_gone_cannot_change(api: Api):
    with api.unrecorded():
        await api.post(MAPS, config_map())
    await ended(api)
    with api.unrecorded():
        await api.put(NAMESPACES + "/{ns}/finalize", {"metadata": {"name": api.namespace}, "spec": {"finalizers": []}})
    await api.until(NAMESPACES + "/{ns}", lambda answer: answer.status == 404)
    with api.unrecorded():
        for _ in range(200):
            if (await api.patch(MAPS + "/a", {}, query={"dryRun": "All"})).status == 404:
                break
    await api.patch(MAPS + "/a", {"data": {"a": "b"}})
    await api.get(MAPS + "/a")
    await api.delete(MAPS + "/a")


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_some_namespaces_stay_for_ever(api: Api, name: str):
    await api.delete(f"{NAMESPACES}/{name}")
    await api.delete(f"{NAMESPACES}/{name}", {"dryRun": ["All"]})


async def test_the_namespace_of_node_leases_may_go(api: Api):
    await api.delete(f"{NAMESPACES}/kube-node-lease", {"dryRun": ["All"]})


async def test_no_token_is_issued_in_a_namespace_that_ends_or_is_not_there(api: Api):
    accounts = "/api/v1/namespaces/{ns}/serviceaccounts"
    with api.unrecorded():
        await api.post(accounts, {"metadata": {"name": "a"}})
    await ended(api)
    await api.post(accounts + "/a/token", {})
    await api.post("/api/v1/namespaces/nowhere/serviceaccounts/a/token", {})
    await api.post("/api/v1/namespaces/nowhere/serviceaccounts/a/token", {"spec": {"expirationSeconds": 1}})
