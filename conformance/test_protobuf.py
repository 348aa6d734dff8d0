"""§1.2 Protobuf: bodies that are read, answers that are given, and what is wrong with others."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.exchange import Api
from conformance.objects import DEPLOYMENTS, MAPS, PODS, config_map, crd, deployment, pod
from conformance.protobuf.answers import PROTOBUF, tell
from conformance.widgets import Widgets
from kubewright_apiserver.protobuf import sealed, written_object

pytestmark = pytest.mark.section("1.2")

PARTIAL = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIALS = "as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
NAMED = b"\x0a\x03\x0a\x01a"
TEMPLATE = deployment()["spec"]["template"]
MICRO = "2026-01-02T03:04:05.678901Z"


def told(kind: str, version: str, resource: str, **content: Any) -> tuple[str, dict[str, Any]]:
    """A path and an object to create there."""
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    path = f"{root}/namespaces/{{ns}}/{resource}"
    return path, {"kind": kind, "apiVersion": version, "metadata": {"name": "a"}, **content}


OBJECTS = [
    told("ConfigMap", "v1", "configmaps", data={"k": "v", "é": "ü"}, binaryData={"b": "AAEC/w=="}, immutable=False),
    told("Secret", "v1", "secrets", data={"k": "AAEC"}, stringData={"s": "text"}, type="Opaque"),
    told("Service", "v1", "services", spec={
        "ports": [{"name": "a", "port": 80, "targetPort": "http"}, {"name": "b", "port": 81, "targetPort": 8081}],
        "clusterIP": "None", "publishNotReadyAddresses": True,
    }),
    told("Deployment", "apps/v1", "deployments", spec={
        "replicas": 0, "selector": {"matchLabels": {"app": "d"}}, "template": TEMPLATE,
        "strategy": {"rollingUpdate": {"maxSurge": "10%", "maxUnavailable": 0}},
    }),
    told("Job", "batch/v1", "jobs", spec={
        "backoffLimit": 0, "suspend": True, "template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}},
    }),
    told("ResourceQuota", "v1", "resourcequotas", spec={"hard": {"requests.cpu": "1000m", "pods": "1e1"}}),
    told("Lease", "coordination.k8s.io/v1", "leases", spec={
        "holderIdentity": "", "leaseDurationSeconds": 15, "renewTime": MICRO, "leaseTransitions": 0}),
    told("PodDisruptionBudget", "policy/v1", "poddisruptionbudgets", spec={
        "minAvailable": "50%", "selector": {"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}}),
    told("Role", "rbac.authorization.k8s.io/v1", "roles", rules=[
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": ["a", "b"]}]),
    told("NetworkPolicy", "networking.k8s.io/v1", "networkpolicies", spec={
        "podSelector": {}, "ingress": [{"ports": [{"port": 80}, {"port": "http"}], "from": [
            {"ipBlock": {"cidr": "10.0.0.0/8"}}]}]}),
    told("HorizontalPodAutoscaler", "autoscaling/v2", "horizontalpodautoscalers", spec={
        "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}, "maxReplicas": 3,
        "metrics": [{"type": "Resource", "resource": {
            "name": "cpu", "target": {"type": "AverageValue", "averageValue": "500m"}}}]}),
    told("ControllerRevision", "apps/v1", "controllerrevisions", data={"b": [1, 1.5, None], "a": "x"}, revision=0),
    told("Event", "events.k8s.io/v1", "events", eventTime=MICRO, reportingController="c", reportingInstance="i",
         action="Act", reason="Because", type="Normal", series={"count": 2, "lastObservedTime": MICRO}),
]  # fmt: skip


@pytest.mark.parametrize(("path", "obj"), OBJECTS, ids=[obj["kind"] for _, obj in OBJECTS])
async def test_an_object_in_protobuf_is_created(api: Api, path: str, obj: dict[str, Any]):
    if obj["kind"] == "Event":
        obj = obj | {"regarding": {"kind": "Pod", "name": "p", "namespace": api.namespace}}
    await api.post(path, written_object(obj), content_type=PROTOBUF)


async def test_a_definition_with_a_schema_in_protobuf(api: Api):
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "default": {},
                "additionalProperties": {"type": "integer", "minimum": 1, "maximum": 2.5},
            },
            "one": {"type": "string", "enum": ["a", "b"], "default": "a"},
            "many": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "any": {"x-kubernetes-int-or-string": True},
        },
    }
    definition = crd("gadgets", f"{api.namespace}.example.com", schema)
    await api.post(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All",
        written_object(definition),
        content_type=PROTOBUF,
    )


async def test_an_update_in_protobuf(api: Api):
    await api.post(MAPS, config_map("a", k="v"))
    await api.put(MAPS + "/a", written_object(config_map("a", k="w")), content_type=PROTOBUF)
    await api.put(MAPS + "/a", written_object(config_map("b")), content_type=PROTOBUF)
    await api.put(MAPS + "/a", b"", content_type=PROTOBUF)


async def test_a_scale_in_protobuf(api: Api):
    await api.post(DEPLOYMENTS, deployment())
    scale = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "d"}, "spec": {"replicas": 0}}
    await api.put(DEPLOYMENTS + "/d/scale", written_object(scale), content_type=PROTOBUF)
    await tell(api, "GET", DEPLOYMENTS + "/d/scale")


async def test_a_binding_and_an_eviction_in_protobuf(api: Api):
    await api.post(PODS, pod())
    target = {"kind": "Node", "name": "n"}
    binding = {"kind": "Binding", "apiVersion": "v1", "metadata": {"name": "p"}, "target": target}
    await tell(api, "POST", PODS + "/p/binding", binding)
    eviction = {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "p"}}
    await tell(api, "POST", PODS + "/p/eviction", eviction | {"deleteOptions": {"gracePeriodSeconds": 0}})


async def test_an_access_review_in_protobuf(api: Api):
    attributes = {"verb": "get", "resource": "pods", "namespace": "default"}
    review = {"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1"}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    await tell(api, "POST", path, review | {"spec": {"resourceAttributes": attributes}})
    await tell(api, "POST", path, review | {"spec": {}})


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"k8s",
        b'{"kind":"ConfigMap"}',
        b"k8s\x00",
        b"k8s\x00\xff\xff",
        b"k8s\x00\x08\x01",
        b"k8s\x00\x0a\x50",
        b"k8s\x00\x0c",
        b"k8s\x00\x02\x00",
        sealed("v1", "Secret", NAMED),
        sealed("apps/v1", "Deployment", NAMED),
        sealed("v1", "Nope", NAMED),
        sealed("nope/v1", "ConfigMap", NAMED),
        sealed("v2", "ConfigMap", NAMED),
        sealed("v1", "ConfigMap", b""),
        sealed("v1", "ConfigMap", b"\x0a\x20abc"),
        sealed("v1", "ConfigMap", b"\x08\x03"),
        sealed("v1", "ConfigMap", b"\x0a\x02\x08\x03"),
        sealed("v1", "ConfigMap", b"\x0c"),
        sealed("v1", "ConfigMap", b"\x02\x00"),
        sealed("v1", "ConfigMap", b"\xff" * 11),
        sealed("v1", "ConfigMap", b"\x0a" + b"\xff" * 9 + b"\x01"),
        sealed("v1", "ConfigMap", b"\xff\x01"),
        sealed("v1", "ConfigMap", b'{"metadata":{"name":"a"}}'),
    ],
    ids=repr,
)
async def test_a_body_that_is_refused(api: Api, body: bytes):
    await api.post(MAPS, body, content_type=PROTOBUF)


@pytest.mark.parametrize(
    "body",
    [
        sealed("a/b/c", "ConfigMap", NAMED),
        sealed("", "", NAMED),
        sealed("v1", "", NAMED),
        sealed("", "ConfigMap", NAMED),
        sealed("v1", "ConfigMap", NAMED + b"\x9a\x06\x02hi"),
        sealed("v1", "ConfigMap", NAMED + b"\x0a\x03\x0a\x01b"),
        sealed("v1", "ConfigMap", NAMED + b"\x20\x02"),
        sealed("v1", "ConfigMap", NAMED + b"\x12\x0a\x0a\x01k\x12\x05a\xff\xe2\x82b"),
        sealed("v1", "ConfigMap", b"\x12\x06\x12\x01v\x0a\x01k" + NAMED),
    ],
    ids=repr,
)
async def test_an_odd_body_that_is_taken(api: Api, body: bytes):
    await api.post(MAPS, body, query={"fieldValidation": "Strict"}, content_type=PROTOBUF)


@pytest.mark.parametrize("quantity", ["1", " 1", "", "1x", "1.5Gi", "1000m"])
async def test_quantities_in_protobuf(api: Api, quantity: str):
    quota = {"kind": "ResourceQuota", "apiVersion": "v1", "metadata": {"name": "q"}}
    body = written_object(quota | {"spec": {"hard": {"pods": quantity}}})
    await api.post("/api/v1/namespaces/{ns}/resourcequotas", body, content_type=PROTOBUF)


@pytest.mark.parametrize("content", [f"{PROTOBUF};charset=utf-8", f"{PROTOBUF};stream=watch", PROTOBUF.upper()])
async def test_parameters_of_the_type_are_passed_over(api: Api, content: str):
    await api.post(MAPS, written_object(config_map()), content_type=content)


async def test_a_patch_is_never_protobuf(api: Api):
    await api.post(MAPS, config_map())
    await api.patch(MAPS + "/a", b"k8s\x00", type=PROTOBUF)


@pytest.mark.parametrize("version", ["v1", "apps/v1", "meta.k8s.io/v1", "nope/v1", "", "a/b/c", "v2"])
@pytest.mark.parametrize("kind", ["DeleteOptions", "", "Pod"])
async def test_options_of_a_deletion(api: Api, version: str, kind: str):
    await api.post(MAPS, config_map())
    await api.delete(MAPS + "/a", sealed(version, kind, b"\x12\x06\x0a\x04nope"), content_type=PROTOBUF)


@pytest.mark.parametrize(
    "body",
    [
        b"k8s",
        b"k8s\x00",
        b"k8s\x00\x0c",
        sealed("v1", "DeleteOptions", b"\x0a\x01"),
        sealed("v1", "DeleteOptions", b"\x0c"),
        sealed("v1", "DeleteOptions", b"\x08\xfb\xff\xff\xff\xff\xff\xff\xff\xff\x01\x22\x01X"),
    ],
    ids=repr,
)
async def test_options_that_are_refused(api: Api, body: bytes):
    await api.post(MAPS, config_map())
    await api.delete(MAPS + "/a", body, content_type=PROTOBUF)
    await api.delete(MAPS, body, content_type=PROTOBUF)


@pytest.mark.parametrize(
    "accept",
    [
        PROTOBUF,
        f"{PROTOBUF},application/json",
        f"application/json,{PROTOBUF}",
        f"{PROTOBUF};q=0.5,application/yaml;q=0.4",
        f"*/*;q=0.1,{PROTOBUF}",
        f"{PROTOBUF};stream=watch",
        f"{PROTOBUF};stream=nope",
        f"{PROTOBUF};pretty=1",
        f"{PROTOBUF};{PARTIAL}",
        f"{PROTOBUF};{PARTIAL}beta1",
        f"{PROTOBUF};{PARTIALS},application/json",
        PROTOBUF.upper(),
    ],
)
async def test_an_object_and_a_refusal_as_they_are_taken(api: Api, accept: str):
    await api.post(MAPS, config_map(k="v", labels={"l": "1"}))
    await tell(api, "GET", MAPS + "/a", accept=accept)
    await tell(api, "GET", MAPS + "/nope", accept=accept)


@pytest.mark.parametrize("accept", [PROTOBUF, f"{PROTOBUF};{PARTIALS}", f"{PROTOBUF};{PARTIALS}beta1"])
async def test_a_list_in_protobuf(api: Api, accept: str):
    await tell(api, "GET", MAPS + "?labelSelector=l", accept=accept)
    for name in "abc":
        await api.post(MAPS, config_map(name, k="v", labels={"l": name}))
    await tell(api, "GET", MAPS + "?labelSelector=l", accept=accept)


async def test_a_page_in_protobuf(api: Api):
    for name in "abc":
        await api.post(MAPS, config_map(name))
    await tell(api, "GET", MAPS + "?limit=1")


@pytest.mark.parametrize("accept", [PROTOBUF, f"{PROTOBUF};stream=watch,*/*", f"{PROTOBUF};{PARTIAL}"])
async def test_a_watch_in_protobuf(api: Api, accept: str):
    await api.post(MAPS, config_map("a", k="v", labels={"l": "1"}))
    query = "watch=1&timeoutSeconds=1&labelSelector=l"
    await tell(api, "GET", f"{MAPS}?{query}", accept=accept)


async def test_a_watch_that_is_not_given(api: Api):
    await tell(api, "GET", MAPS + "?watch=1&timeoutSeconds=1&resourceVersion=abc")
    await api.get(MAPS + "?watch=1&timeoutSeconds=1", headers={"Accept": "application/yaml"})


async def test_writes_are_answered_in_protobuf(api: Api):
    await tell(api, "POST", MAPS, config_map(k="v"))
    await tell(api, "POST", MAPS, config_map(k="v"))
    await tell(api, "PATCH", MAPS + "/a", b'{"data":{"x":"y"}}', content_type="application/merge-patch+json")
    await tell(api, "PUT", MAPS + "/a", config_map(z="z"))
    await tell(api, "DELETE", MAPS + "/a?dryRun=All")
    await tell(api, "DELETE", MAPS + "/a")
    await tell(api, "POST", MAPS, config_map("B"))


@pytest.mark.parametrize("path", ["/api/v1", "/apis/apps", "/apis/apps/v1", "/version", "/api/v1/nope"])
async def test_discovery_in_protobuf(api: Api, path: str):
    await tell(api, "GET", path)


async def test_custom_resources_have_no_protobuf(api: Api, widgets: Widgets):
    await widgets.install(subresources={"status": {}})
    await widgets.create("w")
    await tell(api, "GET", widgets.path + "/w")
    await tell(api, "GET", widgets.path)
    await tell(api, "GET", widgets.path + "/nope")
    await api.get(widgets.path + "/w", headers={"Accept": f"{PROTOBUF}, */*"})
    await tell(api, "GET", widgets.path + "/w", accept=f"{PROTOBUF};{PARTIAL}")
    await tell(api, "GET", widgets.path, accept=f"{PROTOBUF};{PARTIALS}")
    await tell(api, "GET", widgets.path + "?watch=1&timeoutSeconds=1", accept=f"{PROTOBUF};{PARTIAL}")


async def test_a_custom_resource_is_deleted_with_options_in_protobuf(api: Api, widgets: Widgets):
    await widgets.install()
    await widgets.create("w")
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
    await api.delete(widgets.path + "/w", written_object(options), content_type=PROTOBUF)
