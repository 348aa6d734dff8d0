"""``Quantity``: an amount of CPU, memory or anything else, as Kubernetes writes it (``500m``, ``1.5Gi``, ``2e3``)."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Final, final

__all__ = ["Quantity"]

_BINARY: Final = "BinarySI"
_DECIMAL: Final = "DecimalSI"
_EXPONENT: Final = "DecimalExponent"

_DECIMAL_SUFFIXES: Final = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_BINARY_SUFFIXES: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_POWERS: Final = {suffix: 3 * step - 9 for step, suffix in enumerate(_DECIMAL_SUFFIXES)}
_SHIFTS: Final = {suffix: 10 * step for step, suffix in enumerate(_BINARY_SUFFIXES) if suffix}

_GRAMMAR: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?(?:[eE](?P<exponent>[+-]?[0-9]+)|(?P<suffix>[A-Za-z]*))"
)
_NANO: Final = 10**9
_CAP: Final = (2**63 - 1) * _NANO
# Kubernetes sets no limit, but a short text must not take all memory.
_DIGITS: Final = 1000


@final
class Quantity:
    """An exact amount that remembers how it was written. Immutable.

    Text is kept as given and read when it is first computed with, so that a list of objects decodes quickly and a
    malformed text survives a round trip; computing with a malformed one raises ``ValueError``.

    >>> Quantity("1000m") == Quantity("1")
    True
    >>> Quantity("1.5Gi") + Quantity("512Mi")
    Quantity('2Gi')
    >>> Quantity("250m") * 3
    Quantity('750m')

    *Guarantees*: no rounding but Kubernetes' own, which is away from zero, to whole nanos; binary texts are capped at
    2⁶³-1. Equal amounts are equal and hash alike, however written. A result is written in the manner (binary, decimal,
    exponent) of the left operand, or of the right one when the left one is zero.
    """

    __slots__ = ("_form", "_nano", "_text")

    _text: str | None
    _nano: int | None
    _form: str

    def __init__(self, value: str | int | float | Decimal | Fraction | Quantity) -> None:
        if isinstance(value, str):
            self._text, self._nano, self._form = value, None, _DECIMAL
        elif isinstance(value, Quantity):
            self._text, self._nano, self._form = value._text, value._nano, value._form
        else:
            self._text, self._nano, self._form = None, _nano_of_number(value), _DECIMAL

    @classmethod
    def parse(cls, text: str) -> Quantity:
        """The quantity in a text that must be well-formed.

        *Raises* ``ValueError`` naming the text.
        """
        made = cls(text)
        made._read()
        return made

    @classmethod
    def _made(cls, nano: int, form: str) -> Quantity:
        made = cls.__new__(cls)
        made._text, made._nano, made._form = None, nano, form
        return made

    def _read(self) -> int:
        """The amount in nanos; reads the text if that was not done yet."""
        if self._nano is None:
            nano, self._form = _parsed(str(self._text))
            self._nano = nano
        return self._nano

    def __str__(self) -> str:
        if self._text is None:
            self._text = self.canonical()
        return self._text

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def canonical(self) -> str:
        """The text that Kubernetes gives this amount: no fraction, the largest suffix that keeps it whole.

        >>> Quantity("1000m").canonical(), Quantity("0.5Gi").canonical(), Quantity("1.5").canonical()
        ('1', '512Mi', '1500m')
        """
        nano = self._read()
        if self._form == _EXPONENT:
            return _exponent_text(nano)
        if self._form == _BINARY and nano % _NANO == 0 and abs(nano) >= 1024 * _NANO:
            return _suffixed(nano // _NANO, 1024, _BINARY_SUFFIXES)
        return _suffixed(nano, 1000, _DECIMAL_SUFFIXES) if nano else "0"

    def milli_value(self) -> int:
        """The amount in thousandths, rounded away from zero: 1500 for ``1.5``."""
        return _away(self._read(), 10**6)

    def as_fraction(self) -> Fraction:
        """The exact amount."""
        return Fraction(self._read(), _NANO)

    def __int__(self) -> int:
        return _away(self._read(), _NANO)

    def __float__(self) -> float:
        return self._read() / _NANO

    def __bool__(self) -> bool:
        return self._read() != 0

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Quantity):
            if self._text is not None and self._text == other._text:
                return True
            return self._identity() == other._identity()
        number = _nanos(other)
        return NotImplemented if number is None else self._identity() == number

    def __hash__(self) -> int:
        identity = self._identity()
        return hash(identity if isinstance(identity, str) else Fraction(identity, _NANO))

    def _identity(self) -> int | str:
        """The amount, or the text where that names none: comparing and hashing never fail."""
        try:
            return self._read()
        except ValueError:
            return str(self._text)

    def __lt__(self, other: Quantity | int | Decimal | Fraction) -> bool:
        number = _nanos(other)
        return NotImplemented if number is None else self._read() < number

    def __le__(self, other: Quantity | int | Decimal | Fraction) -> bool:
        number = _nanos(other)
        return NotImplemented if number is None else self._read() <= number

    def __gt__(self, other: Quantity | int | Decimal | Fraction) -> bool:
        number = _nanos(other)
        return NotImplemented if number is None else self._read() > number

    def __ge__(self, other: Quantity | int | Decimal | Fraction) -> bool:
        number = _nanos(other)
        return NotImplemented if number is None else self._read() >= number

    def __add__(self, other: Quantity | int | Decimal | Fraction) -> Quantity:
        number = _nanos(other)
        return NotImplemented if number is None else self._moved(number, other)

    __radd__ = __add__

    def __sub__(self, other: Quantity | int | Decimal | Fraction) -> Quantity:
        number = _nanos(other)
        return NotImplemented if number is None else self._moved(-number, other)

    def __rsub__(self, other: int | Decimal | Fraction) -> Quantity:
        return -self + other

    def _moved(self, nanos: int | Fraction, other: object) -> Quantity:
        mine = self._read()
        form = other._form if isinstance(other, Quantity) and not mine else self._form
        return Quantity._made(_whole(mine + nanos), form)

    def __mul__(self, factor: int | Decimal | Fraction) -> Quantity:
        if isinstance(factor, bool) or not isinstance(factor, int | Decimal | Fraction):
            return NotImplemented
        return Quantity._made(_whole(self._read() * Fraction(factor)), self._form)

    __rmul__ = __mul__

    def __neg__(self) -> Quantity:
        return Quantity._made(-self._read(), self._form)

    def __pos__(self) -> Quantity:
        return self

    def __abs__(self) -> Quantity:
        return Quantity._made(abs(self._read()), self._form)

    def __copy__(self) -> Quantity:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Quantity:
        return self


def _away(value: int, unit: int) -> int:
    """``value / unit``, rounded away from zero."""
    whole = -(-abs(value) // unit)
    return whole if value >= 0 else -whole


def _whole(value: int | Fraction) -> int:
    return value if isinstance(value, int) else _away(value.numerator, value.denominator)


def _nanos(value: object) -> int | Fraction | None:
    """Any number in nanos; None for what is no exact number."""
    if isinstance(value, Quantity):
        return value._read()
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value * _NANO
    if isinstance(value, Fraction) or (isinstance(value, Decimal) and value.is_finite()):
        return Fraction(value) * _NANO
    return None


def _nano_of_number(value: object) -> int:
    # repr() is the shortest text of a float, so 0.1 means 100m and not the 100000001n that its bits round up to.
    number = _nanos(Decimal(repr(value)) if isinstance(value, float) else value)
    if number is None:
        kind = ValueError if isinstance(value, float | Decimal) else TypeError
        raise kind(f"a quantity is made of text or of a finite number, not of {value!r}")
    return _whole(number)


def _parsed(text: str) -> tuple[int, str]:
    """Amount in nanos and form of a quantity's text."""
    match = _GRAMMAR.fullmatch(text) if len(text) <= _DIGITS else None
    if match is None:
        raise _malformed(text)
    whole, part, suffix, exponent = match["whole"], match["part"] or "", match["suffix"], match["exponent"]
    if not whole and not part:
        raise _malformed(text)
    digits = int(whole + part)
    if suffix in _SHIFTS:
        nano, form = _binary(digits << _SHIFTS[suffix], len(part))
    elif exponent is None and suffix not in _POWERS:
        raise _malformed(text)
    else:
        power = _POWERS[suffix] if exponent is None else int(exponent)
        nano, form = _scaled(digits, power - len(part), text), _DECIMAL if exponent is None else _EXPONENT
    return (-nano if match["sign"] == "-" else nano), form


def _malformed(text: str) -> ValueError:
    return ValueError(
        f"{text[:80]!r} is not a quantity: expected a number with an optional suffix, one of n u m k M G T P E, "
        "Ki Mi Gi Ti Pi Ei, or an exponent such as e3"
    )


def _binary(amount: int, places: int) -> tuple[int, str]:
    nano = min(_away(amount * _NANO, 10**places), _CAP)
    # Below one Kubernetes forgets that the text was binary.
    return nano, _DECIMAL if 0 < nano < _NANO else _BINARY


def _scaled(digits: int, power: int, text: str) -> int:
    shift = power + 9
    if shift >= 0:
        if digits and shift > _DIGITS:
            raise ValueError(f"{text[:80]!r} is too large a quantity to compute with")
        return digits * 10**shift if digits else 0
    # Anything below one nano is one nano, however far below.
    return _away(digits, 10 ** min(-shift, len(str(digits)) + 1))


def _suffixed(amount: int, step: int, suffixes: tuple[str, ...]) -> str:
    index = 0
    while amount % step == 0 and index < len(suffixes) - 1:
        amount //= step
        index += 1
    return f"{amount}{suffixes[index]}"


def _exponent_text(nano: int) -> str:
    if not nano:
        return "0"
    exponent = -9
    while nano % 1000 == 0:
        nano //= 1000
        exponent += 3
    return f"{nano}e{exponent}" if exponent else str(nano)
