"""``Row``: one committed state of one object, encoded once and shared by every reader and watcher."""

from __future__ import annotations

from typing import Any

import orjson

__all__ = ["Row"]


class Row:
    """What an object was from one revision until its next.

    Guarantees: never changes for its readers. Only `previous` may become None, when compaction and the watch window
    have both let go of the state before.
    """

    __slots__ = ("_memo", "_obj", "created", "deleted", "key", "older", "rev", "table", "value")

    def __init__(
        self, rev: int, created: int, table: str, key: str, value: bytes, deleted: bool, older: Row | None
    ) -> None:
        self.rev: int = rev
        """The revision of this write."""
        self.created: int = created
        """The revision at which this incarnation of the object was created."""
        self.table: str = table
        self.key: str = key
        """``namespace/name``, or the name alone of what is cluster-scoped."""
        self.value: bytes = value
        """JSON with this revision as ``metadata.resourceVersion``; of a deletion, the last state."""
        self.deleted: bool = deleted
        self.older: Row | None = older
        """The row before under this key, of whatever incarnation; for the store's own walks."""
        self._obj: dict[str, Any] | None = None
        self._memo: dict[Any, Any] | None = None

    @property
    def previous(self) -> Row | None:
        """The state that this one replaced; None for a creation, or when that state was let go."""
        return None if self.rev == self.created else self.older

    @property
    def obj(self) -> dict[str, Any]:
        """The decoded object, shared by all readers: never to be changed."""
        if self._obj is None:
            self._obj = orjson.loads(self.value)
        return self._obj

    @property
    def memo(self) -> dict[Any, Any]:
        """A place for what readers derive from this row; a cache, emptied once two newer states have come."""
        if self._memo is None:
            self._memo = {}
        return self._memo

    def shed(self) -> None:
        """Let go of what was derived from the value; it comes back when asked for."""
        self._obj = self._memo = None

    def alone(self) -> Row:
        """The same state without history, for another store; what is derived from it is not shared."""
        copy = Row(self.rev, self.created, self.table, self.key, self.value, self.deleted, None)
        copy._obj = self._obj
        return copy

    def __repr__(self) -> str:
        return f"Row({self.table} {self.key} at {self.rev}{', deleted' if self.deleted else ''})"
