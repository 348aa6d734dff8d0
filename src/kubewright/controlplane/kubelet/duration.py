"""Durations as people write them for Kubernetes (``90s``, ``1m30s``, ``500ms``), read and printed."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

__all__ = ["duration_text", "read_duration"]

_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def read_duration(text: str) -> timedelta:
    """The duration that a text says; a bare number is seconds. Raises ``ValueError`` for anything else."""
    text = text.strip()
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return timedelta(seconds=float(text))
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"{text!r} is no duration; write for example 90s, 1m30s or 500ms")
    return timedelta(seconds=sum(float(number) * _UNITS[unit] for number, unit in parts))


def duration_text(duration: timedelta) -> str:
    """A duration as Go prints it: ``10s``, ``1m20s``, ``5m0s``."""
    seconds = duration.total_seconds()
    if seconds < 1:
        return f"{seconds * 1000:g}ms" if seconds else "0s"
    hours, rest = divmod(seconds, 3600)
    minutes, left = divmod(rest, 60)
    text = f"{left:g}s"
    if hours or minutes:
        text = f"{minutes:g}m{text}"
    return f"{hours:g}h{text}" if hours else text
