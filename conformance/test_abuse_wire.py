"""§6 Abuse: bytes on a socket that are nearly HTTP, and requests hidden in others; for servers that listen."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from conformance.conftest import Chosen
from conformance.exchange import Api
from conformance.objects import MAPS, config_map
from conformance.sockets import Socket

pytestmark = [pytest.mark.section("6"), pytest.mark.usefixtures("listening")]

BODY = json.dumps(config_map("wire")).encode()
LENGTH = f"Content-Length: {len(BODY)}\r\n"
CHUNK = f"{len(BODY):x}\r\n".encode() + BODY + b"\r\n0\r\n\r\n"


@pytest_asyncio.fixture
async def socket(server: Chosen) -> AsyncIterator[Socket]:
    assert server.kubeconfig is not None
    socket = await Socket.connect(server.kubeconfig)
    yield socket
    socket.close()


def post(api: Api, headers: str = LENGTH, version: str = "HTTP/1.1") -> str:
    path = MAPS.replace("{ns}", api.namespace)
    return f"POST {path}?dryRun=All {version}\r\nHost: test\r\nContent-Type: application/json\r\n{headers}\r\n"


def get(path: str = "/healthz", headers: str = "", version: str = " HTTP/1.1") -> str:
    return f"GET {path}{version}\r\nHost: test\r\n{headers}\r\n"


HEADS = {
    "two lengths that differ": LENGTH + "Content-Length: 5\r\n",
    "a list of lengths": f"Content-Length: {len(BODY)}, {len(BODY)}\r\n",
    "a negative length": "Content-Length: -1\r\n",
    "a length with a sign": f"Content-Length: +{len(BODY)}\r\n",
    "a length that is none": "Content-Length: x\r\n",
    "a length that is too long": "Content-Length: 99999999999999999999\r\n",
    "a hexadecimal length": "Content-Length: 0x10\r\n",
    "an encoding that nobody knows": "Transfer-Encoding: gzip\r\n",
    "an encoding before chunks": "Transfer-Encoding: gzip, chunked\r\n",
    "chunks twice": "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    "chunks by another name": "Transfer-Encoding: xchunked\r\n",
    "a space before the colon": f"Content-Length : {len(BODY)}\r\n",
    "a space in a name": "a b: c\r\n" + LENGTH,
    "an empty name": ": c\r\n" + LENGTH,
    "a NUL in a value": "X: a\0b\r\n" + LENGTH,
    "a return in a value": "X: a\rb\r\n" + LENGTH,
    "no colon": "nonsense\r\n" + LENGTH,
}


@pytest.mark.parametrize("name", HEADS)
async def test_an_odd_head(api: Api, socket: Socket, name: str):
    socket.say(post(api, HEADS[name]), BODY)

    status, _ = await socket.hear()

    api.note("is refused", status == 0 or status >= 400)


CHUNKS = {
    "whole": CHUNK,
    "an extension": CHUNK.replace(b"\r\n", b";a=b\r\n", 1),
    "a size in capitals": CHUNK.upper()[:2] + CHUNK[2:],
    "zeros before the size": b"000" + CHUNK,
    "a size that is none": b"zz\r\n" + BODY + b"\r\n0\r\n\r\n",
    "a negative size": b"-5\r\n" + BODY + b"\r\n0\r\n\r\n",
    "a size beyond 64 bits": b"f" * 20 + b"\r\n" + BODY,
    "a size that is too small": b"5\r\n" + BODY + b"\r\n0\r\n\r\n",
    "a trailer": CHUNK[:-2] + b"X: y\r\n\r\n",
    "no size": b"\r\n" + CHUNK,
    "a hexadecimal sign": b"0x" + CHUNK,
}


@pytest.mark.parametrize("name", CHUNKS)
async def test_odd_chunks(api: Api, socket: Socket, name: str):
    socket.say(post(api, "Transfer-Encoding: chunked\r\nConnection: close\r\n"), CHUNKS[name])

    status, _ = await socket.hear()

    api.note("is taken", status == 201)


@pytest.mark.parametrize("order", ["length first", "chunks first"])
async def test_a_length_and_chunks(api: Api, socket: Socket, order: str):
    headers = [LENGTH, "Transfer-Encoding: chunked\r\n"]
    hidden = get("/nowhere")
    socket.say(post(api, "".join(headers if order == "length first" else headers[::-1])), CHUNK, hidden)

    first, _ = await socket.hear()
    second, _ = await socket.hear()

    # What stands after the chunks must never be an answer to somebody else.
    assert first in (400, 201)
    assert first == 201 or second == 0


VERSIONS = ["", " HTTP/1.0", " HTTP/0.9", " HTTP/2.0", " HTTP/1.10", " HTTP/3", " http/1.1", " HTTP/1.1 x", " FTP/1.1"]


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_odd_version(api: Api, socket: Socket, version: str):
    socket.say(get(version=version, headers="Connection: close\r\n"))

    status, _ = await socket.hear()

    api.note("is refused", status == 0 or status >= 400)


TARGETS = [
    "*",
    "healthz",
    "http://test/healthz",
    "https://other:99/healthz",
    "//healthz",
    "/healthz#x",
    "/health z",
    "?x",
]


@pytest.mark.parametrize("target", TARGETS)
async def test_an_odd_target(api: Api, socket: Socket, target: str):
    socket.say(get(target, "Connection: close\r\n"))

    status, _ = await socket.hear()

    api.note("is refused", status == 0 or status >= 400)


@pytest.mark.parametrize("method", ["G@T", "", "GET\t", "CONNECT", "TRACE"])
async def test_an_odd_method_on_a_socket(api: Api, socket: Socket, method: str):
    socket.say(f"{method} /healthz HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")

    status, _ = await socket.hear()

    api.note("is refused", status == 0 or status >= 400)


@pytest.mark.parametrize(
    "host",
    ["", "Host: a\r\nHost: b\r\n", "Host:\r\n", "Host: a b\r\n", "Host: [::1\r\n", "Host: " + "h" * 1000 + "\r\n"],
)
async def test_an_odd_host(api: Api, socket: Socket, host: str):
    socket.say(f"GET /healthz HTTP/1.1\r\n{host}Connection: close\r\n\r\n")

    status, _ = await socket.hear()

    api.note("is refused", status == 0 or status >= 400)


async def test_a_request_in_a_body_is_no_request(api: Api, socket: Socket):
    hidden = get("/nowhere").encode()
    path = MAPS.replace("{ns}", api.namespace)
    socket.say(f"GET {path}/a HTTP/1.1\r\nHost: test\r\nContent-Length: {len(hidden)}\r\n\r\n", hidden, get())

    statuses = [(await socket.hear())[0] for _ in range(2)]

    assert statuses == [404, 200]


async def test_a_line_before_a_request(api: Api, socket: Socket):
    # RFC 9112 wants it passed over, Go refuses it.
    socket.say("\r\n", get(headers="Connection: close\r\n"))

    status, _ = await socket.hear()

    assert status in (200, 400)


async def test_lines_may_end_without_a_return(api: Api, socket: Socket):
    # Go takes it; ours refuses what two servers could read differently, for that is how requests are smuggled.
    socket.say(get(headers="Connection: close\r\n").replace("\r\n", "\n"))

    status, _ = await socket.hear()

    assert status in (200, 400)


async def test_a_folded_header(api: Api, socket: Socket):
    # The same.
    socket.say(get(headers="X: a\r\n b\r\nConnection: close\r\n"))

    status, _ = await socket.hear()

    assert status in (200, 400)
