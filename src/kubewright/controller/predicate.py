"""Predicates: which changes are worth a reconcile.

On the path of one change they stand between the informer and the mapping to keys.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from kubewright.cache import Change

__all__ = [
    "Predicate",
    "annotations_changed",
    "generation_changed",
    "labels_changed",
    "resource_version_changed",
    "where",
]

Test: TypeAlias = Callable[[Change[Any]], bool]


class Predicate:
    """Decides on a change; combine with ``&``, ``|`` and ``~``.

    >>> worth_it = generation_changed | labels_changed
    """

    __slots__ = ("_test", "name")

    def __init__(self, name: str, test: Test) -> None:
        self.name: str = name
        self._test = test

    def __call__(self, change: Change[Any]) -> bool:
        """Whether the change is worth a reconcile."""
        return self._test(change)

    def __and__(self, other: Predicate) -> Predicate:
        return Predicate(f"({self.name} & {other.name})", lambda change: self(change) and other(change))

    def __or__(self, other: Predicate) -> Predicate:
        return Predicate(f"({self.name} | {other.name})", lambda change: self(change) or other(change))

    def __invert__(self) -> Predicate:
        return Predicate(f"~{self.name}", lambda change: not self(change))

    def __repr__(self) -> str:
        return f"<Predicate {self.name}>"


def where(test: Callable[[Any], bool]) -> Predicate:
    """A predicate on the object itself (as it is now, or was last when it is gone)."""
    return Predicate(getattr(test, "__name__", "where"), lambda change: test(change.object))


def _differs(name: str, part: Callable[[Any], object]) -> Predicate:
    """Objects that come, go or are looked at again pass; an update passes if the part of their metadata differs."""

    def test(change: Change[Any]) -> bool:
        if change.type != "updated" or change.cause == "resync":
            return True
        return part(change.old_head) != part(change.new_head)

    return Predicate(name, test)


generation_changed: Final = _differs("generation_changed", lambda head: head.generation)
"""The spec changed: Kubernetes counts ``metadata.generation`` up with it (also when deletion is asked for)."""

labels_changed: Final = _differs("labels_changed", lambda head: head.labels)
"""A label changed."""

annotations_changed: Final = _differs("annotations_changed", lambda head: head.annotations)
"""An annotation changed."""

resource_version_changed: Final = _differs("resource_version_changed", lambda head: head.resource_version)
"""Anything changed."""
