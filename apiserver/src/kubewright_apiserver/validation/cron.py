"""Schedules in the form of cron, as kube-apiserver reads them, with its words for what it cannot read."""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from kubewright_apiserver.golang import duration_problem

__all__ = ["is_time_zone", "schedule_problem"]


class _Bounds(NamedTuple):
    least: int
    most: int
    names: dict[str, int] = {}


_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: Final = (
    _Bounds(0, 59),
    _Bounds(0, 23),
    _Bounds(1, 31),
    _Bounds(1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _Bounds(0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
_DESCRIPTORS: Final = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")


class _Unreadable(ValueError):
    """Why a schedule cannot be read."""


def schedule_problem(schedule: str) -> str:
    """Why a schedule cannot be read, empty if it can."""
    try:
        _read(schedule)
    except _Unreadable as problem:
        return str(problem)
    return ""


def _read(schedule: str) -> None:
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        schedule = _without_zone(schedule)
    if schedule.startswith("@"):
        _read_descriptor(schedule)
        return
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        raise _Unreadable(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    for field, bounds in zip(fields, _FIELDS, strict=True):
        for expression in filter(None, field.split(",")):
            _read_range(expression, bounds)


def _without_zone(schedule: str) -> str:
    place, space, rest = schedule.partition(" ")
    if not space:
        raise _Unreadable("invalid schedule format: runtime error: slice bounds out of range [:-1]")
    zone = place.partition("=")[2]
    if zone.startswith(("/", "\\")) or ".." in zone:
        raise _Unreadable(f"provided bad location {zone}: time: invalid location name")
    if zone not in ("", "UTC", "Local") and not is_time_zone(zone):
        raise _Unreadable(f"provided bad location {zone}: unknown time zone {zone}")
    return rest.strip()


def is_time_zone(name: str) -> bool:
    """Whether there is a time zone of that name."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True


def _read_descriptor(descriptor: str) -> None:
    if descriptor in _DESCRIPTORS:
        return
    if not descriptor.startswith("@every "):
        raise _Unreadable(f"unrecognized descriptor: {descriptor}")
    duration = descriptor.removeprefix("@every ")
    if problem := duration_problem(duration):
        raise _Unreadable(f'failed to parse duration {descriptor}: time: {problem} "{duration}"')


def _read_range(expression: str, bounds: _Bounds) -> None:
    span, *steps = expression.split("/")
    start, end = _ends(span, expression, bounds)
    step = 1
    if len(steps) == 1:
        step = _number(steps[0])
        end = end if "-" in span else bounds.most
    elif steps:
        raise _Unreadable(f"too many slashes: {expression}")
    if start < bounds.least:
        raise _Unreadable(f"beginning of range ({start}) below minimum ({bounds.least}): {expression}")
    if end > bounds.most:
        raise _Unreadable(f"end of range ({end}) above maximum ({bounds.most}): {expression}")
    if start > end:
        raise _Unreadable(f"beginning of range ({start}) beyond end of range ({end}): {expression}")
    if step == 0:
        raise _Unreadable(f"step of range should be a positive number: {expression}")


def _ends(span: str, expression: str, bounds: _Bounds) -> tuple[int, int]:
    parts = span.split("-")
    if parts[0] in ("*", "?"):
        return bounds.least, bounds.most
    start = _number_or_name(parts[0], bounds)
    if len(parts) == 1:
        return start, start
    if len(parts) > 2:
        raise _Unreadable(f"too many hyphens: {expression}")
    return start, _number_or_name(parts[1], bounds)


def _number_or_name(text: str, bounds: _Bounds) -> int:
    return bounds.names[text.lower()] if text.lower() in bounds.names else _number(text)


def _number(text: str) -> int:
    if not re.fullmatch("[-+]?[0-9]+", text, re.ASCII):
        raise _Unreadable(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    number = int(text)
    if not -(2**63) <= number < 2**63:
        raise _Unreadable(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": value out of range')
    if number < 0:
        raise _Unreadable(f"negative number ({number}) not allowed: {text}")
    return number
