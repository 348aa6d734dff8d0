"""The server on sockets: what it takes, what it refuses, and what becomes of clients that stall or go."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple

import pytest
import pytest_asyncio

from kubewright_apiserver import ApiServer

MAPS = "/api/v1/namespaces/default/configmaps"
MEBIBYTE = 1 << 20
TOO_LARGE = "431 Request Header Fields Too Large"


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


@pytest_asyncio.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer(http_port=0) as running:
        yield running


class Client:
    """A connection on which a test says, byte for byte, what is sent."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def connect(cls, server: ApiServer) -> Client:
        host, port = server.http_url.removeprefix("http://").split(":")
        return cls(*await asyncio.open_connection(host, int(port), limit=64 * MEBIBYTE))

    def send(self, *parts: bytes | str) -> None:
        self.writer.write(b"".join(part.encode() if isinstance(part, str) else part for part in parts))

    async def answer(self, *, is_head: bool = False) -> Answer:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip("\r\n").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = b""
        if headers.get("transfer-encoding") == "chunked":
            body = b"".join([chunk async for chunk in self.chunks()])
        elif not is_head and int(first.split()[1]) >= 200:
            body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        return Answer(int(first.split()[1]), headers, body)

    async def chunks(self) -> AsyncIterator[bytes]:
        while size := int(await self.reader.readline(), 16):
            yield (await self.reader.readexactly(size + 2))[:-2]
        await self.reader.readexactly(2)

    async def is_closed(self) -> bool:
        try:
            return not await self.reader.read()
        except ConnectionError:
            return True

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(ConnectionError):
            await self.writer.wait_closed()


@pytest_asyncio.fixture
async def client(server: ApiServer) -> AsyncIterator[Client]:
    connected = await Client.connect(server)
    yield connected
    await connected.close()


def head(method: str, target: str, **headers: str | int) -> str:
    lines = [f"{method} {target} HTTP/1.1", "Host: test", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines).replace("_", "-") + "\r\n\r\n"


def sending(body: bytes, target: str = MAPS, **headers: str | int) -> bytes:
    return head("POST", target, Content_Type="application/json", Content_Length=len(body), **headers).encode() + body


def config_map(name: str = "a", **data: str) -> bytes:
    return json.dumps({"metadata": {"name": name}, "data": data}).encode()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        for _ in iter(condition, True):
            await asyncio.sleep(0)


def watchers(server: ApiServer) -> int:
    return server.app.engine.store.table("/configmaps").watchers


@pytest.mark.parametrize("size", [10_000, 1_000_000])
async def test_headers_and_addresses_may_be_long(client: Client, size: int):
    client.send(head("GET", f"{MAPS}/none?x={'y' * size}", X="z" * (MEBIBYTE - size)))

    assert (await client.answer()).status == 404


async def test_headers_may_be_many(client: Client):
    client.send(head("GET", f"{MAPS}/none", **{f"X-{number}": number for number in range(10_000)}))

    assert (await client.answer()).status == 404


@pytest.mark.parametrize(
    "request_head",
    [
        head("GET", MAPS, X="y" * (MEBIBYTE + 5_000)),
        head("GET", f"{MAPS}?x={'y' * (MEBIBYTE + 5_000)}"),
        head("GET", MAPS, **{f"X-{number}": number for number in range(100_000)}),
        head("GET", MAPS, **{f"X-{number}": "y" * 100_000 for number in range(11)}),
    ],
    ids=["header", "address", "count", "sum"],
)
async def test_headers_that_are_too_large_are_refused(client: Client, request_head: str):
    client.send(request_head)

    answer = await client.answer()

    assert (answer.status, answer.body.decode()) == (431, TOO_LARGE)
    assert await client.is_closed()


async def test_headers_that_do_not_end_are_refused(client: Client):
    client.send(f"GET {MAPS} HTTP/1.1\r\nHost: test\r\n")
    for number in range(30):
        client.send(f"X-{number}: {'y' * 100_000}\r\n")

    assert (await client.reader.readline()).decode() == f"HTTP/1.1 {TOO_LARGE}\r\n"


@pytest.mark.parametrize(
    "text",
    ["nonsense\r\n\r\n", f"GET {MAPS} HTTP/1.1\r\nnonsense\r\n\r\n", f"GET {MAPS} HTTP/1.1\r\na b: c\r\n\r\n"],
)
async def test_what_is_no_request_is_told_so_in_few_words(client: Client, text: str):
    client.send(text)

    answer = await client.answer()

    assert (answer.status, answer.body) == (400, b"400 Bad Request")


@pytest.mark.parametrize("name", ["%zz", "%", "a%2"])
async def test_an_address_with_a_bad_escape_is_no_request(client: Client, name: str):
    client.send(head("GET", f"{MAPS}/{name}"))

    answer = await client.answer()

    assert (answer.status, answer.body) == (400, b"400 Bad Request")


async def test_a_compressed_body_is_not_read(client: Client):
    client.send(sending(gzip.compress(config_map()), Content_Encoding="gzip"))

    answer = await client.answer()

    assert answer.status == 400
    assert "invalid character '\\\\x1f' looking for beginning of value" in answer.body.decode()


async def test_who_expects_to_continue_is_told_to(client: Client):
    body = config_map()
    client.send(sending(body, Expect="100-continue")[: -len(body)])

    first = await client.reader.readuntil(b"\r\n\r\n")
    client.send(body)

    assert first == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert (await client.answer()).status == 201


async def test_who_expects_anything_else_is_disappointed(client: Client):
    client.send(sending(config_map(), Expect="200-ok"))

    assert (await client.answer()).status == 417
    assert await client.is_closed()


@pytest.mark.parametrize(("size", "status"), [(1, 201), (3 * MEBIBYTE, 413)])
async def test_a_body_may_come_in_chunks(client: Client, size: int, status: int):
    body = config_map() + b" " * size
    client.send(head("POST", MAPS, Content_Type="application/json", Transfer_Encoding="chunked"))
    for at in range(0, len(body), 500_000):
        part = body[at : at + 500_000]
        client.send(f"{len(part):x}\r\n", part, "\r\n")
    client.send("0\r\n\r\n")

    assert (await client.answer()).status == status


async def test_the_rest_of_a_body_that_is_too_large_is_no_request(client: Client):
    client.send(sending(b"x" * (6 * MEBIBYTE)), head("GET", f"{MAPS}/none"))

    first = await client.answer()
    second = await client.answer()

    assert (first.status, second.status) == (413, 404)


@pytest.mark.parametrize("sent", [0, 10])
async def test_a_client_that_stalls_in_its_body_holds_nobody(server: ApiServer, client: Client, sent: int):
    other = await Client.connect(server)
    body = config_map("slow")
    client.send(sending(body)[: sent - len(body)])
    await client.writer.drain()

    other.send(sending(config_map("quick")))
    quick = await other.answer()
    client.send(body[sent:])
    slow = await client.answer()

    assert (quick.status, slow.status) == (201, 201)
    await other.close()


async def test_a_client_that_goes_in_its_body_leaves_nothing(server: ApiServer):
    before = asyncio.all_tasks()
    client = await Client.connect(server)
    client.send(sending(config_map())[:-5])
    await until(lambda: server.connections == 1)

    await client.close()

    await until(lambda: server.connections == 0 and asyncio.all_tasks() == before)
    status, _, _ = await server.handle("GET", f"{MAPS}/a", [], b"")
    assert status == 404


async def test_requests_in_a_row_are_answered_in_order(client: Client):
    client.send(sending(config_map()), head("GET", f"{MAPS}/a"), head("GET", f"{MAPS}/b"), sending(config_map()))

    assert [(await client.answer()).status for _ in range(4)] == [201, 200, 404, 409]


async def test_a_connection_lasts_until_a_request_closes_it(client: Client):
    for _ in range(3):
        client.send(head("GET", f"{MAPS}/none"))
        assert (await client.answer()).status == 404
    client.send(head("GET", f"{MAPS}/none", Connection="close"))

    answer = await client.answer()

    assert answer.headers["connection"] == "close"
    assert await client.is_closed()


async def test_a_body_is_passed_over_where_none_is_asked_for(client: Client):
    client.send(head("GET", f"{MAPS}/none", Content_Length=4 * MEBIBYTE), b"x" * (4 * MEBIBYTE))
    client.send(head("GET", f"{MAPS}/none"))

    assert [(await client.answer()).status for _ in range(2)] == [404, 404]


async def test_head_is_no_method_of_built_in_resources(client: Client):
    client.send(head("HEAD", MAPS))

    answer = await client.answer(is_head=True)

    assert answer.status == 405
    assert int(answer.headers["content-length"]) > 0


async def filled(server: ApiServer, size: int, count: int = 1) -> None:
    for number in range(count):
        body = config_map(f"m{number}", k="x" * size)
        status, _, _ = await server.handle("POST", MAPS, [("Content-Type", "application/json")], body)
        assert status == 201


@pytest.mark.parametrize("accepted", ["gzip", "deflate, gzip", " gzip ,br"])
async def test_a_large_answer_is_compressed_for_who_takes_it(server: ApiServer, client: Client, accepted: str):
    await filled(server, 200_000)
    client.send(head("GET", MAPS, Accept_Encoding=accepted))

    answer = await client.answer()

    assert (answer.headers["content-encoding"], answer.headers["vary"]) == ("gzip", "Accept-Encoding")
    assert len(answer.body) < 10_000
    assert json.loads(gzip.decompress(answer.body))["items"][0]["data"]["k"] == "x" * 200_000


async def test_a_very_large_answer_is_compressed_too(server: ApiServer, client: Client):
    await filled(server, 500_000, 4)
    client.send(head("GET", MAPS, Accept_Encoding="gzip"))

    answer = await client.answer()

    assert len(json.loads(gzip.decompress(answer.body))["items"]) == 4


@pytest.mark.parametrize(
    ("size", "accepted"), [(200_000, ""), (200_000, "deflate"), (200_000, "gzip;q=0.5"), (100_000, "gzip")]
)
async def test_other_answers_are_not_compressed(server: ApiServer, client: Client, size: int, accepted: str):
    await filled(server, size)
    client.send(head("GET", MAPS, Accept_Encoding=accepted))

    answer = await client.answer()

    assert "content-encoding" not in answer.headers
    assert json.loads(answer.body)["items"][0]["data"]["k"] == "x" * size


async def test_a_watch_is_never_compressed(server: ApiServer, client: Client):
    await filled(server, 200_000)
    client.send(head("GET", f"{MAPS}?watch=1&timeoutSeconds=1", Accept_Encoding="gzip"))

    answer = await client.answer()

    assert "content-encoding" not in answer.headers
    assert json.loads(answer.body)["object"]["data"]["k"] == "x" * 200_000


async def test_a_client_that_goes_in_a_watch_leaves_nothing(server: ApiServer):
    before = asyncio.all_tasks()
    clients = [await Client.connect(server) for _ in range(5)]
    for client in clients:
        client.send(head("GET", f"{MAPS}?watch=1"))
    await until(lambda: watchers(server) == 5)

    for client in clients:
        await client.close()

    await until(lambda: watchers(server) == 0 and server.connections == 0 and asyncio.all_tasks() == before)


async def test_a_client_that_goes_in_a_long_list_leaves_nothing(server: ApiServer):
    before = asyncio.all_tasks()
    await filled(server, 900_000, 10)
    client = await Client.connect(server)
    client.send(head("GET", MAPS))
    await client.reader.readuntil(b"\r\n\r\n")

    client.writer.transport.abort()

    await until(lambda: server.connections == 0 and asyncio.all_tasks() == before)


async def test_a_warning_never_breaks_an_answer(client: Client):
    body: dict[str, Any] = {"metadata": {"name": "a"}, "a\r\nX-Injected: 1": 1, "b\x00c": 2, "d\u0085e": 3}
    client.send(sending(json.dumps(body).encode()))

    answer = await client.answer()

    assert answer.status == 201
    assert "x-injected" not in answer.headers


async def test_a_user_agent_of_any_bytes_is_taken(client: Client):
    body = config_map(k="v")
    client.send(sending(body, User_Agent="@").replace(b"@", b"a\xffb\tc\xc3\xbc/1"))

    answer = await client.answer()

    assert json.loads(answer.body)["metadata"]["managedFields"][0]["manager"] == "a\ufffdbcü"
