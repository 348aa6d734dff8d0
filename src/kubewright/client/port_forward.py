"""One connection to a port of a pod, through the API server (``v4.channel.k8s.io``)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from kubewright.client.transport import WebSocket
from kubewright.errors import TransportError

__all__ = ["FORWARD_PROTOCOLS", "ForwardedPort"]

FORWARD_PROTOCOLS: Final = ("v4.channel.k8s.io",)

_DATA, _ERROR = range(2)


class ForwardedPort:
    """A connection to a pod's port: ``write`` bytes, iterate over or ``read`` what comes back."""

    def __init__(self, socket: WebSocket, port: int) -> None:
        self._socket = socket
        self._port = port
        self._greeted: set[int] = set()

    async def __aenter__(self) -> ForwardedPort:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._socket.aclose()

    async def write(self, data: bytes) -> None:
        """Send bytes to the port."""
        await self._socket.send(bytes((_DATA,)) + data)

    async def read(self) -> bytes:
        """The next bytes from the port, empty when it closed; raises ``TransportError`` if it cannot be reached."""
        while True:
            message = await self._socket.receive()
            if message is None:
                return b""
            channel, data = message[0], message[1:]
            if channel not in self._greeted:
                # The first message on each channel repeats the port number.
                self._greeted.add(channel)
                data = data[2:]
            if channel == _ERROR and data:
                raise TransportError(f"port {self._port} of the pod: {data.decode('utf-8', 'replace')}")
            if channel == _DATA and data:
                return data

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while data := await self.read():
            yield data
