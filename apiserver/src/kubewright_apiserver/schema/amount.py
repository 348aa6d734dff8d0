"""Amounts of resources: quantities that are computed with, compared and rounded, and written again.

Every amount is a whole number of nanos, because kube-apiserver rounds smaller ones up when it reads them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

from kubewright_apiserver.schema.quantity import Parts, canonical_quantity, parts_of, printed_quantity

__all__ = [
    "ZERO",
    "Amount",
    "added",
    "amount_of",
    "amount_or_zero",
    "canonical",
    "greater",
    "in_millis",
    "is_quantity",
    "millis",
    "nanos",
    "printed",
    "same_quantity",
    "whole",
]

_NANO: Final = 10**9
_MILLI: Final = 10**6
_INT64: Final = 2**63
_FAR: Final = 100
"""No power of ten beyond this is computed: such an amount is more, or less, than anything."""


class Amount(NamedTuple):
    """A parsed quantity."""

    nanos: int
    style: str
    """How it is written: ``binary`` (Ki, Mi), ``decimal`` (m, k) or ``exponent`` (e3)."""
    text: str = ""
    """Its canonical text, if it was read from one."""
    scale: int = -9
    """The power of ten of the last digit that was read."""


ZERO: Final = Amount(0, "decimal")


@lru_cache(maxsize=4096)
def amount_of(text: str) -> Amount:
    """What a quantity amounts to. Raises ``ValueError`` for a text that is none."""
    parts = parts_of(text)
    if parts.style == "binary":
        return _binary(text, parts)
    scale = max(-_FAR, min(parts.exponent, _FAR)) - len(parts.fraction)
    value = int(parts.whole + parts.fraction)
    found = _up(value, 10 ** (scale + 9) if scale >= -9 else 1, 10 ** max(0, -9 - scale))
    return Amount(parts.sign * found, parts.style, canonical_quantity(text), scale)


def _binary(text: str, parts: Parts) -> Amount:
    value = int(parts.whole + parts.fraction)
    found = min(_up(value, _NANO << parts.exponent, 10 ** len(parts.fraction)), (_INT64 - 1) * _NANO)
    style = "decimal" if parts.fraction and 0 < found < _NANO else "binary"
    return Amount(parts.sign * found, style, canonical_quantity(text), -9 if parts.fraction else 0)


def _up(value: int, factor: int, divisor: int) -> int:
    return -(-value * factor // divisor)


def amount_or_zero(quantity: str | float) -> Amount:
    """What a quantity amounts to; what cannot be parsed is left to validation and counts as nothing."""
    try:
        return amount_of(str(quantity).strip())
    except ValueError:
        return ZERO


def printed(amount: Amount) -> str:
    """The text of an amount."""
    return amount.text or printed_quantity(amount.nanos, -9, amount.style)


def added(left: Amount, right: Amount) -> Amount:
    """The sum, written as the left one unless that is zero."""
    return Amount(left.nanos + right.nanos, left.style if left.nanos else right.style)


def greater(left: Amount, right: Amount) -> Amount:
    """The greater of two amounts."""
    return right if right.nanos > left.nanos else left


def canonical(quantity: str | float) -> str:
    """A quantity as kube-apiserver prints it; what cannot be parsed is left to validation."""
    text = _text(quantity)
    try:
        return canonical_quantity(text)
    except ValueError:
        return text


@lru_cache(maxsize=4096)
def _in_millis(text: str) -> str:
    try:
        amount = amount_of(text.strip())
    except ValueError:
        return text
    if amount.scale >= -3:
        return amount.text
    found = _up(abs(amount.nanos), 1, _MILLI) * _MILLI
    return printed(Amount(found if amount.nanos >= 0 else -found, amount.style))


def in_millis(quantity: str | float) -> str:
    """A quantity rounded up to thousandths, as lists of resources hold it."""
    return _in_millis(_text(quantity))


def _text(quantity: str | float) -> str:
    return quantity if isinstance(quantity, str) else str(quantity)


@lru_cache(maxsize=4096)
def _nanos(text: str) -> int:
    return amount_of(text).nanos


def nanos(quantity: str | float | None) -> int:
    """How much it is, in thousand-millionths; nothing is zero. Raises ``ValueError`` for what is no quantity."""
    return 0 if quantity is None else _nanos(_text(quantity))


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
