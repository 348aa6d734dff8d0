"""A reconcile's own writes, so that their echo does not wake it again.

Which reconcile writes is told by a context variable: tasks that it starts write in its name too.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Final

import msgspec

from kubewright.api import ApiResource, Key
from kubewright.cache import Change
from kubewright.client import Request, Response, Send

__all__ = ["OwnWrites", "WritingFor", "note_own_write", "tokens_of", "write_for_nobody"]

_WRITES: Final = frozenset({"create", "update", "patch", "apply", "delete"})


class _Head(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    finalizers: list[str] | None = None

    @property
    def is_held(self) -> bool:
        """Whether something keeps the object although it was deleted: its end is still to come, and is not ours."""
        return self.deletion_timestamp is not None and bool(self.finalizers or self.deletion_grace_period_seconds)


class _Details(msgspec.Struct):
    uid: str = ""


class _Answer(msgspec.Struct):
    kind: str = ""
    metadata: _Head = msgspec.field(default_factory=_Head)
    details: _Details | None = None


_answer = msgspec.json.Decoder(_Answer)


class OwnWrites:
    """What one reconcile has written: tokens of the changes that will come back, and the latest revisions."""

    __slots__ = ("latest", "tokens")

    def __init__(self) -> None:
        self.tokens: set[str] = set()
        self.latest: dict[tuple[ApiResource, Key], str] = {}

    def note(self, request: Request, response: Response) -> None:
        """Remember the revision in the answer to a write, or the uid of what a delete removed."""
        try:
            answer = _answer.decode(response.body)
        except msgspec.DecodeError:
            return
        if answer.kind == "Status":
            if answer.details is not None and answer.details.uid:
                self.tokens.add(_gone(answer.details.uid))
            return
        head = answer.metadata
        if head.resource_version:
            self.tokens.add(head.resource_version)
            if request.resource is not None:
                self.latest[request.resource, Key(head.namespace, head.name)] = head.resource_version
        if request.verb == "delete" and not head.is_held:
            self.tokens.add(_gone(head.uid))

    def covers(self, change: Change[Any]) -> bool:
        """Whether nothing but own writes is in the change."""
        return all(token in self.tokens for token in tokens_of(change))


def _gone(uid: str) -> str:
    return f"-{uid}"


def tokens_of(change: Change[Any]) -> tuple[str, ...]:
    """What a change is recognised by: the revisions in it, or the uid of what is gone."""
    if change.type == "deleted" and change.old_head is not None:
        return (_gone(change.old_head.uid),)
    return change.revisions


_current: ContextVar[OwnWrites | None] = ContextVar("kubewright_own_writes", default=None)


class WritingFor:
    """Inside the block, and in tasks started there, writes are noted in ``writes``."""

    __slots__ = ("_token", "_writes")

    def __init__(self, writes: OwnWrites) -> None:
        self._writes = writes

    def __enter__(self) -> None:
        self._token = _current.set(self._writes)

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)


def write_for_nobody() -> None:
    """From here on writes in this context are no reconcile's: a background task's writes wake its object."""
    _current.set(None)


async def note_own_write(request: Request, send: Send) -> Response:
    """An interceptor that notes what the current reconcile writes."""
    response = await send(request)
    writes = _current.get()
    if writes is not None and request.verb in _WRITES and response.status < 300 and response.stream is None:
        writes.note(request, response)
    return response
