"""What goes to an API server and what comes back, on plain types; how it gets there is a ``Transport``'s matter.

``http`` sends over the network, ``in_process`` hands bytes to a handler; interceptors sit around both.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any, Final, Protocol, TypeAlias

import msgspec

from kubewright.api import ApiResource

__all__ = ["USER_AGENT", "Interceptor", "Request", "Response", "Send", "Transport", "WebSocket", "chained"]

USER_AGENT: Final = "kubewright/0.1.0"
"""How requests introduce themselves; the part before the slash is the field manager where none is given."""


class Request(msgspec.Struct, kw_only=True):
    """One request to the API server: what is sent, and what it means."""

    method: str
    target: str
    """Path and query, as in the request line."""
    headers: list[tuple[str, str]]
    body: bytes = b""
    verb: str
    """Kubernetes' verb: get, list, watch, create, update, patch, apply, delete, deletecollection, connect."""
    resource: ApiResource | None = None
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    timeout: timedelta | None = None
    """How long until the answer must be whole (for a stream: until it begins)."""
    streaming: bool = False
    """Whether the answer is read chunk by chunk, as a watch or a log that is followed."""
    idempotent: bool = False
    """Whether sending it twice does no more than sending it once."""

    def __str__(self) -> str:
        return f"{self.method} {self.target}"


class Response:
    """The API server's answer: whole in ``body``, or as a ``stream`` of chunks if that was asked for and succeeded."""

    __slots__ = ("body", "headers", "status", "stream")

    def __init__(
        self,
        status: int,
        headers: Sequence[tuple[str, str]] = (),
        body: bytes = b"",
        stream: AsyncIterator[bytes] | None = None,
    ) -> None:
        self.status: int = status
        self.headers: Sequence[tuple[str, str]] = headers
        self.body: bytes = body
        self.stream: AsyncIterator[bytes] | None = stream

    def header(self, name: str) -> str:
        """The first header of that name (lower case), or an empty text."""
        for key, value in self.headers:
            if key == name or key.lower() == name:
                return value
        return ""

    def header_values(self, name: str) -> list[str]:
        """All headers of that name (lower case)."""
        return [value for key, value in self.headers if key == name or key.lower() == name]

    async def aclose(self) -> None:
        """End the stream, if there is one, and give its connection back."""
        close: Any = getattr(self.stream, "aclose", None)
        if close is not None:
            await close()


class WebSocket(Protocol):
    """An upgraded connection that carries binary messages, for exec, attach and port-forward."""

    @property
    def subprotocol(self) -> str:
        """The protocol that the server chose."""
        ...

    async def send(self, message: bytes) -> None:
        """Send one binary message."""
        ...

    async def receive(self) -> bytes | None:
        """The next message, or None when the server closed."""
        ...

    async def aclose(self) -> None:
        """Close the connection."""
        ...


Send: TypeAlias = Callable[[Request], Awaitable[Response]]
"""Sends a request and gives the answer; raises ``TransportError`` when none came."""

Interceptor: TypeAlias = Callable[[Request, Send], Awaitable[Response]]
"""Stands around each attempt to send a request: ``async def interceptor(request, send): return await send(request)``.

It may look, change, delay, refuse, answer itself or raise; it sees each retry as a call of its own.
"""


class Transport(Protocol):
    """Carries requests to one API server."""

    async def send(self, request: Request) -> Response:
        """Send the request; give the answer, or raise ``TransportError`` when none came."""
        ...

    async def connect(self, request: Request, subprotocols: Sequence[str]) -> WebSocket:
        """Upgrade to a WebSocket, or raise the server's refusal as ``ApiError``."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...


def chained(send: Send, interceptors: Sequence[Interceptor]) -> Send:
    """``send`` with the interceptors around it, the first one outermost."""
    for interceptor in reversed(interceptors):
        send = _around(interceptor, send)
    return send


def _around(interceptor: Interceptor, send: Send) -> Send:
    def intercepted(request: Request) -> Awaitable[Response]:
        return interceptor(request, send)

    return intercepted
