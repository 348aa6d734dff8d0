"""The second try at an object that does not decode at once: what Go's decoder would have let pass.

Kept off the fast path: ``wire`` calls it only after msgspec refused the bytes.
"""

from __future__ import annotations

import functools
import types
import typing
from typing import Annotated, Any

import msgspec

__all__ = ["lenient"]


def lenient(value: Any, hint: Any) -> Any:
    """``value`` without nulls where ``hint`` allows none, and with ``3.0`` as 3 where it wants an int.

    A null list or map is an empty one; any other null is an absent field.
    """
    if typing.get_origin(hint) is Annotated:
        return lenient(value, hint.__origin__)
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return value if value is None else lenient(value, _likely(value, typing.get_args(hint)))
    if isinstance(value, dict):
        return _lenient_map(value, hint)
    if isinstance(value, list) and typing.get_origin(hint) is list:
        return [lenient(item, typing.get_args(hint)[0]) for item in value]
    if isinstance(value, float) and hint is int and value.is_integer():
        return int(value)
    return value


def _likely(value: Any, choices: tuple[Any, ...]) -> Any:
    """The member of a union that a JSON value of this shape is meant for."""
    for choice in choices:
        plain = choice.__origin__ if typing.get_origin(choice) is Annotated else choice
        origin = typing.get_origin(plain) or plain
        if isinstance(value, dict) and (origin is dict or _is_struct(origin)):
            return choice
        if isinstance(value, list) and origin is list:
            return choice
        if isinstance(value, float) and origin is int and float not in choices:
            return choice
    return Any


def _is_struct(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, msgspec.Struct)


def _lenient_map(value: dict[str, Any], hint: Any) -> dict[str, Any]:
    if typing.get_origin(hint) is dict:
        item = typing.get_args(hint)[1]
        return {key: lenient(found, item) for key, found in value.items()}
    if not _is_struct(hint):
        return value
    hints = _hints(hint)
    result = {}
    for key, found in value.items():
        expected = hints.get(key, Any)
        if found is None and not _takes_null(expected):
            empty = _empty(expected)
            if empty is not None:
                result[key] = empty
        else:
            result[key] = lenient(found, expected)
    return result


def _takes_null(hint: Any) -> bool:
    if typing.get_origin(hint) is Annotated:
        return _takes_null(hint.__origin__)
    return hint is Any or hint is type(None) or type(None) in typing.get_args(hint)


def _empty(hint: Any) -> list[Any] | dict[str, Any] | None:
    if typing.get_origin(hint) is Annotated:
        return _empty(hint.__origin__)
    origin = typing.get_origin(hint) or hint
    if origin is list:
        return []
    return {} if origin is dict else None


@functools.cache
def _hints(struct: type[msgspec.Struct]) -> dict[str, Any]:
    hints = typing.get_type_hints(struct, include_extras=True)
    names = zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True)
    return {wire: hints[name] for name, wire in names}
