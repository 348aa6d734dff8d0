"""``Deadline``, a timer that is set again and again and nearly never rings; ``TimeLimit``, a block that has one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from types import TracebackType
from typing import Any

__all__ = ["Deadline", "TimeLimit"]


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


class TimeLimit:
    """A block that raises ``TimeoutError`` when it lasts too long, to be entered again and again by one task.

    As ``asyncio.timeout``, but one timer serves many blocks. It is closed when there will be no more of them.
    """

    def __init__(self, limit: timedelta | None) -> None:
        self._limit = limit.total_seconds() if limit is not None else None
        self._deadline = Deadline(self._expire)
        self._task: asyncio.Task[Any] | None = None
        self._cancelling = 0
        self.has_expired: bool = False
        """Whether the block now, or the last one, was cut off."""

    def __enter__(self) -> None:
        self.has_expired = False
        if self._limit is None:
            return
        self._task = asyncio.current_task()
        assert self._task is not None
        self._cancelling = self._task.cancelling()
        self._deadline.set(asyncio.get_running_loop().time() + self._limit)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._deadline.lift()
        if not self.has_expired:
            return
        assert self._task is not None
        if self._task.uncancel() <= self._cancelling and isinstance(error, asyncio.CancelledError):
            raise TimeoutError from error

    def close(self) -> None:
        """Forget the timer."""
        self._deadline.close()

    def _expire(self) -> None:
        assert self._task is not None
        self.has_expired = True
        self._task.cancel()
