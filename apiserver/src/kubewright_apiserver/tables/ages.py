"""Durations and ages as people read them: two or three figures, the way kubectl's users know them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

__all__ = ["UNKNOWN", "age_of", "human_duration", "since"]

UNKNOWN: Final = "<unknown>"

_ZERO: Final = "0001-01-01T00:00:00Z"
_MINUTE: Final = 60
_HOUR: Final = 3600
_DAY: Final = 24
_YEAR: Final = 365 * _DAY
# Go counts nanoseconds in 64 bits.
_LONGEST: Final = 9_223_372_036


def human_duration(seconds: float) -> str:
    """A duration in its largest unit, and while that is a small number in the next one too."""
    whole = int(seconds)
    if whole < 2 * _MINUTE:
        return "<invalid>" if whole < -1 else f"{max(whole, 0)}s"
    minutes = whole // _MINUTE
    if minutes < 10:
        return _both(minutes, "m", whole % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    hours = whole // _HOUR
    if hours < 8:
        return _both(hours, "h", minutes % 60, "m")
    return f"{hours}h" if hours < 48 else _days(hours)


def _days(hours: int) -> str:
    days = hours // _DAY
    if hours < 8 * _DAY:
        return _both(days, "d", hours % _DAY, "h")
    if hours < 2 * _YEAR:
        return f"{days}d"
    return _both(days // 365, "y", days % 365, "d") if hours < 8 * _YEAR else f"{days // 365}y"


def _both(many: int, unit: str, few: int, smaller: str) -> str:
    return f"{many}{unit}{few}{smaller}" if few else f"{many}{unit}"


def since(time: str | None, now: float) -> str:
    """How long ago that was, if there is such a time; ``now`` is in seconds of Unix time."""
    if not time or time == _ZERO:
        return UNKNOWN
    elapsed = now - datetime.fromisoformat(time).timestamp()
    return human_duration(min(max(elapsed, -_LONGEST), _LONGEST))


def age_of(obj: dict[str, Any], now: float) -> str:
    """How long ago an object was created."""
    return since(obj["metadata"].get("creationTimestamp"), now)
