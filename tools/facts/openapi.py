"""Merges the schemas of all OpenAPI v3 documents into one set of facts, without their prose."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tools.facts.reading import Get

__all__ = ["merged", "read_schemas", "without_prose"]

_KINDS = "x-kubernetes-group-version-kind"


async def read_schemas(get: Get) -> dict[str, Any]:
    """Every schema that the server describes, by its name."""
    documents = (await get("/openapi/v3"))["paths"].values()
    return merged([await get(document["serverRelativeURL"]) for document in documents])


def merged(documents: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The schemas of several documents as one set.

    *Raises* ``ValueError`` when two documents describe a type differently, save for the kinds that it serves as:
    each document names only its own group's.
    """
    schemas: dict[str, Any] = {}
    for document in documents:
        for name, found in document.get("components", {}).get("schemas", {}).items():
            schema = without_prose(found)
            schemas[name] = _both(name, schemas[name], schema) if name in schemas else schema
    return schemas


def _both(name: str, one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    if one == other:
        return one
    if {**one, _KINDS: None} != {**other, _KINDS: None}:
        raise ValueError(f"{name}: two OpenAPI documents describe it differently")
    kinds = [*one[_KINDS], *(kind for kind in other[_KINDS] if kind not in one[_KINDS])]
    return {**one, _KINDS: sorted(kinds, key=lambda kind: (kind["group"], kind["version"], kind["kind"]))}


def without_prose(schema: Any) -> Any:
    """A schema without its descriptions; a property that is called ``description`` stays."""
    if isinstance(schema, list):
        return [without_prose(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: without_prose(found) for name, found in value.items()}
        if key == "properties"
        else without_prose(value)
        for key, value in schema.items()
        if key != "description"
    }
