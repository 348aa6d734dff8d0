"""``Mirror``: one kind's objects as the watch tells them and as own writes made them, and what changed about them.

It joins deltas, overlay and store; the informer brings it what the reflectors bring, and hands on its changes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Generic, TypeVar

from kubewright.api import Key, Resource
from kubewright.cache.change import Cause, Change, ChangeType
from kubewright.cache.deltas import Delta, Deltas
from kubewright.cache.entry import Entry, is_newer, is_older
from kubewright.cache.overlay import Overlay
from kubewright.cache.store import Store

__all__ = ["Mirror"]

R = TypeVar("R", bound=Resource)


class Mirror(Generic[R]):
    """The state of one kind, without any I/O.

    *Guarantees*: what is told twice changes nothing; what is older than what is known is ignored, unless a list says
    so; an object that was deleted and made again under the same name is told as both.
    """

    def __init__(self, kind: type[R], decode: Callable[[Entry], R] | None = None) -> None:
        self._kind = kind
        self._decode = decode
        self.store: Store = Store()
        """What is to be read: the latest of what the watch told and what own writes were answered."""
        self.overlay: Overlay = Overlay(self.store)
        self._deltas = Deltas()

    def add(self, entry: Entry, *, deleted: bool = False) -> None:
        """The watch told that an object is so, or is gone."""
        self._deltas.add(entry, deleted=deleted)

    def replace(
        self, entries: Collection[Entry], *, cause: Cause, namespace: str | None = None, lost: bool = False
    ) -> None:
        """A list told that exactly these objects are there, in a namespace or all.

        ``lost``: the server has forgotten what it said before, writes of our own included. When all is applied, call
        ``overlay.reach`` with the revision of the list.
        """
        if lost:
            self.overlay.clear(namespace)
        self._deltas.replace(entries, self.overlay.all_seen(namespace), cause=cause, namespace=namespace)

    def repair(
        self, entries: Collection[Entry], revision: str, *, namespace: str | None, buried: Collection[Key]
    ) -> int:
        """Compare with a list at a revision that the watch has passed; give how many objects the watch had wrong.

        ``buried`` are the keys that the watch has told to be gone since that list was asked for.
        """
        wrong = 0
        missing = {entry.key: entry for entry in self.overlay.all_seen(namespace)}
        for entry in entries:
            seen = missing.pop(entry.key, None)
            is_right = entry.key in buried if seen is None else _is_right(seen, entry, revision)
            if not is_right:
                self._deltas.add(entry, cause="relist")
                wrong += 1
        for seen in missing.values():
            if not is_newer(seen.resource_version, revision):
                self._deltas.add(seen, deleted=True, cause="relist")
                wrong += 1
        return wrong

    def sync(self, keys: Iterable[Key]) -> None:
        """Look at these objects again."""
        found = (self.store.get(key) for key in keys)
        self._deltas.sync(entry for entry in found if entry is not None)

    def knows(self, entry: Entry, *, deleted: bool) -> bool:
        """Whether the watch told just this already."""
        seen = self.overlay.seen(entry.key)
        if deleted or seen is None:
            return deleted and seen is None
        return seen.uid == entry.uid and seen.resource_version == entry.resource_version

    @property
    def is_settled(self) -> bool:
        """Whether everything that was told is applied."""
        return not self._deltas and not self.overlay.undone

    def is_pending(self, key: Key) -> bool:
        """Whether something was told about an object and is not yet applied."""
        return key in self._deltas

    def changes(self, most: int) -> list[Change[R]]:
        """Apply what was told about at most that many objects, and give what changed by it."""
        found = self._undone()
        for delta in self._deltas.take(most):
            found += self._apply(delta)
        return found

    def _apply(self, delta: Delta) -> list[Change[R]]:
        entry = delta.entry
        if delta.cause == "resync":
            return self._resynced(entry.key)
        seen = self.overlay.seen(entry.key)
        if delta.cause == "live" and seen is not None and _is_stale(delta, seen):
            return []
        if delta.deleted:
            self.overlay.remove(entry)
            if seen is None:
                return []
            return [self._change("deleted", delta, entry if entry.uid == seen.uid else seen, None)]
        self.overlay.put(entry)
        if seen is None:
            return [self._change("added", delta, None, entry)]
        if seen.uid != entry.uid:
            return [self._change("deleted", delta, seen, None), self._change("added", delta, None, entry)]
        return [self._change("updated", delta, seen, entry)]

    def _undone(self) -> list[Change[R]]:
        """What became of own writes that the server does not have: whoever read them must look again."""
        undone = self.overlay.undone[:]
        self.overlay.undone.clear()
        return [self._reverted(*pair) for pair in undone]

    def _reverted(self, shown: Entry | None, instead: Entry | None) -> Change[R]:
        known = instead or shown
        assert known is not None
        revisions = (known.resource_version,)
        if instead is None:
            return Change(self._kind, "deleted", "relist", revisions, shown, None, self._decode)
        return Change(self._kind, "updated", "relist", revisions, shown or instead, instead, self._decode)

    def _resynced(self, key: Key) -> list[Change[R]]:
        entry = self.store.get(key)
        if entry is None:
            return []
        return [Change(self._kind, "updated", "resync", (entry.resource_version,), entry, entry, self._decode)]

    def _change(self, what: ChangeType, delta: Delta, old: Entry | None, new: Entry | None) -> Change[R]:
        return Change(self._kind, what, delta.cause, delta.revisions, old, new, self._decode)

    def present(self, cause: Cause = "initial") -> list[Change[R]]:
        """All objects that are there, as if they had just come: for a handler that is added late."""
        seen = sorted(self.overlay.all_seen(), key=lambda entry: entry.key)
        return [
            Change(self._kind, "added", cause, (entry.resource_version,), None, entry, self._decode) for entry in seen
        ]


def _is_stale(delta: Delta, seen: Entry) -> bool:
    """Whether what is told is no news: told before, or overtaken."""
    if is_older(delta.entry.resource_version, seen.resource_version):
        return True
    same = delta.entry.uid == seen.uid and delta.entry.resource_version == seen.resource_version
    return same and not delta.deleted


def _is_right(seen: Entry, listed: Entry, revision: str) -> bool:
    same = seen.uid == listed.uid and seen.resource_version == listed.resource_version
    return same or is_newer(seen.resource_version, revision)
