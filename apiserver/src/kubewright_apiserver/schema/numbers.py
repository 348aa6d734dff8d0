"""Numbers as kube-apiserver's schema validation sees them: int64 and float64, and what fits a declared type."""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from typing import Any, Final

__all__ = ["as_int64", "fits", "is_int64", "is_multiple", "is_whole", "matches_enum", "same", "written_numbers"]

_LEAST_INT64: Final = -(2**63)
_MOST_INT64: Final = 2**63 - 1
_INT32: Final = 2**31
_MOST_SAFE: Final = 2**53 - 1
_EPSILON: Final = 1e-9
_WRITTEN_WHOLE: Final = 2.0**63
_MAY_CHANGE: Final = frozenset((dict, float, list))


def is_int64(value: int) -> bool:
    """Whether Go holds it as an integer; larger ones become floats."""
    return _LEAST_INT64 <= value <= _MOST_INT64


def as_int64(value: float) -> int:
    """The integer that Go makes of a number: cut off, and the least of all if it does not fit."""
    return int(value) if is_int64(int(value)) else _LEAST_INT64


def is_whole(value: float) -> bool:
    """Whether a float counts as an integer: one that JSON holds exactly, give or take a billionth."""
    if not -_MOST_SAFE <= value <= _MOST_SAFE:
        return False
    if value == math.trunc(value):
        return True
    # Go converts to uint64 and back here, so nothing below zero comes near to an integer.
    near = float(math.trunc(value))
    return value > 0 and near != 0 and (value - near) / (value + near) < _EPSILON


def fits(value: float, declared: str, number_format: str) -> bool:
    """Whether a value can be held by its declared type: ``int32``, ``int64``, ``float``."""
    if declared != "integer":
        return number_format != "float" or isinstance(value, int) or _fits_single(value)
    if isinstance(value, float):
        if Decimal(value) != int(Decimal(value)) and Decimal(repr(value)) % 1 != 0:
            return False
        value = int(Decimal(repr(value)))
    return -_INT32 <= value < _INT32 if number_format == "int32" else is_int64(value)


def _fits_single(value: float) -> bool:
    try:
        struct.pack("<f", value)
    except OverflowError:
        return False
    return True


def is_multiple(value: float, factor: float) -> bool:
    """Whether a float is a multiple of another, as far as floats can tell."""
    return is_whole(1 / factor * value if factor < 1 else value / factor)


def matches_enum(value: Any, choice: Any) -> bool:
    """Whether a value is one of an enumeration's; Go converts between types first, even numbers to characters."""
    if choice is None or isinstance(value, bool) != isinstance(choice, bool):
        return False
    if isinstance(value, int | float) and isinstance(choice, int | float):
        if isinstance(choice, int) and isinstance(value, float):
            return math.isfinite(value) and math.trunc(value) == choice
        return value == choice
    if isinstance(value, int) and isinstance(choice, str):
        return choice == (chr(value) if 0 <= value <= 0x10FFFF and not 0xD800 <= value <= 0xDFFF else "\ufffd")
    return same(value, choice)


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal, numbers also in kind: 1 is not 1.0, and neither is true."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return len(left) == len(right) and all(key in right and same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def written_numbers(value: Any) -> Any:
    """The value with numbers as Go writes them, whole ones without a fraction; what is inside changes in place."""
    kind = type(value)
    if kind is float:
        return int(Decimal(repr(value))) if value.is_integer() and abs(value) < _WRITTEN_WHOLE else value
    if kind is dict:
        for name, inner in value.items():
            if type(inner) in _MAY_CHANGE:
                value[name] = written_numbers(inner)
    elif kind is list:
        for index, inner in enumerate(value):
            if type(inner) in _MAY_CHANGE:
                value[index] = written_numbers(inner)
    return value
