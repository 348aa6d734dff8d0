"""One client's connection: HTTP/1.1 by aiohttp, with the limits of Go's server and its words for what is no HTTP."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final

from aiohttp import HttpVersion10, web
from aiohttp.http_exceptions import LineTooLong

from kubewright_apiserver.access import Peer

__all__ = ["Connection", "ConnectionServer"]

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

_log = logging.getLogger("kubewright_apiserver")
_LARGEST_HEAD: Final = (1 << 20) + 4096
# Before a request is known to have come, a first part of its body may have too.
_MOST_UNREAD: Final = 2 * _LARGEST_HEAD
_OPTIONS: Final[dict[str, Any]] = {
    "access_log": None,
    "auto_decompress": False,
    "lingering_time": 2.0,
    "max_field_size": _LARGEST_HEAD,
    "max_headers": 65_536,
    "max_line_size": _LARGEST_HEAD,
}
_TOO_MANY: Final = "Too many headers"
_ENCODING: Final = "Transfer-Encoding"
# Whatever else stands in a host is not looked at.
_NO_HOST: Final = re.compile(r"[^!$%&'()*+,./0-9:;=A-Z\[\]_a-z~-]")


class Connection(web.RequestHandler):
    """Reads requests, and has them answered one after the other."""

    __slots__ = ("_connected", "_is_answering", "_server", "_unread", "peer")

    def __init__(self, server: ConnectionServer, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(server, loop=loop, **_OPTIONS)
        self._server = server
        self._connected: asyncio.Transport | None = None
        self._is_answering = False
        self._unread = 0
        self.peer: Peer | None = None
        """The other end, once somebody has looked who it is."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        super().connection_made(transport)
        if isinstance(transport, asyncio.Transport):
            self._connected = transport
            self._server.transports[transport] = None

    def connection_lost(self, exc: BaseException | None) -> None:
        """End."""
        if self._connected is not None:
            self._server.transports.pop(self._connected, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came; headers that do not end are refused."""
        if not self._is_answering:
            self._unread += len(data)
            if self._unread > _MOST_UNREAD:
                self._refuse_head()
                return
        super().data_received(data)

    def _refuse_head(self) -> None:
        if self.transport is not None:
            status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            line = f"{status.value} {status.phrase}"
            headers = "Content-Type: text/plain; charset=utf-8\r\nConnection: close"
            self.transport.write(f"HTTP/1.1 {line}\r\n{headers}\r\n\r\n{line}".encode())
        self.force_close()

    async def answer(self, request: web.BaseRequest, handler: Handler) -> web.StreamResponse:
        """The handler's answer; what comes meanwhile is no longer the head of this request."""
        is_suspect = self._unread > _LARGEST_HEAD
        self._is_answering = True
        self._unread = 0
        try:
            if is_suspect and _head_size(request) > _LARGEST_HEAD:
                return _refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            status = _refusal_of_head(request)
            if status is not None:
                return _refused(status)
            return await handler(request)
        finally:
            # The rest of a body that nobody wanted still comes.
            self._is_answering = not request.content.is_eof()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The answer to what could not be read as a request."""
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return super().handle_error(request, status, exc, message)
        _log.debug("what came from %s is no request: %s", request.remote, message)
        told = HTTPStatus(status)
        if isinstance(exc, LineTooLong) or _TOO_MANY in (message or ""):
            told = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        elif _ENCODING in (message or "") and "Content-Length" not in (message or ""):
            told = HTTPStatus.NOT_IMPLEMENTED
        return _refused(told)


def _refused(status: HTTPStatus) -> web.Response:
    response = web.Response(status=status, text=f"{status.value} {status.phrase}")
    response.force_close()
    return response


def _refusal_of_head(request: web.BaseRequest) -> HTTPStatus | None:
    """What Go's server says to a head that can be read and is none of HTTP/1's; None if it is."""
    if request.version < HttpVersion10:
        return HTTPStatus.BAD_REQUEST
    if request.version.major != HttpVersion10.major:
        return HTTPStatus.HTTP_VERSION_NOT_SUPPORTED
    hosts = request.headers.getall("Host", [""])
    return HTTPStatus.BAD_REQUEST if len(hosts) > 1 or _NO_HOST.search(hosts[0]) else None


def _head_size(request: web.BaseRequest) -> int:
    lines = sum(len(name) + len(value) + 4 for name, value in request.raw_headers)
    return len(request.method) + len(request.raw_path) + len(" HTTP/1.1 \r\n\r\n") + lines


class ConnectionServer(web.Server):
    """Makes connections whose requests a handler answers, and knows which are open."""

    def __init__(self, handler: Handler) -> None:
        async def answer(request: web.BaseRequest) -> web.StreamResponse:
            connection = request.protocol
            if isinstance(connection, Connection):
                return await connection.answer(request, handler)
            return await handler(request)

        super().__init__(answer, handler_cancellation=True)
        self.transports: dict[asyncio.Transport, None] = {}
        """The open connections."""

    def __call__(self) -> Connection:
        """A new connection."""
        return Connection(self, asyncio.get_running_loop())

    def abort(self) -> None:
        """End all connections that are still open, whatever they have yet to send."""
        for transport in list(self.transports):
            transport.abort()
        self.transports.clear()
