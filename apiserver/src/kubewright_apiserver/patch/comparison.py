"""What a write changes: the fields that are gone, different and new between two objects of one shape."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias

import orjson

from kubewright_apiserver.patch.fieldset import FieldSet, Tree, marked, united
from kubewright_apiserver.patch.shape import Fields, Items, Part, Scalar, Shape
from kubewright_apiserver.patch.typed import equal

__all__ = ["Comparison", "compare"]

_Trees: TypeAlias = tuple[Tree | None, Tree | None, Tree | None]
"""The trees below a place of what is gone, different and new there; None for nothing, empty for the place itself."""
_MODIFIED: Final[_Trees] = (None, {}, None)
_NO_FIELDS: Final[dict[str, Any]] = {}
_NO_ITEMS: Final[list[Any]] = []
_CONTAINERS: Final = (dict, list)


@dataclass(frozen=True)
class Comparison:
    """The fields that are only in the old object, different in the two, and only in the new one."""

    removed: FieldSet
    modified: FieldSet
    added: FieldSet

    def without(self, fields: FieldSet) -> Comparison:
        """The comparison of all but these fields and their parts."""
        changed = (self.removed, self.modified, self.added)
        return Comparison(*(found.recursive_difference(fields) for found in changed)) if fields else self

    @cached_property
    def taken(self) -> FieldSet:
        """What whoever wrote the new object owns for it."""
        return self.modified.union(self.added)


def compare(shape: Shape, old: dict[str, Any], new: dict[str, Any]) -> Comparison:
    """What is different between two objects."""
    trees = _compare(shape, old, new) or (None, None, None)
    return Comparison(*(FieldSet(tree or {}) for tree in trees))


def _compare(shape: Shape, old: Any, new: Any) -> _Trees | None:
    if old is new:
        return None
    part = shape.only
    if part is None:
        part, other = shape.part(old), shape.part(new)
        if part is not other:
            return _united(_compare_part(part, old, new), _compare_part(other, old, new))
    return _compare_part(part, old, new)


def _compare_part(part: Part, old: Any, new: Any) -> _Trees | None:
    if isinstance(part, Fields) and not part.is_atomic:
        before = old if type(old) is dict else _NO_FIELDS
        after = new if type(new) is dict else _NO_FIELDS
        if before or after:
            return _compare_fields(part, before, after)
    elif isinstance(part, Items) and not part.is_atomic:
        first = old if type(old) is list else _NO_ITEMS
        then = new if type(new) is list else _NO_ITEMS
        if first or then:
            return _compare_items(part, first, then)
    return None if equal(old, new) else _MODIFIED


def _compare_fields(part: Fields, before: dict[str, Any], after: dict[str, Any]) -> _Trees | None:
    removed: Tree = {}
    modified: Tree = {}
    added: Tree = {}
    for name, old in before.items():
        if name not in after:
            element, shape = part.field(name)
            removed[element] = _whole(shape, old)
            continue
        new = after[name]
        if old is new or _is_surely_equal(old, new):
            continue
        element, shape = part.field(name)
        trees = _compare(shape, old, new)
        if trees:
            _enter(element, trees, (removed, modified, added))
    for name, new in after.items():
        if name not in before:
            element, shape = part.field(name)
            added[element] = _whole(shape, new)
    return _trees(removed, modified, added)


def _is_surely_equal(old: Any, new: Any) -> bool:
    """Whether two values are equal, if that is soon told: equal bytes are made faster than a walk through both."""
    kind = type(old)
    if kind is str:
        return bool(old == new)
    return kind in _CONTAINERS and kind is type(new) and orjson.dumps(old) == orjson.dumps(new)


def _compare_items(part: Items, before: list[Any], after: list[Any]) -> _Trees | None:
    result: tuple[Tree, Tree, Tree] = ({}, {}, {})
    old, new = _by_element(part, before), _by_element(part, after)
    for element in old | new:
        trees = _compare_occurrences(part.item, old.get(element, _NO_ITEMS), new.get(element, _NO_ITEMS))
        if trees:
            _enter(element, trees, result)
    return _trees(*result)


def _compare_occurrences(shape: Shape, old: list[Any], new: list[Any]) -> _Trees | None:
    """What is different in an item; of one that occurs twice nothing but the item as such can be owned."""
    if len(old) == 1 == len(new):
        return _compare(shape, old[0], new[0])
    if len(old) > 1 and len(new) > 1:
        return None if equal(old, new) else _MODIFIED
    gone = None if not old else _whole(shape, old[0]) if len(old) == 1 else {}
    come = None if not new else _whole(shape, new[0]) if len(new) == 1 else {}
    return gone, None, come


def _by_element(part: Items, items: list[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for item in items:
        found.setdefault(part.element(item), []).append(item)
    return found


def _whole(shape: Shape, value: Any) -> Tree:
    """The tree of a value that is on one side only: it and all in it."""
    if not value or type(value) not in _CONTAINERS:
        return {}
    part = shape.only or shape.part(value)
    if isinstance(part, Scalar) or part.is_atomic:
        return {}
    tree: Tree = {}
    if isinstance(part, Items):
        item = part.item
        for inner in value if type(value) is list else _NO_ITEMS:
            element = part.element(inner)
            tree[element] = {} if element in tree else _whole(item, inner)
    elif type(value) is dict:
        named = part.named
        for name, inner in value.items():
            element, below = named.get(name) or part.field(name)
            tree[element] = _whole(below, inner) if type(inner) in _CONTAINERS else {}
    return marked(tree)


def _enter(element: str, trees: _Trees, into: tuple[Tree, Tree, Tree]) -> None:
    for tree, result in zip(trees, into, strict=True):
        if tree is not None:
            result[element] = tree


def _trees(removed: Tree, modified: Tree, added: Tree) -> _Trees | None:
    if removed or modified or added:
        return removed or None, modified or None, added or None
    return None


def _united(one: _Trees | None, other: _Trees | None) -> _Trees | None:
    if one is None or other is None:
        return one or other
    removed, modified, added = (_either(*pair) for pair in zip(one, other, strict=True))
    return removed, modified, added


def _either(one: Tree | None, other: Tree | None) -> Tree | None:
    if one is None or other is None:
        return other if one is None else one
    either: Tree = united({"": one}, {"": other})[""]
    return either
