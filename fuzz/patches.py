"""Patches of the four kinds, of an object that may be there."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from fuzz.growth import odd
from fuzz.mutation import copied, pointer_in, twisted
from kubewright_apiserver.schema.node import Node

__all__ = ["TYPES", "json_patch", "merge_patch", "strategic_patch"]

TYPES: Final = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
"""What a patch of each kind says that it is."""

_OPERATIONS: Final = ("add", "add", "replace", "replace", "remove", "test", "copy", "move")


def json_patch(seed: dict[str, Any], dice: Random) -> Any:
    """Operations at places of an object."""
    if dice.random() < 0.03:
        return odd(dice)
    return [_operation(seed, dice) for _ in range(dice.choice((1, 1, 1, 2, 3, 6)))]


def _operation(seed: dict[str, Any], dice: Random) -> Any:
    if dice.random() < 0.04:
        return odd(dice)
    name = dice.choice(_OPERATIONS)
    operation = {"op": name, "path": pointer_in(seed, dice)}
    if name in ("add", "replace", "test"):
        operation["value"] = odd(dice) if dice.random() < 0.6 else copied(dice.choice(list(seed.values())))
    if name in ("copy", "move"):
        operation["from"] = pointer_in(seed, dice)
    if dice.random() < 0.05:
        operation[dice.choice(("op", "path", "from", "value"))] = odd(dice)
    if dice.random() < 0.03:
        operation.pop(dice.choice(list(operation)))
    return operation


def merge_patch(seed: dict[str, Any], node: Node, dice: Random) -> Any:
    """Some of an object's fields, changed."""
    if dice.random() < 0.03:
        return odd(dice)
    patch = {name: copied(value) for name, value in seed.items() if dice.random() < 0.5}
    metadata = patch.get("metadata")
    if isinstance(metadata, dict):
        metadata.pop("name", None)
        if dice.random() < 0.1:
            metadata["resourceVersion"] = dice.choice(("@revision@", "1", "", "x"))
    return twisted(patch, node, dice, dice.choice((0, 1, 1, 2, 3)))


def strategic_patch(seed: dict[str, Any], node: Node, dice: Random) -> Any:
    """The same, with directives."""
    patch = merge_patch(seed, node, dice)
    if isinstance(patch, dict):
        for _ in range(dice.choice((0, 1, 1, 2))):
            _direct(patch, dice)
    return patch


def _direct(value: Any, dice: Random) -> None:
    """Put a directive at some place."""
    while True:
        if isinstance(value, list):
            if dice.random() < 0.4 or not value:
                value.insert(0, {"$patch": dice.choice(("replace", "delete", "merge", "x", 5))})
                return
            value = dice.choice(value)
            continue
        if not isinstance(value, dict):
            return
        inner = [name for name, item in value.items() if isinstance(item, dict | list)]
        if inner and dice.random() < 0.7:
            value = value[dice.choice(inner)]
            continue
        name = dice.choice(inner or list(value) or ["a"])
        named = (f"$setElementOrder/{name}", f"$deleteFromPrimitiveList/{name}")
        directive = dice.choice(("$patch", "$retainKeys", *named))
        value[directive] = dice.choice(("replace", "delete", "merge", ["a"], [{"name": "a"}], [name], "x", 5, None, []))
        return
