"""Lays a change of the known fields over the whole object as it was read, so that unknown fields survive.

``before`` and ``after`` hold what the Python type knows; ``raw`` holds everything. Used by ``wire`` for each write.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import msgspec

from kubewright.api.model import ListMap
from kubewright.api.patch import same

__all__ = ["Shape", "overlay", "shape_of"]


class Shape(NamedTuple):
    """What a place in a type looks like: the Struct there (of the items, for a list or map), and list-map keys."""

    struct: type[msgspec.Struct] | None = None
    keys: tuple[str, ...] = ()
    is_map: bool = False

    def field(self, wire_name: str) -> Shape:
        """The shape of a field, or of any value of a map."""
        if self.is_map:
            return self.item()
        return _fields(self.struct).get(wire_name, _ANY) if self.struct else _ANY

    def item(self) -> Shape:
        """The shape of an item of this list or of a value of this map."""
        return Shape(self.struct)


_ANY = Shape()


def shape_of(kind: type[msgspec.Struct]) -> Shape:
    """The shape of a Struct class."""
    return Shape(kind)


@functools.cache
def _fields(struct: type[msgspec.Struct]) -> dict[str, Shape]:
    hints = typing.get_type_hints(struct, include_extras=True)
    names = zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True)
    return {wire: _shape(hints[name]) for name, wire in names}


def _shape(hint: Any) -> Shape:
    if typing.get_origin(hint) is Annotated:
        keys = next((mark.keys for mark in hint.__metadata__ if isinstance(mark, ListMap)), ())
        inner = _shape(hint.__origin__)
        return inner._replace(keys=keys or inner.keys)
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return next((shape for shape in map(_shape, typing.get_args(hint)) if shape != _ANY), _ANY)
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is dict and arguments:
        return Shape(_shape(arguments[1]).struct, is_map=True)
    if typing.get_origin(hint) is list and arguments:
        return Shape(_shape(arguments[0]).struct)
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return Shape(hint)
    return _ANY


def overlay(raw: Any, before: Any, after: Any, shape: Shape) -> Any:
    """``raw`` with the difference of ``before`` and ``after`` laid over it; none of the three is changed."""
    if same(before, after):
        return raw
    if isinstance(raw, dict) and isinstance(before, dict) and isinstance(after, dict):
        return _overlay_map(raw, before, after, shape)
    if isinstance(raw, list) and isinstance(before, list) and isinstance(after, list) and len(raw) == len(before):
        return _overlay_list(raw, before, after, shape)
    return after


def _overlay_map(raw: dict[str, Any], before: dict[str, Any], after: dict[str, Any], shape: Shape) -> dict[str, Any]:
    result = {key: value for key, value in raw.items() if key in after or key not in before}
    for key, value in after.items():
        if key in raw and key in before:
            result[key] = overlay(raw[key], before[key], value, shape.field(key))
        elif key not in before or not same(before[key], value):
            result[key] = value
    return result


def _overlay_list(raw: list[Any], before: list[Any], after: list[Any], shape: Shape) -> list[Any]:
    pairs = _paired_by_keys(before, after, shape.keys)
    if pairs is None and len(before) == len(after):
        pairs = list(range(len(after)))
    if pairs is None:
        pairs = _paired_by_equality(before, after)
    return [
        value if index is None else overlay(raw[index], before[index], value, shape.item())
        for index, value in zip(pairs, after, strict=True)
    ]


def _paired_by_keys(before: list[Any], after: list[Any], keys: Sequence[str]) -> list[int | None] | None:
    """For each item of ``after`` the index of its twin in ``before``; None when the keys do not tell items apart."""
    if not keys:
        return None
    old = [_key(item, keys) for item in before]
    new = [_key(item, keys) for item in after]
    if None in old or None in new or len(set(old)) != len(old) or len(set(new)) != len(new):
        return None
    places = {key: index for index, key in enumerate(old)}
    return [places.get(key) for key in new]


def _key(item: Any, keys: Sequence[str]) -> tuple[str, ...] | None:
    if not isinstance(item, dict) or not any(key in item for key in keys):
        return None
    return tuple(repr(item.get(key)) for key in keys)


def _paired_by_equality(before: list[Any], after: list[Any]) -> list[int | None]:
    """Without keys and with another length, an item that did not change is still itself."""
    free = list(range(len(before)))
    pairs: list[int | None] = []
    for value in after:
        twin = next((index for index in free if same(before[index], value)), None)
        if twin is not None:
            free.remove(twin)
        pairs.append(twin)
    return pairs
