"""The watchdog: tells in the log what blocks the event loop, with its stack."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

__all__ = ["watching_the_loop"]

_log = logging.getLogger("kubewright.operator")


class _Watchdog:
    """A thread that asks the loop for a sign of life, and looks at its stack when none comes."""

    def __init__(self, loop: asyncio.AbstractEventLoop, limit: float) -> None:
        self._loop = loop
        self._limit = limit
        self._watched = threading.get_ident()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(timeout=1)

    def _watch(self) -> None:
        while not self._stopped.wait(self._limit / 2):
            answered = threading.Event()
            try:
                self._loop.call_soon_threadsafe(answered.set)
            except RuntimeError:
                return
            if answered.wait(self._limit) or self._stopped.is_set():
                continue
            self._tell()
            while not answered.wait(self._limit) and not self._stopped.is_set():
                continue

    def _tell(self) -> None:
        frame = sys._current_frames().get(self._watched)
        stack = "".join(traceback.format_stack(frame)) if frame is not None else "its stack is not known\n"
        _log.error(
            "the event loop has not turned for %.1f s: something blocks it; use ctx.in_thread for blocking code.\n%s",
            self._limit,
            stack.rstrip(),
        )


@contextmanager
def watching_the_loop(limit: timedelta) -> Iterator[None]:
    """Inside the block, tell what keeps the running loop from turning for longer than ``limit``; zero for never."""
    if limit <= timedelta(0):
        yield
        return
    watchdog = _Watchdog(asyncio.get_running_loop(), limit.total_seconds())
    watchdog.start()
    try:
        yield
    finally:
        watchdog.stop()
