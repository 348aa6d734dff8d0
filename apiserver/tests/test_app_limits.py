"""Bodies, objects and parameters of any size: every one has an answer, and soon."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio

from kubewright_apiserver import ApiServer

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
SECRETS = "/api/v1/namespaces/default/secrets"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
BLOBS = "/apis/example.com/v1/namespaces/default/blobs"
KIBIBYTE = 1024
PATCHES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "blobs.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "blobs", "kind": "Blob"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


@pytest_asyncio.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer(listens=False) as running:
        await ask(running, "POST", CRDS, CRD)
        await ask(running, "POST", MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}})
        await ask(running, "POST", BLOBS, blob("a"))
        yield running


async def ask(
    server: ApiServer, method: str, path: str, body: Any = None, type: str = "application/json"
) -> tuple[int, Any]:
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    async with asyncio.timeout(20):
        status, _, chunks = await server.handle(method, path, [("Content-Type", type), ("User-Agent", "test")], data)
        text = b"".join([chunk async for chunk in chunks])
    return status, json.loads(text)


def blob(name: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Blob", "metadata": {"name": name}, **fields}


def nested(depth: int, *, is_list: bool) -> bytes:
    opening, closing = (b"[", b"]") if is_list else (b'{"a":', b"}")
    return opening * depth + b"1" + closing * depth


def deep_requests(inner: bytes) -> Iterator[tuple[str, str, bytes, str]]:
    """The same depth by all ways that lead in."""
    config = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"%s"},"x":' + inner + b"}"
    custom = b'{"apiVersion":"example.com/v1","kind":"Blob","metadata":{"name":"%s"},"x":' + inner + b"}"
    for path, body in ((MAPS, config), (BLOBS, custom)):
        for type in ("application/json", "application/yaml"):
            yield "POST", path, body % b"b", type
            yield "PUT", f"{path}/a", body % b"a", type
        for validation in ("Strict", "Warn", "Ignore"):
            query = f"?fieldManager=m&fieldValidation={validation}"
            yield "PATCH", f"{path}/a{query}", body % b"a", PATCHES["apply"]
            yield "PATCH", f"{path}/a{query}", b'{"x":' + inner + b"}", PATCHES["merge"]
            yield "PATCH", f"{path}/a{query}", b'{"x":' + inner + b"}", PATCHES["strategic"]
            operations = b'[{"op":"add","path":"/x","value":' + inner + b'},{"op":"test","path":"/x","value":1}]'
            yield "PATCH", f"{path}/a{query}", operations, PATCHES["json"]
        yield "DELETE", f"{path}/a?dryRun=All", b'{"x":' + inner + b"}", "application/json"
    schema = b'{"type":"object","properties":{"a":' * 60 + b"{}" + b"}}" * 60
    deep = json.dumps(CRD).replace('{"type": "object", "x-kubernetes-preserve-unknown-fields": true}', "@").encode()
    yield (
        "POST",
        CRDS,
        deep.replace(b"blobs", b"deeps").replace(b"@", schema[:-120] + inner + schema[-120:]),
        ("application/json"),
    )


@pytest.mark.parametrize("depth", [230, 248, 256, 900, 1_020, 9_990, 300_000])
@pytest.mark.parametrize("is_list", [True, False], ids=["lists", "maps"])
async def test_no_depth_makes_the_server_fail(server: ApiServer, depth: int, is_list: bool):
    for method, path, body, type in deep_requests(nested(depth, is_list=is_list)):
        status, answer = await ask(server, method, path, body, type)

        assert "its log says why" not in answer.get("message", ""), (method, path, type)
        assert status < 500 or depth > 230 or "field not declared" in answer["message"], (method, path, type)


async def test_patches_cannot_nest_an_object_beyond_what_is_stored(server: ApiServer):
    step = nested(100, is_list=False)
    deepest = ""
    answers = []
    for _ in range(5):
        operation = b'[{"op":"add","path":"%s/x","value":%s}]' % (deepest.encode(), step)
        answers.append(await ask(server, "PATCH", f"{BLOBS}/a", operation, PATCHES["json"]))
        deepest += "/x" + "/a" * 99

    assert answers[0][0] == 200
    assert answers[-1][0] in (422, 500)
    assert (await ask(server, "GET", f"{BLOBS}/a"))[0] == 200


async def test_a_custom_resource_has_a_largest_size(server: ApiServer):
    fitting = await ask(server, "POST", BLOBS, blob("b", x="x" * (1535 * KIBIBYTE)))
    beyond = await ask(server, "POST", BLOBS, blob("c", x="x" * (1536 * KIBIBYTE)))

    assert fitting[0] == 201
    assert (beyond[0], beyond[1]["message"]) == (500, "etcdserver: request is too large")
    assert (await ask(server, "GET", f"{BLOBS}/c"))[0] == 404


async def test_letters_that_go_writes_longer_count_for_more(server: ApiServer):
    answer = await ask(server, "POST", BLOBS, blob("b", x="<" * (1100 * KIBIBYTE)))

    assert answer[0] == 500
    assert "trying to send message larger than max" in answer[1]["message"]


async def test_a_built_in_object_is_weighed_as_protobuf(server: ApiServer):
    encoded = "QUJD" * (340 * KIBIBYTE)
    annotations = {"k": "x" * (250 * KIBIBYTE)}
    fitting = {"metadata": {"name": "a", "annotations": annotations}, "data": {"k": encoded}}
    beyond = [{"name": f"E{number}", "value": "x" * KIBIBYTE} for number in range(1600)]
    spec = {"serviceAccountName": "none", "containers": [{"name": "c", "image": "i", "env": beyond}]}

    secret = await ask(server, "POST", SECRETS, fitting)
    pod = await ask(server, "POST", PODS, {"metadata": {"name": "a"}, "spec": spec})

    assert secret[0] == 201
    assert (pod[0], pod[1]["message"]) == (500, "etcdserver: request is too large")


async def test_what_is_too_large_is_tried_without_its_managed_fields(server: ApiServer):
    fields = {f"k{number:05}": 1 for number in range(70_000)}

    created = await ask(server, "POST", BLOBS, blob("b", x=fields))
    applied = await ask(server, "PATCH", f"{BLOBS}/c?fieldManager=m", blob("c", x=fields), PATCHES["apply"])

    assert created[0] == 201
    assert "managedFields" not in created[1]["metadata"]
    assert (applied[0], applied[1]["message"]) == (500, "etcdserver: request is too large")


async def test_a_refused_size_changes_nothing_and_takes_no_revision(server: ApiServer):
    before = await ask(server, "GET", f"{BLOBS}/a")
    rev = server.app.engine.store.rev

    status, _ = await ask(server, "PATCH", f"{BLOBS}/a", {"x": "x" * (1600 * KIBIBYTE)}, PATCHES["merge"])

    assert status == 500
    assert await ask(server, "GET", f"{BLOBS}/a") == before
    assert server.app.engine.store.rev == rev


async def test_twenty_thousand_owners_are_compared_quickly(server: ApiServer):
    owners = [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": f"u{number}"} for number in range(20_000)]
    loop = asyncio.get_running_loop()

    began = loop.time()
    status, answer = await ask(
        server, "POST", MAPS, {"metadata": {"name": "b", "ownerReferences": [*owners, owners[5]]}}
    )

    assert status == 201
    assert answer["metadata"]["ownerReferences"] == owners
    assert loop.time() - began < 15


async def test_an_unknown_parameter_or_a_thousand_do_no_harm(server: ApiServer):
    query = "&".join(f"p{number}={number}" for number in range(5_000))

    status, answer = await ask(server, "GET", f"{MAPS}?{query}&labelSelector=none")

    assert (status, answer["items"]) == (200, [])


@pytest.mark.parametrize(
    "quantity", ["1" * 4_000, "1" * 100_000, f"{'1' * 100_000}Ki", f"1e{'9' * 5_000}", "1e999999999"]
)
async def test_no_quantity_makes_the_server_fail(server: ApiServer, quantity: str):
    container = {"name": "c", "image": "i", "resources": {"limits": {"memory": quantity}}}
    spec = {"serviceAccountName": "none", "containers": [container]}

    status, _ = await ask(server, "POST", PODS, {"metadata": {"name": "a"}, "spec": spec})

    assert status in (201, 400, 422)


async def test_the_log_of_requests_keeps_no_long_addresses(server: ApiServer):
    await ask(server, "GET", f"{MAPS}/none?labelSelector={'x' * 100_000}")

    assert len(server.requests[-1].target) < 10_000
