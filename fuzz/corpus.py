"""What requests are made from: every served resource, and objects of it that the server takes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from kubewright_apiserver.registry import Served

__all__ = ["GROUP", "Place", "definitions", "places"]

GROUP: Final = "fuzz.example.com"
"""The API group of the custom resources."""

_ROOT: Final = Path(__file__).parents[1]
_SMALL: Final = _ROOT / "conformance/round_trip/seeds.yaml"
_FULL: Final = _ROOT / "tests/kinds/data/objects.jsonl"
_ITS_OWN: Final = ("creationTimestamp", "generation", "managedFields", "namespace", "resourceVersion", "uid")
_MOST_FULL: Final = 4
_BODIES: Final[dict[str, list[dict[str, Any]]]] = {
    "Scale": [{"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 2}}],
    "Eviction": [{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}],
    "Binding": [{"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "a"}, "target": {"name": "n"}}],
    "TokenRequest": [{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": ["a"]}}],
}


class Place(NamedTuple):
    """A resource, and objects to send to it."""

    served: Served
    seeds: tuple[dict[str, Any], ...]

    def path(self, namespace: str, name: str = "", subresource: str = "") -> str:
        """Its address, of one object if there is a name."""
        served = self.served
        root = f"/apis/{served.api_version}" if served.group else f"/api/{served.version}"
        inside = f"/namespaces/{namespace}" if served.namespaced and namespace else ""
        return "/".join(filter(None, (f"{root}{inside}/{served.plural}", name, subresource)))

    def bodies(self, subresource: str) -> tuple[dict[str, Any], ...]:
        """Objects that may be sent to a subresource."""
        found = self.served.subresources.get(subresource)
        return tuple(_BODIES.get(found.kind, ())) if found is not None else ()


def places(resources: Iterable[Served]) -> list[Place]:
    """All resources with their objects, in the order of the server."""
    seeds = _seeds()
    found = []
    for served in resources:
        bare = {"apiVersion": served.api_version, "kind": served.kind, "metadata": {"name": "a"}}
        found.append(Place(served, tuple(seeds.get((served.api_version, served.kind), [bare]))))
    return found


@cache
def _seeds() -> dict[tuple[str, str], list[dict[str, Any]]]:
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for document in (*yaml.safe_load_all(_SMALL.read_text()), *_customs()):
        document.setdefault("metadata", {}).setdefault("name", "a")
        found.setdefault((document["apiVersion"], document["kind"]), []).append(document)
    full: dict[tuple[str, str], int] = {}
    for line in _FULL.read_text().splitlines():
        document = json.loads(line)
        kind = (document["apiVersion"], document["kind"])
        full[kind] = full.get(kind, 0) + 1
        if full[kind] <= _MOST_FULL:
            for field in _ITS_OWN:
                document["metadata"].pop(field, None)
            found.setdefault(kind, []).append(document)
    return found


def _customs() -> list[dict[str, Any]]:
    typed = {
        "spec": {
            "size": 2,
            "name": "a",
            "ratio": 0.5,
            "labels": {"a": "b"},
            "ports": [{"name": "http", "port": 80}, {"name": "https", "port": 443}],
            "tags": ["a", "b"],
            "either": 5,
            "child": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}},
        },
        "status": {"phase": "Ready"},
    }
    return [
        {"apiVersion": f"{GROUP}/v1", "kind": "Blob", "spec": {"any": [1, "a", None]}},
        {"apiVersion": f"{GROUP}/v1", "kind": "Widget", **typed},
    ]


def definitions() -> list[dict[str, Any]]:
    """Two CRDs: of objects of any shape, and of objects with all sorts of fields, a status and a scale."""
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    port = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "port": _PORT}}
    ports = {
        "type": "array",
        "items": port,
        "maxItems": 5,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    spec = {
        "size": {"type": "integer", "minimum": 0, "default": 1},
        "name": {"type": "string", "pattern": "^(a+)+$", "maxLength": 10},
        "ratio": {"type": "number"},
        "when": {"type": "string", "format": "date-time"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 3},
        "ports": ports,
        "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "either": {"x-kubernetes-int-or-string": True},
        "child": {**free, "x-kubernetes-embedded-resource": True},
        "kind": {"type": "string", "enum": ["A", "B"], "nullable": True},
    }
    status = {"type": "object", "properties": {"phase": {"type": "string"}, "replicas": {"type": "integer"}}}
    properties = {"spec": {"type": "object", "properties": spec}, "status": status}
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.replicas"}
    return [
        _definition("blobs", free),
        _definition("widgets", {"type": "object", "properties": properties}, {"status": {}, "scale": scale}),
    ]


_PORT: Final = {"type": "integer", "format": "int32", "minimum": 1, "maximum": 65535, "default": 80}


def _definition(plural: str, schema: dict[str, Any], parts: dict[str, Any] | None = None) -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": plural, "kind": plural.removesuffix("s").capitalize()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": names,
            "versions": [version | ({"subresources": parts} if parts else {})],
        },
    }
