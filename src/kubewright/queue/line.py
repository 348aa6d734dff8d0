"""The line of ready items: by priority, first come first served, and nobody waits for ever."""

from __future__ import annotations

from bisect import insort
from collections import OrderedDict
from itertools import count
from typing import Final, Generic, TypeVar

__all__ = ["FAIR_SHARE", "Line"]

T = TypeVar("T")

FAIR_SHARE: Final = 10
"""While items of several priorities stand in line, each pick of this number goes to the lower ones."""


class Line(Generic[T]):
    """Items in order: the highest priority first, within a priority by arrival.

    *Guarantees*: while items of lower priority wait, every tenth pick takes the one of them that has waited longest; so
    an item that ``n`` older ones precede is picked after at most ``10 (n + 1)`` picks, however many urgent ones come.
    """

    def __init__(self) -> None:
        self._levels: dict[int, OrderedDict[T, int]] = {}
        self._priorities: list[int] = []
        self._order = count()
        self._picks = 0

    def __bool__(self) -> bool:
        return bool(self._levels)

    def __len__(self) -> int:
        return sum(self.depths().values())

    def depths(self) -> dict[int, int]:
        """How many items stand in line, by priority."""
        return {priority: len(self._levels[priority]) for priority in self._priorities}

    def join(self, item: T, priority: int) -> None:
        """Put an item at the end of its priority."""
        level = self._levels.get(priority)
        if level is None:
            level = self._levels[priority] = OrderedDict()
            insort(self._priorities, priority)
        level[item] = next(self._order)

    def leave(self, item: T, priority: int) -> None:
        """Take an item out."""
        level = self._levels[priority]
        del level[item]
        if not level:
            self._close(priority)

    def pick(self) -> T:
        """Take out the item whose turn it is; the line must not be empty."""
        priority = self._priorities[-1]
        if len(self._priorities) > 1:
            self._picks += 1
            if self._picks == FAIR_SHARE:
                self._picks = 0
                priority = self._longest_waiting()
        level = self._levels[priority]
        item, _ = level.popitem(last=False)
        if not level:
            self._close(priority)
        return item

    def _longest_waiting(self) -> int:
        """The priority below the highest whose first item joined earliest."""
        return min(self._priorities[:-1], key=lambda priority: next(iter(self._levels[priority].values())))

    def _close(self, priority: int) -> None:
        del self._levels[priority]
        self._priorities.remove(priority)
