"""Points in time as Go reads and writes them: any zone in, UTC out."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final, NamedTuple

__all__ = ["InvalidTime", "canonical_microtime", "canonical_time"]

_RFC3339: Final = "2006-01-02T15:04:05Z07:00"
_RFC3339_MICRO: Final = "2006-01-02T15:04:05.000000Z07:00"
_ZERO: Final = datetime(401, 1, 1)
# The hour alone may be written with one digit.
_ELEMENTS: Final = tuple(
    (element, re.compile(pattern))
    for element, pattern in (
        ("2006", "[0-9]{4}"), ("-", "-"), ("01", "[0-9]{2}"), ("-", "-"), ("02", "[0-9]{2}"), ("T", "T"),
        ("15", "[0-9]{1,2}"), (":", ":"), ("04", "[0-9]{2}"), (":", ":"), ("05", "[0-9]{2}"),
    )
)  # fmt: skip
_RANGES: Final = {"01": ("month", 1, 12), "15": ("hour", 0, 23), "04": ("minute", 0, 59), "05": ("second", 0, 59)}
_FRACTION: Final = re.compile(r"[.,][0-9]+")
_ZONE: Final = re.compile(r"([+-])([0-9]{2}):([0-9]{2})")
_UNPRINTABLE: Final = re.compile(r'["\\]|[^\x20-\x7e]')


class InvalidTime(ValueError):
    """A text that is no point in time; the message is Go's."""


class _Parsed(NamedTuple):
    numbers: dict[str, int]
    micros: int
    offset: timedelta


@lru_cache(maxsize=1024)
def canonical_time(text: str) -> str | None:
    """A time in whole seconds of UTC; None for the very first second, which is Go's way to say no time.

    Raises ``InvalidTime``.
    """
    parsed = _parse(text, _RFC3339, digits=0)
    return _written(_moment(parsed, text), _years_before(parsed), "%m-%dT%H:%M:%SZ")


@lru_cache(maxsize=1024)
def canonical_microtime(text: str) -> str | None:
    """A time in microseconds of UTC; it must be written with six decimals.

    Raises ``InvalidTime``.
    """
    parsed = _parse(text, _RFC3339_MICRO, digits=6)
    return _written(_moment(parsed, text), _years_before(parsed), "%m-%dT%H:%M:%S.%fZ")


def _years_before(parsed: _Parsed) -> int:
    """Years to reckon later, because Python's calendar begins with year 1; it is the same every 400 years."""
    return 400 if parsed.numbers["2006"] <= 1 else 0


def _moment(parsed: _Parsed, text: str) -> datetime:
    year, month, day = (parsed.numbers[element] for element in ("2006", "01", "02"))
    year += _years_before(parsed)
    if not 1 <= day <= monthrange(year, month)[1]:
        raise InvalidTime(f"parsing time {_quoted(text)}: day out of range")
    hour, minute, second = (parsed.numbers[element] for element in ("15", "04", "05"))
    try:
        return datetime(year, month, day, hour, minute, second, parsed.micros) - parsed.offset
    except OverflowError:
        return datetime.max


def _written(moment: datetime, years_before: int, form: str) -> str | None:
    if moment == _ZERO and years_before:
        return None
    return f"{moment.year - years_before:04d}-{moment.strftime(form)}"


def _parse(text: str, layout: str, *, digits: int) -> _Parsed:
    rest, numbers = text, {}
    for element, pattern in _ELEMENTS:
        found = pattern.match(rest)
        if found is None:
            raise _unparsed(text, layout, rest, element)
        if element.isdigit():
            numbers[element] = int(found[0])
            _check_range(text, element, numbers[element])
        rest = rest[found.end() :]
    micros, rest = _fraction(text, layout, rest, digits)
    offset, rest = _offset(text, layout, rest)
    if rest:
        raise InvalidTime(f"parsing time {_quoted(text)}: extra text: {_quoted(rest)}")
    return _Parsed(numbers, micros, offset)


def _check_range(text: str, element: str, number: int) -> None:
    what, least, most = _RANGES.get(element, ("", 0, 9999))
    if not least <= number <= most:
        raise InvalidTime(f"parsing time {_quoted(text)}: {what} out of range")


def _fraction(text: str, layout: str, rest: str, digits: int) -> tuple[int, str]:
    found = _FRACTION.match(rest)
    if not digits:
        # A fraction is read though the layout has none; more than seconds are then thrown away.
        return 0, rest[found.end() :] if found else rest
    written = rest[: digits + 1]
    if not (written[:1] in (".", ",") and len(written) > digits and written[1:].isascii() and written[1:].isdigit()):
        raise _unparsed(text, layout, rest, "." + "0" * digits)
    return int(written[1:]), rest[digits + 1 :]


def _offset(text: str, layout: str, rest: str) -> tuple[timedelta, str]:
    if rest[:1] == "Z":
        return timedelta(0), rest[1:]
    found = _ZONE.match(rest)
    if found is None:
        raise _unparsed(text, layout, rest, "Z07:00")
    sign, hours, minutes = found.groups()
    if int(hours) > 24:
        raise InvalidTime(f"parsing time {_quoted(text)}: time zone offset hour out of range")
    if int(minutes) > 60:
        raise InvalidTime(f"parsing time {_quoted(text)}: time zone offset minute out of range")
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return (-offset if sign == "-" else offset), rest[6:]


def _unparsed(text: str, layout: str, rest: str, element: str) -> InvalidTime:
    return InvalidTime(
        f"parsing time {_quoted(text)} as {_quoted(layout)}: cannot parse {_quoted(rest)} as {_quoted(element)}"
    )


def _quoted(text: str) -> str:
    return f'"{_UNPRINTABLE.sub(_escaped, text)}"'


def _escaped(found: re.Match[str]) -> str:
    letter = found[0]
    return f"\\{letter}" if letter in '"\\' else "".join(f"\\x{byte:02x}" for byte in letter.encode())
