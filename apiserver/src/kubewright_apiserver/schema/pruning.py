"""``compile_pruner``: a schema as closures that drop what it does not name from a value, in place.

Nulls go too where the schema neither allows them nor has a default for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

__all__ = ["Pruner", "compile_pruner"]

Pruner = Callable[[Any], list[str] | None]
"""Prunes an object or a list; gives the paths of the fields that it did not know, None for none."""

_META: Final = frozenset(("apiVersion", "kind", "metadata"))
_NOTHING: Final[dict[str, Any]] = {}


def compile_pruner(schema: dict[str, Any], *, is_root: bool = False) -> Pruner:
    """What prunes values of a schema; at the root of a resource the fields of all resources stay."""
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return _keeping_pruner(schema, is_root)
    items = schema.get("items")
    of_lists = _list_pruner(compile_pruner(items) if isinstance(items, dict) else _prune_all)
    of_objects = _object_pruner(schema, is_root, keeps_unknown=False)
    return lambda value: of_objects(value) if type(value) is dict else of_lists(value)


def _keeping_pruner(schema: dict[str, Any], is_root: bool) -> Pruner:
    items = schema.get("items")
    of_lists = _list_pruner(_keeping_pruner(items, False)) if isinstance(items, dict) else _keep_all
    of_objects = _object_pruner(schema, is_root, keeps_unknown=True)
    return lambda value: of_objects(value) if type(value) is dict else of_lists(value)


def _keep_all(_: Any) -> None:
    return None


def _prune_all(value: Any) -> list[str] | None:
    if type(value) is dict:
        dropped = list(value)
        value.clear()
        return dropped or None
    return _prune_items(value)


def _list_pruner(prune_item: Pruner) -> Pruner:
    def prune(value: list[Any]) -> list[str] | None:
        dropped: list[str] | None = None
        for index, item in enumerate(value):
            kind = type(item)
            if kind is dict or kind is list:
                found = prune_item(item)
                if found is not None:
                    dropped = [*(dropped or ()), *_below(f"[{index}]", found)]
        return dropped

    return prune


_prune_items: Final = _list_pruner(_prune_all)


def _object_pruner(schema: dict[str, Any], is_root: bool, *, keeps_unknown: bool) -> Pruner:
    properties: dict[str, Any] = schema.get("properties") or _NOTHING
    pruners: dict[str, Pruner] = {name: compile_pruner(inner) for name, inner in properties.items()}
    if is_root or schema.get("x-kubernetes-embedded-resource"):
        pruners |= dict.fromkeys(_META, _keep_all)
    nulls = frozenset(name for name, inner in properties.items() if _drops_null(inner))
    others = schema.get("additionalProperties")
    prune_other: Pruner | None = _keep_all if keeps_unknown else None
    drops_other_nulls = False
    if others is not None:
        prune_other = compile_pruner(others) if isinstance(others, dict) else _prune_all
        drops_other_nulls = isinstance(others, dict) and _drops_null(others)

    def prune(value: dict[str, Any]) -> list[str] | None:
        dropped: list[str] | None = None
        unwanted: list[str] | None = None
        for key, inner in value.items():
            prune_inner = pruners.get(key, prune_other)
            if prune_inner is None:
                dropped = [*(dropped or ()), key]
                unwanted = [*(unwanted or ()), key]
            elif inner is None:
                if key in nulls or (drops_other_nulls and key not in properties):
                    unwanted = [*(unwanted or ()), key]
            elif (type(inner) is dict or type(inner) is list) and (found := prune_inner(inner)) is not None:
                dropped = [*(dropped or ()), *_below(key, found)]
        for key in unwanted or ():
            del value[key]
        return dropped

    return prune


def _drops_null(schema: dict[str, Any]) -> bool:
    return not schema.get("nullable") and schema.get("default") is None


def _below(step: str, paths: Iterable[str]) -> list[str]:
    return [step + path if path[:1] == "[" else f"{step}.{path}" for path in paths]
