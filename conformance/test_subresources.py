"""§1.4 The parts of objects with doors of their own: status, scale, eviction, binding, approval, …"""

from __future__ import annotations

import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from conformance.exchange import Api
from conformance.objects import DEPLOYMENTS, PODS, deployment, pod
from conformance.test_kinds import KINDS

pytestmark = pytest.mark.section("1.4")

BUDGETS = "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}


async def made(api: Api, plural: str, **content: Any) -> str:
    kind = KINDS[plural]
    with api.unrecorded():
        created = await api.post(kind.path, {"metadata": {"name": "x"}, **kind.content, **content})
    assert created.status == 201, created.text
    return f"{kind.path}/x"


@pytest.mark.parametrize("plural", ["replicasets", "statefulsets", "replicationcontrollers"])
async def test_the_scale_of_other_kinds(api: Api, plural: str):
    path = await made(api, plural)
    await api.get(path + "/scale")
    await api.patch(path + "/scale", {"spec": {"replicas": 4}})
    await api.get(path)


async def test_a_scale_that_is_put_with_its_version(api: Api):
    path = await made(api, "deployments")
    scale = (await api.get(path + "/scale")).body
    await api.put(path + "/scale", {**scale, "spec": {"replicas": 2}})
    await api.put(path + "/scale", {**scale, "spec": {"replicas": 3}})


@pytest.mark.parametrize(
    "scale",
    [
        {},
        {"metadata": {"name": "other"}, "spec": {"replicas": 1}},
        {"metadata": {"name": "x"}, "spec": {"replicas": -1}},
        {"metadata": {"name": "x", "uid": "11111111-1111-4111-8111-111111111111"}, "spec": {"replicas": 1}},
        {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "x"}},
        {"metadata": {"name": "x"}, "spec": {"replicas": "many"}},
        {"metadata": {"name": "x"}, "status": {"replicas": 5}},
    ],
)
async def test_a_scale_that_is_put(api: Api, scale: dict[str, Any]):
    path = await made(api, "deployments", spec=deployment(replicas=2)["spec"])
    await api.put(path + "/scale", scale)


async def test_a_scale_of_what_is_not_there(api: Api):
    await api.get(DEPLOYMENTS + "/nope/scale")
    await api.put(DEPLOYMENTS + "/nope/scale", {"metadata": {"name": "nope"}, "spec": {"replicas": 1}})
    await api.patch(DEPLOYMENTS + "/nope/scale", {"spec": {"replicas": 1}})


async def test_a_dry_run_of_a_scale(api: Api):
    path = await made(api, "deployments")
    await api.patch(path + "/scale", {"spec": {"replicas": 4}}, query={"dryRun": "All"})
    await api.get(path + "/scale")


@pytest.mark.parametrize(
    ("plural", "status"),
    [
        ("deployments", {"replicas": 3, "readyReplicas": 2}),
        ("pods", {"phase": "Running", "podIP": "10.1.2.3"}),
        ("jobs", {"active": 1}),
        ("replicationcontrollers", {"replicas": 1}),
        ("services", {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}),
        ("persistentvolumeclaims", {"phase": "Bound"}),
        ("resourcequotas", {"hard": {"pods": "1"}, "used": {"pods": "0"}}),
        (
            "poddisruptionbudgets",
            {"disruptionsAllowed": 1, "currentHealthy": 1, "desiredHealthy": 0, "expectedPods": 1},
        ),
        ("ingresses", {"loadBalancer": {"ingress": [{"hostname": "a.example.com"}]}}),
        ("horizontalpodautoscalers", {"currentReplicas": 1, "desiredReplicas": 2}),
    ],
)
async def test_the_status_of_each_kind_has_its_own_door(api: Api, plural: str, status: dict[str, Any]):
    path = await made(api, plural)
    with api.unrecorded():
        whole = (await api.get(path)).body
    changed = {**whole, "status": status, "metadata": {**whole["metadata"], "labels": {"from": "main"}}}
    through_main = await api.put(path, changed)
    metadata = {**through_main.body["metadata"], "labels": {"from": "status"}, "annotations": {"from": "status"}}
    other = {**KINDS[plural].patch.get("spec", {})}
    await api.put(path + "/status", {**changed, "metadata": metadata, "spec": {**whole["spec"], **other}})
    await api.get(path)


async def test_a_status_that_is_invalid(api: Api):
    path = await made(api, "deployments")
    await api.patch(path + "/status", {"status": {"replicas": -1, "readyReplicas": 5}})
    await api.patch(path + "/status", {"status": {"replicas": "x"}})


async def test_a_status_of_what_is_not_there(api: Api):
    await api.get(DEPLOYMENTS + "/nope/status")
    await api.patch(DEPLOYMENTS + "/nope/status", {})
    await api.put(DEPLOYMENTS + "/nope/status", deployment("nope"))
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "status": {}}
    await api.patch(DEPLOYMENTS + "/nope/status", body, type="apply", query={"fieldManager": "m"})


async def test_the_status_of_a_namespace(api: Api):
    path = "/api/v1/namespaces/{ns}"
    await api.patch(path + "/status", {"status": {"conditions": [{"type": "X", "status": "True"}]}})
    await api.patch(path + "/status", {"status": {"phase": "Nonsense"}, "metadata": {"labels": {"x": "y"}}})
    await api.patch(path + "/finalize", {})


async def running(api: Api, **status: Any) -> None:
    with api.unrecorded():
        await api.post(PODS, pod())
        binding = {"kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
        await api.post(PODS + "/p/binding", binding)
        ready = [{"type": "Ready", "status": "True"}]
        await api.patch(PODS + "/p/status", {"status": {"phase": "Running", "conditions": ready, **status}})


async def budget(api: Api, **status: Any) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    with api.unrecorded():
        await api.post(BUDGETS, {"metadata": {"name": "b"}, "spec": spec})
        counts = {"currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1, "disruptionsAllowed": 0}
        await api.patch(BUDGETS + "/b/status", {"status": {"observedGeneration": 1, **counts, **status}})


async def test_an_eviction_without_any_budget(api: Api):
    await running(api)
    await api.post(PODS + "/p/eviction", EVICTION)
    await api.get(PODS + "/p")


async def test_an_eviction_that_a_budget_has_no_room_for(api: Api):
    await budget(api)
    await running(api)
    await api.post(PODS + "/p/eviction", EVICTION)


async def test_an_eviction_is_counted_by_its_budget(api: Api):
    await budget(api, disruptionsAllowed=1, desiredHealthy=0)
    await running(api)
    await api.post(PODS + "/p/eviction", EVICTION)
    await api.get(BUDGETS + "/b")


async def test_two_budgets_are_one_too_many(api: Api):
    await budget(api, disruptionsAllowed=1)
    with api.unrecorded():
        await api.post(BUDGETS, {"metadata": {"name": "c"}, "spec": {"minAvailable": 0, "selector": {}}})
    await running(api)
    await api.post(PODS + "/p/eviction", EVICTION)


async def test_a_dry_run_of_an_eviction(api: Api):
    await running(api)
    await api.post(PODS + "/p/eviction", EVICTION, query={"dryRun": "All"})
    await api.post(PODS + "/p/eviction", {**EVICTION, "deleteOptions": {"dryRun": ["All"]}})
    with api.unrecorded():
        found = await api.get(PODS + "/p")

    assert "deletionTimestamp" not in found.body["metadata"]


async def test_an_eviction_with_a_grace_and_with_preconditions(api: Api):
    await running(api)
    uid = "11111111-1111-4111-8111-111111111111"
    await api.post(PODS + "/p/eviction", {**EVICTION, "deleteOptions": {"preconditions": {"uid": uid}}})
    await api.post(PODS + "/p/eviction", {**EVICTION, "deleteOptions": {"gracePeriodSeconds": 3}})
    with api.unrecorded():
        found = await api.get(PODS + "/p")

    assert found.body["metadata"]["deletionGracePeriodSeconds"] == 3


@pytest.mark.parametrize(
    "body",
    [
        {},
        {**EVICTION, "metadata": {"name": "other"}},
        {**EVICTION, "apiVersion": "policy/v1beta1"},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}},
    ],
)
async def test_an_eviction_that_is_none(api: Api, body: dict[str, Any]):
    await running(api)
    await api.post(PODS + "/p/eviction", body)


async def test_an_eviction_of_what_is_not_there(api: Api):
    await api.post(PODS + "/nope/eviction", {**EVICTION, "metadata": {"name": "nope"}})


@pytest.mark.parametrize(
    "binding",
    [
        {"metadata": {"name": "p"}, "target": {"name": "n"}},
        {"metadata": {"name": "p"}, "target": {"kind": "Node"}},
        {"metadata": {"name": "p"}, "target": {"kind": "Pod", "name": "n"}},
        {"metadata": {"name": "other"}, "target": {"kind": "Node", "name": "n"}},
        {"target": {"kind": "Node", "name": "n"}},
        {"metadata": {"name": "p", "annotations": {"a": "b"}, "labels": {"l": "m"}}, "target": {"name": "n"}},
        {"metadata": {"name": "p", "uid": "11111111-1111-4111-8111-111111111111"}, "target": {"name": "n"}},
        {"kind": "Pod", "apiVersion": "v1"},
    ],
)
async def test_a_binding(api: Api, binding: dict[str, Any]):
    with api.unrecorded():
        await api.post(PODS, pod())
    await api.post(PODS + "/p/binding", binding)
    await api.get(PODS + "/p")


async def test_a_binding_of_what_is_not_there_or_going(api: Api):
    target = {"target": {"kind": "Node", "name": "n"}}
    await api.post(PODS + "/nope/binding", {"metadata": {"name": "nope"}, **target})
    with api.unrecorded():
        body = pod()
        body["metadata"]["finalizers"] = ["example.com/f"]
        await api.post(PODS, body)
        await api.delete(PODS + "/p")
    await api.post(PODS + "/p/binding", {"metadata": {"name": "p"}, **target})


async def test_a_pod_with_a_gate_cannot_be_bound(api: Api):
    with api.unrecorded():
        await api.post(PODS, pod(schedulingGates=[{"name": "example.com/g"}]))
    await api.post(PODS + "/p/binding", {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}})


async def test_resources_are_resized_through_their_door(api: Api):
    container = {"name": "c", "image": "busybox:1", "resources": {"requests": {"cpu": "100m"}}}
    with api.unrecorded():
        await api.post(PODS, pod(containers=[container]))
    change = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "200m"}}}]}}
    await api.patch(PODS + "/p", change, type="strategic")
    await api.patch(PODS + "/p/resize", change, type="strategic")
    await api.patch(PODS + "/p/resize", {"spec": {"containers": [{"name": "c", "image": "x"}]}}, type="strategic")
    await api.get(PODS + "/p/resize")


def signing_request(api: Api, request: bytes) -> dict[str, Any]:
    return {
        "metadata": {"name": f"{api.namespace}-r"},
        "spec": {
            "request": base64.b64encode(request).decode(),
            "signerName": "example.com/s",
            "usages": ["client auth"],
        },
    }


def signed() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "somebody")])
    request = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    return request.public_bytes(serialization.Encoding.PEM)


async def test_a_signing_request_that_holds_no_request(api: Api):
    with api.unrecorded():
        answer = await api.post(REQUESTS, signing_request(api, b"nonsense"))
    api.note("status", answer.status)
    api.note("fields", [cause["field"] for cause in answer.body["details"]["causes"]])


async def test_a_signing_request_is_approved_and_signed_through_doors_of_their_own(api: Api):
    path = f"{REQUESTS}/{api.namespace}-r"
    approved = {"type": "Approved", "status": "True", "reason": "Tested", "message": "m"}
    denied = {"type": "Denied", "status": "True"}
    failed = {"type": "Failed", "status": "True"}
    with api.unrecorded():
        await api.post(REQUESTS, signing_request(api, signed()))
        for door, status in (
            ("", {"conditions": [approved]}),
            ("/status", {"conditions": [approved]}),
            ("/approval", {"conditions": [failed]}),
            ("/approval", {"conditions": [approved], "certificate": "eA=="}),
            ("/approval", {"conditions": [approved, denied]}),
            ("/approval", {"conditions": []}),
            ("/status", {"certificate": "eA=="}),
            ("/status", {"conditions": [approved, failed]}),
        ):
            answer = await api.patch(path + door, {"status": status})
            told = answer.body.get("details", {}).get("causes") or answer.body.get("status")
            api.note(door, [answer.status, told])
        await api.patch(path, {"spec": {"usages": ["server auth"]}})
        found = await api.get(path)
        await api.delete(path)

    assert found.body["spec"]["usages"] == ["client auth"]
