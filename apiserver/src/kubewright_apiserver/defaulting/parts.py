"""Reaching into objects: the part that a struct of Go always has, and the fields that defaulting sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["Default", "Key", "annotations_without", "part", "set_missing"]

Default = Callable[[dict[str, Any]], None]
"""Completes an object of one kind in place."""
Key = tuple[str, str, str]
"""Group, version, kind."""


def part(obj: dict[str, Any], name: str) -> dict[str, Any]:
    """The object in a field, made if it is not there."""
    found: dict[str, Any] | None = obj.get(name)
    if found is None:
        found = obj[name] = {}
    return found


def set_missing(obj: dict[str, Any], values: Mapping[str, Any]) -> None:
    """Set those fields that are absent; for fields that are pointers in Go, where zero is a value."""
    for name, value in values.items():
        if obj.get(name) is None:
            obj[name] = value


def annotations_without(metadata: dict[str, Any], unwanted: frozenset[str]) -> None:
    """Remove some annotations, and the field with the last of them."""
    annotations = metadata.get("annotations")
    if annotations and not unwanted.isdisjoint(annotations):
        kept = {name: value for name, value in annotations.items() if name not in unwanted}
        if kept:
            metadata["annotations"] = kept
        else:
            del metadata["annotations"]
