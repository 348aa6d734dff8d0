"""Watches: one line of JSON a change, over one long answer; resumed when it breaks, restarted never unasked.

On the path of one change it stands between ``transport`` and the cache's reflector.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from datetime import timedelta
from typing import Any, Final, Generic, TypeVar

import msgspec

from kubewright.api import Resource, decode
from kubewright.client.lines import Lines
from kubewright.client.listing import RawPage
from kubewright.client.transport import Response
from kubewright.deadline import TimeLimit
from kubewright.errors import ApiStatus, BadRequest, Invalid, KubewrightError, ProtocolError, TransportError, error_of

__all__ = ["Watch", "WatchEvent"]

R = TypeVar("R", bound=Resource)

_log = logging.getLogger("kubewright.client")

_INITIAL_END: Final = "k8s.io/initial-events-end"
_LONGEST_BACK_OFF: Final = 30.0
_STREAMED: Final = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
_OBJECT: Final = b',"object":'
_TYPES: Final = {
    b'{"type":"%s","object":' % type.encode(): type for type in ("ADDED", "MODIFIED", "DELETED", "BOOKMARK")
}


class _Line(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Head(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class _Object(msgspec.Struct):
    metadata: _Head


_line = msgspec.json.Decoder(_Line)
_object = msgspec.json.Decoder(_Object)


class WatchEvent(Generic[R]):
    """One change of one object, or a bookmark.

    ``type`` is ``ADDED``, ``MODIFIED``, ``DELETED`` or ``BOOKMARK``; ``raw`` is the object as the server sent it;
    ``synced`` marks the bookmark after which all objects that were there at the start have been seen.
    """

    __slots__ = ("_kind", "_object", "_resource_version", "raw", "synced", "type")

    def __init__(
        self, kind: type[R], type: str, raw: bytes, resource_version: str | None = None, *, synced: bool = False
    ) -> None:
        self._kind = kind
        self._object: R | None = None
        self._resource_version = resource_version
        self.type: str = type
        self.raw: bytes = raw
        self.synced: bool = synced

    @property
    def resource_version(self) -> str:
        """The revision of the change, read from ``raw`` at first use."""
        if self._resource_version is None:
            self._resource_version = _head_of(self._kind, self.raw).resource_version
        return self._resource_version

    @property
    def object(self) -> R:
        """The object, decoded at first use; raises ``Undecodable`` if it does not fit its Python type."""
        if self._object is None:
            self._object = decode(self._kind, self.raw)
        return self._object

    def __repr__(self) -> str:
        return f"<WatchEvent {self.type} {self._kind.__name__} at {self.resource_version}>"


def _head_of(kind: type[Resource], raw: bytes) -> _Head:
    try:
        return _object.decode(raw).metadata
    except msgspec.DecodeError as error:
        raise _no_event(kind, error) from None


def _no_event(kind: type[Resource], error: Exception) -> ProtocolError:
    return ProtocolError(f"a watch line of {kind.__name__} is not a watch event: {error}")


class Watch(Generic[R]):
    """How one kind is watched: iterate over it for events.

    *Guarantees*: started without a resourceVersion it first gives all objects as ``ADDED`` (all or, if that breaks,
    none of them), then a bookmark with ``synced``, then every change in order. A stream that ends, breaks or falls
    silent is resumed after the last event seen: nothing is lost, nothing comes twice.

    *Raises* ``Gone`` when the server has forgotten the resourceVersion to resume at (list or watch anew), the
    server's refusal, or the last failure after ``patience`` tries in a row that brought nothing.
    """

    def __init__(
        self,
        kind: type[R],
        *,
        open: Callable[[dict[str, Any]], Awaitable[Response]],
        list_pages: Callable[[], Awaitable[list[RawPage]]],
        capabilities: Capabilities,
        resource_version: str | None = None,
        idle_timeout: timedelta = timedelta(seconds=150),
        patience: int = 10,
        dice: random.Random | None = None,
    ) -> None:
        self._kind = kind
        self._open = open
        self._list_pages = list_pages
        self._capabilities = capabilities
        self._resource_version = resource_version
        self._idle_timeout = idle_timeout
        self.patience: int = patience
        """How many tries in a row may bring nothing before the last failure is raised."""
        self._dice = dice or random.Random()
        self._failures = 0

    async def __aiter__(self) -> AsyncGenerator[WatchEvent[R], None]:
        while self._resource_version is None:
            for event in await self._persistently(self._initial):
                yield event
        while True:
            async with aclosing(self._follow()) as events:
                async for event in events:
                    self._failures = 0
                    self._resource_version = event.resource_version or self._resource_version
                    yield event

    async def _persistently(self, attempt: Callable[[], Awaitable[list[WatchEvent[R]]]]) -> list[WatchEvent[R]]:
        try:
            events = await attempt()
        except TransportError as error:
            await self._recover(error)
            return []
        self._failures = 0
        return events

    async def batches(self) -> AsyncGenerator[list[WatchEvent[R]], None]:
        """The events of one stream, in lists of those that came together; an empty one when the server has begun.

        It holds nothing back and resumes nothing, unlike iteration: initial objects come as they arrive, what breaks
        the stream is raised, and one that ends or falls silent ends. Whoever calls it begins anew, or from the last
        revision seen.
        """
        response = await (self._open_initial() if self._resource_version is None else self._open_resumed())
        if response is None:
            yield self._listed(await self._list_pages())
            response = await self._open_resumed()
        async with aclosing(_Stream(self._kind, response, self._idle_timeout)) as stream:
            yield []
            while (batch := await stream.batch()) is not None:
                if batch:
                    yield batch

    async def _initial(self) -> list[WatchEvent[R]]:
        """All objects as they are, by streaming where the server can, else page by page."""
        response = await self._open_initial()
        if response is None:
            return self._listed(await self._list_pages())
        events: list[WatchEvent[R]] = []
        async with aclosing(_Stream(self._kind, response, self._idle_timeout)) as stream:
            while (batch := await stream.batch()) is not None:
                for event in batch:
                    events.append(event)
                    if event.synced:
                        self._resource_version = event.resource_version
                        return events
        raise TransportError(f"the stream of all {self._kind.__name__} objects ended before it was complete")

    async def _open_initial(self) -> Response | None:
        """A stream that begins with all objects, or None if the server has no such thing."""
        if self._capabilities.streams_initial_events is False:
            return None
        try:
            response = await self._open_stream(_STREAMED)
        except (Invalid, BadRequest):
            # Servers without WatchList refuse the parameter.
            self._capabilities.streams_initial_events = False
            return None
        self._capabilities.streams_initial_events = True
        return response

    async def _open_resumed(self) -> Response:
        return await self._open_stream({"resourceVersion": self._resource_version})

    async def _open_stream(self, query: dict[str, Any]) -> Response:
        timeout = self._dice.randint(300, 600)
        return await self._open({"allowWatchBookmarks": "true", "timeoutSeconds": timeout, **query})

    def _listed(self, pages: list[RawPage]) -> list[WatchEvent[R]]:
        events = [WatchEvent(self._kind, "ADDED", bytes(raw)) for page in pages for raw in page.items or ()]
        self._resource_version = pages[-1].metadata.resource_version
        bookmark = msgspec.json.encode({"metadata": {"resourceVersion": self._resource_version}})
        return [*events, WatchEvent(self._kind, "BOOKMARK", bookmark, self._resource_version, synced=True)]

    async def _follow(self) -> AsyncGenerator[WatchEvent[R], None]:
        """The events of one stream; its end or failure is told and waited over, unless it is final."""
        began = asyncio.get_running_loop().time()
        try:
            async with aclosing(self.batches()) as batches:
                async for batch in batches:
                    for event in batch:
                        yield event
        except TransportError as error:
            await self._recover(error)
        else:
            if asyncio.get_running_loop().time() - began < 1:
                await self._recover(TransportError(f"the server ends each watch of {self._kind.__name__} at once"))

    async def _recover(self, error: KubewrightError) -> None:
        """Wait before the next try, longer each time; give up when patience is at its end."""
        self._failures += 1
        if self._failures >= self.patience:
            raise error
        wait = min(0.1 * 2 ** (self._failures - 1), _LONGEST_BACK_OFF) * self._dice.uniform(0.5, 1.0)
        _log.info("watch of %s: %s; resuming in %.1f s", self._kind.__name__, error, wait)
        await asyncio.sleep(wait)


class _Stream(Generic[R]):
    """One answer to a watch, as it comes."""

    def __init__(self, kind: type[R], response: Response, idle_timeout: timedelta) -> None:
        assert response.stream is not None
        self._kind = kind
        self._response = response
        self._chunks = aiter(response.stream)
        self._lines = Lines()
        self._silence = TimeLimit(idle_timeout)
        self._failure: KubewrightError | None = None

    async def batch(self) -> list[WatchEvent[R]] | None:
        """The events that came together; None when the server has ended, or was silent for too long.

        Silent is a dead connection, or a cluster where nothing happens.
        """
        if self._failure is not None:
            raise self._failure
        try:
            with self._silence:
                chunk = await anext(self._chunks)
        except StopAsyncIteration:
            return self._ended()
        except TimeoutError:
            _log.debug("watch of %s: silent for too long, not even a bookmark", self._kind.__name__)
            return self._ended()
        events: list[WatchEvent[R]] = []
        try:
            for line in self._lines.take(chunk):
                if line:
                    events.append(self._read(line))
        except KubewrightError as error:
            # What came before it is told first.
            self._failure = error
        return events

    def _ended(self) -> list[WatchEvent[R]] | None:
        if self._lines.rest:
            raise ProtocolError("the server stopped in the middle of a line")
        return None

    async def aclose(self) -> None:
        """Give up listening."""
        self._silence.close()
        await self._response.aclose()

    def _read(self, line: bytes) -> WatchEvent[R]:
        at = line.find(_OBJECT) + len(_OBJECT)
        type = _TYPES.get(line[:at])
        if type is None or not line.endswith(b"}"):
            return self._read_otherwise(line)
        return self._event(type, line[at:-1])

    def _read_otherwise(self, line: bytes) -> WatchEvent[R]:
        """The event in a line that is not written as Kubernetes writes it, or tells an error."""
        try:
            parsed = _line.decode(line)
            if parsed.type == "ERROR":
                raise error_of(msgspec.json.decode(parsed.object, type=ApiStatus))
        except msgspec.DecodeError as error:
            raise _no_event(self._kind, error) from None
        return self._event(parsed.type, bytes(parsed.object))

    def _event(self, type: str, raw: bytes) -> WatchEvent[R]:
        if type != "BOOKMARK":
            return WatchEvent(self._kind, type, raw)
        head = _head_of(self._kind, raw)
        synced = (head.annotations or {}).get(_INITIAL_END) == "true"
        return WatchEvent(self._kind, type, raw, head.resource_version, synced=synced)


class Capabilities:
    """What was learnt about an API server by asking it."""

    __slots__ = ("streams_initial_events",)

    def __init__(self) -> None:
        self.streams_initial_events: bool | None = None
