"""Quantities as Go prints them from the inside: amount, scale, the text if it is canonical, and the format."""

from __future__ import annotations

import re
from decimal import ROUND_UP, Context, Decimal
from typing import Final

__all__ = ["printed_quantity"]

_TEXT: Final = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?(.*)")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_MOST_DIGITS: Final = 18
_MOST: Final = 2**63 - 1
_WIDE: Final = Context(prec=200)


def printed_quantity(text: str) -> str:
    """A quantity such as ``100m`` or ``1Gi``, in the form in which the API server stores it, as Go prints it."""
    if text == "0":
        return _small(0, 0, text, "DecimalSI")
    sign, whole, fraction, suffix = _parts(text)
    exponent, form = _suffix(suffix)
    fast = _fast(whole, fraction, exponent, form)
    if fast is None:
        return _large(f"{sign}{whole}.{fraction or '0'}", exponent, form)
    value, scale = fast
    number = -value if sign == "-" else value
    return _small(number, scale, text if _is_canonical(whole + fraction, scale, exponent, form) else "", form)


def _parts(text: str) -> tuple[str, str, str, str]:
    found = _TEXT.fullmatch(text)
    assert found is not None
    sign, whole, fraction, suffix = found.groups()
    return sign, whole.lstrip("0") or "0", fraction or "", suffix


def _suffix(suffix: str) -> tuple[int, str]:
    if suffix in _BINARY:
        return _BINARY[suffix], "BinarySI"
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], "DecimalSI"
    return int(suffix[1:]), "DecimalExponent"


def _fast(whole: str, fraction: str, exponent: int, form: str) -> tuple[int, int] | None:
    """Amount and scale, if Go keeps it as one number of 64 bits."""
    digits = len(whole) + len(fraction)
    factor = 1
    if form == "BinarySI":
        precision = -1 if fraction else 15 - len(whole) - int(exponent * 3 / 10) - 1
        factor, scale = 2**exponent, 0
    else:
        precision, scale = _MOST_DIGITS - digits, exponent
    scale -= len(fraction)
    value = int(whole + fraction) * factor
    return (value, scale) if precision >= 0 and scale >= -9 and value <= _MOST else None


def _is_canonical(digits: str, scale: int, exponent: int, form: str) -> bool:
    if form == "BinarySI":
        return exponent % 10 == 0 and int(digits) & 7 != 0
    return scale % 3 == 0 and not digits.endswith("000") and not digits.startswith("0")


def _small(value: int, scale: int, text: str, form: str) -> str:
    return (
        f"{{i:(resource.int64Amount){{value:(int64){value} scale:(resource.Scale){scale}}} "
        f"d:(resource.infDecAmount){{Dec:(*inf.Dec)<nil>}} s:(string){text} Format:(resource.Format){form}}}"
    )


def _large(number: str, exponent: int, form: str) -> str:
    """An amount that Go keeps as a number of any size: its words, and the digits after the point."""
    amount = Decimal(number)
    amount = amount * 2**exponent if form == "BinarySI" else amount.scaleb(exponent, context=_WIDE)
    amount = amount.quantize(Decimal("1e-9"), rounding=ROUND_UP, context=_WIDE)
    if form == "BinarySI":
        amount = min(amount, Decimal(_MOST))
        form = "DecimalSI" if 0 < amount < 1 else form
    unscaled, scale = abs(int(amount.scaleb(9, context=_WIDE))), 9
    words = []
    while unscaled:
        words.append(str(unscaled & 0xFFFFFFFFFFFFFFFF))
        unscaled >>= 64
    return (
        "{i:(resource.int64Amount){value:(int64)0 scale:(resource.Scale)0} d:(resource.infDecAmount){Dec:(*inf.Dec)"
        f"{{unscaled:(big.Int){{neg:(bool){str(amount < 0).lower()} abs:(big.nat)[{' '.join(words)}]}} "
        f"scale:(inf.Scale){scale}}}}} s:(string) Format:(resource.Format){form}}}"
    )
