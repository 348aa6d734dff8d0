"""``Handler``: whom an informer tells what changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from kubewright.api import Resource
from kubewright.cache.change import Change

__all__ = ["Handler", "edges"]

R = TypeVar("R", bound=Resource)


class Handler(Generic[R]):
    """A function that an informer calls with each change, until ``remove``."""

    __slots__ = ("_forget", "call")

    def __init__(self, call: Callable[[Change[R]], None], forget: Callable[[Handler[R]], None]) -> None:
        self.call: Callable[[Change[R]], None] = call
        self._forget = forget

    def remove(self) -> None:
        """Call it no more; a second time does nothing."""
        self._forget(self)


def edges(
    add: Callable[[R], None] | None, update: Callable[[R, R], None] | None, delete: Callable[[R], None] | None
) -> Callable[[Change[R]], None]:
    """One function of changes, made of functions for each type of change; None: that type does not matter."""

    def call(change: Change[R]) -> None:
        old, new = change.old_head, change.new_head
        if old is None and add is not None:
            add(change.object)
        elif new is None and delete is not None:
            delete(change.object)
        elif old is not None and new is not None and update is not None:
            before = change.old
            assert before is not None
            update(before, change.object)

    return call
