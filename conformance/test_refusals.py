"""How a refused object is called: by the group of its storage, and a review by nothing at all."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.exchange import Api

pytestmark = pytest.mark.section("1.3")

CORE = "/api/v1/namespaces/{ns}/events"
EVENTS = "/apis/events.k8s.io/v1/namespaces/{ns}/events"


def event(api: Api) -> dict[str, Any]:
    return {
        "metadata": {"name": "e"},
        "eventTime": "2020-01-01T00:00:00.000000Z",
        "reportingController": "example.com/tester",
        "reportingInstance": "t-1",
        "action": "Testing",
        "reason": "Tested",
        "regarding": {"kind": "Pod", "name": "p", "namespace": api.namespace},
        "type": "Normal",
    }


async def test_an_event_of_the_new_group(api: Api):
    await api.post(EVENTS, {**event(api), "action": "", "type": "Odd"})
    await api.post(EVENTS, {**event(api), "metadata": {"name": "Not a name/"}})
    await api.post(EVENTS, event(api))
    await api.post(EVENTS, event(api))
    await api.patch(EVENTS + "/e", {"reason": "Other"})
    await api.patch(EVENTS + "/e", {"metadata": {"labels": {"bad key!": ""}}})
    await api.get(EVENTS + "/nothing")
    await api.delete(EVENTS + "/nothing")


async def test_an_event_of_the_core_group(api: Api):
    about = {"kind": "Pod", "name": "p", "namespace": "elsewhere"}
    await api.post(CORE, {"metadata": {"name": "e"}, "involvedObject": about})
    await api.post(CORE, {"metadata": {"name": "e"}, "involvedObject": {**about, "namespace": api.namespace}})
    await api.patch(CORE + "/e", {"metadata": {"labels": {"bad key!": ""}}})


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("SelfSubjectAccessReview", {}),
        ("SubjectAccessReview", {"resourceAttributes": {"verb": "get"}}),
        ("SelfSubjectAccessReview", {"resourceAttributes": {"verb": "get"}, "nonResourceAttributes": {"verb": "get"}}),
    ],
)
async def test_a_review(api: Api, kind: str, spec: dict[str, Any]):
    await api.post(f"/apis/authorization.k8s.io/v1/{kind.lower()}s", {"metadata": {}, "spec": spec})


async def test_a_review_in_a_namespace(api: Api):
    path = "/apis/authorization.k8s.io/v1/namespaces/{ns}/localsubjectaccessreviews"
    spec = {"resourceAttributes": {"verb": "get", "namespace": "elsewhere"}, "user": "u"}
    await api.post(path, {"spec": spec})
    await api.post(path, {"spec": {"user": "u"}})


async def test_an_answered_review(api: Api):
    reviews = "/apis/authorization.k8s.io/v1/"
    attributes = {"verb": "get", "resource": "pods", "namespace": api.namespace}
    await api.post(reviews + "selfsubjectaccessreviews", {"spec": {"resourceAttributes": attributes}})
    admin = {"user": "a", "groups": ["system:masters"]}
    spec = {**admin, "nonResourceAttributes": {"verb": "get", "path": "/x"}}
    await api.post(reviews + "subjectaccessreviews", {"metadata": {}, "spec": spec})
    await api.post(reviews + "subjectaccessreviews", {"metadata": {"name": "x"}, "spec": spec})
    spec = {**admin, "resourceAttributes": attributes}
    await api.post(reviews + "namespaces/{ns}/localsubjectaccessreviews", {"spec": spec})


async def test_a_name_that_is_not_told(api: Api):
    path = "/api/v1/namespaces/{ns}/configmaps"
    await api.post(path, {"metadata": {"name": "a"}})
    await api.put(path + "/a", {"data": {"a": "b"}})
    await api.put(path + "/a", {"metadata": {}, "data": {"a": "b"}})
    await api.patch(path + "/a", {"metadata": {"name": None}, "data": {"a": "b"}})
    await api.patch(path + "/a", {"metadata": None})
    await api.patch(path + "/a", {"metadata": {"name": None}}, type="strategic")
    await api.patch(path + "/a", [{"op": "remove", "path": "/metadata/name"}], type="json")
    intent = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "c"}}
    await api.patch(path + "/a", intent, type="apply", query={"fieldManager": "m"})
    intent["metadata"] = {"namespace": "elsewhere"}
    await api.patch(path + "/a", intent, type="apply", query={"fieldManager": "m"})


async def test_a_uid_that_is_another_s(api: Api):
    path = "/api/v1/namespaces/{ns}/configmaps"
    await api.post(path, {"metadata": {"name": "a"}})
    await api.put(path + "/a", {"metadata": {"name": "a", "uid": "other"}})
    await api.patch(path + "/a", {"metadata": {"uid": "other"}})
    await api.patch(path + "/a", {"metadata": {"uid": None}})
    await api.patch(path + "/a", {"metadata": {"uid": ""}, "data": {"a": "b"}})
    intent = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "uid": "other"}}
    await api.patch(path + "/a", intent, type="apply", query={"fieldManager": "m"})
