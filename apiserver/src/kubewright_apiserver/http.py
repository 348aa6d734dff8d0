"""The server on sockets: HTTP/1.1 by aiohttp, with or without TLS. Everything else is ``app``'s."""

from __future__ import annotations

import asyncio
import ssl
import uuid
import zlib
from collections.abc import AsyncIterable
from typing import Final

from aiohttp import HttpVersion11, web
from multidict import CIMultiDict

from kubewright_apiserver.access import ANONYMOUS, Authenticator, User
from kubewright_apiserver.app import App, Whole
from kubewright_apiserver.body import LARGEST_BODY
from kubewright_apiserver.connection import ConnectionServer
from kubewright_apiserver.negotiation import accepts_gzip
from kubewright_apiserver.status import Refusal

__all__ = ["HttpServer"]

_LARGE: Final = 128 * 1024
_HUGE: Final = 1 << 20
_PART: Final = 128 * 1024
_GZIP: Final = 31
_OPEN_TO_ALL: Final = ("/healthz", "/livez", "/readyz", "/version")


class HttpServer:
    """Listens on loopback, or wherever it is told to, for an app."""

    def __init__(self, app: App, authenticator: Authenticator) -> None:
        self._app = app
        self._authenticator = authenticator
        self._runners: dict[web.ServerRunner, ConnectionServer] = {}

    async def listen(self, host: str, port: int, context: ssl.SSLContext | None, everybody: User | None = None) -> int:
        """Listen; the port that was given or, for 0, chosen. ``everybody`` is who asks on a port without TLS."""

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

    async def _handle(self, request: web.BaseRequest, everybody: User | None) -> web.StreamResponse:
        try:
            user = everybody or self._user(request)
        except Refusal as refusal:
            return self._refused(request, refusal)
        expectation = request.headers.get("Expect", "")
        if expectation and not await _is_met(request, expectation):
            return _unmet()
        body = await _body(request)
        headers = list(request.headers.items())
        status, answered, chunks = await self._app.handle(request.method, request.raw_path, headers, body, user.name)
        headers = [*answered, ("Audit-Id", str(uuid.uuid4()))]
        if isinstance(chunks, Whole):
            data = chunks.data
            if len(data) > _LARGE and accepts_gzip(request.headers.get("Accept-Encoding", "")):
                data = await _compressed(data)
                headers += [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
            if len(data) > _PART and request.method != "HEAD":
                return await _send(request, web.StreamResponse(status=status, headers=CIMultiDict(headers)), data)
            return web.Response(status=status, headers=CIMultiDict(headers), body=data)
        return await _stream(request, web.StreamResponse(status=status, headers=CIMultiDict(headers)), chunks)

    def _refused(self, request: web.BaseRequest, refusal: Refusal) -> web.Response:
        requests = self._app.requests
        record = requests.note(request.method, request.raw_path, "", request.headers.get("User-Agent", ""))
        requests.answered(record, refusal.code)
        return web.json_response(refusal.body, status=refusal.code)

    def _user(self, request: web.BaseRequest) -> User:
        transport = request.transport
        certificate = transport.get_extra_info("peercert") if transport is not None else None
        authorization = request.headers.get("Authorization", "")
        user = self._authenticator.user_of({"authorization": authorization}, certificate)
        if user is ANONYMOUS and not request.path.startswith(_OPEN_TO_ALL):
            what = f'User "{user.name}" cannot {request.method.lower()} path "{request.path}"'
            raise Refusal(403, "Forbidden", f"forbidden: {what}", details={})
        return user


async def _is_met(request: web.BaseRequest, expectation: str) -> bool:
    """Whether the client's expectation is one that can be met; it is told to go on."""
    if expectation.lower() != "100-continue":
        return False
    if request.version >= HttpVersion11:
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
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
    await response.prepare(request)
    view = memoryview(data)
    try:
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
    await response.prepare(request)
    iterator = aiter(chunks)
    try:
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
