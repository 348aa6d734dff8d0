"""The server on sockets: HTTP/1.1 by aiohttp, with or without TLS. Everything else is ``app``'s."""

from __future__ import annotations

import asyncio
import re
import ssl
import uuid
import zlib
from collections.abc import AsyncIterable
from typing import Final

from aiohttp import HttpVersion11, web
from multidict import CIMultiDict

from kubewright_apiserver.access import ANONYMOUS, Peer, User
from kubewright_apiserver.answer import Upgraded
from kubewright_apiserver.app import App, Whole
from kubewright_apiserver.body import LARGEST_BODY
from kubewright_apiserver.connection import Connection, ConnectionServer
from kubewright_apiserver.negotiation import accepts_gzip
from kubewright_apiserver.relay import relay

__all__ = ["HttpServer"]

_LARGE: Final = 128 * 1024
_HUGE: Final = 1 << 20
_PART: Final = 128 * 1024
_GZIP: Final = 31
_ABSOLUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")


class HttpServer:
    """Listens on loopback, or wherever it is told to, for an app."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._runners: dict[web.ServerRunner, ConnectionServer] = {}

    async def listen(self, host: str, port: int, context: ssl.SSLContext | None, everybody: User = ANONYMOUS) -> int:
        """Listen; the port that was given or, for 0, chosen. ``everybody`` is who asks there and shows nothing."""

        async def handler(request: web.BaseRequest) -> web.StreamResponse:
            return await self._handle(request, everybody)

        server = ConnectionServer(handler)
        runner = web.ServerRunner(server, shutdown_timeout=0.1)
        await runner.setup()
        self._runners[runner] = server
        site = web.TCPSite(runner, host, port, ssl_context=context, backlog=1024)
        await site.start()
        address: tuple[str, int] = runner.addresses[-1]
        return address[1]

    async def aclose(self) -> None:
        """Stop listening and end every connection."""
        for runner, server in self._runners.items():
            await runner.cleanup()
            # A client that reads nothing would keep its connection, and what is yet to be sent, for long.
            server.abort()
        self._runners.clear()

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return sum(len(server.transports) for server in self._runners.values())

    async def _handle(self, request: web.BaseRequest, everybody: User) -> web.StreamResponse:
        sent = list(request.headers.items())
        received = self._app.receive(request.method, _target(request), sent, _peer(request, everybody))
        body = b""
        if received.refused is None:
            expectation = request.headers.get("Expect", "")
            if expectation and not await _is_met(request, expectation):
                return _unmet()
            body = await _body(request)
        status, answered, chunks = await self._app.answer_received(received, body)
        if isinstance(chunks, Upgraded):
            return await relay(request, chunks)
        headers = [*answered, ("Audit-Id", received.audit_id or str(uuid.uuid4()))]
        if isinstance(chunks, Whole):
            data = chunks.data
            if len(data) > _LARGE and accepts_gzip(request.headers.get("Accept-Encoding", "")):
                data = await _compressed(data)
                headers += [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
            if len(data) > _PART and request.method != "HEAD":
                return await _send(request, web.StreamResponse(status=status, headers=CIMultiDict(headers)), data)
            return web.Response(status=status, headers=CIMultiDict(headers), body=data)
        return await _stream(request, web.StreamResponse(status=status, headers=CIMultiDict(headers)), chunks)


def _peer(request: web.BaseRequest, everybody: User) -> Peer:
    """The other end of a request's connection, which is looked at once."""
    connection = request.protocol
    if not isinstance(connection, Connection):
        return Peer(everybody, None, request.remote or "")
    if connection.peer is None:
        transport = request.transport
        tls = transport.get_extra_info("ssl_object") if transport is not None else None
        certificate = tls.getpeercert(binary_form=True) if tls is not None else None
        connection.peer = Peer(everybody, certificate, request.remote or "")
    return connection.peer


def _target(request: web.BaseRequest) -> str:
    """Path and query; a client that takes this for a proxy says scheme and host before them."""
    target = request.raw_path
    if target.startswith("/"):
        return target
    return _ABSOLUTE.sub("", target, count=1) or "/"


async def _is_met(request: web.BaseRequest, expectation: str) -> bool:
    """Whether the client's expectation is one that can be met; it is told to go on."""
    if expectation.lower() != "100-continue":
        return False
    if request.version >= HttpVersion11:
        try:
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        except ConnectionError:
            return False  # The client is gone.
        # This was no part of the answer yet.
        request.writer.output_size = 0
    return True


def _unmet() -> web.Response:
    response = web.Response(status=417)
    response.force_close()
    return response


async def _compressed(data: bytes) -> bytes:
    if len(data) < _HUGE:
        return zlib.compress(data, level=1, wbits=_GZIP)
    # Elsewhere, since this takes tens of milliseconds in which nobody else would be answered.
    return await asyncio.to_thread(zlib.compress, data, level=1, wbits=_GZIP)


async def _body(request: web.BaseRequest) -> bytes:
    """The body, but not more than a byte beyond what the server takes."""
    if not request.body_exists:
        return b""
    parts: list[bytes] = []
    size = 0
    async for chunk in request.content.iter_any():
        parts.append(chunk)
        size += len(chunk)
        if size > LARGEST_BODY:
            break
    return b"".join(parts)


async def _send(request: web.BaseRequest, response: web.StreamResponse, data: bytes) -> web.StreamResponse:
    """Send a long answer part by part: TLS copies what it is given several times, and memory for all is not at hand."""
    response.content_length = len(data)
    view = memoryview(data)
    try:
        await response.prepare(request)
        for start in range(0, len(data), _PART):
            await response.write(view[start : start + _PART])
        await response.write_eof()
    except ConnectionError:
        pass  # The client is gone.
    return response


async def _stream(
    request: web.BaseRequest, response: web.StreamResponse, chunks: AsyncIterable[bytes]
) -> web.StreamResponse:
    """Send chunk by chunk, until there are no more or the client is gone."""
    iterator = aiter(chunks)
    try:
        await response.prepare(request)
        async for chunk in iterator:
            if chunk:
                await response.write(chunk)
        await response.write_eof()
    except ConnectionError:
        pass  # The client is gone.
    finally:
        close = getattr(iterator, "aclose", None)
        if close is not None:
            await close()
    return response
