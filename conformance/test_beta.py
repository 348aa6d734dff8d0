"""Kinds that a beta version and the stable one serve: written at one, read at the other."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.exchange import Api

pytestmark = pytest.mark.section("1.4")

CLAIMS = "/apis/resource.k8s.io/{}/namespaces/{{ns}}/resourceclaims"
TEMPLATES = "/apis/resource.k8s.io/{}/namespaces/{{ns}}/resourceclaimtemplates"
RESOURCES = "/apis/resource.k8s.io/{}/{}"
SELECTOR = {"cel": {"expression": "device.driver == 'd.example.com'"}}
EXPRESSION = '[JSONPatch{op: "add", path: "/data", value: {"a": "b"}}]'
EXACTLY = {"deviceClassName": "c.example.com", "selectors": [SELECTOR], "allocationMode": "ExactCount", "count": 2}


def claim(*requests: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "c"}, "spec": {"devices": {"requests": list(requests)}}}


async def seen_in_every_version(api: Api, path: str, name: str, *versions: str) -> None:
    for version in versions:
        await api.get(f"{path.format(version)}/{name}")


async def test_flat_requests_of_a_claim(api: Api):
    first = {"name": "one", "deviceClassName": "c.example.com", "selectors": [SELECTOR]}
    second = {"name": "two", "firstAvailable": [{"name": "a", "deviceClassName": "c.example.com"}]}
    await api.post(CLAIMS.format("v1beta1"), claim(first, second))
    await seen_in_every_version(api, CLAIMS, "c", "v1", "v1beta2", "v1beta1")
    await api.post(TEMPLATES.format("v1beta1"), {"metadata": {"name": "t"}, "spec": {"spec": claim(first)["spec"]}})
    await seen_in_every_version(api, TEMPLATES, "t", "v1", "v1beta2", "v1beta1")


async def test_exact_requests_of_a_claim(api: Api):
    await api.post(CLAIMS.format("v1"), claim({"name": "one", "exactly": EXACTLY}))
    await seen_in_every_version(api, CLAIMS, "c", "v1beta1", "v1beta2")
    await api.patch(CLAIMS.format("v1beta1") + "/c", {"metadata": {"labels": {"a": "b"}}}, query={"fieldManager": "m"})
    await api.delete(CLAIMS.format("v1beta2") + "/c")


async def test_devices_of_a_slice(api: Api):
    slices = "/apis/resource.k8s.io/{}/resourceslices"
    spec = {
        "driver": "d.example.com",
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "nodeName": "n",
        "devices": [
            {"name": "d0", "basic": {"attributes": {"a": {"string": "x"}}, "capacity": {"m": {"value": "1Gi"}}}}
        ],
    }
    name = f"slice-{api.namespace}"
    await api.post(slices.format("v1beta1"), {"metadata": {"name": name}, "spec": spec})
    await seen_in_every_version(api, slices, name, "v1", "v1beta2", "v1beta1")
    with api.unrecorded():
        await api.delete(f"{slices.format('v1')}/{name}")


async def test_what_is_the_same_in_both_versions(api: Api):
    path = "/apis/storage.k8s.io/{}/volumeattributesclasses"
    name = f"class-{api.namespace}"
    body = {"metadata": {"name": name}, "driverName": "d.example.com", "parameters": {"b": "2", "a": "1"}}
    await api.post(path.format("v1beta1"), body, query={"fieldManager": "one"})
    await seen_in_every_version(api, path, name, "v1", "v1beta1")
    labels = {"metadata": {"labels": {"a": "b"}}}
    await api.patch(f"{path.format('v1')}/{name}", labels, query={"fieldManager": "two"})
    await api.delete(f"{path.format('v1beta1')}/{name}")


async def test_an_address_of_both_versions(api: Api):
    path = "/apis/networking.k8s.io/{}/ipaddresses"
    parent = {"group": "", "resource": "services", "namespace": api.namespace, "name": "s"}
    await api.post(path.format("v1beta1"), {"metadata": {"name": "192.0.2.7"}, "spec": {"parentRef": parent}})
    await api.get(path.format("v1") + "/192.0.2.7")
    await api.delete(path.format("v1") + "/192.0.2.7")


async def test_a_policy_of_both_versions(api: Api):
    path = "/apis/admissionregistration.k8s.io/{}/mutatingadmissionpolicies"
    name = f"policy-{api.namespace}"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nothings"]}
    change = {"patchType": "JSONPatch", "jsonPatch": {"expression": EXPRESSION}}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "mutations": [change], "reinvocationPolicy": "Never"}
    await api.post(path.format("v1beta1"), {"metadata": {"name": name}, "spec": spec})
    await seen_in_every_version(api, path, name, "v1", "v1beta1")
    await api.delete(f"{path.format('v1')}/{name}")
