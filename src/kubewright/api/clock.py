"""The wall clock that objects are stamped with; tests in virtual time put their own in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

__all__ = ["now", "using_clock"]


def _wall() -> datetime:
    return datetime.now(UTC)


_clock: ContextVar[Callable[[], datetime]] = ContextVar("kubewright_clock", default=_wall)


def now() -> datetime:
    """The current time in UTC, by the clock of this context."""
    return _clock.get()()


@contextmanager
def using_clock(clock: Callable[[], datetime]) -> Iterator[None]:
    """Let ``now()`` read this clock inside the block, and in the tasks that are started there."""
    token = _clock.set(clock)
    try:
        yield
    finally:
        _clock.reset(token)
