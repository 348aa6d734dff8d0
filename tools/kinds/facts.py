"""The facts that the modules are made from, as ``make facts`` left them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final, NamedTuple

__all__ = ["DATA", "Facts", "Place", "load", "reference"]

DATA: Final = Path(__file__).parents[2] / "apiserver/src/kubewright_apiserver/data"

_REFERENCE: Final = "#/components/schemas/"


class Place(NamedTuple):
    """Where a kind is served; subresources alone have no plural."""

    group: str
    version: str
    plural: str = ""
    namespaced: bool = True
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


class Facts(NamedTuple):
    """Everything that is known of the built-in API."""

    kubernetes: str
    schemas: dict[str, dict[str, Any]]
    go_fields: dict[str, dict[str, dict[str, Any]]]
    places: dict[str, Place]
    """Where each served kind is found, by its schema's name."""
    status_types: frozenset[str]
    """The types that are the status of a served kind."""

    def required(self, name: str) -> frozenset[str]:
        """The fields that an object of this type must have."""
        return frozenset(self.schemas[name].get("required", ()))

    def properties(self, name: str) -> dict[str, dict[str, Any]]:
        """The type's fields in the order of the wire, which is Go's order of declaration."""
        properties = self.schemas[name].get("properties", {})
        return {wire: properties[wire] for wire in self.go_fields.get(name, {})}


def load(data: Path = DATA) -> Facts:
    """The committed facts."""
    schemas, go_fields, resources = (
        json.loads((data / f"{name}.json").read_text()) for name in ("schemas", "go_fields", "resources")
    )
    served = _served(resources["resources"])
    places = {
        name: served[kind]
        for name, schema in schemas.items()
        for kind in map(_kind, schema.get("x-kubernetes-group-version-kind", ()))
        if kind in served
    }
    statuses = (schemas[name].get("properties", {}).get("status", {}) for name in places)
    status_types = frozenset(filter(None, map(reference, statuses)))
    return Facts(resources["kubernetes"].removeprefix("v"), schemas, go_fields, places, status_types)


def reference(schema: dict[str, Any]) -> str | None:
    """The name of the schema that this one refers to; defaults and nullability stand beside an ``allOf`` of one."""
    target = schema.get("$ref") or next((part["$ref"] for part in schema.get("allOf", ())), None)
    return target.removeprefix(_REFERENCE) if target else None


def _kind(found: dict[str, str]) -> tuple[str, str, str]:
    return found["group"], found["version"], found["kind"]


def _served(resources: list[dict[str, Any]]) -> dict[tuple[str, str, str], Place]:
    served: dict[tuple[str, str, str], Place] = {}
    for resource in resources:
        for other in resource.get("subresources", {}).values():
            group, version = other.get("group", resource["group"]), other.get("version", resource["version"])
            served.setdefault((group, version, other["kind"]), Place(group, version))
    return served | {_kind(resource): _place(resource) for resource in resources}


def _place(resource: dict[str, Any]) -> Place:
    return Place(
        resource["group"],
        resource["version"],
        resource["name"],
        resource["namespaced"],
        resource["singular"],
        tuple(resource.get("shortNames", ())),
        tuple(resource.get("categories", ())),
    )
