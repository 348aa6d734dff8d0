"""watch: a line of JSON or a frame for each change that concerns the selection, until client or time are gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from functools import cached_property
from typing import Any, Final, Self

import orjson

from kubewright_apiserver.selectors import Selection
from kubewright_apiserver.status import FieldError, Refusal, forbidden_field, invalid, not_supported
from kubewright_apiserver.store import Closed, Forgotten, Overrun, Row, StoreFailed, Subscription
from kubewright_apiserver.verbs.call import Call, Reply
from kubewright_apiserver.verbs.messages import event, rendered_message
from kubewright_apiserver.verbs.reading import selection_for
from kubewright_apiserver.verbs.rendering import rendered
from kubewright_apiserver.verbs.revisions import check_form, read_version, wait_for
from kubewright_apiserver.verbs.tabling import TableView

__all__ = ["watch_objects"]

_BOOKMARK_SECONDS: Final = 60.0
_BEFORE_THE_END: Final = 2.0
_CHUNK_ROWS: Final = 500
_CHUNK_BYTES: Final = 256 * 1024


async def watch_objects(call: Call) -> Reply:
    """The stream of changes; what was there at the start comes first if no revision is given."""
    _check_options(call)
    made = _TableWatch if call.table else _Watch
    if call.table:
        # What is wrong with what was asked must be said before anything is subscribed to.
        TableView(call)
    selection = selection_for(call)
    seconds = _duration(call.number("timeoutSeconds")) or call.engine.dice.randint(1800, 3600)
    version = call.parameter("resourceVersion")
    after = read_version(version) if version else 0
    table = call.engine.table(call.served)
    prefix = f"{call.address.namespace}/" if call.address.namespace else ""
    streams_initial = call.flag("sendInitialEvents")
    if streams_initial and after:
        await wait_for(call, after)
    has_initial = streams_initial or (after == 0 and "sendInitialEvents" not in call.query)
    start = call.engine.store.rev if has_initial or after == 0 else after
    try:
        subscription = table.watch(start, prefix=prefix)
    except Forgotten as forgotten:
        return Reply(200, stream=_gone(call, after, forgotten.oldest))
    rows = table.list(prefix).rows if has_initial else []
    watch = made(call, selection, subscription, start, seconds, ends_initial=streams_initial)
    return Reply(200, stream=_Stream(watch.chunks(rows), subscription))


def _duration(seconds: int) -> float:
    """The seconds as a Go duration has them: 64 bits of nanoseconds, which are negative beyond three centuries."""
    return ((seconds * 10**9 + 2**63) % 2**64 - 2**63) / 10**9


def _check_options(call: Call) -> None:
    check_form(call)
    match, initial = call.parameter("resourceVersionMatch"), "sendInitialEvents" in call.query
    where = "resourceVersionMatch"
    errors: list[FieldError] = []
    if initial:
        if match != "NotOlderThan":
            detail = f"sendInitialEvents requires setting {where} to NotOlderThan"
            errors.append(forbidden_field(where, detail))
    elif match:
        errors.append(forbidden_field(where, f"{where} is forbidden for watch unless sendInitialEvents is provided"))
    if match and match != "NotOlderThan":
        errors.append(not_supported(where, match, ["NotOlderThan"]))
    # Who says nothing of where to begin wants to begin with what is there, not older than any revision.
    is_from_any = not initial and call.parameter("resourceVersion") in ("", "0")
    if call.parameter("continue") and (match or is_from_any):
        errors.append(forbidden_field(where, f"{where} is forbidden when continue is provided"))
    if errors:
        raise invalid("meta.k8s.io", "ListOptions", "", errors)


async def _gone(call: Call, asked: int, oldest: int) -> AsyncIterator[bytes]:
    refusal = Refusal(410, "Expired", f"too old resource version: {asked} ({oldest})")
    yield event("ERROR", refusal.body, is_protobuf=call.is_protobuf)


class _Stream:
    """The chunks of a watch, which is over when nobody holds this any more, even if nobody ever began to read."""

    def __init__(self, chunks: AsyncGenerator[bytes], subscription: Subscription) -> None:
        self._chunks = chunks
        self._subscription = subscription

    def __aiter__(self) -> Self:
        return self

    def __anext__(self) -> Awaitable[bytes]:
        return self._chunks.__anext__()

    async def aclose(self) -> None:
        """Read no more."""
        await self._chunks.aclose()
        self._subscription.close()

    def __del__(self) -> None:
        self._subscription.close()


class _Watch:
    """One client's view of the changes of a table."""

    def __init__(
        self,
        call: Call,
        selection: Selection,
        subscription: Subscription,
        start: int,
        seconds: float,
        *,
        ends_initial: bool,
    ) -> None:
        self._call = call
        self._selection = selection
        self._subscription = subscription
        self._start = start
        self._seconds = seconds
        self._ends_initial = ends_initial
        self._wants_bookmarks = call.flag("allowWatchBookmarks")
        self._told = start
        self._shown = (call.accept, "protobuf") if call.is_protobuf else call.accept

    async def chunks(self, rows: list[Row]) -> AsyncGenerator[bytes]:
        """What to send, in chunks of whole lines; these rows come first, as objects that are there."""
        try:
            for chunk in _joined(rows, self._added):
                yield chunk
                await asyncio.sleep(0)
            del rows
            if self._ends_initial and self._wants_bookmarks:
                yield self._bookmark(self._start, ends_initial=True)
            # The first change of a quiet watch must not make the client wait for its headers.
            yield b""
            ends_at = asyncio.get_running_loop().time() + self._seconds
            while (changes := await self._next(ends_at)) is not None:
                if not changes and self._subscription.rev > self._told:
                    self._told = self._subscription.rev
                    yield self._bookmark(self._told)
                for chunk in _joined(changes, self._changed):
                    yield chunk
                    if len(changes) > _CHUNK_ROWS:
                        await asyncio.sleep(0)
        finally:
            self._subscription.close()

    def _added(self, row: Row) -> bytes:
        selection = self._selection
        # Not kept with the row, as changes are: a client that lists would double the memory of all objects.
        return self._made("ADDED", row) if selection.is_everything or selection.matches(row.obj) else b""

    async def _next(self, ends_at: float) -> list[Row] | None:
        """The next changes; none of them when it is time for a bookmark, None when all is over.

        That time comes every minute, and once shortly before the end.
        """
        loop = asyncio.get_running_loop()
        pause = ends_at - loop.time()
        if self._wants_bookmarks:
            last = pause - _BEFORE_THE_END
            pause = min(_BOOKMARK_SECONDS, last if last > 0 else pause)
        try:
            async with asyncio.timeout(max(0.0, pause)):
                return await self._subscription.next()
        except TimeoutError:
            return [] if loop.time() < ends_at else None
        except (Closed, Overrun, StoreFailed):
            return None

    def _changed(self, row: Row) -> bytes:
        """The line for a change as this selection sees it: an object may come into it or leave it."""
        before = row.previous if row.previous is not None and not row.previous.deleted else None
        if self._selection.is_everything:
            # Nothing is decoded for this, which nearly all watches are.
            is_in, was_in = not row.deleted, before is not None or row.deleted
        else:
            is_in = not row.deleted and self._selection.matches(row.obj)
            was_in = before is not None and self._selection.matches(before.obj)
        if is_in:
            return self._line("MODIFIED" if was_in else "ADDED", row)
        if not was_in:
            return b""
        return self._line("DELETED", row) if row.deleted or before is None else self._left(row, before)

    def _line(self, type: str, row: Row) -> bytes:
        """The line of a change, made once for all who watch."""
        key = (type, self._call.served, self._shown)
        line: bytes | None = row.memo.get(key)
        if line is None:
            line = row.memo[key] = self._made(type, row)
        return line

    def _made(self, type: str, row: Row) -> bytes:
        call = self._call
        shown = rendered_message if call.is_protobuf else rendered
        return event(type, shown(row, call.served, call.accept), is_protobuf=call.is_protobuf)

    def _left(self, row: Row, before: Row) -> bytes:
        """DELETED for an object that left the selection: as it was in it, with the revision of the change."""
        key = ("left", self._call.served, self._shown)
        line: bytes | None = row.memo.get(key)
        if line is None:
            obj = self._object_left(row, before)
            line = row.memo[key] = event("DELETED", obj, is_protobuf=self._call.is_protobuf)
        return line

    def _object_left(self, row: Row, before: Row) -> dict[str, Any]:
        obj: dict[str, Any] = orjson.loads(rendered(before, self._call.served, self._call.accept))
        obj["metadata"]["resourceVersion"] = str(row.rev)
        return obj

    def _bookmark(self, rev: int, *, ends_initial: bool = False) -> bytes:
        obj = self._bookmarked(rev, ends_initial=ends_initial)
        return event("BOOKMARK", obj, is_protobuf=self._call.is_protobuf)

    def _bookmarked(self, rev: int, *, ends_initial: bool) -> dict[str, Any]:
        served = self._call.served
        partial = self._call.accept
        obj: dict[str, Any] = {
            "kind": "PartialObjectMetadata" if partial else served.kind,
            "apiVersion": partial or served.api_version,
            "metadata": {"resourceVersion": str(rev)},
        }
        if ends_initial:
            obj["metadata"]["annotations"] = {"k8s.io/initial-events-end": "true"}
        return obj


class _TableWatch(_Watch):
    """A view in tables of one row. None is kept for others: ages go on, and the first one has a header."""

    @cached_property
    def _view(self) -> TableView:
        return TableView(self._call)

    def _line(self, type: str, row: Row) -> bytes:
        return self._made(type, row)

    def _made(self, type: str, row: Row) -> bytes:
        return event(type, self._view.of_row(row), is_protobuf=False)

    def _left(self, row: Row, before: Row) -> bytes:
        return event("DELETED", self._view.of_object(self._object_left(row, before)), is_protobuf=False)

    def _bookmark(self, rev: int, *, ends_initial: bool = False) -> bytes:
        obj = self._bookmarked(rev, ends_initial=ends_initial)
        return event("BOOKMARK", self._view.of_object(obj), is_protobuf=False)


def _joined(rows: list[Row], line: Callable[[Row], bytes]) -> Iterator[bytes]:
    """The lines of rows in as few chunks as can be, but in none that is large; after each, others may have a turn."""
    lines: list[bytes] = []
    size = 0
    for count, row in enumerate(rows, 1):
        text = line(row)
        if text:
            lines.append(text)
            size += len(text)
        if size >= _CHUNK_BYTES or count % _CHUNK_ROWS == 0:
            yield b"".join(lines)
            lines, size = [], 0
    if lines:
        yield b"".join(lines)
