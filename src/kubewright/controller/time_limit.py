"""``TimeLimit``: cuts a reconcile off that takes too long."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from types import TracebackType
from typing import Any

from kubewright.deadline import Deadline

__all__ = ["TimeLimit"]


class TimeLimit:
    """A block that raises ``TimeoutError`` when it lasts too long, to be entered again and again by one task.

    As ``asyncio.timeout``, but one timer serves many blocks.
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
