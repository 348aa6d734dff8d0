"""``Deadline``: a timer that is set again and again and nearly never rings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

__all__ = ["Deadline"]


class Deadline:
    """Calls ``missed`` when a time has come that was not lifted before.

    One timer of the event loop serves many deadlines: it looks whether the one that holds now was missed, instead of
    being set and cancelled each time, which was a twentieth of the CPU of a small reconcile.
    """

    __slots__ = ("_missed", "_timer", "_when")

    def __init__(self, missed: Callable[[], None]) -> None:
        self._missed = missed
        self._when: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def set(self, when: float) -> None:
        """Hold from now on, until that time by the event loop's clock."""
        self._when = when
        if self._timer is None or self._timer.when() > when:
            self._ring_at(when)

    def lift(self) -> None:
        """Hold no more."""
        self._when = None

    def close(self) -> None:
        """Hold no more, and leave no timer behind."""
        self._when = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ring_at(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(when, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._when is None:
            return
        if self._when > asyncio.get_running_loop().time():
            self._ring_at(self._when)
            return
        self._when = None
        self._missed()
