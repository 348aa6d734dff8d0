"""§1.3 The Status bodies of refusals."""

from __future__ import annotations

import pytest

from conformance.exchange import Api
from conformance.objects import DEPLOYMENTS, MAPS, PODS, config_map, deployment, pod


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
