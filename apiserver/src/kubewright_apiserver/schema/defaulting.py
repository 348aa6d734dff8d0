"""``compile_defaulter``: a schema as closures that fill in its defaults, in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kubewright_apiserver.schema.copying import copied

__all__ = ["Defaulter", "compile_defaulter"]

Defaulter = Callable[[Any], None]
"""Fills in what is missing in an object or a list."""

_NOTHING: Final[dict[str, Any]] = {}


def compile_defaulter(schema: dict[str, Any]) -> Defaulter | None:
    """What fills in the defaults of a schema; None if there are none at any depth."""
    of_objects = _object_defaulter(schema)
    items = schema.get("items")
    of_lists = _list_defaulter(items) if isinstance(items, dict) else None
    if of_objects is None and of_lists is None:
        return None

    def fill(value: Any) -> None:
        if type(value) is dict:
            if of_objects is not None:
                of_objects(value)
        elif of_lists is not None:
            of_lists(value)

    return fill


def _list_defaulter(items: dict[str, Any]) -> Defaulter | None:
    inner = compile_defaulter(items)
    default = None if items.get("nullable") else items.get("default")
    if inner is None and default is None:
        return None

    def fill(value: list[Any]) -> None:
        for index, item in enumerate(value):
            if item is None and default is not None:
                item = value[index] = copied(default)
            if inner is not None and (type(item) is dict or type(item) is list):
                inner(item)

    return fill


def _object_defaulter(schema: dict[str, Any]) -> Defaulter | None:
    properties: dict[str, Any] = schema.get("properties") or _NOTHING
    defaults = [
        (name, inner["default"], bool(inner.get("nullable")))
        for name, inner in properties.items()
        if inner.get("default") is not None
    ]
    compiled = {name: compile_defaulter(inner) for name, inner in properties.items()}
    fillers = {name: fill_inner for name, fill_inner in compiled.items() if fill_inner is not None}
    others = schema.get("additionalProperties")
    fill_others = _map_defaulter(others, properties) if isinstance(others, dict) else None
    if not defaults and not fillers and fill_others is None:
        return None

    def fill(value: dict[str, Any]) -> None:
        for name, default, is_nullable in defaults:
            if name not in value or (value[name] is None and not is_nullable):
                value[name] = copied(default)
        for name, fill_inner in fillers.items():
            inner = value.get(name)
            if type(inner) is dict or type(inner) is list:
                fill_inner(inner)
        if fill_others is not None:
            fill_others(value)

    return fill


def _map_defaulter(others: dict[str, Any], properties: dict[str, Any]) -> Defaulter | None:
    inner = compile_defaulter(others)
    default = None if others.get("nullable") else others.get("default")
    if inner is None and default is None:
        return None

    def fill(value: dict[str, Any]) -> None:
        for key, item in value.items():
            if key in properties:
                continue
            if item is None and default is not None:
                item = value[key] = copied(default)
            if inner is not None and (type(item) is dict or type(item) is list):
                inner(item)

    return fill
