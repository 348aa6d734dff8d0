"""Reads apart from writes: observe everything once, then let operations work on that one snapshot.

Each operation says whether it *should* happen, whether it *could*, and only then *operates*. All of them see the same,
so no two can disagree about what there is.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any, Final, Generic, Literal, TypeVar

import msgspec

from kubewright.api import Resource
from kubewright.client import Request, Response, Send
from kubewright.controller import Context, ContextLogger, NamespacedCache

__all__ = ["Operation", "Performed", "ReadElsewhere", "Writes", "perform"]

R = TypeVar("R", bound=Resource)
S = TypeVar("S")

_READS: Final = ("get", "list", "watch")
_at_work: ContextVar[str] = ContextVar("kubewright_operation", default="")


class ReadElsewhere(UserWarning):
    """An operation has read something beside the snapshot; a test in which warnings are errors fails by it."""


class Writes:
    """What an operation may do: write, and tell. There is nothing to read here."""

    __slots__ = ("_ctx",)

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    async def apply(self, obj: R, *, part: str = "") -> R:
        """State the whole intent for one object; see ``Context.apply``."""
        return await self._ctx.apply(obj, part=part)

    async def create(self, obj: R) -> R:
        """Create an object; see ``Context.create``."""
        return await self._ctx.create(obj)

    async def delete(self, obj: Resource) -> None:
        """Delete this very object; one that is gone already is fine."""
        await self._ctx.delete(obj)

    def event(self, type: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        """Tell people about it in an Event object."""
        self._ctx.event(type, reason, message)

    @property
    def log(self) -> ContextLogger:
        """A logger whose records say which object they are about."""
        return self._ctx.log

    @property
    def now(self) -> datetime:
        """The time, by the operator's clock."""
        return self._ctx.now


class Operation(Generic[S]):
    """One thing that may have to be done about what was seen; derive yours from it.

    ``should`` and ``could`` look at the snapshot alone and change nothing; ``operate`` writes.
    """

    @property
    def name(self) -> str:
        """What logs and tests call it."""
        return type(self).__name__

    def should(self, seen: S) -> bool:
        """Whether it is called for."""
        raise NotImplementedError

    def could(self, seen: S) -> str:
        """Empty if nothing is in its way, else what is: told in ``Performed.held``."""
        return ""

    async def operate(self, seen: S, writes: Writes) -> None:
        """Do it."""
        raise NotImplementedError


class Performed(msgspec.Struct, frozen=True):
    """What became of the operations."""

    done: tuple[str, ...] = ()
    """Names of those that operated, in order."""
    held: Mapping[str, str] = {}
    """Those that should and could not, and what is in their way."""


async def perform(seen: S, operations: Sequence[Operation[S]], ctx: Context) -> Performed:
    """Ask all operations about the snapshot, then let those operate that should and could, in their order.

    *Guarantees*: every ``should`` and ``could`` is asked before the first ``operate``, about the same frozen snapshot;
    who reads the cache or the server from inside an operation is told by the warning ``ReadElsewhere``.

    *Raises* ``TypeError`` for a snapshot that is not frozen, and whatever an operation raises; those after it wait for
    the next reconcile.
    """
    _check_frozen(seen)
    done: list[str] = []
    with _told_of_reads(ctx):
        chosen, held = _chosen(seen, operations)
        writes = Writes(ctx)
        for operation in chosen:
            with _working(operation.name):
                await operation.operate(seen, writes)
            done.append(operation.name)
    return Performed(tuple(done), held)


def _chosen(seen: S, operations: Sequence[Operation[S]]) -> tuple[list[Operation[S]], dict[str, str]]:
    chosen: list[Operation[S]] = []
    held: dict[str, str] = {}
    for operation in operations:
        with _working(operation.name):
            if not operation.should(seen):
                continue
            if obstacle := operation.could(seen):
                held[operation.name] = obstacle
            else:
                chosen.append(operation)
    return chosen, held


def _check_frozen(seen: object) -> None:
    kind = type(seen)
    frozen = isinstance(seen, tuple | str | int | frozenset)
    if isinstance(seen, msgspec.Struct):
        frozen = seen.__struct_config__.frozen
    elif (parameters := getattr(kind, "__dataclass_params__", None)) is not None:
        frozen = parameters.frozen
    if not frozen:
        raise TypeError(f"{kind.__name__} is no snapshot: make it a msgspec.Struct or dataclass with frozen=True")


@contextmanager
def _working(name: str) -> Iterator[None]:
    token = _at_work.set(name)
    try:
        yield
    finally:
        _at_work.reset(token)


@contextmanager
def _told_of_reads(ctx: Context) -> Iterator[None]:
    """Inside the block, whoever holds the context and reads by it during an operation is warned."""
    cache, client = ctx.cache, ctx.client
    ctx.cache = _TellingCache(cache)
    ctx.client = client.intercepted(_tell_request)
    try:
        yield
    finally:
        ctx.cache, ctx.client = cache, client


def _tell(what: str) -> None:
    if name := _at_work.get():
        text = f"operation {name} reads {what} beside the snapshot; observe it before, with everything else"
        warnings.warn(text, ReadElsewhere, stacklevel=3)


async def _tell_request(request: Request, send: Send) -> Response:
    if request.verb in _READS:
        _tell(f"the server ({request.verb})")
    return await send(request)


class _TellingCache(NamespacedCache):
    """Answers as the cache does, and tells who asks."""

    __slots__ = ("_told",)

    def __init__(self, cache: NamespacedCache) -> None:
        self._told = cache

    def get(self, kind: type[R], name: str, *, namespace: str | None = None) -> R | None:
        _tell(f"{kind.__name__} {name} in the cache")
        return self._told.get(kind, name, namespace=namespace)

    def list(self, kind: type[R], **options: Any) -> list[R]:
        _tell(f"{kind.__name__} objects in the cache")
        return self._told.list(kind, **options)
