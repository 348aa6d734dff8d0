"""``Keys``: the keys of a table in etcd's order, so that a namespace is one slice."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Container, Iterable

__all__ = ["Keys"]


class Keys:
    """Keys in bytewise order, which for UTF-8 is Python's order of strings."""

    __slots__ = ("ordered",)

    def __init__(self, ordered: Iterable[str] = ()) -> None:
        self.ordered: list[str] = list(ordered)

    def add(self, key: str) -> None:
        """Insert a key that is not there yet."""
        insort(self.ordered, key)

    def remove(self, key: str) -> None:
        """Take out a key that is there."""
        del self.ordered[bisect_left(self.ordered, key)]

    def keep(self, wanted: Container[str]) -> None:
        """Take out all keys that are not wanted."""
        self.ordered = [key for key in self.ordered if key in wanted]

    def span(self, prefix: str, after: str | None) -> tuple[int, int]:
        """Where the keys with this prefix, and after that key, begin and end."""
        ordered = self.ordered
        first = bisect_left(ordered, prefix)
        if after is not None:
            first = bisect_right(ordered, after, first)
        return first, bisect_left(ordered, prefix + "\U0010ffff", first)

    def within(self, prefix: str, after: str | None) -> list[str]:
        """The keys with this prefix, and after that key, in order."""
        first, end = self.span(prefix, after)
        return self.ordered[first:end]
