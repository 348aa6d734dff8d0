"""How long a failing key waits, by itself and among all others; the queue asks it after each failure."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Final

import msgspec

__all__ = ["DEFAULT_BACKOFF", "DEFAULT_LIMIT", "Backoff", "TokenBucket"]


class Backoff(msgspec.Struct, frozen=True, kw_only=True):
    """How a key's waits grow from failure to failure.

    *Guarantees*: no wait is longer than ``longest``; chance only shortens it, by at most the share ``jitter``, so that
    keys that failed together do not come back together.
    """

    first: timedelta = timedelta(milliseconds=5)
    factor: float = 2.0
    longest: timedelta = timedelta(minutes=5)
    jitter: float = 0.1

    def __post_init__(self) -> None:
        if not timedelta(0) < self.first <= self.longest:
            raise ValueError(f"a back-off needs 0 < first ≤ longest, not {self.first} and {self.longest}")
        if self.factor < 1 or not 0 <= self.jitter <= 1:
            raise ValueError(f"a back-off needs factor ≥ 1 and 0 ≤ jitter ≤ 1, not {self.factor} and {self.jitter}")

    def delay(self, failures: int, dice: random.Random) -> timedelta:
        """The wait after this many failures in a row, the first being 1."""
        ceiling = self.longest.total_seconds()
        try:
            grown = self.first.total_seconds() * self.factor ** (failures - 1)
        except OverflowError:
            grown = ceiling
        return timedelta(seconds=min(grown, ceiling) * (1 - self.jitter * dice.random()))


class TokenBucket(msgspec.Struct, frozen=True, kw_only=True):
    """An overall limit: ``burst`` at once, ``per_second`` on average. A value; who uses it keeps ``free_at``."""

    per_second: float = 10.0
    burst: int = 100

    def __post_init__(self) -> None:
        if self.per_second <= 0 or self.burst < 1:
            raise ValueError(f"a token bucket needs per_second > 0 and burst ≥ 1, not {self.per_second}, {self.burst}")

    def take(self, free_at: float, now: float) -> tuple[float, float]:
        """When the next one may start, and the new ``free_at``; begin with a ``free_at`` of minus infinity."""
        interval = 1 / self.per_second
        slot = max(free_at, now - (self.burst - 1) * interval)
        return max(slot, now), slot + interval


DEFAULT_BACKOFF: Final = Backoff()
"""5 ms, doubling up to 5 minutes."""

DEFAULT_LIMIT: Final = TokenBucket()
"""100 retries at once, 10 a second on average: client-go's."""
