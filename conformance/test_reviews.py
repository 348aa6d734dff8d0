"""May they? Reviews of somebody else's rights, and of one's own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.exchange import Api
from conformance.rights import AUTHORIZATION, Rights, rule

pytestmark = pytest.mark.section("1.13")

OTHERS = f"{AUTHORIZATION}/subjectaccessreviews"
OWN = f"{AUTHORIZATION}/selfsubjectaccessreviews"
LOCAL = AUTHORIZATION + "/namespaces/{ns}/localsubjectaccessreviews"
RULES = f"{AUTHORIZATION}/selfsubjectrulesreviews"
MAPS = {"verb": "get", "resource": "configmaps", "namespace": "default"}


@pytest.mark.parametrize(
    "spec",
    [
        {"user": "jane", "resourceAttributes": MAPS},
        {"user": "jane", "groups": ["system:masters"], "resourceAttributes": MAPS},
        {"groups": ["system:authenticated"], "nonResourceAttributes": {"verb": "get", "path": "/api"}},
        {"groups": ["system:unauthenticated"], "nonResourceAttributes": {"verb": "get", "path": "/version"}},
        {"user": "system:kube-scheduler", "resourceAttributes": {"verb": "list", "resource": "pods"}},
        {
            "user": "system:serviceaccount:kube-system:job-controller",
            "resourceAttributes": {"verb": "create", "resource": "pods", "namespace": "x"},
        },
        {"user": "jane", "uid": "u", "extra": {"a": ["b"]}, "resourceAttributes": {}},
        {
            "user": "system:kube-scheduler",
            "resourceAttributes": {
                "verb": "list",
                "resource": "pods",
                "labelSelector": {"rawSelector": "a=b"},
                "fieldSelector": {"rawSelector": "metadata.name=x"},
            },
        },
        {
            "user": "jane",
            "resourceAttributes": {
                **MAPS,
                "labelSelector": {"rawSelector": "!!"},
                "fieldSelector": {"rawSelector": "x"},
            },
        },
        {
            "user": "jane",
            "resourceAttributes": {
                **MAPS,
                "labelSelector": {
                    "requirements": [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Other"}]
                },
                "fieldSelector": {"requirements": [{"key": "a", "operator": "Exists"}]},
            },
        },
    ],
)
async def test_what_somebody_may_do(api: Api, spec: dict[str, Any]):
    await api.post(OTHERS, {"spec": spec})


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"spec": {"user": "jane"}},
        {"spec": {"resourceAttributes": MAPS}},
        {"spec": {"user": "jane", "resourceAttributes": MAPS, "nonResourceAttributes": {"path": "/"}}},
        {"metadata": {"name": "x"}, "spec": {"user": "jane", "resourceAttributes": MAPS}},
    ],
)
async def test_a_review_that_asks_nothing(api: Api, body: dict[str, Any]):
    await api.post(OTHERS, body)
    await api.post(OWN, body)


async def test_what_one_may_do(api: Api, rights: Rights):
    await rights.grant("jane", rule("get,list"), rule("*", "pods/*"))
    jane = api.acting_as("jane")
    here = {"resource": "configmaps", "namespace": api.namespace}
    for verb in ("get", "delete"):
        await jane.post(OWN, {"spec": {"resourceAttributes": {**here, "verb": verb}}})
    await jane.post(OWN, {"spec": {"nonResourceAttributes": {"verb": "get", "path": "/openapi/v2"}}})
    await jane.post(OWN, {"spec": {"nonResourceAttributes": {"verb": "get", "path": "/metrics"}}})
    await api.acting_as("admin", "system:masters").post(OWN, {"spec": {"resourceAttributes": {**here, "verb": "x"}}})


async def test_what_somebody_may_do_in_a_namespace(api: Api, rights: Rights):
    await rights.grant("jane", rule("get"))
    asked = {"verb": "get", "resource": "configmaps", "namespace": api.namespace}
    await api.post(
        LOCAL, {"metadata": {"namespace": api.namespace}, "spec": {"user": "jane", "resourceAttributes": asked}}
    )
    await api.post(LOCAL, {"spec": {"user": "jane", "resourceAttributes": asked}})
    await api.post(LOCAL, {"spec": {"user": "jane", "resourceAttributes": MAPS}})
    await api.post(LOCAL, {"spec": {"user": "jane", "nonResourceAttributes": {"path": "/"}}})


async def all_rules(api: Api, user: str, *groups: str) -> None:
    """What somebody may do in the case's namespace; the real server tells bindings in no order."""
    with api.unrecorded():
        answer = await api.acting_as(user, *groups).post(RULES, {"spec": {"namespace": api.namespace}})
    body = answer.body
    status = body["status"]
    for kind in ("resourceRules", "nonResourceRules"):
        status[kind] = sorted(status[kind], key=lambda one: json.dumps(one, sort_keys=True))
    api.note(user, [answer.status, body])


async def test_all_that_one_may_do(api: Api, rights: Rights):
    more = rule("get,list", "pods,pods/log", "", resourceNames=["p"])
    await rights.grant("jane", rule("get"), more)
    await rights.grant("jane", {"verbs": ["get"], "nonResourceURLs": ["/x/*"]}, name="paths", everywhere=True)
    await all_rules(api, "jane")
    await all_rules(api, "joe")
    await api.acting_as("joe").post(RULES, {})


async def test_all_that_one_may_do_by_a_role_that_is_not_there(api: Api, rights: Rights):
    await rights.bind("jane", "Role", "gone")
    await rights.wait("jane", rule("get"), reason="gone")
    await all_rules(api, "jane")


async def test_the_administrator_may_do_everything(api: Api):
    admin = api.acting_as("admin", "system:masters")
    await all_rules(api, "admin", "system:masters")
    await admin.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {"metadata": {"name": "x"}, "status": {}})


async def test_who_may_ask(api: Api):
    jane = api.acting_as("jane")
    await jane.post(OTHERS, {"spec": {"user": "joe", "resourceAttributes": MAPS}})
    await jane.post(LOCAL, {"spec": {"user": "joe", "resourceAttributes": MAPS}})
    await api.acting_as("system:anonymous").post(OWN, {"spec": {"resourceAttributes": MAPS}})


async def test_reviews_are_not_kept(api: Api):
    await api.get(OTHERS)
    await api.get(f"{OWN}/x")
    await api.delete(OTHERS)
    await api.post(OWN, {"spec": {"resourceAttributes": MAPS}}, query={"dryRun": "All"})
    await api.post(
        OWN,
        {"spec": {"resourceAttributes": MAPS}},
        headers={"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"},
    )


@pytest.mark.parametrize("missing", ["a clusterrole", "a role of another namespace"])
async def test_a_role_is_found_where_its_binding_is(api: Api, rights: Rights, missing: str):
    name = f"{api.namespace}-x"
    if missing == "a clusterrole":
        await rights.bind("jane", "ClusterRole", name, binding="{ns}-x", everywhere=True)
        await rights.wait("jane", rule("get"), reason=name)
    else:
        await rights.bind("jane", "Role", name)
        await rights.wait("jane", rule("get"), reason=name)
    await api.post(OTHERS, {"spec": {"user": "jane", "resourceAttributes": {**MAPS, "namespace": api.namespace}}})
