"""A scripted peer: a real socket that answers each connection with exactly the bytes it is told to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

Script = Callable[["Exchange"], Awaitable[None]]


class Exchange:
    """One request that came in, and the way to answer it byte by byte."""

    def __init__(self, head: bytes, body: bytes, writer: asyncio.StreamWriter) -> None:
        self.raw_head = head
        line, *fields = head.decode().split("\r\n")
        self.method, self.target, _ = line.split(" ")
        self.headers = {name.lower(): value for name, _, value in (field.partition(": ") for field in fields if field)}
        self.body = body
        self._writer = writer

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def chunk(self, data: bytes) -> None:
        await self.send(b"%x\r\n%s\r\n" % (len(data), data))

    async def begin_stream(self, content_type: str = "application/json") -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nTransfer-Encoding: chunked\r\n\r\n"
        await self.send(head.encode())

    async def end_stream(self) -> None:
        await self.send(b"0\r\n\r\n")

    async def answer(self, status: int, body: Any, *, headers: Sequence[str] = (), content_type: str = "") -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(data)}", *headers]
        lines.append(f"Content-Type: {content_type or 'application/json'}")
        await self.send("\r\n".join(lines).encode() + b"\r\n\r\n" + data)


class Peer:
    """Answers requests one after the other by the scripts, the last of which goes on for ever."""

    def __init__(self, *scripts: Script) -> None:
        self._scripts = list(scripts)
        self.exchanges: list[Exchange] = []
        self.url = ""
        self.hang = asyncio.Event()

    @property
    def targets(self) -> list[str]:
        return [exchange.target for exchange in self.exchanges]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await _head(reader):
                length = next(
                    (int(f[16:]) for f in head.decode().split("\r\n") if f.lower()[:15] == "content-length:"), 0
                )
                exchange = Exchange(head, await reader.readexactly(length), writer)
                self.exchanges.append(exchange)
                script = self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]
                await script(exchange)
                if getattr(exchange, "closing", False):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return (await reader.readuntil(b"\r\n\r\n"))[:-4]
    except asyncio.IncompleteReadError:
        return b""


@asynccontextmanager
async def serving(*scripts: Script, ssl: Any = None) -> AsyncIterator[Peer]:
    """A peer that listens on loopback while the block runs."""
    peer = Peer(*scripts)
    server = await asyncio.start_server(peer.serve, "127.0.0.1", 0, ssl=ssl)
    port = server.sockets[0].getsockname()[1]
    peer.url = f"{'https' if ssl else 'http'}://127.0.0.1:{port}"
    try:
        yield peer
    finally:
        peer.hang.set()
        server.close()


def answers(status: int, body: Any, *, headers: Sequence[str] = (), content_type: str = "") -> Script:
    """A script that gives one whole answer."""

    async def script(exchange: Exchange) -> None:
        await exchange.answer(status, body, headers=headers, content_type=content_type)

    return script


def sends(data: bytes) -> Script:
    """A script that sends these bytes and closes the connection."""

    async def script(exchange: Exchange) -> None:
        await exchange.send(data)
        exchange.closing = True  # type: ignore[attr-defined]

    return script


def streams(*lines: bytes, end: str = "clean") -> Script:
    """A script that streams lines, and then ends cleanly, cuts the connection, or stays silent."""

    async def script(exchange: Exchange) -> None:
        await exchange.begin_stream()
        for line in lines:
            await exchange.chunk(line)
        if end == "clean":
            await exchange.end_stream()
        elif end == "silent":
            await asyncio.Event().wait()
        else:
            exchange.closing = True  # type: ignore[attr-defined]

    return script


def failure(code: int, reason: str, message: str = "no", **details: Any) -> dict[str, Any]:
    """A Status body."""
    status: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "status": "Failure"}
    return status | {"code": code, "reason": reason, "message": message, "details": details}
