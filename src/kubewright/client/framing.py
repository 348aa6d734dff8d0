"""HTTP/1.1 answers as they come from a socket: where the head ends, what it says, and where the body ends."""

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from kubewright.errors import ProtocolError

__all__ = ["Body", "Head", "body_of", "parse_head"]

_STATUS_LINE: Final = re.compile(r"HTTP/1\.([01]) ([1-9]\d\d)(?: [^\r\n]*)?", re.ASCII)
_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_LENGTH: Final = re.compile(r"\d{1,18}", re.ASCII)
_CHUNK_SIZE: Final = re.compile(rb"[0-9a-fA-F]{1,15}")
_LONGEST_LINE: Final = 1 << 16
_ENDS_WITH_ITS_HEAD: Final = (204, 304)


class Head(NamedTuple):
    """What comes before the body of an answer."""

    status: int
    headers: Sequence[tuple[str, str]]
    """Names, in small letters, and values."""
    length: int | None
    """How long the body is, where that was said."""
    is_chunked: bool
    is_compressed: bool
    stays_open: bool
    """Whether the connection may be used again once the body is whole."""


def parse_head(data: bytes) -> Head:
    """The head in these bytes, which end before its empty line; raises ``ProtocolError`` if it is not HTTP's."""
    first, *lines = data.decode("utf-8", "surrogateescape").split("\r\n")
    match = _STATUS_LINE.fullmatch(first)
    if match is None:
        raise ProtocolError(f"the answer is not HTTP/1.1; it begins {first[:80]!r}")
    headers = [_field(line) for line in lines]
    known = dict(headers)
    if "content-length" in known:
        lengths = {value for name, value in headers if name == "content-length"}
        if len(lengths) > 1:
            raise ProtocolError(f"the answer has two lengths: {' and '.join(sorted(lengths))}")
    return _head(int(match[2]), match[1] == "1", headers, known)


# Most lines of an answer's head are those of the answer before.
@functools.lru_cache(maxsize=512)
def _field(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    if not _NAME.fullmatch(name):
        raise ProtocolError(f"the answer has a header that is not HTTP's: {line[:80]!r}")
    return name.lower(), value.strip(" \t")


def _head(status: int, is_current: bool, headers: Sequence[tuple[str, str]], known: dict[str, str]) -> Head:
    length = _length(known["content-length"]) if "content-length" in known else None
    coding = known.get("transfer-encoding", "").lower()
    if coding not in ("", "identity", "chunked"):
        raise ProtocolError(f"the answer has a transfer encoding that nobody asked for: {coding[:80]!r}")
    is_chunked = coding == "chunked"
    if status in _ENDS_WITH_ITS_HEAD or status < 200:
        length, is_chunked = 0, False
    compression = known.get("content-encoding", "").lower()
    if compression not in ("", "identity", "gzip"):
        raise ProtocolError(f"the answer is compressed in a way that nobody asked for: {compression[:80]!r}")
    wish = known.get("connection", "").lower()
    stays_open = wish != "close" if is_current else wish == "keep-alive"
    return Head(status, headers, length, is_chunked, compression == "gzip", stays_open)


def _length(text: str) -> int:
    if not _LENGTH.fullmatch(text):
        raise ProtocolError(f"the answer has a length that is no number: {text[:80]!r}")
    return int(text)


class Body(Protocol):
    """A body on its way."""

    @property
    def is_whole(self) -> bool:
        """Whether all of it has come."""
        ...

    @property
    def may_end(self) -> bool:
        """Whether it may end here, with the connection."""
        ...

    @property
    def surplus(self) -> bool:
        """Whether more came than belongs to it."""
        ...

    def feed(self, data: bytes) -> bytes:
        """What of the body these bytes bring; raises ``ProtocolError`` if they cannot be its own."""
        ...


def body_of(head: Head, method: str = "GET") -> Body:
    """The body that follows the head of an answer to a request."""
    framed: Body
    if method == "HEAD":
        return _Sized(0)
    if head.is_chunked:
        framed = _Chunked()
    elif head.length is not None:
        framed = _Sized(head.length)
    else:
        framed = _Endless()
    return _Compressed(framed) if head.is_compressed else framed


class _Sized:
    __slots__ = ("_left", "surplus")

    def __init__(self, length: int) -> None:
        self._left = length
        self.surplus: bool = False

    @property
    def is_whole(self) -> bool:
        return self._left == 0

    @property
    def may_end(self) -> bool:
        return self._left == 0

    def feed(self, data: bytes) -> bytes:
        if len(data) > self._left:
            self.surplus = True
            data = data[: self._left]
        self._left -= len(data)
        return data


class _Endless:
    """A body that ends with the connection."""

    __slots__ = ()
    is_whole: Final = False
    may_end: Final = True
    surplus: Final = False

    def feed(self, data: bytes) -> bytes:
        return data


_SIZE_LINE, _DATA, _LINE_AFTER_DATA, _TRAILERS = range(4)


class _Chunked:
    __slots__ = ("_kept", "_left", "_state", "is_whole", "surplus")

    def __init__(self) -> None:
        self._state = _SIZE_LINE
        self._left = 0
        self._kept = b""
        self.is_whole: bool = False
        self.surplus: bool = False

    @property
    def may_end(self) -> bool:
        return self.is_whole

    def feed(self, data: bytes) -> bytes:
        if self._kept:
            data, self._kept = self._kept + data, b""
        elif self._state == _SIZE_LINE and (lone := _lone_chunk(data)):
            return lone
        pieces: list[bytes] = []
        at, end = 0, len(data)
        while at < end and not self.is_whole:
            if self._state == _DATA:
                piece = data[at : at + self._left]
                pieces.append(piece)
                at += len(piece)
                self._left -= len(piece)
                if not self._left:
                    self._state = _LINE_AFTER_DATA
                continue
            stop = data.find(b"\r\n", at)
            if stop < 0:
                self._kept = data[at:]
                break
            self._take_line(data[at:stop])
            at = stop + 2
        if len(self._kept) > _LONGEST_LINE:
            raise ProtocolError("the answer has a line without end between its chunks")
        self.surplus = self.is_whole and at < end
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _take_line(self, line: bytes) -> None:
        if self._state == _SIZE_LINE:
            match = _CHUNK_SIZE.match(line)
            if match is None or line[match.end() : match.end() + 1] not in (b"", b";", b" ", b"\t"):
                raise ProtocolError(f"the answer has a chunk without a size: {line[:80]!r}")
            self._left = int(match[0], 16)
            self._state = _DATA if self._left else _TRAILERS
        elif self._state == _TRAILERS:
            self.is_whole = not line
        elif line:
            raise ProtocolError("the answer has a chunk that is longer than it says")
        else:
            self._state = _SIZE_LINE


def _lone_chunk(data: bytes) -> bytes:
    """What is in bytes that are one whole chunk and no more, as most that a watch brings; else nothing."""
    stop = data.find(b"\r\n", 0, 17)
    match = _CHUNK_SIZE.fullmatch(data, 0, stop) if stop > 0 else None
    if match is None or len(data) != stop + int(match[0], 16) + 4 or not data.endswith(b"\r\n"):
        return b""
    return data[stop + 2 : -2]


class _Compressed:
    """A body in gzip's format."""

    __slots__ = ("_framed", "_unzip")

    def __init__(self, framed: Body) -> None:
        self._framed = framed
        self._unzip = zlib.decompressobj(16 + zlib.MAX_WBITS)

    @property
    def is_whole(self) -> bool:
        return self._framed.is_whole

    @property
    def may_end(self) -> bool:
        return self._framed.may_end and self._unzip.eof

    @property
    def surplus(self) -> bool:
        return self._framed.surplus

    def feed(self, data: bytes) -> bytes:
        try:
            plain = self._unzip.decompress(self._framed.feed(data))
        except zlib.error as error:
            raise ProtocolError(f"the answer's compression is damaged ({error})") from None
        if self.is_whole and not self._unzip.eof:
            raise ProtocolError("the answer's compressed body ends too early")
        return plain
