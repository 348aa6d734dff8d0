"""``Pool``: the connections to one server, opened as they are needed, through a proxy if there is one, and kept."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections import deque
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, unquote, urlsplit

from kubewright.client.connection import Connection
from kubewright.errors import ConnectError, TransportError

if TYPE_CHECKING:
    from kubewright.config import Config

__all__ = ["Pool"]

_CONNECT_SECONDS: Final = 30.0
_IDLE_SECONDS: Final = 60.0
_CLOSE_SECONDS: Final = 5.0
_PORTS: Final = {"http": 80, "https": 443}


class Pool:
    """Connections to the server of a ``Config``.

    A connection is kept for the next request when an exchange is over, up to a minute; those made with certificates
    that have been replaced since are not used again.
    """

    def __init__(self, config: Config) -> None:
        self._server = urlsplit(config.server)
        self._proxy = urlsplit(config.proxy) if config.proxy else None
        self._tls = config.tls_context()
        self._idle: deque[Connection] = deque()
        self._live: dict[Connection, ssl.SSLContext | None] = {}
        self._is_closed = False
        self.prefix: str = self._target_prefix()
        """What stands before the path of each request."""
        self.headers: str = self._constant_headers()
        """The header lines that are the same in each request."""

    def _target_prefix(self) -> str:
        path = self._server.path.rstrip("/")
        # A proxy is told the whole address, unless it only passes bytes on, to where TLS ends.
        is_seen_by_proxy = self._proxy is not None and self._server.scheme == "http"
        return f"http://{_netloc(self._server)}{path}" if is_seen_by_proxy else path

    def _constant_headers(self) -> str:
        lines = f"Host: {_netloc(self._server)}\r\n"
        if self._proxy is not None and self._server.scheme == "http":
            lines += _proxy_authorization(self._proxy)
        return lines

    def idle(self) -> Connection | None:
        """The connection used last that is free now, if there is one."""
        self._check_open()
        context = self._tls.context()
        self._let_go()
        while self._idle:
            connection = self._idle.pop()
            if connection.is_free and self._live.get(connection) is context:
                return connection
            connection.abort()
        return None

    def _let_go(self) -> float:
        """Close what nobody has needed for long, before the server does; the time."""
        now = asyncio.get_running_loop().time()
        while self._idle and self._idle[0].idle_since < now - _IDLE_SECONDS:
            self._idle.popleft().abort()
        return now

    def give_back(self, connection: Connection) -> None:
        """Keep a connection for the next request, if it can carry one."""
        now = self._let_go()
        if connection.is_free and not self._is_closed:
            connection.idle_since = now
            self._idle.append(connection)

    async def open(self) -> Connection:
        """A new connection; raises ``OSError`` where none comes about, ``ConnectError`` where the proxy has none."""
        self._check_open()
        context = self._tls.context()
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                connection = await self._opened(context)
        except TimeoutError:
            raise ConnectError(f"no connection within {_CONNECT_SECONDS:.0f} seconds; is the server there?") from None
        self._live[connection] = context
        connection.closed.add_done_callback(lambda _: self._live.pop(connection, None))
        if self._is_closed:
            connection.abort()
            self._check_open()
        return connection

    def _check_open(self) -> None:
        if self._is_closed:
            raise TransportError("the client is closed")

    async def _opened(self, context: ssl.SSLContext | None) -> Connection:
        if self._proxy is not None:
            return await self._opened_by_proxy(self._proxy, context)
        host, port = _host_and_port(self._server)
        return await _connected(host, port, context, self._tls.server_name if context else None)

    async def _opened_by_proxy(self, proxy: SplitResult, context: ssl.SSLContext | None) -> Connection:
        try:
            to_proxy = ssl.create_default_context() if proxy.scheme == "https" else None
            connection = await _connected(*_host_and_port(proxy), to_proxy, None)
        except OSError as error:
            raise _proxy_error(proxy, str(error)) from error
        if context is None:
            return connection
        try:
            await self._tunnel(connection, proxy, context)
        except BaseException:
            connection.abort()
            raise
        return connection

    async def _tunnel(self, connection: Connection, proxy: SplitResult, context: ssl.SSLContext) -> None:
        host, port = _host_and_port(self._server)
        target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        message = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{_proxy_authorization(proxy)}\r\n"
        head = await connection.connect(message.encode())
        if head.status != 200:
            raise _proxy_error(proxy, f"it answered {head.status} to CONNECT {target}")
        secured = await asyncio.get_running_loop().start_tls(
            connection.socket_transport, connection, context, server_hostname=self._tls.server_name or host
        )
        assert secured is not None
        connection.secured(secured)

    async def aclose(self) -> None:
        """Close all connections, those in use too."""
        self._is_closed = True
        ending = list(self._live)
        for connection in ending:
            connection.abort()
        if ending:
            await asyncio.wait([connection.closed for connection in ending], timeout=_CLOSE_SECONDS)


async def _connected(host: str, port: int, context: ssl.SSLContext | None, server_name: str | None) -> Connection:
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(
        Connection, host, port, ssl=context, server_hostname=server_name, happy_eyeballs_delay=0.25
    )
    return connection


def _host_and_port(address: SplitResult) -> tuple[str, int]:
    return address.hostname or "", address.port or _PORTS[address.scheme]


def _netloc(address: SplitResult) -> str:
    return address.netloc.rpartition("@")[2]


def _proxy_authorization(proxy: SplitResult) -> str:
    if proxy.username is None:
        return ""
    secret = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return f"Proxy-Authorization: Basic {base64.b64encode(secret.encode()).decode()}\r\n"


def _proxy_error(proxy: SplitResult, why: str) -> ConnectError:
    host, port = _host_and_port(proxy)
    return ConnectError(f"the proxy {host}:{port} does not let us through ({why}); check proxy-url")
