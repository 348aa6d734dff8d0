"""``SpdySession``: the little of SPDY/3.1 that ``kubectl port-forward`` speaks inside a WebSocket.

Streams that the client opens, data both ways, their ends, pings. There is no flow control, as Kubernetes has none.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Final

from kubewright.controlplane.kubelet_door.inbox import Inbox

__all__ = ["SpdyError", "SpdySession", "SpdyStream"]

_WORDS: Final = """
options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow
authorization cache-control connection content-base content-encoding content-language content-length content-location
content-md5 content-range content-type date etag expect expires from host if-match if-modified-since if-none-match
if-range if-unmodified-since last-modified location max-forwards pragma proxy-authenticate proxy-authorization range
referer retry-after server te trailer transfer-encoding upgrade user-agent vary via warning www-authenticate method
get status 200_OK version HTTP/1.1 url public set-cookie keep-alive origin
"""
_CODES: Final = (
    "100 101 201 202 205 206 300 302 303 304 305 306 307 402 405 406 407 408 409 410 411 412 413 414 415 416"
)
_REST: Final = (
    "417502504505203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized"
    "403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,"
    "publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)
_DICTIONARY: Final = (
    b"".join(struct.pack(">I", len(word)) + word.replace("_", " ").encode() for word in _WORDS.split())
    + (_CODES.replace(" ", "") + _REST).encode()
)
_SYN_STREAM, _SYN_REPLY, _RST_STREAM, _SETTINGS, _PING, _GOAWAY = 1, 2, 3, 4, 6, 7
_CONTROL: Final = 0x80
_VERSION: Final = 3
_FIN: Final = 1
_CANCEL: Final = 5
_HEAD: Final = 8
_LARGEST_DATA: Final = 1 << 20
_LARGEST_HEADERS: Final = 1 << 16


class SpdyError(Exception):
    """What came is no SPDY that is understood."""


class SpdyStream:
    """One stream of a session: ``read`` until there is nothing more, ``write``, ``close``."""

    def __init__(self, session: SpdySession, number: int, headers: Mapping[str, str]) -> None:
        self._session = session
        self._inbox = Inbox()
        self.number: int = number
        self.headers: Mapping[str, str] = headers
        """What the client said of it, by names in small letters."""
        self.is_closed: bool = False
        """Whether we have ended our side."""

    async def read(self) -> bytes:
        """The next bytes; empty when the client has ended its side."""
        return await self._inbox.read()

    async def write(self, data: bytes) -> None:
        """Send bytes."""
        for start in range(0, len(data), _LARGEST_DATA):
            await self._session.send_data(self.number, data[start : start + _LARGEST_DATA], is_last=False)

    async def close(self) -> None:
        """Say that no more comes."""
        if not self.is_closed:
            self.is_closed = True
            await self._session.send_data(self.number, b"", is_last=True)

    async def reset(self) -> None:
        """Break it off."""
        self.is_closed = True
        await self._session.send_control(_RST_STREAM, struct.pack(">II", self.number, _CANCEL))

    def came(self, data: bytes, *, is_last: bool) -> None:
        """Take what the client sent."""
        if data:
            self._inbox.put(data)
        if is_last:
            self._inbox.put(b"")


class SpdySession:
    """The server's side of one connection: ``send`` carries bytes out, ``streams`` tells what the client opens."""

    def __init__(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        self._send = send
        self._buffer = bytearray()
        self._inflate = zlib.decompressobj(zdict=_DICTIONARY)
        self._deflate = zlib.compressobj(zdict=_DICTIONARY)
        self._streams: dict[int, SpdyStream] = {}

    async def streams(self, receive: Callable[[], Awaitable[bytes | None]]) -> AsyncIterator[SpdyStream]:
        """Each stream that the client opens, until the connection ends; what comes for the others goes to them."""
        try:
            while (data := await receive()) is not None:
                self._buffer += data
                while (frame := self._next_frame()) is not None:
                    stream = await self._take(*frame)
                    if stream is not None:
                        yield stream
        finally:
            for stream in self._streams.values():
                stream.came(b"", is_last=True)

    def _next_frame(self) -> tuple[bytes, bytes] | None:
        """Head and body of the next frame, if it is whole."""
        if len(self._buffer) < _HEAD:
            return None
        size = int.from_bytes(self._buffer[5:8])
        if len(self._buffer) < _HEAD + size:
            return None
        head, body = bytes(self._buffer[:_HEAD]), bytes(self._buffer[_HEAD : _HEAD + size])
        del self._buffer[: _HEAD + size]
        return head, body

    async def _take(self, head: bytes, body: bytes) -> SpdyStream | None:
        is_last = bool(head[4] & _FIN)
        if not head[0] & _CONTROL:
            stream = self._streams.get(int.from_bytes(head[:4]))
            if stream is not None:
                stream.came(body, is_last=is_last)
            return None
        kind = int.from_bytes(head[2:4])
        if kind == _SYN_STREAM:
            return await self._open(body, is_last=is_last)
        if kind == _PING:
            await self.send_control(_PING, body)
        elif kind == _RST_STREAM:
            self._end(int.from_bytes(body[:4]))
        elif kind == _GOAWAY:
            for number in list(self._streams):
                self._end(number)
        return None

    async def _open(self, body: bytes, *, is_last: bool) -> SpdyStream:
        number = int.from_bytes(body[:4]) & 0x7FFFFFFF
        stream = SpdyStream(self, number, self._headers_in(body[10:]))
        self._streams[number] = stream
        if is_last:
            stream.came(b"", is_last=True)
        none = self._deflate.compress(struct.pack(">I", 0)) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        await self.send_control(_SYN_REPLY, struct.pack(">I", number) + none)
        return stream

    def _headers_in(self, block: bytes) -> dict[str, str]:
        try:
            data = self._inflate.decompress(block, _LARGEST_HEADERS)
            (count,), at = struct.unpack_from(">I", data), 4
            found: dict[str, str] = {}
            for _ in range(count):
                name, at = _text(data, at)
                found[name.lower()], at = _text(data, at)
        except (zlib.error, struct.error) as error:
            raise SpdyError(f"the headers of a stream cannot be read: {error}") from error
        return found

    def _end(self, number: int) -> None:
        stream = self._streams.pop(number, None)
        if stream is not None:
            stream.came(b"", is_last=True)

    async def send_control(self, kind: int, body: bytes) -> None:
        """Send a control frame."""
        await self._send(struct.pack(">BBHI", _CONTROL, _VERSION, kind, len(body)) + body)

    async def send_data(self, number: int, data: bytes, *, is_last: bool) -> None:
        """Send bytes of a stream, unless the client has broken it off."""
        if number in self._streams:
            flags = _FIN if is_last else 0
            await self._send(struct.pack(">II", number, flags << 24 | len(data)) + data)


def _text(data: bytes, at: int) -> tuple[str, int]:
    (size,) = struct.unpack_from(">I", data, at)
    at += 4
    return data[at : at + size].decode("utf-8", "replace"), at + size
