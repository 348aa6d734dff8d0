"""Quantities as Go reads and writes them: ``1000m`` is ``1``, ``1.5Gi`` is ``1536Mi``.

Go keeps the text of what it takes for canonical already and computes the rest; both ways are followed here, with
their corners.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

__all__ = ["InvalidQuantity", "Parts", "canonical_quantity", "parts_of", "printed_quantity"]

_TEXT: Final = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?((?:[eEinumkKMGTP]*)[-+]?[0-9]*)")
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIX: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX: Final = dict(enumerate(("", *_BINARY)))
_EXPONENT: Final = re.compile(r"[eE]([-+]?[0-9]+)")
_LARGEST: Final = 2**63 - 1
_NANO: Final = -9
_LONGEST: Final = 4_000
_FORMAT: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


class InvalidQuantity(ValueError):
    """A text that is no quantity; the message is Go's."""


class Parts(NamedTuple):
    """What the text of a quantity says."""

    sign: int
    whole: str
    fraction: str
    exponent: int
    style: str
    """``decimal``, ``binary`` or ``exponent``."""


@lru_cache(maxsize=4096)
def canonical_quantity(text: str) -> str:
    """A quantity as Kubernetes writes it.

    Raises ``InvalidQuantity``.
    """
    text = text.strip()
    parts = parts_of(text)
    digits = parts.whole + parts.fraction
    if parts.style == "binary":
        return _binary(text, parts, digits)
    scale = parts.exponent - len(parts.fraction)
    if len(digits) <= 18 and scale >= _NANO:
        if scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0":
            return text
        return _printed(parts.sign * int(digits), scale, parts.style)
    return _printed(*_rounded(parts.sign * int(digits), scale), parts.style)


def parts_of(text: str) -> Parts:
    """What a text says as a quantity.

    Raises ``InvalidQuantity``.
    """
    found = _TEXT.fullmatch(text)
    # Python limits the digits of an integer.
    if not text or found is None or len(text) > _LONGEST:
        raise InvalidQuantity(_FORMAT)
    sign, whole, fraction, suffix = found.groups()
    exponent, style = _suffix(suffix)
    return Parts(-1 if sign == "-" else 1, whole or "0", fraction or "", exponent, style)


def _suffix(suffix: str) -> tuple[int, str]:
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], "decimal"
    if suffix in _BINARY:
        return _BINARY[suffix], "binary"
    found = _EXPONENT.fullmatch(suffix)
    if found is None or not -_LARGEST - 1 <= int(found[1]) <= _LARGEST:
        raise InvalidQuantity("unable to parse quantity's suffix")
    return (int(found[1]) + 2**31) % 2**32 - 2**31, "exponent"


def _binary(text: str, parts: Parts, digits: str) -> str:
    value = int(digits)
    if not parts.fraction and 15 - len(digits) - parts.exponent * 3 // 10 - 1 >= 0:
        if value & 7:
            return text
        return _printed_binary(parts.sign * (value << parts.exponent))
    mantissa, scale = _rounded(value << parts.exponent, -len(parts.fraction))
    if mantissa > _LARGEST * 10**-scale:
        mantissa, scale = _LARGEST, 0
    return printed_quantity(parts.sign * mantissa, scale, "binary")


def printed_quantity(mantissa: int, scale: int, style: str) -> str:
    """The canonical text of ``mantissa`` times ten to the power of ``scale``, in a style."""
    unit = 10**-scale if scale < 0 else 1
    if style == "binary" and abs(mantissa) >= 1024 * unit and not mantissa % unit:
        return _printed_binary(mantissa // unit)
    return _printed(mantissa, scale, style)


def _rounded(mantissa: int, scale: int) -> tuple[int, int]:
    """The number with at most nine decimals, rounded away from zero."""
    if scale >= _NANO or not mantissa:
        return mantissa, scale
    sign = -1 if mantissa < 0 else 1
    # No number that was written has more digits than this drops, so a tiny one need not be computed to be 1n.
    dropped = min(_NANO - scale, len(str(mantissa)) + 1)
    return sign * -(-abs(mantissa) // 10**dropped), _NANO


def _printed(mantissa: int, scale: int, style: str) -> str:
    if not mantissa:
        return "0"
    while mantissa % 10 == 0:
        mantissa //= 10
        scale += 1
    mantissa *= 10 ** (scale % 3)
    scale -= scale % 3
    if style == "exponent":
        return f"{mantissa}e{scale}" if scale else str(mantissa)
    return f"{mantissa}{_DECIMAL_SUFFIX.get(scale, '')}"


def _printed_binary(value: int) -> str:
    if abs(value) < 1024:
        return _printed(value, 0, "decimal")
    power = 0
    while value % 1024 == 0:
        value //= 1024
        power += 1
    return f"{value}{_BINARY_SUFFIX.get(power, '')}"
