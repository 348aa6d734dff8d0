"""``Index``: which objects have which value; lists ask it instead of looking at every object."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from kubewright.api import Key
from kubewright.cache.entry import Entry

__all__ = ["Index"]


class Index:
    """The keys of a store's objects by the values that a function gives for them.

    *Guarantees*: values are computed when an object comes, not when it is looked for; a value that occurs twice for an
    object counts once.
    """

    def __init__(self, function: Callable[[Entry], Iterable[str]]) -> None:
        self._function = function
        self._keys: dict[str, dict[Key, None]] = {}
        self._values: dict[Key, tuple[str, ...]] = {}

    def put(self, entry: Entry) -> None:
        """Have the object under its values, and no longer under those that it had."""
        values = tuple(dict.fromkeys(self._function(entry)))
        if values != self._values.get(entry.key):
            self.remove(entry.key)
            self._add(entry.key, values)

    def _add(self, key: Key, values: tuple[str, ...]) -> None:
        if values:
            self._values[key] = values
        for value in values:
            self._keys.setdefault(value, {})[key] = None

    def remove(self, key: Key) -> None:
        """Have the object under no value."""
        for value in self._values.pop(key, ()):
            keys = self._keys[value]
            del keys[key]
            if not keys:
                del self._keys[value]

    def keys(self, value: str) -> Collection[Key]:
        """The keys of the objects with that value."""
        return self._keys.get(value, {}).keys()
