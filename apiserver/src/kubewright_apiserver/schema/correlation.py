"""``Correlated``: a value beside what it was before an update, so that old sins are not held against it."""

from __future__ import annotations

from typing import Any

from kubewright_apiserver.schema.numbers import same

__all__ = ["Correlated"]


class Correlated:
    """A value and its old value. Fields are found by name, items of lists of type map by their keys, others not."""

    __slots__ = ("_by_key", "_equal", "new", "old", "schema")

    def __init__(self, schema: dict[str, Any], new: Any, old: Any) -> None:
        self.schema: dict[str, Any] = schema
        self.new: Any = new
        self.old: Any = old
        self._equal: bool | None = None
        self._by_key: dict[Any, Any] | None = None

    def key(self, name: str) -> Correlated | None:
        """The field beside its old value; None if it has none, or no schema."""
        if not isinstance(self.new, dict) or not isinstance(self.old, dict):
            return None
        if name not in self.new or name not in self.old:
            return None
        schema = (self.schema.get("properties") or {}).get(name, self.schema.get("additionalProperties"))
        return Correlated(schema, self.new[name], self.old[name]) if isinstance(schema, dict) else None

    def at(self, index: int) -> Correlated | None:
        """The item beside its old value; None if it has none."""
        if not isinstance(self.new, list) or not isinstance(self.old, list):
            return None
        items = self.schema.get("items")
        if self.schema.get("x-kubernetes-list-type") != "map" or not isinstance(items, dict):
            return None
        if self._by_key is None:
            self._by_key = {}
            for item in self.old:
                key = self._key_of(item)
                if key is not None:
                    self._by_key.setdefault(key, item)
        old = self._by_key.get(self._key_of(self.new[index]))
        return None if old is None else Correlated(items, self.new[index], old)

    def is_unchanged(self) -> bool:
        """Whether new and old are the same, as far as the schema knows them."""
        if self._equal is None:
            self._equal = self._compare()
        return self._equal

    def _compare(self) -> bool:
        new, old = self.new, self.old
        if isinstance(new, dict) and isinstance(old, dict):
            return len(new) == len(old) and all((inner := self.key(name)) and inner.is_unchanged() for name in new)
        if isinstance(new, list) and isinstance(old, list):
            if self.schema.get("x-kubernetes-list-type") != "map" or not isinstance(self.schema.get("items"), dict):
                return same(new, old)
            items = (self.at(index) for index in range(len(new)))
            return len(new) == len(old) and all(item is not None and item.is_unchanged() for item in items)
        return same(new, old)

    def _key_of(self, item: Any) -> Any:
        if not isinstance(item, dict):
            return None
        parts = [item.get(name) for name in self.schema.get("x-kubernetes-list-map-keys") or ()]
        if any(not isinstance(part, str | int | float) for part in parts):
            return None
        return tuple((type(part), part) for part in parts)
