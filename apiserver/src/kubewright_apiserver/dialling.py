"""``Network``: kubelets over HTTPS, by aiohttp.

Whose certificate they show is not asked, as kube-apiserver does not without ``--kubelet-certificate-authority``.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from typing import Final

import aiohttp
from yarl import URL

from kubewright_apiserver.answer import Answer, Socket, Whole
from kubewright_apiserver.kubelets import Unreachable

__all__ = ["Network"]

_CONNECT_SECONDS: Final = 30.0
_FAREWELL_SECONDS: Final = 2.0


class Network:
    """Whichever kubelet the header ``Host`` names."""

    def __init__(self) -> None:
        limit = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS)
        connector = aiohttp.TCPConnector(ssl=False, limit=0)
        self._session = aiohttp.ClientSession(
            connector=connector, cookie_jar=aiohttp.DummyCookieJar(), timeout=limit, auto_decompress=False
        )

    async def handle(self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes) -> Answer:
        """Ask the kubelet; raises ``Unreachable``."""
        url = _url(headers, target)
        try:
            response = await self._session.request(method, url, data=body or None, allow_redirects=False)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise _unreachable(error, url) from error
        return response.status, list(response.headers.items()), _Chunks(response)

    async def connect(
        self, target: str, headers: Sequence[tuple[str, str]], subprotocols: Sequence[str]
    ) -> Socket | Answer:
        """A WebSocket to the kubelet, or its refusal; raises ``Unreachable``."""
        url = _url(headers, target)
        try:
            opened = await self._session.ws_connect(
                url,
                protocols=subprotocols,
                max_msg_size=0,
                timeout=aiohttp.ClientWSTimeout(ws_close=_FAREWELL_SECONDS),
            )
        except aiohttp.WSServerHandshakeError:
            # No body is kept of a refused upgrade; the same request as a plain one tells the reason.
            status, answered, chunks = await self.handle("GET", target, headers, b"")
            return status, answered, Whole(b"".join([chunk async for chunk in chunks]))
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise _unreachable(error, url) from error
        return _Opened(opened)

    async def aclose(self) -> None:
        """End all connections."""
        await self._session.close()
        # The transports of TLS are closed in a turn of the loop after that.
        await asyncio.sleep(0)


class _Opened:
    """A WebSocket that carries binary messages."""

    def __init__(self, opened: aiohttp.ClientWebSocketResponse) -> None:
        self._opened = opened

    @property
    def subprotocol(self) -> str:
        """What the kubelet chose."""
        return self._opened.protocol or ""

    async def send(self, message: bytes) -> None:
        """Send one binary message, if the other end is still there."""
        try:
            await self._opened.send_bytes(message)
        except (ConnectionError, RuntimeError, aiohttp.ClientError):
            await self._opened.close()

    async def receive(self) -> bytes | None:
        """The next message, or None at the end."""
        message = await self._opened.receive()
        if message.type is aiohttp.WSMsgType.BINARY:
            return bytes(message.data)
        return str(message.data).encode() if message.type is aiohttp.WSMsgType.TEXT else None

    async def aclose(self) -> None:
        """End it."""
        await self._opened.close()


class _Chunks:
    """What a kubelet answers, as it comes; ends when the kubelet goes away."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await self._response.content.readany()
        except (aiohttp.ClientError, ConnectionError):
            chunk = b""
        if not chunk:
            self._response.close()
            raise StopAsyncIteration
        return chunk

    async def aclose(self) -> None:
        """Read no more."""
        self._response.close()


def _url(headers: Sequence[tuple[str, str]], target: str) -> URL:
    host = next(value for name, value in headers if name == "Host")
    return URL(f"https://{host}{target}", encoded=True)


def _unreachable(error: Exception, url: URL) -> Unreachable:
    """The failure in Go's words."""
    host = f"{f'[{url.host}]' if ':' in (url.host or '') else url.host}:{url.port}"
    cause: BaseException = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, aiohttp.ServerDisconnectedError):
        return Unreachable("EOF")
    if isinstance(cause, socket.gaierror):
        return Unreachable(f"dial tcp: lookup {url.host}: no such host")
    if isinstance(cause, TimeoutError):
        return Unreachable(f"dial tcp {host}: i/o timeout")
    if isinstance(cause, OSError) and cause.strerror:
        # After several addresses were tried, or several times, there is no number.
        words = "connection refused" if cause.errno in (None, 111, 61) else cause.strerror.lower()
        return Unreachable(f"dial tcp {host}: connect: {words}")
    return Unreachable(str(error) or type(error).__name__)
