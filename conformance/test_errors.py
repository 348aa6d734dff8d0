"""§1.3 The Status bodies of refusals."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.exchange import Api
from conformance.objects import DEPLOYMENTS, MAPS, PODS, config_map, deployment, pod

pytestmark = pytest.mark.section("1.3")


@pytest.mark.parametrize(
    "path", [MAPS, DEPLOYMENTS, PODS, "/api/v1/nodes", "/apis/rbac.authorization.k8s.io/v1/clusterroles"]
)
async def test_an_object_that_is_not_there(api: Api, path: str):
    await api.get(f"{path}/nope")
    await api.delete(f"{path}/nope")
    await api.patch(f"{path}/nope", {})


async def test_an_update_of_what_is_not_there(api: Api):
    await api.put(MAPS + "/nope", config_map("nope"))
    await api.put(DEPLOYMENTS + "/nope", deployment("nope"))


async def test_a_name_that_is_taken(api: Api):
    await api.post(MAPS, config_map())
    await api.post(MAPS, config_map())


async def test_a_stale_version(api: Api):
    await api.post(MAPS, config_map())
    await api.put(MAPS + "/a", config_map() | {"metadata": {"name": "a", "resourceVersion": "1"}})
    await api.patch(MAPS + "/a", {"metadata": {"resourceVersion": "1"}, "data": {"k": "v"}})


async def test_another_uid(api: Api):
    await api.post(MAPS, config_map())
    uid = "11111111-1111-4111-8111-111111111111"
    await api.put(MAPS + "/a", config_map() | {"metadata": {"name": "a", "uid": uid}})


async def test_names_that_do_not_match(api: Api):
    await api.post(MAPS, config_map())
    await api.put(MAPS + "/a", config_map("zz"))


async def test_a_namespace_that_does_not_match(api: Api):
    await api.post(MAPS, config_map() | {"metadata": {"name": "b", "namespace": "other"}})


@pytest.mark.parametrize(
    ("version", "kind"),
    [("v1", "Secret"), ("apps/v1", "ConfigMap"), ("v1", "Nonsense"), ("x/v1", "ConfigMap"), ("v1", "")],
)
async def test_a_kind_that_does_not_match(api: Api, version: str, kind: str):
    await api.post(MAPS, {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}})


async def test_a_version_on_create(api: Api):
    await api.post(MAPS, config_map() | {"metadata": {"name": "a", "resourceVersion": "5"}})


async def test_an_object_without_a_name(api: Api):
    await api.post(MAPS, {"metadata": {}})
    await api.post(MAPS, {})


@pytest.mark.parametrize("name", ["A", "a_b", "a..b", "-a", "a" * 254, "a/b", "..", "a%b"])
async def test_a_name_that_is_none(api: Api, name: str):
    await api.post(MAPS, config_map(name))


async def test_many_errors_at_once(api: Api):
    bad = pod("BAD", restartPolicy="Sometimes", containers=[{"name": "X y", "image": ""}, {"image": "a"}])
    await api.post(PODS, bad)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"text"', b"null", b"{}garbage", b'{"metadata": 5}', b"\xff\xfe"])
async def test_a_body_that_is_no_object(api: Api, body: bytes):
    await api.post(MAPS, body)


@pytest.mark.parametrize("value", [5, True, [], {}, None])
async def test_a_value_of_the_wrong_type(api: Api, value: object):
    await api.post(MAPS, {"metadata": {"name": "a"}, "data": {"k": value}})


@pytest.mark.parametrize(
    ("method", "path"), [("PUT", MAPS), ("POST", MAPS + "/a"), ("PATCH", MAPS), ("POST", "/healthz")]
)
async def test_a_method_that_the_place_does_not_take(api: Api, method: str, path: str):
    await api.call(method, path, {})


@pytest.mark.parametrize("content", ["text/plain", "application/xml", "application/cbor", "image/png"])
async def test_a_body_of_an_unknown_type(api: Api, content: str):
    await api.post(MAPS, b"{}", content_type=content)


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "image/png"])
async def test_an_answer_that_cannot_be_given(api: Api, accept: str):
    await api.get(MAPS, headers={"Accept": accept})


async def test_a_body_that_is_too_large(api: Api):
    await api.post(MAPS, config_map("a", k="x" * (3 << 20)))


async def test_data_that_is_too_large(api: Api):
    await api.post(MAPS, config_map("a", k="x" * (1 << 20), l="y"))


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/configmaps/a"),
        ("DELETE", "/api/v1/configmaps"),
        ("POST", "/api/v1/configmaps"),
        ("GET", "/api/v1/namespaces/{ns}/nodes"),
        ("GET", "/api/v1/namespaces/{ns}/nodes/n"),
        ("POST", "/api/v1/namespaces/{ns}/nodes"),
        ("GET", "/api/v1/namespaces/{ns}/configmaps/a/b/c"),
        ("GET", "/apis/apps/v1/namespaces/{ns}/configmaps"),
        ("OPTIONS", MAPS),
        ("DELETE", "/api/v1/namespaces"),
        ("PATCH", "/api/v1/namespaces"),
        ("GET", "/api/v1/namespaces/{ns}"),
        ("POST", "/apis/authorization.k8s.io/v1/namespaces/{ns}/subjectaccessreviews"),
        ("GET", "/apis/authorization.k8s.io/v1/subjectaccessreviews"),
        ("PUT", PODS + "/p/eviction"),
        ("GET", PODS + "/p/binding"),
        ("DELETE", DEPLOYMENTS + "/d/status"),
        ("DELETE", DEPLOYMENTS + "/d/scale"),
        ("POST", DEPLOYMENTS + "/d/status"),
    ],
)
async def test_a_method_at_an_address_of_another_shape(api: Api, method: str, path: str):
    await api.call(method, path, {} if method in ("POST", "PUT", "PATCH") else None)


@pytest.mark.parametrize(
    "path", [MAPS + "/", MAPS + "/a/", MAPS + "/%61", MAPS + "/a%2Fb", MAPS + "/..", MAPS + "/.", MAPS + "/a%25"]
)
async def test_an_address_that_is_written_otherwise(api: Api, path: str):
    await api.post(MAPS, config_map())
    await api.get(path)


async def test_a_namespace_that_is_not_there(api: Api):
    gone = "/api/v1/namespaces/{ns}-nowhere/configmaps"
    await api.post(gone, config_map())
    await api.get(gone)
    await api.get(gone + "/a")
    await api.delete(gone)
    await api.put(gone + "/a", config_map())
    await api.patch(gone + "/a", config_map(), type="apply", query={"fieldManager": "m"})


async def test_a_cluster_wide_object_with_a_namespace(api: Api):
    body = {"metadata": {"name": f"{api.namespace}-r", "namespace": "default"}, "rules": []}
    await api.post("/apis/rbac.authorization.k8s.io/v1/clusterroles", body)


async def test_a_put_without_a_name_or_to_another_namespace(api: Api):
    await api.post(MAPS, config_map())
    await api.put(MAPS + "/a", {"data": {"k": "v"}})
    await api.put(MAPS + "/a", {"metadata": {"name": "a", "namespace": "other"}})
    await api.patch(MAPS + "/a", {"metadata": {"namespace": "other"}})


@pytest.mark.parametrize("version", ["x", "-1", "0", "1.5", "99999999999999999999"])
async def test_a_version_that_is_none(api: Api, version: str):
    await api.post(MAPS, config_map())
    await api.put(MAPS + "/a", {"metadata": {"name": "a", "resourceVersion": version}, "data": {"k": "v"}})
    await api.patch(MAPS + "/a", {"metadata": {"resourceVersion": version}, "data": {"k": "v"}})


async def test_a_uid_that_a_patch_changes(api: Api):
    await api.post(MAPS, config_map())
    await api.patch(MAPS + "/a", {"metadata": {"uid": "11111111-1111-4111-8111-111111111111"}})
    await api.post(DEPLOYMENTS, deployment())
    await api.patch(DEPLOYMENTS + "/d", {"metadata": {"uid": "11111111-1111-4111-8111-111111111111"}})


async def test_a_stale_version_of_a_status_or_a_scale(api: Api):
    created = (await api.post(DEPLOYMENTS, deployment())).body
    stale = {**created, "metadata": {"name": "d", "resourceVersion": "1"}}
    await api.put(DEPLOYMENTS + "/d", stale)
    await api.put(DEPLOYMENTS + "/d/status", stale)
    scale = {"metadata": {"name": "d", "resourceVersion": "1"}, "spec": {"replicas": 3}}
    await api.put(DEPLOYMENTS + "/d/scale", scale)


@pytest.mark.parametrize(
    "body",
    [
        {"metadata": {"name": 5}},
        {"metadata": {"name": "a", "labels": {"k": 5}}},
        {"metadata": {"name": "a", "labels": ["k"]}},
        {"metadata": {"name": "a", "finalizers": "x"}},
        {"metadata": {"name": "a", "generation": "x"}},
        {"metadata": {"name": "a"}, "immutable": "yes"},
        {"metadata": {"name": "a"}, "data": "x"},
        {"metadata": {"name": "a"}, "binaryData": {"k": "no base64!"}},
        {"metadata": {"name": "a", "creationTimestamp": "yesterday"}},
        {"metadata": ["a"]},
        {"apiVersion": 1, "kind": 2},
        {"apiVersion": "a/b/c", "kind": "ConfigMap"},
    ],
)
async def test_a_field_of_the_wrong_type(api: Api, body: object):
    await api.post(MAPS, body)


@pytest.mark.parametrize(
    "spec",
    [
        {"replicas": "two"},
        {"replicas": 1.5},
        {"replicas": 1 << 40},
        {"strategy": {"rollingUpdate": {"maxSurge": True}}},
        {"template": {"spec": {"containers": {}}}},
        {"template": {"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "many"}}}]}}},
        {"progressDeadlineSeconds": None, "paused": 1},
    ],
)
async def test_a_field_of_the_wrong_type_deep_inside(api: Api, spec: dict[str, Any]):
    await api.post(DEPLOYMENTS, deployment(**spec))


async def test_a_field_of_the_wrong_type_in_a_patch(api: Api):
    await api.post(DEPLOYMENTS, deployment())
    await api.patch(DEPLOYMENTS + "/d", {"spec": {"paused": "x"}}, type="strategic")
    await api.patch(MAPS + "/nope", {"data": 5})


async def test_head_is_no_method_of_objects(api: Api):
    await api.post(MAPS, config_map())
    with api.unrecorded():
        answers = [await api.call("HEAD", path) for path in (MAPS + "/a", MAPS + "/nope", MAPS, "/api")]
    api.note("statuses", [answer.status for answer in answers])


async def test_every_cause_has_its_reason(api: Api):
    ports = [{"containerPort": 80, "name": "p"}, {"containerPort": 99999, "name": "p", "protocol": "X"}]
    mounts = [{"name": "none", "mountPath": ""}]
    container = {"image": "i", "ports": ports, "volumeMounts": mounts, "terminationMessagePolicy": "X"}
    bad = pod(containers=[container], hostname="a." * 40, nodeName="Bad", ephemeralContainers=[{"name": "e"}])
    bad["metadata"]["annotations"] = {"a": "x" * (257 << 10)}
    with api.unrecorded():
        answer = await api.post(PODS, bad)
    api.note("causes", sorted((c["field"], c["reason"]) for c in answer.body["details"]["causes"]))
