"""Alarms for many keys on one timer of the event loop; the queue's delays and retries wait here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Generic, TypeVar

__all__ = ["Alarm", "Timers"]

T = TypeVar("T")


class Alarm(Generic[T]):
    """A point in the loop's time and what it is for."""

    __slots__ = ("is_due", "is_set", "item", "reason", "when")

    def __init__(self, item: T, when: float, reason: str) -> None:
        self.item: T = item
        self.when: float = when
        self.reason: str = reason
        self.is_set: bool = True
        self.is_due: bool = False


class Timers(Generic[T]):
    """Alarms in order of time; ``ring`` is called with each that is due.

    *Guarantees*: alarms ring in the order of their times, those of one time in the order they were set; the loop has a
    timer for the earliest alarm and no other, so a loop in virtual time never stops where nothing happens.
    """

    def __init__(self, ring: Callable[[Alarm[T]], None]) -> None:
        self._ring = ring
        self._heap: list[tuple[float, int, Alarm[T]]] = []
        self._order = count()
        self._set = 0
        self._handle: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return self._set

    def set(self, item: T, when: float, reason: str) -> Alarm[T]:
        """A new alarm for this time; one that has passed rings in the loop's next round."""
        alarm = Alarm(item, when, reason)
        heappush(self._heap, (when, next(self._order), alarm))
        self._set += 1
        self._arm()
        return alarm

    def cancel(self, alarm: Alarm[T]) -> None:
        """Let this alarm not ring; if it did, nothing happens."""
        if alarm.is_set:
            alarm.is_set = False
            self._set -= 1
            self._arm()

    def clear(self) -> None:
        """Cancel all alarms."""
        for _, _, alarm in self._heap:
            alarm.is_set = False
        self._set = 0
        self._arm()

    def _arm(self) -> None:
        self._prune()
        when = self._heap[0][0] if self._heap else None
        if self._handle is not None:
            if self._handle.when() == when:
                return
            self._handle.cancel()
            self._handle = None
        if when is not None:
            self._handle = asyncio.get_running_loop().call_at(when, self._fire, when)

    def _prune(self) -> None:
        # A key whose timer is replaced at each run would else leave one dead alarm per run until its time comes.
        if len(self._heap) > 2 * self._set + 64:
            self._heap = [place for place in self._heap if place[2].is_set]
            heapify(self._heap)
        while self._heap and not self._heap[0][2].is_set:
            heappop(self._heap)

    def _fire(self, when: float) -> None:
        self._handle = None
        # The loop calls up to its clock's resolution too early.
        now = max(when, asyncio.get_running_loop().time())
        while self._heap and self._heap[0][0] <= now:
            alarm = heappop(self._heap)[2]
            if alarm.is_set:
                alarm.is_set = False
                alarm.is_due = True
                self._set -= 1
                self._ring(alarm)
        self._arm()
