"""Amounts of resources as Kubernetes writes them: parsed, added, rounded, and back in their canonical form.

Every amount is a whole number of nanos, because kube-apiserver rounds smaller ones up when it reads them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

__all__ = ["ZERO", "Amount", "added", "amount_of", "amount_or_zero", "canonical", "greater", "in_millis", "printed"]

_NANO: Final = 10**9
_MILLI: Final = 10**6
_INT64: Final = 2**63
_FAR: Final = 100
"""No power of ten beyond this is computed: such an amount is more, or less, than anything."""
_WHOLE: Final = re.compile(r"([+-]?)0*([0-9]*)(\.?)([0-9]*)([eEinumkKMGTP]*[-+]?[0-9]*)\Z")
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIXES: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIXES: Final = ("", *_BINARY)


class Amount(NamedTuple):
    """A parsed quantity."""

    nanos: int
    style: str
    """How it is written: ``binary`` (Ki, Mi), ``decimal`` (m, k) or ``exponent`` (e3)."""
    text: str = ""
    """The text it was read from, where kube-apiserver keeps that as it is."""
    scale: int = 0
    """The power of ten of the last digit that was read."""


ZERO: Final = Amount(0, "decimal")


@lru_cache(maxsize=4096)
def amount_of(text: str) -> Amount:
    """What a quantity amounts to. Raises ``ValueError`` for a text that is none."""
    found = _WHOLE.match(text)
    if not text or found is None:
        raise ValueError(f"{text!r} is not a quantity")
    sign, digits, _, decimals, suffix = found.groups()
    base, exponent, style = _suffix(suffix)
    digits = digits or "0"
    factor = -1 if sign == "-" else 1
    if base == 2:
        return _binary(text, factor, digits, decimals, exponent)
    scale = exponent - len(decimals)
    nanos = factor * _up(int(digits + decimals), 10 ** (scale + 9) if scale >= -9 else 1, 10 ** max(0, -9 - scale))
    is_short = len(digits) + len(decimals) <= 18 and scale >= -9
    return Amount(nanos, style, text if is_short and _is_kept(digits + decimals, scale) else "", scale)


def _is_kept(digits: str, scale: int) -> bool:
    return scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"


def _binary(text: str, factor: int, digits: str, decimals: str, exponent: int) -> Amount:
    value = int(digits + decimals)
    nanos = min(_up(value, _NANO << exponent, 10 ** len(decimals)), (_INT64 - 1) * _NANO)
    # Go reads short whole numbers without an arbitrary-precision decimal, and only then keeps the text.
    is_short = not decimals and 15 - len(digits) - int(exponent * 3 / 10) - 1 >= 0 and (value << exponent) < _INT64
    if not is_short and 0 < nanos < _NANO:
        return Amount(factor * nanos, "decimal", "", -9)
    return Amount(factor * nanos, "binary", text if is_short and value & 7 else "", 0 if is_short else -9)


def _up(value: int, factor: int, divisor: int) -> int:
    return -(-value * factor // divisor)


def _suffix(suffix: str) -> tuple[int, int, str]:
    if suffix in _DECIMAL:
        return 10, _DECIMAL[suffix], "decimal"
    if suffix in _BINARY:
        return 2, _BINARY[suffix], "binary"
    if len(suffix) > 1 and suffix[0] in "eE":
        return 10, max(-_FAR, min(int(suffix[1:]), _FAR)), "exponent"
    raise ValueError(f"unknown suffix {suffix!r}")


def amount_or_zero(quantity: str | float) -> Amount:
    """What a quantity amounts to; what cannot be parsed is left to validation and counts as nothing."""
    try:
        return amount_of(str(quantity).strip())
    except ValueError:
        return ZERO


def printed(amount: Amount) -> str:
    """The text of an amount: the one it was read from if that is kept, else the canonical one."""
    if amount.text:
        return amount.text
    nanos, style = amount.nanos, amount.style
    if not nanos:
        return "0"
    if style == "binary" and abs(nanos) >= 1024 * _NANO and not nanos % _NANO:
        return _printed_binary(nanos // _NANO)
    exponent = -9
    while not nanos % 10:
        nanos //= 10
        exponent += 1
    shift = exponent % 3
    nanos, exponent = nanos * 10**shift, exponent - shift
    if style == "exponent":
        return f"{nanos}e{exponent}" if exponent else str(nanos)
    return f"{nanos}{_DECIMAL_SUFFIXES.get(exponent, '')}"


def _printed_binary(value: int) -> str:
    power = 0
    while not value % 1024:
        value //= 1024
        power += 1
    return f"{value}{_BINARY_SUFFIXES[power]}"


def added(left: Amount, right: Amount) -> Amount:
    """The sum, written as the left one unless that is zero."""
    return Amount(left.nanos + right.nanos, left.style if left.nanos else right.style)


def greater(left: Amount, right: Amount) -> Amount:
    """The greater of two amounts."""
    return right if right.nanos > left.nanos else left


@lru_cache(maxsize=4096)
def _canonical(text: str) -> str:
    try:
        amount = amount_of(text.strip())
    except ValueError:
        return text
    return printed(amount)


def canonical(quantity: str | float) -> str:
    """A quantity as kube-apiserver prints it; what cannot be parsed is left to validation."""
    return _canonical(quantity if quantity.__class__ is str else str(quantity))


@lru_cache(maxsize=4096)
def _in_millis(text: str) -> str:
    try:
        amount = amount_of(text.strip())
    except ValueError:
        return text
    if amount.text and amount.scale >= -3:
        return amount.text
    nanos = _up(abs(amount.nanos), 1, _MILLI) * _MILLI
    return printed(Amount(nanos if amount.nanos >= 0 else -nanos, amount.style))


def in_millis(quantity: str | float) -> str:
    """A quantity rounded up to thousandths, as lists of resources hold it."""
    return _in_millis(quantity if quantity.__class__ is str else str(quantity))
