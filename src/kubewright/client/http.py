"""The transport over the network: HTTP/1.1 by connections of our own, WebSockets by aiohttp."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from kubewright.client.answer import error_in
from kubewright.client.connection import Answer, Connection
from kubewright.client.pool import Pool
from kubewright.client.transport import Request, Response, WebSocket
from kubewright.client.web_socket import UpgradeRefused, WebSockets, upgrade_headers
from kubewright.errors import ConnectError, ProtocolError, RequestTimeout, TransportError

if TYPE_CHECKING:
    from kubewright.config import Config

__all__ = ["HttpTransport"]


class HttpTransport:
    """Sends requests to the server of a ``Config``.

    Each request has a connection for itself while it is underway, so that watches never starve plain requests. After
    a 401 the credentials are renewed, once, and the request is sent again. Redirects are not followed: an API server
    has none, and whoever sends one should not get the credentials.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._pool = Pool(config)
        self._web_sockets = WebSockets(config)

    async def send(self, request: Request) -> Response:
        """Send the request with credentials; after a 401 once more with fresh ones."""
        credentials = self._config.credentials
        identity = await credentials.headers()
        response = await self._send_once(request, identity)
        if response.status == 401 and credentials.renewable:
            credentials.invalidate(identity)
            response = await self._send_once(request, await credentials.headers())
        return response

    async def _send_once(self, request: Request, identity: Mapping[str, str]) -> Response:
        try:
            connection, answer = await self._exchange(request, self._message(request, identity))
        except Exception as error:
            raise self._explained(error, request) from error
        head, body = answer
        if body is None:
            stream = _Stream(connection, lambda error: self._explained(error, request))
            return Response(head.status, head.headers, stream=stream)
        self._pool.give_back(connection)
        return Response(head.status, head.headers, body)

    async def _exchange(self, request: Request, message: bytes) -> tuple[Connection, Answer]:
        seconds = request.timeout.total_seconds() if request.timeout else None
        deadline = asyncio.get_running_loop().time() + seconds if seconds is not None else None
        connection, is_streaming = self._pool.idle(), request.streaming
        if connection is not None:
            try:
                return connection, await connection.exchange(message, is_streaming=is_streaming, deadline=deadline)
            except TransportError:
                # The server may have closed it while it lay idle, and then never saw the request.
                if connection.has_answered or not request.idempotent:
                    raise
        async with asyncio.timeout_at(deadline):
            connection = await self._pool.open()
        return connection, await connection.exchange(message, is_streaming=is_streaming, deadline=deadline)

    def _message(self, request: Request, identity: Mapping[str, str]) -> bytes:
        pool, body = self._pool, request.body
        fields = [f"{name}: {value}\r\n" for name, value in request.headers]
        if not any(name.lower() == "accept-encoding" for name, _ in request.headers):
            fields.append("Accept-Encoding: gzip\r\n")
        fields += [f"{name}: {value}\r\n" for name, value in identity.items()]
        if body or request.method in ("POST", "PUT", "PATCH"):
            fields.append(f"Content-Length: {len(body)}\r\n")
        lines = "".join(fields)
        # A value with a line end in it would be read as another header, or as another request.
        if lines.count("\r") != len(fields) or lines.count("\n") != len(fields):
            raise ProtocolError("a header has a line end in it; it is not sent")
        head = f"{request.method} {pool.prefix}{request.target} HTTP/1.1\r\n{pool.headers}{lines}\r\n"
        return head.encode() + body

    async def connect(self, request: Request, subprotocols: Sequence[str]) -> WebSocket:
        """Upgrade to a WebSocket that speaks one of the subprotocols."""
        identity = await self._config.credentials.headers()
        try:
            headers = [*request.headers, *identity.items()]
            return await self._web_sockets.open(request.target, headers, subprotocols)
        except UpgradeRefused as refused:
            # aiohttp keeps no body of a refused upgrade; the same request by our own means gives the reason.
            asked = [*request.headers, *upgrade_headers(subprotocols)]
            plain = await self._send_once(msgspec.structs.replace(request, headers=asked), identity)
            if plain.status >= 300:
                raise error_in(request, plain) from None
            raise ProtocolError(f"{request}: {refused}") from refused
        except Exception as error:
            raise self._explained(error, request) from error

    def _explained(self, error: Exception, request: Request) -> Exception:
        return _explained(error, request, self._config.server)

    async def aclose(self) -> None:
        """Close all connections, streams too."""
        await self._pool.aclose()
        await self._web_sockets.aclose()


class _Stream:
    """The chunks of an answer; closing it closes the connection."""

    def __init__(self, connection: Connection, explained: Callable[[Exception], Exception]) -> None:
        self._connection = connection
        self._explained = explained

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await self._connection.read()
        except Exception as error:
            raise self._explained(error) from error
        if not chunk:
            raise StopAsyncIteration
        return chunk

    async def aclose(self) -> None:
        self._connection.abort()


def _explained(error: Exception, request: Request, server: str) -> Exception:
    """The same failure with what was tried, what went wrong, and what to do."""
    where = f"{request.method} {server}{request.target.split('?')[0]}"
    if isinstance(error, TransportError):
        return type(error)(f"{where}: {error}")
    if isinstance(error, ssl.SSLCertVerificationError):
        return ConnectError(f"{where}: {_certificate_trouble(error)}")
    if isinstance(error, socket.gaierror):
        return ConnectError(f"{where}: the host name cannot be resolved ({error}); check the server's address and DNS")
    if isinstance(error, TimeoutError):
        return RequestTimeout(f"{where}: no whole answer within {request.timeout}")
    if isinstance(error, OSError):
        why = str(error) or type(error).__name__
        return ConnectError(f"{where}: no connection ({why}); is the API server running there?")
    return error


def _certificate_trouble(error: ssl.SSLCertVerificationError) -> str:
    text = error.verify_message or str(error)
    if "expired" in text:
        return f"the API server's certificate is not valid any more ({text}); renew it, or check this machine's clock"
    return (
        f"the API server's certificate is not trusted ({text}); "
        "check certificate-authority and tls-server-name in the kubeconfig"
    )
