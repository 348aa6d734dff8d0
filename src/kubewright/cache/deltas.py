"""``Deltas``: what was told about objects and not yet applied, compressed per key.

On the path of one change it stands between the reflector and the store.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import msgspec

from kubewright.api import Key
from kubewright.cache.change import Cause
from kubewright.cache.entry import Entry

__all__ = ["Delta", "Deltas"]


class Delta(msgspec.Struct, gc=False):
    """The last of several states of one object, with the revisions of all; or its end."""

    entry: Entry
    deleted: bool
    cause: Cause
    revisions: tuple[str, ...]


class Deltas:
    """Pending changes: first come, first served; states of the same object that follow each other become one.

    *Guarantees*: an end is never compressed with what came before or after, so an object that came and went, or came
    again under the same name, is told as such.
    """

    def __init__(self) -> None:
        self._pending: dict[Key, list[Delta]] = {}

    def __len__(self) -> int:
        return len(self._pending)

    def __contains__(self, key: object) -> bool:
        return key in self._pending

    def add(self, entry: Entry, *, deleted: bool = False, cause: Cause = "live") -> None:
        """An object is so, or is gone."""
        pending = self._pending.get(entry.key)
        if pending is None:
            self._pending[entry.key] = [Delta(entry, deleted, cause, (entry.resource_version,))]
            return
        last = pending[-1]
        if last.deleted or deleted or last.entry.uid != entry.uid:
            if not (last.deleted and deleted and last.entry.uid == entry.uid):
                pending.append(Delta(entry, deleted, cause, (entry.resource_version,)))
            return
        last.revisions = (*(last.revisions if last.cause != "resync" else ()), entry.resource_version)
        last.entry, last.cause = entry, cause

    def replace(
        self, entries: Iterable[Entry], known: Iterable[Entry], *, cause: Cause, namespace: str | None = None
    ) -> None:
        """Exactly these objects are there (in a namespace): keep what differs from those known until now.

        What is pending there is forgotten: the list knows better.
        """
        for key in [key for key in self._pending if namespace is None or key.namespace == namespace]:
            del self._pending[key]
        before = {entry.key: entry for entry in known}
        for entry in entries:
            held = before.pop(entry.key, None)
            if held is None or not _is_same(held, entry):
                self.add(entry, cause=cause)
        for entry in before.values():
            self.add(entry, deleted=True, cause=cause)

    def sync(self, entries: Iterable[Entry]) -> None:
        """Look at these objects again, but for those that changed anyway."""
        for entry in entries:
            if entry.key not in self._pending:
                self._pending[entry.key] = [Delta(entry, False, "resync", (entry.resource_version,))]

    def take(self, most: int) -> list[Delta]:
        """The oldest deltas, those of at most that many keys."""
        keys = list(islice(self._pending, most))
        return [delta for key in keys for delta in self._pending.pop(key)]


def _is_same(held: Entry, entry: Entry) -> bool:
    same = held.uid == entry.uid and held.resource_version == entry.resource_version
    return same and held.data == entry.data
