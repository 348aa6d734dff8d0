"""Facts about the built-in API of Kubernetes, extracted from the real server by ``make facts``; see NOTICE."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["go_fields", "internal_types", "resources", "schemas"]


@cache
def _document(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(files(__name__).joinpath(name).read_text(encoding="utf-8"))
    return document


def schemas() -> dict[str, dict[str, Any]]:
    """OpenAPI v3 schemas by name, without descriptions: types, formats, required fields, list keys, kinds."""
    return _document("schemas.json")


def resources() -> dict[str, Any]:
    """What the server serves: ``kubernetes`` (its version), ``groups`` in order, and ``resources``."""
    return _document("resources.json")


def go_fields() -> dict[str, dict[str, dict[str, Any]]]:
    """For each type and wire name how Go declares the field: its kind, whether it is a pointer, when it is left out."""
    return _document("go_fields.json")


def internal_types() -> dict[str, list[list[str]]]:
    """The server's own Go types that its messages print: for each the Go name, wire name and Go type of its fields."""
    return _document("internal_types.json")
