"""WebSockets by aiohttp, which is imported with the first of them."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from kubewright.errors import ConnectError, ProtocolError, TransportError

if TYPE_CHECKING:
    import aiohttp

    from kubewright.config import Config

__all__ = ["UpgradeRefused", "WebSockets", "upgrade_headers"]

_CONNECT_SECONDS: Final = 30.0
_FAREWELL_SECONDS: Final = 10.0


def upgrade_headers(subprotocols: Sequence[str]) -> list[tuple[str, str]]:
    """What a request says that wants to be upgraded, for one that was refused and is to hear why."""
    key = base64.b64encode(bytes(16)).decode()
    headers = [("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13")]
    return [*headers, ("Sec-WebSocket-Key", key), ("Sec-WebSocket-Protocol", ", ".join(subprotocols))]


class UpgradeRefused(Exception):
    """The server answered, but with no upgrade."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the server refused the WebSocket (HTTP {status})")
        self.status: int = status


class WebSockets:
    """Opens WebSockets to the server of a ``Config``."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._tls = config.tls_context()
        self._session: aiohttp.ClientSession | None = None

    async def open(self, target: str, headers: Sequence[tuple[str, str]], subprotocols: Sequence[str]) -> OpenWebSocket:
        """A WebSocket that speaks one of the subprotocols.

        Raises ``UpgradeRefused``, or what plain sockets raise where no connection comes about.
        """
        import aiohttp
        import yarl

        if self._session is None:
            limit = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS)
            self._session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), timeout=limit)
        try:
            opened = await self._session.ws_connect(
                yarl.URL(self._config.server + target, encoded=True),
                protocols=subprotocols,
                headers=headers,
                max_msg_size=0,
                autoping=True,
                timeout=aiohttp.ClientWSTimeout(ws_close=_FAREWELL_SECONDS),
                **self._connection(),
            )
        except aiohttp.WSServerHandshakeError as error:
            raise UpgradeRefused(error.status) from error
        except aiohttp.ClientError as error:
            raise _plainly(error) from error
        return OpenWebSocket(opened)

    def _connection(self) -> dict[str, Any]:
        context = self._tls.context()
        options: dict[str, Any] = {"proxy": self._config.proxy}
        if context is not None:
            options["ssl"] = context
            options["server_hostname"] = self._tls.server_name
        return options

    async def aclose(self) -> None:
        """Close all of them."""
        if self._session is not None:
            await self._session.close()


class OpenWebSocket:
    """A WebSocket that carries binary messages."""

    def __init__(self, opened: aiohttp.ClientWebSocketResponse) -> None:
        self._opened = opened

    @property
    def subprotocol(self) -> str:
        """The protocol that the server chose."""
        return self._opened.protocol or ""

    async def send(self, message: bytes) -> None:
        """Send one binary message."""
        try:
            await self._opened.send_bytes(message)
        except (ConnectionError, RuntimeError) as error:
            raise TransportError(f"the WebSocket is closed: {error}") from error

    async def receive(self) -> bytes | None:
        """The next message, or None when the server closed."""
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
        """Close the connection."""
        await self._opened.close()


def _plainly(error: aiohttp.ClientError) -> Exception:
    """The same failure without aiohttp's wrapping."""
    import aiohttp

    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return error.certificate_error
    if isinstance(error, aiohttp.ClientProxyConnectionError | aiohttp.ClientHttpProxyError):
        return ConnectError(f"the proxy does not let us through ({error}); check proxy-url")
    if isinstance(error, aiohttp.ClientConnectorError):
        return error.os_error
    if isinstance(error, aiohttp.ServerDisconnectedError | ConnectionError):
        return TransportError(f"the connection broke before the answer came ({error})")
    return ProtocolError(f"{type(error).__name__}: {error}")
