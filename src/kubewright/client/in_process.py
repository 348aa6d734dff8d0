"""The transport without sockets: request bytes go straight to a handler in the same event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Coroutine, Sequence
from typing import Any, Final, TypeAlias, TypeVar

from kubewright.client.answer import error_in
from kubewright.client.transport import Request, Response, WebSocket
from kubewright.errors import RequestTimeout, TransportError

__all__ = ["Connector", "Handler", "InProcessTransport"]

Answer: TypeAlias = tuple[int, Sequence[tuple[str, str]], AsyncIterable[bytes]]

Handler: TypeAlias = Callable[[str, str, Sequence[tuple[str, str]], bytes], Awaitable[Answer]]
"""``async handle(method, target, headers, body) -> status, headers, chunks``: an API server on plain types."""

Connector: TypeAlias = Callable[[str, Sequence[tuple[str, str]], Sequence[str]], Awaitable[WebSocket | Answer]]
"""``async connect(target, headers, subprotocols)``: a WebSocket of an API server, or the answer that says why not."""

T = TypeVar("T")

_SECONDS_TO_END: Final = 1.0


class InProcessTransport:
    """Hands requests to a handler: no sockets, no threads, and virtual time if the loop has it.

    >>> InProcessTransport(server.handle, server.connect)

    ``connector`` is for exec, attach and port-forward.

    *Guarantees*: each request is handled in a task of its own, which goes on when its sender is cancelled or loses
    patience, as a server far away would: nothing is cut between a write and its announcement to watchers.
    """

    def __init__(self, handler: Handler, connector: Connector | None = None) -> None:
        self._handler = handler
        self._connector = connector
        self._closed = False
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self._sockets: dict[_OpenSocket, None] = {}

    async def send(self, request: Request) -> Response:
        """Let the handler answer; the time limit holds as over a network."""
        if self._closed:
            raise TransportError(f"{request}: the client is closed")
        task = self._start(self._handled(request), f"answer to {request.verb} {request.target.partition('?')[0]}")
        try:
            await asyncio.wait((task,), timeout=request.timeout.total_seconds() if request.timeout else None)
        except asyncio.CancelledError:
            task.add_done_callback(self._discard)
            raise
        if not task.done():
            task.add_done_callback(self._discard)
            raise RequestTimeout(f"{request}: no answer within {request.timeout}")
        if task.cancelled():
            raise TransportError(f"{request}: the client was closed before the answer came")
        return task.result()

    def _start(self, work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
        task = asyncio.create_task(work, name=name)
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)
        return task

    async def _handled(self, request: Request) -> Response:
        status, answered, chunks = await self._handler(request.method, request.target, request.headers, request.body)
        if request.streaming and status < 300:
            return Response(status, answered, stream=aiter(chunks))
        return Response(status, answered, b"".join([chunk async for chunk in chunks]))

    def _discard(self, task: asyncio.Task[Response]) -> None:
        """End the stream of an answer that nobody waits for any more; a failure concerns nobody either."""
        if not task.cancelled() and task.exception() is None and task.result().stream is not None:
            self._start(task.result().aclose(), "end of a stream that nobody reads")

    async def connect(self, request: Request, subprotocols: Sequence[str]) -> WebSocket:
        """A WebSocket from the connector, or its refusal as ``ApiError``."""
        if self._connector is None:
            raise TransportError(
                f"{request}: exec, attach and port-forward need a connection over HTTP, or a connector: "
                "InProcessTransport(server.handle, server.connect)"
            )
        if self._closed:
            raise TransportError(f"{request}: the client is closed")
        try:
            async with asyncio.timeout(request.timeout.total_seconds() if request.timeout else None):
                found = await self._connector(request.target, request.headers, subprotocols)
        except TimeoutError:
            raise RequestTimeout(f"{request}: no answer within {request.timeout}") from None
        if not isinstance(found, tuple):
            return _OpenSocket(found, self._sockets)
        status, answered, chunks = found
        raise error_in(request, Response(status, answered, b"".join([chunk async for chunk in chunks])))

    async def aclose(self) -> None:
        """Take no more requests; those that are being handled get a second to be done."""
        self._closed = True
        for socket in list(self._sockets):
            await socket.aclose()
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=_SECONDS_TO_END)
        late = list(self._tasks)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)


class _OpenSocket:
    """A WebSocket that is known to be open until it is closed."""

    def __init__(self, socket: WebSocket, among: dict[_OpenSocket, None]) -> None:
        self._socket = socket
        self._among = among
        among[self] = None

    @property
    def subprotocol(self) -> str:
        return self._socket.subprotocol

    async def send(self, message: bytes) -> None:
        try:
            await self._socket.send(message)
        except ConnectionError as error:
            raise TransportError(f"the WebSocket is closed: {error}") from error

    async def receive(self) -> bytes | None:
        return await self._socket.receive()

    async def aclose(self) -> None:
        self._among.pop(self, None)
        await self._socket.aclose()
