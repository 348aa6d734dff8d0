"""``Store``: the objects of one kind in memory, as bytes, found by key, namespace, label, owner or index.

On the path of one change it stands between the deltas and the informer's handlers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from kubewright.api import Key, LabelSelector
from kubewright.cache.entry import Entry
from kubewright.cache.index import Index

__all__ = ["Store"]


class Store:
    """Entries by key.

    *Guarantees*: what it gives out is immutable and sorted by key; each change is seen by all indexes at once.
    """

    def __init__(self) -> None:
        self._spaces: dict[str, dict[str, Entry]] = {}
        self._indexes: dict[str, Index] = {}
        self._owners: Index | None = None
        self._count = 0
        self.size: int = 0
        """How many bytes of JSON it holds."""

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: object) -> bool:
        return isinstance(key, Key) and self.get(key) is not None

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._within(None))

    def get(self, key: Key) -> Entry | None:
        """The entry under a key, or None."""
        space = self._spaces.get(key[0])
        return space.get(key[1]) if space is not None else None

    def put(self, entry: Entry) -> None:
        """Hold this entry in place of what is under its key."""
        namespace, name = entry.key
        space = self._spaces.get(namespace)
        if space is None:
            space = self._spaces[namespace] = {}
        before = space.get(name)
        if before is None:
            self._count += 1
        else:
            self.size -= len(before.data)
        self.size += len(entry.data)
        space[name] = entry
        for index in self._all_indexes():
            index.put(entry)

    def remove(self, key: Key) -> None:
        """Hold nothing under a key."""
        space = self._spaces.get(key.namespace, {})
        before = space.pop(key.name, None)
        if before is None:
            return
        self._count -= 1
        self.size -= len(before.data)
        if not space:
            del self._spaces[key.namespace]
        for index in self._all_indexes():
            index.remove(key)

    def add_index(self, name: str, function: Callable[[Entry], Iterable[str]]) -> None:
        """Index all entries, those that are here and those that come; raises ``ValueError`` if the name is taken."""
        if name in self._indexes:
            raise ValueError(f"there is an index {name!r} already; choose another name")
        self._indexes[name] = self._filled(Index(function))

    def select(
        self,
        *,
        namespace: str | None = None,
        labels: LabelSelector | None = None,
        where: Mapping[str, str] | None = None,
        owner: str | None = None,
    ) -> list[Entry]:
        """The entries that match, sorted by key; ``where`` maps names of indexes to values, ``owner`` is a uid.

        *Raises* ``ValueError`` for an index that was not added.
        """
        found = self._found(where or {}, owner, namespace) if where or owner else self._within(namespace)
        if labels is None:
            return found
        return [entry for entry in found if labels.matches(entry.labels)]

    def _within(self, namespace: str | None) -> list[Entry]:
        names = sorted(self._spaces) if namespace is None else [namespace]
        spaces = [self._spaces.get(name, {}) for name in names]
        return [space[name] for space in spaces for name in sorted(space)]

    def _found(self, where: Mapping[str, str], owner: str | None, namespace: str | None) -> list[Entry]:
        choices = [self._index(name).keys(value) for name, value in where.items()]
        if owner:
            choices.append(self._by_owner().keys(owner))
        keys = sorted(_common(choices))
        found = [self.get(key) for key in keys if namespace is None or key.namespace == namespace]
        return [entry for entry in found if entry is not None]

    def _index(self, name: str) -> Index:
        index = self._indexes.get(name)
        if index is None:
            known = ", ".join(sorted(self._indexes)) or "none"
            raise ValueError(f"no index {name!r} (there is: {known}); add it with informer.add_index({name!r}, …)")
        return index

    def _by_owner(self) -> Index:
        if self._owners is None:
            self._owners = self._filled(Index(lambda entry: [owner.uid for owner in entry.owner_references]))
        return self._owners

    def _filled(self, index: Index) -> Index:
        for entry in self:
            index.put(entry)
        return index

    def _all_indexes(self) -> Iterable[Index]:
        if self._owners is None:
            return self._indexes.values()
        return (*self._indexes.values(), self._owners)


def _common(choices: list[Collection[Key]]) -> Iterable[Key]:
    smallest = min(choices, key=len)
    return [key for key in smallest if all(key in choice for choice in choices)]
