"""What is spoken for exec and attach (``v4.channel.k8s.io``, ``v5.channel.k8s.io``), and what a command sees of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec

from kubewright.controlplane.kubelet_door.inbox import Inbox
from kubewright.controlplane.kubelet_door.wire import WireEnd

__all__ = ["PROTOCOLS", "Asked", "Streams", "run_command"]

PROTOCOLS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io")
"""What is understood, the best first."""

_log = logging.getLogger("kubewright.controlplane")
_STDIN, _STDOUT, _STDERR, _ERROR, _RESIZE = range(5)
_CLOSE: Final = 255


class Asked(msgspec.Struct, frozen=True):
    """Which streams the client wants."""

    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False

    @classmethod
    def in_query(cls, query: Mapping[str, list[str]]) -> Asked:
        """As the query of a request to a kubelet says it; a terminal has no standard error."""
        said = {name: query.get(name, [""])[0] == "1" for name in ("input", "output", "error", "tty")}
        return cls(said["input"], said["output"], said["error"] and not said["tty"], said["tty"])


class Streams:
    """Standard input, output and error of a command, and its terminal."""

    def __init__(self, wire: WireEnd, asked: Asked) -> None:
        self._wire = wire
        self._asked = asked
        self._stdin = Inbox(expected=asked.stdin)
        self.tty: bool = asked.tty
        """Whether there is a terminal."""
        self.size: tuple[int, int] | None = None
        """Width and height of the terminal in characters, once the client has told them."""

    async def read(self) -> bytes:
        """The next bytes of standard input; empty when there is no more, or none was asked for."""
        return await self._stdin.read()

    async def write(self, data: bytes | str) -> None:
        """Print to standard output."""
        if self._asked.stdout:
            await self._print(_STDOUT, data)

    async def write_error(self, data: bytes | str) -> None:
        """Print to standard error, which is standard output for a terminal."""
        if self._asked.tty:
            await self.write(data)
        elif self._asked.stderr:
            await self._print(_STDERR, data)

    async def _print(self, channel: int, data: bytes | str) -> None:
        sent = data.encode() if isinstance(data, str) else data
        if self.tty:
            sent = sent.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        await self._wire.send(bytes((channel,)) + sent)

    async def listen(self) -> None:
        """Take what the client sends, until it goes away."""
        while (message := await self._wire.receive()) is not None:
            channel, data = (message[0], message[1:]) if message else (_CLOSE, b"")
            if channel == _STDIN and data:
                self._stdin.put(data)
            elif channel == _CLOSE and data == bytes((_STDIN,)):
                self._stdin.put(b"")
            elif channel == _RESIZE:
                self._resize(data)

    def _resize(self, data: bytes) -> None:
        try:
            size = msgspec.json.decode(data, type=dict[str, int])
            self.size = size["Width"], size["Height"]
        except (msgspec.MsgspecError, KeyError):
            _log.debug("a terminal's size that cannot be read: %r", data)


async def run_command(wire: WireEnd, asked: Asked, command: Callable[[Streams], Awaitable[int]], what: str) -> None:
    """Let a command run on a wire and tell how it ended; a client that goes away ends it.

    ``what`` says what failed when the command raises: ``error executing command in container``.
    """
    streams = Streams(wire, asked)
    # Something empty on the first channel tells the client that it is connected.
    await wire.send(bytes((_STDOUT if asked.stdout else _STDERR if asked.stderr else _ERROR,)))
    listening = asyncio.create_task(streams.listen())
    running = asyncio.ensure_future(command(streams))
    try:
        await asyncio.wait((listening, running), return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            await wire.send(bytes((_ERROR,)) + msgspec.json.encode(_status(running, what)))
    finally:
        for task in (listening, running):
            task.cancel()
        await asyncio.gather(listening, running, return_exceptions=True)


def _status(ended: asyncio.Future[int], what: str) -> dict[str, Any]:
    """How it ended, as a Status."""
    error = ended.exception()
    if error is not None:
        _log.warning("%s: %s", what, error, exc_info=error)
        text = f"{what}: {error}"
        details = {"causes": [{"message": text}]}
        message = f"Internal error occurred: {text}"
        failed = {"metadata": {}, "status": "Failure", "message": message, "reason": "InternalError"}
        return failed | {"details": details, "code": 500}
    code = ended.result()
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    message = f"command terminated with non-zero exit code: exit status {code}"
    details = {"causes": [{"reason": "ExitCode", "message": str(code)}]}
    failed = {"metadata": {}, "status": "Failure", "message": message, "reason": "NonZeroExitCode"}
    return failed | {"details": details}
