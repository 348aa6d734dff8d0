"""OpenAPI v2: what the real server publishes of types, but for prose."""

from __future__ import annotations

import json
from typing import Any

import pytest_asyncio

from kubewright_apiserver.app import App
from kubewright_apiserver.discovery.gnostic import in_protobuf
from kubewright_apiserver.server import ApiServer

META = "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1"
TEXT = {"type": "string"}
HEX = (
    "0a03322e304a780a760a016312719a010161b201080a066f626a656374ca01390a1f0a0161121aa201041202780aa2010512"
    "0322220ab201080a06737472696e670a160a016212110a0f232f646566696e6974696f6e732f63fa01230a16782d6b756265"
    "726e657465732d6c6973742d747970651209120761746f6d69630a"
)
OBJECT = {"apiVersion": TEXT, "kind": TEXT, "metadata": {"$ref": f"{META}.ObjectMeta"}}


@pytest_asyncio.fixture
async def app():
    async with ApiServer(listens=False) as server:
        yield server.app


async def asked(app: App, method: str = "GET", target: str = "/openapi/v2", body: Any = None, **headers: str):
    given = [("Content-Type", "application/json"), *((name.replace("_", "-"), text) for name, text in headers.items())]
    data = b"" if body is None else json.dumps(body).encode()
    status, told, chunks = await app.handle(method, target, given, data)
    return status, dict(told), b"".join([chunk async for chunk in chunks])


async def document(app: App) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((await asked(app))[2])
    return found


async def defined(app: App, schema: dict[str, Any]) -> dict[str, Any]:
    """The type of a custom resource with that schema."""
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "widgets", "kind": "Widget", "singular": "widget", "listKind": "WidgetList"}
    spec = {"group": "x.example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    crd = {"metadata": {"name": "widgets.x.example.com"}, "spec": spec}
    target = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    status, _, data = await asked(app, "POST", target, crd)
    assert status == 201, data
    found: dict[str, Any] = (await document(app))["definitions"]["com.example.x.v1.Widget"]
    return found


async def test_the_document_is_not_sent_again_when_the_client_has_it(app: App):
    status, headers, _ = await asked(app)

    again, _, data = await asked(app, if_none_match=headers["ETag"])

    assert (status, again, data) == (200, 304, b"")


async def test_the_document_is_another_when_a_definition_comes(app: App):
    _, before, _ = await asked(app)
    await defined(app, {"type": "object"})

    _, after, _ = await asked(app)

    assert before["ETag"] != after["ETag"]


async def test_a_client_gets_the_first_form_that_it_takes(app: App):
    media = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"

    for accept in (media, f"{media}, application/json", media.replace("@", ".")):
        status, headers, data = await asked(app, accept=accept)
        assert (status, headers["Content-Type"]) == (200, media.replace("@", "."))
        assert data.startswith(b"\n\x032.0\x12\x12\n\nKubernetes\x12\x041.36")
    assert (await asked(app, accept=f"application/json, {media}"))[1]["Content-Type"] == "application/json"


async def test_a_client_that_takes_neither_form_is_refused(app: App):
    for accept in ("text/html", "application/vnd.kubernetes.protobuf"):
        assert (await asked(app, accept=accept))[0] == 406


def test_a_document_in_protobuf_is_that_of_the_real_server():
    schema = {
        "type": "object",
        "required": ["a"],
        "properties": {"a": {"type": "string", "enum": ["x", ""]}, "b": {"$ref": "#/definitions/c"}},
        "x-kubernetes-list-type": "atomic",
    }

    data = in_protobuf({"swagger": "2.0", "definitions": {"c": schema}})

    assert data.hex() == HEX


async def test_nothing_is_below_the_document(app: App):
    assert (await asked(app, target="/openapi/v2/"))[0] == 404
    assert (await asked(app, target="/openapi/v2/x"))[0] == 404


async def test_built_in_types_have_no_defaults_and_no_wrapped_references(app: App):
    definitions = (await document(app))["definitions"]

    spec = definitions["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]
    strategy = {
        "$ref": "#/definitions/io.k8s.api.apps.v1.DeploymentStrategy",
        "x-kubernetes-patch-strategy": "retainKeys",
    }
    assert spec["strategy"] == strategy
    assert spec["template"] == {"$ref": "#/definitions/io.k8s.api.core.v1.PodTemplateSpec"}
    either = {"type": "string", "format": "int-or-string"}
    assert definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"] == either


async def test_every_reference_leads_to_a_type(app: App):
    found = await document(app)

    references = {text.partition('"')[0] for text in json.dumps(found).split("#/definitions/")[1:]}
    assert references <= found["definitions"].keys()


async def test_operations_are_named_as_clients_know_them(app: App):
    paths = (await document(app))["paths"]

    pods = paths["/api/v1/namespaces/{namespace}/pods"]
    assert {method: one["operationId"] for method, one in pods.items()} == {
        "get": "listCoreV1NamespacedPod",
        "post": "createCoreV1NamespacedPod",
        "delete": "deleteCoreV1CollectionNamespacedPod",
    }
    patch = paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == {"group": "apps", "kind": "Deployment", "version": "v1"}
    assert {"dryRun", "fieldValidation"} <= {one["name"] for one in patch["parameters"]}


async def test_a_custom_type_says_what_can_be_said(app: App):
    spec = {
        "n": {"type": "string", "nullable": True},
        "p": {"type": "integer", "default": 3},
        "u": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": TEXT}},
        "o": {"type": "object", "oneOf": [{"required": ["a"]}], "properties": {"a": TEXT}},
        "i": {"x-kubernetes-int-or-string": True},
        "a": {"type": "array", "items": {"type": "string", "nullable": True}},
    }
    schema = {"type": "object", "properties": {"spec": {"type": "object", "required": ["n", "p"], "properties": spec}}}

    found = await defined(app, schema)

    assert found["properties"] == {
        **OBJECT,
        "spec": {
            "type": "object",
            "required": ["p"],
            "properties": {
                "n": {},
                "p": {"type": "integer"},
                "u": {"x-kubernetes-preserve-unknown-fields": True},
                "o": {"type": "object", "properties": {"a": TEXT}},
                "i": {"x-kubernetes-int-or-string": True},
                "a": {"type": "array", "items": {}},
            },
        },
    }


async def test_a_custom_type_that_keeps_everything_says_nothing(app: App):
    found = await defined(app, {"type": "object", "x-kubernetes-preserve-unknown-fields": True})

    kind = {"group": "x.example.com", "kind": "Widget", "version": "v1"}
    assert found == {"type": "object", "x-kubernetes-group-version-kind": [kind]}
