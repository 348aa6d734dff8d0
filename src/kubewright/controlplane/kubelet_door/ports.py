"""What is spoken for port-forward: ``v4.channel.k8s.io``, or SPDY inside a WebSocket as kubectl does."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Protocol

from kubewright.controlplane.kubelet_door.inbox import Inbox
from kubewright.controlplane.kubelet_door.spdy import SpdyError, SpdySession, SpdyStream
from kubewright.controlplane.kubelet_door.wire import WireEnd

__all__ = ["CHANNELS", "TUNNEL", "Forward", "PortStream", "forward_channels", "forward_tunnel", "ports_in"]

CHANNELS: Final = "v4.channel.k8s.io"
TUNNEL: Final = "SPDY/3.1+portforward.k8s.io"

_HIGHEST: Final = 65535


class PortStream(Protocol):
    """A connection to a port, as the one who listens there sees it."""

    async def read(self) -> bytes:
        """The next bytes; empty when the other side sends no more."""
        ...

    async def write(self, data: bytes) -> None:
        """Send bytes."""
        ...


Forward = Callable[[int, PortStream], Awaitable[str]]
"""Serves a connection to a port until it ends; gives what went wrong, or nothing."""


def ports_in(query: Mapping[str, list[str]]) -> list[int]:
    """The ports that a query asks for; raises ``ValueError`` in the kubelet's words."""
    values = query.get("port", [])
    if not values:
        raise ValueError('query parameter "port" is required')
    ports: list[int] = []
    for value in values:
        for word in value.split(","):
            if not word.isdigit() or int(word) > _HIGHEST:
                trouble = "value out of range" if word.isdigit() else "invalid syntax"
                raise ValueError(f'unable to parse "{value}" as a port: strconv.ParseUint: parsing "{word}": {trouble}')
            if int(word) < 1:
                raise ValueError(f'port "{value}" must be > 0')
            ports.append(int(word))
    return ports


class _Channel:
    """A connection to one of the ports that share a WebSocket: two channels, for data and for what went wrong."""

    def __init__(self, wire: WireEnd, number: int) -> None:
        self._wire = wire
        self._number = number
        self._inbox = Inbox()

    async def greet(self, port: int) -> None:
        for number in (self._number, self._number + 1):
            await self._wire.send(bytes((number,)) + struct.pack("<H", port))

    async def read(self) -> bytes:
        return await self._inbox.read()

    async def write(self, data: bytes) -> None:
        if data:
            await self._wire.send(bytes((self._number,)) + data)

    async def complain(self, text: str) -> None:
        await self._wire.send(bytes((self._number + 1,)) + text.encode())

    def came(self, data: bytes) -> None:
        self._inbox.put(data)


async def forward_channels(wire: WireEnd, ports: Sequence[int], forward: Forward) -> None:
    """Serve ports over a WebSocket of which each has two channels, until all are done or the client goes away."""
    channels = [_Channel(wire, 2 * place) for place in range(len(ports))]
    for channel, port in zip(channels, ports, strict=True):
        await channel.greet(port)

    async def serve(channel: _Channel, port: int) -> None:
        if trouble := await forward(port, channel):
            await channel.complain(trouble)

    async def listen() -> None:
        while (message := await wire.receive()) is not None:
            # Something empty is how clients end their side.
            if message and message[0] % 2 == 0 and message[0] // 2 < len(channels):
                channels[message[0] // 2].came(message[1:])
        for channel in channels:
            channel.came(b"")

    serving = asyncio.gather(*(serve(channel, port) for channel, port in zip(channels, ports, strict=True)))
    listening = asyncio.create_task(listen())
    try:
        await serving
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def forward_tunnel(wire: WireEnd, forward: Forward) -> None:
    """Serve connections to ports as kubectl opens them: pairs of SPDY streams, one pair a connection."""
    session = SpdySession(wire.send)
    waiting: dict[str, SpdyStream] = {}
    serving: dict[asyncio.Task[None], None] = {}
    try:
        async for stream in session.streams(wire.receive):
            name = stream.headers.get("requestid", "")
            other = waiting.pop(name, None)
            if other is None:
                waiting[name] = stream
                continue
            task = asyncio.create_task(_serve_pair(stream, other, forward))
            serving[task] = None
            task.add_done_callback(serving.pop)
    except SpdyError:
        pass  # Nothing can be read any more; the connection ends.
    finally:
        tasks = list(serving)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _serve_pair(one: SpdyStream, two: SpdyStream, forward: Forward) -> None:
    data, error = (one, two) if one.headers.get("streamtype") == "data" else (two, one)
    port = data.headers.get("port", "")
    trouble = await forward(int(port), data) if port.isdigit() else f'unable to parse "{port}" as a port'
    if trouble:
        await error.write(trouble.encode())
    await data.close()
    await error.close()
    if trouble:
        await data.reset()
        await error.reset()
