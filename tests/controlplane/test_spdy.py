"""SPDY as kubectl speaks it for port-forward, and the tunnel on it; the client's side is written by hand here."""

from __future__ import annotations

import asyncio
import struct
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.controlplane.kubelet_door.ports import TUNNEL, PortStream, forward_tunnel
from kubewright.controlplane.kubelet_door.spdy import _DICTIONARY
from kubewright.controlplane.kubelet_door.wire import WireEnd, served

SYN_STREAM, SYN_REPLY, RST_STREAM, PING, GOAWAY = 1, 2, 3, 6, 7
FIN = 1


class Caller:
    """The other side of a session."""

    def __init__(self) -> None:
        self._deflate = zlib.compressobj(zdict=_DICTIONARY)
        self._buffer = b""

    def opening(self, number: int, headers: Mapping[str, str]) -> bytes:
        block = struct.pack(">I", len(headers))
        for pair in headers.items():
            for text in pair:
                block += struct.pack(">I", len(text)) + text.encode()
        packed = self._deflate.compress(block) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        return control(SYN_STREAM, struct.pack(">IIH", number, 0, 0) + packed)

    def connection(self, port: int, request: int = 0) -> bytes:
        """A pair of streams, 4n+1 for errors and 4n+3 for data."""
        said = {"port": str(port), "requestid": str(request)}
        return self.opening(4 * request + 1, {"streamtype": "error", **said}) + self.opening(
            4 * request + 3, {"streamtype": "data", **said}
        )

    async def frames(self, wire: WireEnd, count: int) -> list[tuple[int, int, bytes]]:
        """So many frames: a kind (0 for data) with the stream's number, flags, and what is in it."""
        found: list[tuple[int, int, bytes]] = []
        while len(found) < count:
            if len(self._buffer) < 8 or len(self._buffer) < 8 + int.from_bytes(self._buffer[5:8]):
                more = await wire.receive()
                assert more is not None, found
                self._buffer += more
                continue
            size = int.from_bytes(self._buffer[5:8])
            head, body, self._buffer = self._buffer[:8], self._buffer[8 : 8 + size], self._buffer[8 + size :]
            kind = int.from_bytes(head[2:4]) if head[0] & 0x80 else -int.from_bytes(head[:4])
            found.append((kind, head[4], body))
        return found


def control(kind: int, body: bytes) -> bytes:
    return struct.pack(">HHI", 0x8003, kind, len(body)) + body


def data(number: int, content: bytes, flags: int = 0) -> bytes:
    return struct.pack(">II", number, flags << 24 | len(content)) + content


async def echo(port: int, stream: PortStream) -> str:
    if port == 9:
        return "nobody"
    while content := await stream.read():
        await stream.write(content.upper())
    return ""


@asynccontextmanager
async def tunnel() -> AsyncIterator[WireEnd]:
    wire = served(TUNNEL, lambda far: forward_tunnel(far, echo))
    async with asyncio.timeout(5):
        yield wire
        await wire.aclose()


async def test_both_streams_of_a_connection_are_acknowledged_and_data_comes_back():
    async with tunnel() as wire:
        caller = Caller()
        await wire.send(caller.connection(80) + data(3, b"ping") + data(3, b"", FIN))

        replies = await caller.frames(wire, 5)

    assert [kind for kind, _, _ in replies[:2]] == [SYN_REPLY, SYN_REPLY]
    assert replies[2:] == [(-3, 0, b"PING"), (-3, FIN, b""), (-1, FIN, b"")]


@given(cuts=st.lists(st.integers(1, 30), max_size=12))
@settings(derandomize=True, max_examples=40, deadline=None)
def test_frames_may_be_cut_anywhere(cuts: list[int]):
    async def run() -> bytes:
        async with tunnel() as wire:
            caller = Caller()
            sent = caller.connection(80) + data(3, b"one ") + data(3, b"two") + data(3, b"", FIN)
            for size in cuts:
                await wire.send(sent[:size])
                sent = sent[size:]
            await wire.send(sent)
            found = b""
            while True:
                ((kind, flags, content),) = await caller.frames(wire, 1)
                found += content if kind == -3 else b""
                if kind == -3 and flags == FIN:
                    return found

    assert asyncio.run(run()) == b"ONE TWO"


async def test_connections_do_not_disturb_each_other():
    async with tunnel() as wire:
        caller = Caller()
        await wire.send(caller.connection(80, 0) + caller.connection(81, 1))
        await wire.send(data(7, b"second") + data(3, b"first"))

        replies = await caller.frames(wire, 6)

    assert sorted(replies[4:]) == [(-7, 0, b"SECOND"), (-3, 0, b"FIRST")]


async def test_what_went_wrong_is_told_on_the_stream_for_that():
    async with tunnel() as wire:
        caller = Caller()
        await wire.send(caller.connection(9))

        replies = await caller.frames(wire, 7)

    assert replies[2] == (-1, 0, b"nobody")
    assert [kind for kind, _, _ in replies[5:]] == [RST_STREAM, RST_STREAM]


async def test_a_ping_is_answered():
    async with tunnel() as wire:
        await wire.send(control(PING, struct.pack(">I", 5)))

        reply = await Caller().frames(wire, 1)

    assert reply == [(PING, 0, struct.pack(">I", 5))]


@pytest.mark.parametrize(
    "end", [control(RST_STREAM, struct.pack(">II", 3, 5)), control(GOAWAY, struct.pack(">II", 3, 0))]
)
async def test_a_connection_that_is_broken_off_ends_its_server(end: bytes):
    ended = asyncio.Event()

    async def serve(port: int, stream: PortStream) -> str:
        assert await stream.read() == b""
        ended.set()
        return ""

    wire = served(TUNNEL, lambda far: forward_tunnel(far, serve))
    await wire.send(Caller().connection(80) + end)

    async with asyncio.timeout(5):
        await ended.wait()
    await wire.aclose()


async def test_what_is_no_spdy_ends_the_connection():
    async with tunnel() as wire:
        await wire.send(control(SYN_STREAM, struct.pack(">IIH", 1, 0, 0) + b"no headers at all"))

        assert await wire.receive() is None
