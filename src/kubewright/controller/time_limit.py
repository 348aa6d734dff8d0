"""``TimeLimit``: cuts a reconcile off that takes too long."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from types import TracebackType
from typing import Any

__all__ = ["TimeLimit"]


class TimeLimit:
    """A block that raises ``TimeoutError`` when it lasts too long, to be entered again and again by one task.

    As ``asyncio.timeout``, but one timer serves many blocks: it looks whether the one underway is late, instead of
    being set and cancelled each time, which costs as much as a small reconcile.
    """

    def __init__(self, limit: timedelta | None) -> None:
        self._limit = limit.total_seconds() if limit is not None else None
        self._timer: asyncio.TimerHandle | None = None
        self._deadline: float | None = None
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
        self._deadline = asyncio.get_running_loop().time() + self._limit
        if self._timer is None:
            self._set(self._deadline)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._deadline = None
        if not self.has_expired:
            return
        assert self._task is not None
        if self._task.uncancel() <= self._cancelling and isinstance(error, asyncio.CancelledError):
            raise TimeoutError from error

    def close(self) -> None:
        """Forget the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set(self, when: float) -> None:
        self._timer = asyncio.get_running_loop().call_at(when, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._deadline is None:
            return
        if self._deadline > asyncio.get_running_loop().time():
            self._set(self._deadline)
            return
        assert self._task is not None
        self.has_expired = True
        self._task.cancel()
