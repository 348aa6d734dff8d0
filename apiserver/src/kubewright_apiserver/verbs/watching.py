"""watch: a line of JSON for each change that concerns the selection, until the client goes or the time is over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

import orjson

from kubewright_apiserver.selectors import Selection
from kubewright_apiserver.status import FieldError, Refusal, forbidden_field, invalid, not_supported
from kubewright_apiserver.store import Closed, Forgotten, Overrun, Row, Subscription
from kubewright_apiserver.verbs.call import Call, Reply
from kubewright_apiserver.verbs.reading import selection_for
from kubewright_apiserver.verbs.rendering import rendered
from kubewright_apiserver.verbs.revisions import read_version, wait_for

__all__ = ["watch_objects"]

_BOOKMARK_SECONDS: Final = 60.0
_CHUNK: Final = 500


async def watch_objects(call: Call) -> Reply:
    """The stream of changes; what was there at the start comes first if no revision is given."""
    _check_options(call)
    selection = selection_for(call)
    seconds = call.number("timeoutSeconds") or call.engine.dice.randint(1800, 3600)
    version = call.parameter("resourceVersion")
    after = read_version(version) if version else 0
    table = call.engine.table(call.served)
    prefix = f"{call.address.namespace}/" if call.address.namespace else ""
    streams_initial = call.flag("sendInitialEvents")
    if streams_initial and after:
        await wait_for(call, after)
    has_initial = streams_initial or (after == 0 and call.parameter("sendInitialEvents") == "")
    start = call.engine.store.rev if has_initial or after == 0 else after
    try:
        subscription = table.watch(start, prefix=prefix)
    except Forgotten as forgotten:
        return Reply(200, stream=_gone(call, after, forgotten.oldest))
    rows = table.list(prefix).rows if has_initial else []
    watch = _Watch(call, selection, subscription, start, seconds, ends_initial=streams_initial)
    return Reply(200, stream=watch.lines(rows))


def _check_options(call: Call) -> None:
    match, initial = call.parameter("resourceVersionMatch"), call.parameter("sendInitialEvents")
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
    if call.parameter("continue"):
        errors.append(forbidden_field(where, f"{where} is forbidden when continue is provided"))
    if errors:
        raise invalid("meta.k8s.io", "ListOptions", "", errors)


async def _gone(call: Call, asked: int, oldest: int) -> AsyncIterator[bytes]:
    refusal = Refusal(410, "Expired", f"too old resource version: {asked} ({oldest})")
    yield b'{"type":"ERROR","object":' + orjson.dumps(refusal.body) + b"}\n"


class _Watch:
    """One client's view of the changes of a table."""

    def __init__(
        self,
        call: Call,
        selection: Selection,
        subscription: Subscription,
        start: int,
        seconds: int,
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

    async def lines(self, rows: list[Row]) -> AsyncIterator[bytes]:
        """The chunks to send, each of whole lines."""
        try:
            for at in range(0, len(rows), _CHUNK):
                chosen = [row for row in rows[at : at + _CHUNK] if self._selection.matches(row.obj)]
                if chosen:
                    yield b"".join(self._line("ADDED", row) for row in chosen)
                await asyncio.sleep(0)
            if self._ends_initial and self._wants_bookmarks:
                yield self._bookmark(self._start, ends_initial=True)
            async for chunk in self._changes():
                yield chunk
        finally:
            self._subscription.close()

    async def _changes(self) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + self._seconds
        # The first change of a quiet watch must not make the client wait for its headers.
        yield b""
        while True:
            pause = min(_BOOKMARK_SECONDS, ends_at - loop.time()) if self._wants_bookmarks else ends_at - loop.time()
            try:
                async with asyncio.timeout(max(0.0, pause)):
                    rows = await self._subscription.next()
            except TimeoutError:
                if loop.time() >= ends_at:
                    return
                yield self._bookmark(self._subscription.rev)
                continue
            except (Closed, Overrun):
                return
            chunk = b"".join(filter(None, map(self._changed, rows)))
            if chunk:
                yield chunk

    def _changed(self, row: Row) -> bytes:
        """The line for a change as this selection sees it: an object may come into it or leave it."""
        is_in = not row.deleted and self._selection.matches(row.obj)
        before = row.previous if row.previous is not None and not row.previous.deleted else None
        if self._selection.is_everything:
            was_in = before is not None or row.deleted
        else:
            was_in = before is not None and self._selection.matches(before.obj)
        if is_in:
            return self._line("MODIFIED" if was_in else "ADDED", row)
        if not was_in:
            return b""
        return self._line("DELETED", row) if row.deleted or before is None else self._left(row, before)

    def _line(self, type: str, row: Row) -> bytes:
        key = (type, self._call.served.api_version, self._call.accept)
        line: bytes | None = row.memo.get(key)
        if line is None:
            data = rendered(row, self._call.served, self._call.accept)
            line = row.memo[key] = b'{"type":"%s","object":%s}\n' % (type.encode(), data)
        return line

    def _left(self, row: Row, before: Row) -> bytes:
        """DELETED for an object that left the selection: as it was in it, with the revision of the change."""
        key = ("left", self._call.served.api_version, self._call.accept)
        line: bytes | None = row.memo.get(key)
        if line is None:
            obj: dict[str, Any] = orjson.loads(rendered(before, self._call.served, self._call.accept))
            obj["metadata"]["resourceVersion"] = str(row.rev)
            line = row.memo[key] = b'{"type":"DELETED","object":%s}\n' % orjson.dumps(obj)
        return line

    def _bookmark(self, rev: int, *, ends_initial: bool = False) -> bytes:
        served = self._call.served
        is_partial = self._call.accept == "metadata"
        obj: dict[str, Any] = {
            "kind": "PartialObjectMetadata" if is_partial else served.kind,
            "apiVersion": "meta.k8s.io/v1" if is_partial else served.api_version,
            "metadata": {"resourceVersion": str(rev)},
        }
        if ends_initial:
            obj["metadata"]["annotations"] = {"k8s.io/initial-events-end": "true"}
        return b'{"type":"BOOKMARK","object":%s}\n' % orjson.dumps(obj)
