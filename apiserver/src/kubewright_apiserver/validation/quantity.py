"""Quantities as the rules look at them: compared, rounded to whole numbers and thousandths, printed."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from kubewright_apiserver.defaulting.quantity import amount_of, canonical

__all__ = ["canonical", "is_quantity", "millis", "nanos", "same_quantity", "whole"]

_NANO: Final = 10**9
_MILLI: Final = 10**6


@lru_cache(maxsize=4096)
def _nanos(text: str) -> int:
    return amount_of(text).nanos


def nanos(quantity: str | float | None) -> int:
    """How much it is, in thousand-millionths; nothing is zero. Raises ``ValueError`` for what is no quantity."""
    return 0 if quantity is None else _nanos(quantity if quantity.__class__ is str else str(quantity))


def whole(quantity: str | float) -> int:
    """How much it is, rounded up to a whole number."""
    return -(-nanos(quantity) // _NANO)


def millis(quantity: str | float) -> int:
    """How many thousandths it is, rounded up."""
    return -(-nanos(quantity) // _MILLI)


def same_quantity(left: Any, right: Any) -> bool:
    """Whether two quantities are as much; a missing one is zero."""
    return nanos(left) == nanos(right)


def is_quantity(text: str) -> bool:
    """Whether a text can be read as a quantity."""
    try:
        _nanos(text)
    except ValueError:
        return False
    return True
