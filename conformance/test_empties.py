"""Who owns lists and maps that are empty, null or not there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.exchange import Api

pytestmark = pytest.mark.section("1.9")

ABSENT = object()


def field(name: str, **more: Any) -> Callable[[Any], dict[str, Any]]:
    """What makes a body with a value in one field of its root, of ``spec`` or of ``metadata``."""

    def body(value: Any) -> dict[str, Any]:
        *outer, last = name.split(".")
        inner: dict[str, Any] = {} if value is ABSENT else {last: value}
        for part in reversed(outer):
            inner = {part: inner}
        return {**more, **inner}

    return body


ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices"
KINDS: dict[str, tuple[str, str, str, Callable[[Any], dict[str, Any]], Any]] = {
    "rules of a role": (ROLES, "rbac.authorization.k8s.io/v1", "Role", field("rules"), []),
    "endpoints": (SLICES, "discovery.k8s.io/v1", "EndpointSlice", field("endpoints", addressType="IPv4"), []),
    "limits": ("/api/v1/namespaces/{ns}/limitranges", "v1", "LimitRange", field("spec.limits"), []),
    "data": ("/api/v1/namespaces/{ns}/configmaps", "v1", "ConfigMap", field("data"), {}),
    "labels": ("/api/v1/namespaces/{ns}/configmaps", "v1", "ConfigMap", field("metadata.labels"), {}),
    "finalizers": ("/api/v1/namespaces/{ns}/configmaps", "v1", "ConfigMap", field("metadata.finalizers"), []),
    "requests for devices": (
        "/apis/resource.k8s.io/v1/namespaces/{ns}/resourceclaims",
        "resource.k8s.io/v1",
        "ResourceClaim",
        field("spec.devices.requests"),
        [],
    ),
}


class Case:
    """One field of one kind."""

    def __init__(self, name: str) -> None:
        self.path, self._version, self._kind, self._body, self._empty = KINDS[name]
        self.values = {"absent": ABSENT, "null": None, "empty": self._empty}

    def body(self, name: str, value: str) -> dict[str, Any]:
        body = self._body(self.values[value])
        named = {"apiVersion": self._version, "kind": self._kind}
        return {**body, **named, "metadata": {**body.get("metadata", {}), "name": name}}


@pytest.fixture(params=KINDS)
def case(request: pytest.FixtureRequest) -> Case:
    return Case(request.param)


@pytest.mark.parametrize("first", ["absent", "null", "empty"])
async def test_something_empty_is_created_and_updated(api: Api, case: Case, first: str):
    await api.post(case.path, case.body("x", first), query={"fieldManager": "creator"})
    for value in ("empty", "null", "absent"):
        await api.put(case.path + "/x", case.body("x", value), query={"fieldManager": f"puts {value}"})


@pytest.mark.parametrize("first", ["absent", "null", "empty"])
async def test_something_empty_is_applied(api: Api, case: Case, first: str):
    await api.patch(case.path + "/x", case.body("x", first), type="apply", query={"fieldManager": "creator"})
    for value in ("empty", "null", "absent"):
        query = {"fieldManager": f"applies {value}"}
        await api.patch(case.path + "/x", case.body("x", value), type="apply", query=query)
    await api.patch(case.path + "/x", case.body("x", "empty"), type="apply", query={"fieldManager": "m", "force": "1"})
