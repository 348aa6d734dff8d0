"""How an intent is laid over an object, and how fields are taken out of one again."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.patch.element import MEMBER
from kubewright_apiserver.patch.fieldset import Tree
from kubewright_apiserver.patch.shape import Fields, Items, Scalar, Shape
from kubewright_apiserver.patch.typed import equal

__all__ = ["merge", "remove"]

_NO_ITEMS: Final[list[Any]] = []


def merge(shape: Shape, old: Any, new: Any) -> Any:
    """``old`` with all that ``new`` says: the very ``old`` if that changes nothing, else a value that shares parts.

    Nothing is removed; null and empty objects, and empty lists that are not atomic, say nothing about what is inside.
    """
    part = shape.only or shape.part(new)
    if isinstance(part, Fields):
        if not part.is_atomic and type(old) is dict and old:
            return _merge_fields(part, old, new) if type(new) is dict else old
    elif isinstance(part, Items) and not part.is_atomic and type(old) is list and old:
        return _merge_items(part, old, new if type(new) is list else _NO_ITEMS)
    return old if equal(old, new) else new


def _merge_fields(part: Fields, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    changed = {}
    for name, value in new.items():
        if name not in old:
            changed[name] = value
            continue
        current = old[name]
        if type(value) is str and value == current:
            continue
        merged = merge(part.field(name)[1], current, value)
        if merged is not current:
            changed[name] = merged
    return {**old, **changed} if changed else old


def _merge_items(part: Items, old: list[Any], new: list[Any]) -> list[Any]:
    if not new:
        return old
    result = [_merged_item(part, *pair) for pair in _arranged(part, old, new)]
    is_same = len(result) == len(old) and all(map(_is, result, old))
    return old if is_same else result


def _is(one: Any, other: Any) -> bool:
    return one is other


_ABSENT: Final = object()


def _merged_item(part: Items, old: Any, new: Any) -> Any:
    if new is _ABSENT:
        return old
    return new if old is _ABSENT else merge(part.item, old, new)


class _Indexed:
    """The items of a list and their elements; an item that occurs twice counts as null."""

    def __init__(self, part: Items, items: list[Any]) -> None:
        self.elements = [part.element(item) for item in items]
        self.items = dict(zip(self.elements, items, strict=True))
        if len(self.items) < len(items):
            self.items |= {element: None for element in self.elements if self.elements.count(element) > 1}

    def at(self, place: int) -> str | None:
        """The element at this place, None behind the end."""
        return self.elements[place] if place < len(self.elements) else None


def _arranged(part: Items, old: list[Any], new: list[Any]) -> list[tuple[Any, Any]]:
    """Pairs of old and new items in the order of the merged list.

    The order of ``new`` holds among its items; those that are only in ``old`` stay behind what they followed.
    """
    olds, news = _Indexed(part, old), _Indexed(part, new)
    shared = iter([element for element in news.elements if element in olds.items])
    wanted = next(shared, None)
    merged: set[str] = set()
    pairs: list[tuple[Any, Any]] = []
    left = right = 0
    while left < len(old) or right < len(new):
        ours, theirs = olds.at(left), news.at(right)
        if ours is not None and ours not in news.items:
            pairs.append((old[left], _ABSENT))
            left += 1
            continue
        if ours not in (None, theirs) and theirs is not None and wanted not in (None, ours):
            left += 1
            continue
        if ours is not None and (ours == theirs or ours in merged):
            left += 1
        if theirs is not None:
            merged.add(theirs)
            pairs.append((olds.items.get(theirs, _ABSENT), news.items[theirs]))
            right += 1
            if theirs in (ours, wanted):
                wanted = next(shared, None)
    return pairs


def remove(shape: Shape, value: Any, tree: Tree) -> Any:
    """The value without what is in the tree; None if nothing is left, and for what is owned as a whole."""
    part = shape.only or shape.part(value)
    if isinstance(part, Scalar):
        return value
    if not value or part.is_atomic:
        return None
    if isinstance(part, Items):
        return _remove_items(part, value, tree) if type(value) is list else None
    return _remove_fields(part, value, tree) if type(value) is dict else None


def _remove_fields(part: Fields, value: dict[str, Any], tree: Tree) -> dict[str, Any] | None:
    result = {}
    for name, inner in value.items():
        element, shape = part.field(name)
        below = tree.get(element)
        if below is None:
            result[name] = inner
        elif below and MEMBER not in below:
            result[name] = remove(shape, inner, below)
    return result or None


def _remove_items(part: Items, value: list[Any], tree: Tree) -> list[Any] | None:
    result = []
    for inner in value:
        below = tree.get(part.element(inner)) if inner is not None else None
        if below is None:
            result.append(inner)
        elif below and MEMBER not in below:
            result.append(remove(part.item, inner, below))
    return result or None
