"""A command in a container, reached through exec or attach over a WebSocket (``v5.channel.k8s.io``)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

import msgspec

from kubewright.client.transport import WebSocket
from kubewright.errors import ApiStatus, TransportError, error_of

__all__ = ["PROCESS_PROTOCOLS", "Completed", "Process"]

PROCESS_PROTOCOLS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io")

_STDIN, _STDOUT, _STDERR, _ERROR, _RESIZE = range(5)
_CLOSE: Final = 255


class Completed(msgspec.Struct, frozen=True, kw_only=True):
    """What a command printed and how it ended."""

    exit_code: int
    stdout: bytes
    stderr: bytes


class Process:
    """A running command: write to it, iterate over what it prints, ask for its exit code."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._exit_code: int | None = None
        self._ended = False

    async def __aenter__(self) -> Process:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._socket.aclose()

    async def write(self, data: bytes) -> None:
        """Send bytes to the command's standard input."""
        await self._socket.send(bytes((_STDIN,)) + data)

    async def close_stdin(self) -> None:
        """Tell the command that no more input comes; only servers of Kubernetes 1.30 and later can."""
        if self._socket.subprotocol != PROCESS_PROTOCOLS[0]:
            raise TransportError(
                f"the server speaks {self._socket.subprotocol or 'no known protocol'}, which cannot close standard "
                "input alone; let the command end by itself, or close the connection"
            )
        await self._socket.send(bytes((_CLOSE, _STDIN)))

    async def resize(self, *, width: int, height: int) -> None:
        """Tell the command's terminal its size in characters."""
        size = msgspec.json.encode({"Width": width, "Height": height})
        await self._socket.send(bytes((_RESIZE,)) + size)

    async def __aiter__(self) -> AsyncIterator[tuple[str, bytes]]:
        """What the command prints, as pairs of ``"stdout"`` or ``"stderr"`` and bytes, until it ends."""
        while not self._ended:
            message = await self._socket.receive()
            if message is None:
                self._ended = True
            elif message and message[0] in (_STDOUT, _STDERR):
                if len(message) > 1:
                    yield ("stdout" if message[0] == _STDOUT else "stderr"), message[1:]
            elif message and message[0] == _ERROR:
                self._exit_code = _exit_code(message[1:])

    async def wait(self) -> Completed:
        """Read on until the command ends; everything that it still printed, and its exit code."""
        printed: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
        async for stream, data in self:
            printed[stream].append(data)
        return Completed(
            exit_code=self.exit_code, stdout=b"".join(printed["stdout"]), stderr=b"".join(printed["stderr"])
        )

    @property
    def exit_code(self) -> int:
        """The exit code of a command that has ended; raises ``TransportError`` if the connection broke before."""
        if self._exit_code is None:
            state = "the connection ended before the command did" if self._ended else "the command is still running"
            raise TransportError(f"no exit code: {state}")
        return self._exit_code


def _exit_code(data: bytes) -> int:
    """The exit code in the Status that ends a command; raises the error if the command could not be run."""
    status = msgspec.json.decode(data, type=ApiStatus)
    if status.status == "Success":
        return 0
    causes = (status.details.causes or ()) if status.details else ()
    for cause in causes:
        if cause.reason == "ExitCode" and cause.message.isdigit():
            return int(cause.message)
    raise error_of(status)
