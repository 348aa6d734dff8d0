"""``Overlay``: read-your-writes. Answers to writes lie over a store until the watch reaches them.

``Answers`` lays them; on the path of one change, what the watch brings passes here on its way into the store.
"""

from __future__ import annotations

import msgspec

from kubewright.api import Key
from kubewright.cache.entry import Entry, is_newer, is_older, number_of
from kubewright.cache.store import Store

__all__ = ["Overlay"]


class _Written(msgspec.Struct):
    """What a write left under a key, and what the watch has told about that key."""

    entry: Entry
    revision: str
    """Up to which it holds; empty for a delete, whose revision is not told."""
    below: Entry | None

    def is_reached_by(self, told: Entry, *, deleted: bool) -> bool:
        """Whether the watch, which tells this, is as far as the write."""
        if not self.revision:
            if told.uid == self.entry.uid:
                return deleted
            return not deleted and not is_older(told.resource_version, self.entry.resource_version)
        mine, its = number_of(self.revision), number_of(told.resource_version)
        return its >= mine if mine is not None and its is not None else told.uid == self.entry.uid


class Overlay:
    """A store as the watch tells it (``put``, ``remove``) and as own writes made it (``lay``, ``hide``).

    *Guarantees*: the store shows whichever is later. ``seen`` is always what the watch told last. A write that the
    watch has passed without telling it is undone, and ``undone`` says so: others, or a server that went back, undid it.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._written: dict[Key, _Written] = {}
        self.undone: list[tuple[Entry | None, Entry | None]] = []
        """What was shown because of a write and what is shown instead, for whoever takes them out."""

    def __len__(self) -> int:
        return len(self._written)

    def seen(self, key: Key) -> Entry | None:
        """What the watch told last about a key."""
        written = self._written.get(key) if self._written else None
        return self._store.get(key) if written is None else written.below

    def all_seen(self, namespace: str | None = None) -> list[Entry]:
        """Everything that the watch told, of one namespace or all."""
        found = [entry for entry in self._store.select(namespace=namespace) if entry.key not in self._written]
        return found + [
            written.below
            for key, written in self._written.items()
            if written.below is not None and (namespace is None or key.namespace == namespace)
        ]

    def put(self, entry: Entry) -> None:
        """The watch tells that an object is so."""
        written = self._written.get(entry.key) if self._written else None
        if written is not None:
            if not written.is_reached_by(entry, deleted=False):
                written.below = entry
                return
            del self._written[entry.key]
        self._store.put(entry)

    def remove(self, entry: Entry) -> None:
        """The watch tells that an object is gone."""
        written = self._written.get(entry.key) if self._written else None
        if written is not None:
            if not written.is_reached_by(entry, deleted=True):
                written.below = None
                return
            del self._written[entry.key]
        self._store.remove(entry.key)

    def lay(self, entry: Entry) -> None:
        """A write was answered with the object as it is now."""
        before = self._written.get(entry.key)
        if before is not None and not _is_later(entry, before):
            return
        self._written[entry.key] = _Written(entry, entry.resource_version, self.seen(entry.key))
        self._store.put(entry)

    def hide(self, entry: Entry, *, until: str = "") -> None:
        """A write removed an object: hide it until the watch tells its end or, if given, reaches a revision."""
        self._written[entry.key] = _Written(entry, until, self.seen(entry.key))
        self._store.remove(entry.key)

    def reach(self, revision: str, namespace: str | None = None, *, listed: bool = False) -> None:
        """The watch is as far as this revision, whatever it told until then; ``listed``: it told everything."""
        for key, written in list(self._written.items()):
            if namespace is not None and key.namespace != namespace:
                continue
            mine, reached = number_of(written.revision), number_of(revision)
            if mine is not None and reached is not None:
                is_done = mine <= reached
            else:
                is_done = listed and (bool(written.revision) or written.below is None)
            if is_done:
                self._drop(key, written)

    def clear(self, namespace: str | None = None) -> None:
        """Forget all writes: the server has."""
        for key, written in list(self._written.items()):
            if namespace is None or key.namespace == namespace:
                self._drop(key, written)

    @property
    def latest(self) -> str:
        """The highest revision that a write was answered with and the watch has not reached; empty if there is none."""
        numbers = [number_of(written.revision) for written in self._written.values()]
        return str(max((number for number in numbers if number is not None), default=""))

    def _drop(self, key: Key, written: _Written) -> None:
        del self._written[key]
        shown = self._store.get(key)
        if (shown.resource_version if shown else "") != (written.below.resource_version if written.below else ""):
            self.undone.append((shown, written.below))
        if written.below is None:
            self._store.remove(key)
        else:
            self._store.put(written.below)


def _is_later(entry: Entry, before: _Written) -> bool:
    if before.revision:
        return is_newer(entry.resource_version, before.revision)
    return entry.uid != before.entry.uid
