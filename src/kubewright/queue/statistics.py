"""``Statistics``: how a queue stands, for people and tests."""

from __future__ import annotations

import msgspec

__all__ = ["Statistics"]


class Statistics(msgspec.Struct, frozen=True, kw_only=True):
    """A queue at one moment."""

    ready: dict[int, int]
    """Keys that a worker could take, by priority."""
    processing: int
    """Keys that workers have."""
    waiting: int
    """Timers and retries that are not due yet."""
    failing: int
    """Keys that failed and have not been forgotten since."""
    idle_workers: int
    """Calls of ``get`` that wait."""
    ignored: int
    """Additions after ``close``."""
