"""Bytes on a socket that are nearly HTTP: the server must answer with HTTP or close, and go on for everybody else."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable
from random import Random
from typing import Final

from fuzz.author import Sent
from fuzz.mutation import scratched

__all__ = ["conversation", "spoken"]

_PATIENCE: Final = 20.0
_ANSWER: Final = re.compile(rb"HTTP/\d\.\d ([1-5]\d\d) ")
_ODD_HEADERS: Final = (
    "Content-Length: 5",
    "Content-Length: -1",
    "Content-Length: 99999999999999999999",
    "Content-Length: 5, 5",
    "Content-Length: +5",
    "Content-Length: 0x5",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: chunked, identity",
    "Transfer-Encoding: xchunked",
    "Transfer-Encoding : chunked",
    "Transfer-Encoding: gzip",
    "Content-Encoding: gzip",
    "Expect: 100-continue",
    "Expect: x",
    "Connection: close",
    "Connection: upgrade",
    "Upgrade: websocket",
    "Upgrade: SPDY/3.1",
    "Host: a",
    "Host:",
    " folded: a",
    "a b: c",
    ": empty",
    "Range: bytes=0-5",
    "If-None-Match: *",
    "X: " + "y" * 10_000,
    "X: \x00",
    "X: \xff",
)
_VERSIONS: Final = ("HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTTP/1.10", "http/1.1", "")
_ENDS: Final = ("\r\n", "\r\n", "\r\n", "\n", "\r", "\r\r\n")


def spoken(sent: Sent, dice: Random) -> bytes:
    """A request as bytes, seldom as they should be."""
    headers = ["Host: test", *(f"{name}: {value}" for name, value in sent.headers)]
    body = sent.body
    if body:
        headers.append(f"Content-Length: {len(body)}")
    for _ in range(dice.choice((0, 1, 1, 2))):
        headers.insert(dice.randint(0, len(headers)), dice.choice(_ODD_HEADERS))
    if dice.random() < 0.2:
        body = _chunked(body, dice)
        headers = [header for header in headers if not header.startswith("Content-Length")]
        headers.append("Transfer-Encoding: chunked")
    end = dice.choice(_ENDS) if dice.random() < 0.1 else "\r\n"
    first = " ".join(filter(None, (sent.method, sent.target, dice.choice(_VERSIONS))))
    head = end.join([first, *headers, "", ""]).encode(errors="replace")
    return dice.choice(_SPOILS)(head + body, dice)


def _chunked(body: bytes, dice: Random) -> bytes:
    size = dice.choice((f"{len(body):x}", f"{len(body):x};a=b", f"{len(body) + 1:x}", "-1", "zz", "f" * 20, "0x5"))
    last = dice.choice(("0\r\n\r\n", "0\r\nTrailer: x\r\n\r\n", "0\r\n", "", "0\n\n"))
    return size.encode() + b"\r\n" + body + b"\r\n" + last.encode()


def _kept(data: bytes, dice: Random) -> bytes:
    return data


def _cut(data: bytes, dice: Random) -> bytes:
    return data[: dice.randint(0, len(data))]


def _twice(data: bytes, dice: Random) -> bytes:
    return data + data


_SPOILS: Final[tuple[Callable[[bytes, Random], bytes], ...]] = (_kept, _kept, _kept, _cut, _twice, scratched)


async def conversation(port: int, data: bytes, dice: Random) -> str:
    """Say the bytes and hear what comes; what is wrong with that, or an empty text."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(_PATIENCE):
            for part in _parts(data, dice):
                writer.write(part)
                await asyncio.sleep(0)
            if dice.random() < 0.2:
                # Some go before they hear anything.
                writer.transport.abort()
                return ""
            writer.write_eof()
            heard = await reader.read(1 << 16)
    except ConnectionError:
        return ""
    except TimeoutError:
        return "no answer"
    finally:
        writer.transport.abort()
    found = _ANSWER.match(heard)
    if heard and found is None:
        return f"no HTTP: {heard[:100]!r}"
    return (
        f"status {found[1].decode()}"
        if found is not None and found[1] == b"500" and b"the server failed" in heard
        else ""
    )


def _parts(data: bytes, dice: Random) -> Iterable[bytes]:
    """The bytes in one or in a few parts, as a network may bring them."""
    cuts = sorted(dice.randint(0, len(data)) for _ in range(dice.choice((0, 0, 1, 3))))
    starts, ends = [0, *cuts], [*cuts, len(data)]
    return [data[start:end] for start, end in zip(starts, ends, strict=True)]
