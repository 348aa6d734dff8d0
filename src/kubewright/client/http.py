"""The transport over the network: HTTP/1.1 and WebSockets by aiohttp.

aiohttp is imported when the first transport is made, not with this module.
"""

from __future__ import annotations

import asyncio
import functools
import io
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kubewright.client.answer import error_in
from kubewright.client.transport import Request, Response, WebSocket
from kubewright.errors import ConnectError, ProtocolError, RequestTimeout, TransportError

if TYPE_CHECKING:
    import aiohttp
    import yarl

    from kubewright.config import Config

__all__ = ["HttpTransport"]

_CONNECT_SECONDS = 30.0
_CHUNK = 1 << 18


class HttpTransport:
    """Sends requests to the server of a ``Config``.

    Watches and other streams have a connection pool of their own, so that they never starve plain requests. After a
    401 the credentials are renewed, once, and the request is sent again.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._tls = config.tls_context()
        self._plain: aiohttp.ClientSession | None = None
        self._streams: aiohttp.ClientSession | None = None
        self._closed = False

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
            opened = await self._open(request, identity)
        except Exception as error:
            raise self._explained(error, request) from error
        try:
            if request.streaming and opened.status < 300:
                stream = _Stream(self._chunks(opened, request), opened)
                return Response(opened.status, tuple(opened.headers.items()), stream=stream)
            body = await opened.read()
        except BaseException as error:
            opened.close()
            if isinstance(error, Exception):
                raise self._explained(error, request) from error
            raise
        return Response(opened.status, tuple(opened.headers.items()), body)

    async def _open(self, request: Request, identity: Mapping[str, str]) -> aiohttp.ClientResponse:
        session = self._session(request.streaming)
        # aiohttp's limit holds until the body is read; a stream is only awaited until it begins.
        seconds = request.timeout.total_seconds() if request.timeout else None
        opening = session.request(
            request.method,
            self._url(request.target),
            data=_payload(request.body),
            headers=[*request.headers, *identity.items()],
            timeout=_limit(None if request.streaming else seconds),
            **self._connection(),
        )
        if not request.streaming:
            return await opening
        async with asyncio.timeout(seconds):
            return await opening

    async def _chunks(self, opened: aiohttp.ClientResponse, request: Request) -> AsyncGenerator[bytes, None]:
        try:
            async for chunk in opened.content.iter_any():
                yield chunk
        except Exception as error:
            raise self._explained(error, request) from error
        finally:
            opened.close()

    async def connect(self, request: Request, subprotocols: Sequence[str]) -> WebSocket:
        """Upgrade to a WebSocket that speaks one of the subprotocols."""
        import aiohttp

        identity = await self._config.credentials.headers()
        try:
            opened = await self._session(streaming=True).ws_connect(
                self._url(request.target),
                protocols=subprotocols,
                headers=[*request.headers, *identity.items()],
                max_msg_size=0,
                autoping=True,
                timeout=aiohttp.ClientWSTimeout(ws_close=10.0),
                **self._connection(),
            )
        except aiohttp.WSServerHandshakeError as error:
            # aiohttp keeps no body of a refused upgrade; the same request as a plain one gives the reason.
            plain = await self._send_once(request, identity)
            if plain.status >= 300:
                raise error_in(request, plain) from None
            raise ProtocolError(f"{request}: the server refused the WebSocket (HTTP {error.status})") from error
        except Exception as error:
            raise self._explained(error, request) from error
        return _AiohttpWebSocket(opened)

    def _connection(self) -> dict[str, Any]:
        context = self._tls.context()
        options: dict[str, Any] = {"proxy": self._config.proxy}
        if context is not None:
            options["ssl"] = context
            options["server_hostname"] = self._tls.server_name
        return options

    def _session(self, streaming: bool) -> aiohttp.ClientSession:
        if self._closed:
            raise TransportError("the client is closed")
        if streaming:
            self._streams = self._streams or _session(keep_idle=0)
            return self._streams
        self._plain = self._plain or _session(keep_idle=64)
        return self._plain

    def _url(self, target: str) -> yarl.URL:
        import yarl

        return yarl.URL(self._config.server + target, encoded=True)

    def _explained(self, error: Exception, request: Request) -> Exception:
        return _explained(error, request, self._config.server)

    async def aclose(self) -> None:
        """Close all connections, streams too."""
        self._closed = True
        for session in (self._plain, self._streams):
            if session is not None:
                await session.close()


class _Stream:
    """The chunks of an answer; closing it gives the connection back, also if nobody has begun to read."""

    def __init__(self, chunks: AsyncGenerator[bytes, None], opened: aiohttp.ClientResponse) -> None:
        self._chunks = chunks
        self._opened = opened

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._chunks

    async def __anext__(self) -> bytes:
        return await anext(self._chunks)

    async def aclose(self) -> None:
        try:
            await self._chunks.aclose()
        finally:
            # A generator that was never begun does not run what it would do at its end.
            self._opened.close()


@functools.lru_cache(maxsize=64)
def _limit(seconds: float | None) -> aiohttp.ClientTimeout:
    import aiohttp

    return aiohttp.ClientTimeout(total=seconds, sock_connect=_CONNECT_SECONDS)


def _payload(body: bytes) -> bytes | io.BytesIO | None:
    """The body as aiohttp wants it: a large one as a file, which it sends piece by piece."""
    return io.BytesIO(body) if len(body) > _CHUNK else body or None


def _session(keep_idle: int) -> aiohttp.ClientSession:
    """A session without aiohttp's limits: no total time, no cap on connections, long header lines."""
    import aiohttp

    connector = aiohttp.TCPConnector(limit=0, force_close=keep_idle == 0, keepalive_timeout=60 if keep_idle else None)
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS),
        auto_decompress=True,
        read_bufsize=_CHUNK,
        max_line_size=1 << 16,
        max_field_size=1 << 16,
    )


class _AiohttpWebSocket:
    def __init__(self, opened: aiohttp.ClientWebSocketResponse) -> None:
        self._opened = opened

    @property
    def subprotocol(self) -> str:
        return self._opened.protocol or ""

    async def send(self, message: bytes) -> None:
        try:
            await self._opened.send_bytes(message)
        except (ConnectionError, RuntimeError) as error:
            raise TransportError(f"the WebSocket is closed: {error}") from error

    async def receive(self) -> bytes | None:
        import aiohttp

        message = await self._opened.receive()
        if message.type is aiohttp.WSMsgType.BINARY:
            return bytes(message.data)
        if message.type is aiohttp.WSMsgType.TEXT:
            return str(message.data).encode()
        if message.type is aiohttp.WSMsgType.ERROR:
            raise TransportError(f"the WebSocket broke: {self._opened.exception()}")
        return None

    async def aclose(self) -> None:
        await self._opened.close()


def _explained(error: Exception, request: Request, server: str) -> Exception:
    """The same failure in kubewright's words: what was tried, what went wrong, what to do."""
    import aiohttp

    where = f"{request.method} {server}{request.target.split('?')[0]}"
    if isinstance(error, TransportError):
        return error
    if isinstance(error, aiohttp.ClientConnectorCertificateError | ssl.SSLCertVerificationError):
        return ConnectError(f"{where}: {_certificate_trouble(error)}")
    if isinstance(error, aiohttp.ClientConnectorDNSError | socket.gaierror):
        return ConnectError(f"{where}: the host name cannot be resolved ({error}); check the server's address and DNS")
    if isinstance(error, aiohttp.ClientProxyConnectionError | aiohttp.ClientHttpProxyError):
        return ConnectError(f"{where}: the proxy does not let us through ({_plain_text(error)}); check proxy-url")
    if isinstance(error, aiohttp.ClientConnectorError):
        return ConnectError(f"{where}: no connection ({_plain_text(error)}); is the API server running there?")
    if isinstance(error, TimeoutError):
        return RequestTimeout(f"{where}: no whole answer within {request.timeout}")
    if isinstance(error, aiohttp.ClientPayloadError):
        return ProtocolError(f"{where}: the connection was closed in the middle of the answer")
    if isinstance(error, aiohttp.ServerDisconnectedError | ConnectionError | aiohttp.ClientOSError):
        return TransportError(f"{where}: the connection broke before the answer came ({_plain_text(error)})")
    if isinstance(error, aiohttp.ClientError):
        return ProtocolError(f"{where}: {type(error).__name__}: {_plain_text(error)}")
    return error


def _certificate_trouble(error: Exception) -> str:
    cause = getattr(error, "certificate_error", error)
    text = getattr(cause, "verify_message", "") or str(cause)
    if "expired" in text:
        return f"the API server's certificate is not valid any more ({text}); renew it, or check this machine's clock"
    return (
        f"the API server's certificate is not trusted ({text}); "
        "check certificate-authority and tls-server-name in the kubeconfig"
    )


def _plain_text(error: Exception) -> str:
    return str(error) or type(error).__name__
