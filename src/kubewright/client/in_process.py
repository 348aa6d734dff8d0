"""The transport without sockets: request bytes go straight to a handler in the same event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Sequence
from typing import TypeAlias

from kubewright.client.transport import Request, Response, WebSocket
from kubewright.errors import RequestTimeout, TransportError

__all__ = ["Handler", "InProcessTransport"]

Answer: TypeAlias = tuple[int, Sequence[tuple[str, str]], AsyncIterable[bytes]]

Handler: TypeAlias = Callable[[str, str, Sequence[tuple[str, str]], bytes], Awaitable[Answer]]
"""``async handle(method, target, headers, body) -> status, headers, chunks``: an API server on plain types."""


class InProcessTransport:
    """Hands requests to a handler: no sockets, no threads, and virtual time if the loop has it."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._closed = False

    async def send(self, request: Request) -> Response:
        """Let the handler answer; the time limit holds as over a network."""
        if self._closed:
            raise TransportError(f"{request}: the client is closed")
        try:
            async with asyncio.timeout(request.timeout.total_seconds() if request.timeout else None):
                status, answered, chunks = await self._handler(
                    request.method, request.target, request.headers, request.body
                )
                if request.streaming and status < 300:
                    return Response(status, answered, stream=aiter(chunks))
                return Response(status, answered, b"".join([chunk async for chunk in chunks]))
        except TimeoutError:
            raise RequestTimeout(f"{request}: no answer within {request.timeout}") from None

    async def connect(self, request: Request, subprotocols: Sequence[str]) -> WebSocket:
        """Refuse: an upgraded connection needs a socket."""
        raise TransportError(f"{request}: exec, attach and port-forward need a connection over HTTP")

    async def aclose(self) -> None:
        """Take no more requests."""
        self._closed = True
