"""The server on sockets: HTTP/1.1 by aiohttp, with or without TLS. Everything else is ``app``'s."""

from __future__ import annotations

import ssl
import uuid
from collections.abc import AsyncIterable
from typing import Final

from aiohttp import web
from multidict import CIMultiDict

from kubewright_apiserver.access import ANONYMOUS, Authenticator, User
from kubewright_apiserver.app import App, Whole
from kubewright_apiserver.status import Refusal

__all__ = ["HttpServer"]

_MOST_BYTES: Final = (3 << 20) + 1
_OPEN_TO_ALL: Final = ("/healthz", "/livez", "/readyz", "/version")


class HttpServer:
    """Listens on loopback, or wherever it is told to, for an app."""

    def __init__(self, app: App, authenticator: Authenticator) -> None:
        self._app = app
        self._authenticator = authenticator
        self._runners: list[web.ServerRunner] = []

    async def listen(self, host: str, port: int, context: ssl.SSLContext | None, everybody: User | None = None) -> int:
        """Listen; the port that was given or, for 0, chosen. ``everybody`` is who asks on a port without TLS."""

        async def handler(request: web.BaseRequest) -> web.StreamResponse:
            return await self._handle(request, everybody)

        server = web.Server(handler, handler_cancellation=True, access_log=None)
        runner = web.ServerRunner(server, shutdown_timeout=0.1)
        await runner.setup()
        self._runners.append(runner)
        site = web.TCPSite(runner, host, port, ssl_context=context, backlog=1024)
        await site.start()
        address: tuple[str, int] = runner.addresses[-1]
        return address[1]

    async def aclose(self) -> None:
        """Stop listening and end every connection."""
        for runner in self._runners:
            await runner.cleanup()
        self._runners.clear()

    async def _handle(self, request: web.BaseRequest, everybody: User | None) -> web.StreamResponse:
        body = await _body(request)
        headers = list(request.headers.items())
        try:
            user = everybody or self._user(request)
        except Refusal as refusal:
            data = refusal.body
            return web.json_response(data, status=refusal.code)
        status, answered, chunks = await self._app.handle(request.method, request.raw_path, headers, body, user.name)
        headers = [*answered, ("Audit-Id", str(uuid.uuid4()))]
        if isinstance(chunks, Whole):
            return web.Response(status=status, headers=CIMultiDict(headers), body=chunks.data)
        return await _stream(request, web.StreamResponse(status=status, headers=CIMultiDict(headers)), chunks)

    def _user(self, request: web.BaseRequest) -> User:
        transport = request.transport
        certificate = transport.get_extra_info("peercert") if transport is not None else None
        lower = {name.lower(): value for name, value in request.headers.items()}
        user = self._authenticator.user_of(lower, certificate)
        if user is ANONYMOUS and not request.path.startswith(_OPEN_TO_ALL):
            what = f'User "{user.name}" cannot {request.method.lower()} path "{request.path}"'
            raise Refusal(403, "Forbidden", f"forbidden: {what}", details={})
        return user


async def _body(request: web.BaseRequest) -> bytes:
    """The body, but not more than a byte beyond what the server takes."""
    if not request.body_exists:
        return b""
    parts: list[bytes] = []
    size = 0
    async for chunk in request.content.iter_any():
        parts.append(chunk)
        size += len(chunk)
        if size >= _MOST_BYTES:
            break
    return b"".join(parts)


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
    except ConnectionError:
        return response
    finally:
        close = getattr(iterator, "aclose", None)
        if close is not None:
            await close()
    await response.write_eof()
    return response
