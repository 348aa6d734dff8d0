"""``Change``: what happened to one object, as handlers are told it; decoded only if it is looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Literal, TypeAlias, TypeVar

from kubewright.api import Key, Resource
from kubewright.cache.entry import Entry

__all__ = ["Cause", "Change", "ChangeType"]

R = TypeVar("R", bound=Resource)

ChangeType: TypeAlias = Literal["added", "updated", "deleted"]
Cause: TypeAlias = Literal["initial", "live", "resync", "relist"]


class Change(Generic[R]):
    """One object came, changed, went, or is to be looked at again.

    ``cause`` is ``initial`` (it was there at the start), ``live`` (the watch told it), ``relist`` (a list differed from
    what was known) or ``resync`` (nothing happened; look at it again). ``revisions`` are those that are compressed into
    a live change, the last one its own; of the other causes only the last revision is known.

    ``old`` and ``new`` are decoded at first touch, once for all handlers: look at them, do not change them.
    ``old_head`` and ``new_head`` are their metadata, which costs nothing. ``old`` of what is gone is its last state.

    *Raises* ``Undecodable`` when ``old`` or ``new`` is touched and does not fit its type.
    """

    __slots__ = ("_decode", "_new", "_old", "cause", "key", "kind", "new_head", "old_head", "revisions", "type")

    def __init__(
        self,
        kind: type[R],
        what: ChangeType,
        cause: Cause,
        revisions: tuple[str, ...],
        old_head: Entry | None,
        new_head: Entry | None,
        decode: Callable[[Entry], R] | None = None,
    ) -> None:
        self.kind: type[R] = kind
        self.type: ChangeType = what
        self.cause: Cause = cause
        self.revisions: tuple[str, ...] = revisions
        self.old_head: Entry | None = old_head
        self.new_head: Entry | None = new_head
        self.key: Key = self.head.key
        self._decode = decode
        self._old: R | None = None
        self._new: R | None = None

    @property
    def head(self) -> Entry:
        """The metadata of the object as it is, or as it was last."""
        head = self.new_head if self.new_head is not None else self.old_head
        assert head is not None
        return head

    @property
    def old(self) -> R | None:
        """The object as it was known before; None if it was not."""
        if self._old is None and self.old_head is not None:
            same = self.old_head is self.new_head
            self._old = self.new if same else self._decoded(self.old_head)
        return self._old

    @property
    def new(self) -> R | None:
        """The object as it is; None if it is gone."""
        if self._new is None and self.new_head is not None:
            self._new = self._decoded(self.new_head)
        return self._new

    @property
    def object(self) -> R:
        """The object as it is, or as it was last."""
        found = self.new if self.new_head is not None else self.old
        assert found is not None
        return found

    def _decoded(self, head: Entry) -> R:
        return head.decode(self.kind) if self._decode is None else self._decode(head)

    def __repr__(self) -> str:
        return f"<Change {self.kind.__name__} {self.key} {self.type} ({self.cause}) at {','.join(self.revisions)}>"
