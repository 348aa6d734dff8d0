"""Watches under pressure: readers that are slow, that never read, that go, and a thousand at once."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio

from kubewright_apiserver import ApiServer, User

MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = "/configmaps"
LARGE = 20_000
MANY = 2_500


@pytest_asyncio.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer(listens=False) as running:
        yield running


@pytest_asyncio.fixture
async def listening() -> AsyncIterator[ApiServer]:
    async with ApiServer(http_port=0) as running:
        yield running


async def write(server: ApiServer, count: int, size: int = 10, first: int = 0) -> None:
    """Create ConfigMaps as quickly as the store takes them."""
    store = server.app.engine.store
    for number in range(first, first + count):
        name = f"m{number:05}"
        metadata = {"name": name, "namespace": "default"}
        obj = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": {"k": "x" * size}}
        await store.put(TABLE, f"default/{name}", obj, expected=0)


async def watch(server: ApiServer, **query: Any) -> AsyncIterable[bytes]:
    parameters = "&".join(
        f"{name}={value}" for name, value in {"watch": 1, "resourceVersion": rev(server), **query}.items()
    )
    status, _, chunks = await server.handle("GET", f"{MAPS}?{parameters}", [], b"")
    assert status == 200
    return chunks


def rev(server: ApiServer) -> int:
    return server.app.engine.store.rev


def watchers(server: ApiServer) -> int:
    return server.app.engine.store.table(TABLE).watchers


def names(data: bytes) -> list[str]:
    return [json.loads(line)["object"]["metadata"]["name"] for line in data.splitlines()]


def expected(count: int, first: int = 0) -> list[str]:
    return [f"m{number:05}" for number in range(first, first + count)]


async def read_until(chunks: AsyncIterable[bytes], count: int) -> list[str]:
    """The names in that many events."""
    found: list[str] = []
    async with asyncio.timeout(30):
        async for chunk in chunks:
            found += names(chunk)
            if len(found) >= count:
                break
    return found


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        for _ in iter(condition, True):
            await asyncio.sleep(0)


async def test_changes_that_come_together_go_out_together(server: ApiServer):
    stream = aiter(await watch(server))
    assert await anext(stream) == b""

    await write(server, 100)
    chunk = await anext(stream)

    assert names(chunk) == expected(100)


async def test_no_chunk_is_large_however_much_waits(server: ApiServer):
    stream = await watch(server)
    await write(server, 200, LARGE)

    sizes: list[int] = []
    found: list[str] = []
    async for chunk in stream:
        sizes.append(len(chunk))
        found += names(chunk)
        if len(found) == 200:
            break

    assert found == expected(200)
    assert max(sizes) < 300_000


async def test_no_chunk_of_what_was_there_is_large(server: ApiServer):
    await write(server, 100, LARGE)
    stream = await watch(server, resourceVersion=0)

    sizes = []
    async for chunk in stream:
        if not chunk:
            break
        sizes.append(len(chunk))

    assert max(sizes) < 300_000
    assert sum(sizes) > 100 * LARGE


async def test_others_have_a_turn_while_much_is_sent(server: ApiServer):
    start = rev(server)
    await write(server, 5_000)
    stream = await watch(server, resourceVersion=start)
    turns = 0

    async def take_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(take_turns())
    found = await read_until(stream, 5_000)
    other.cancel()

    assert found == expected(5_000)
    assert turns >= 5


async def test_a_stream_that_nobody_reads_is_cut_and_others_are_not(server: ApiServer):
    unread = await watch(server)
    reading = asyncio.create_task(read_until(await watch(server), MANY))
    assert watchers(server) == 2

    for first in range(0, MANY, 100):
        await write(server, 100, LARGE, first)
        await asyncio.sleep(0)

    assert await reading == expected(MANY)
    # The healthy one has gone after its last event; of the other nothing is kept.
    await until(lambda: watchers(server) == 0)
    assert [chunk async for chunk in unread if chunk] == []


async def test_a_cut_watcher_resumes_where_it_was(server: ApiServer):
    stream = aiter(await watch(server))
    await anext(stream)
    await write(server, 5)
    line = (await anext(stream)).splitlines()[-1]
    seen = json.loads(line)["object"]["metadata"]["resourceVersion"]

    await write(server, MANY, LARGE, first=5)
    rest = [chunk async for chunk in stream]
    resumed = await read_until(await watch(server, resourceVersion=seen), MANY)

    assert rest == []
    assert resumed == expected(MANY, first=5)


@pytest.mark.parametrize(("count", "size"), [(5_000, 10), (800, LARGE)], ids=["many", "large"])
async def test_a_backlog_that_is_only_many_or_only_large_is_kept(server: ApiServer, count: int, size: int):
    stream = await watch(server)

    await write(server, count, size)

    assert await read_until(stream, count) == expected(count)


async def test_a_stream_that_nobody_began_to_read_is_forgotten(server: ApiServer):
    stream = await watch(server)
    begun = aiter(await watch(server))
    assert watchers(server) == 2

    del stream, begun
    gc.collect()

    assert watchers(server) == 0


async def test_a_stream_that_is_closed_is_forgotten(server: ApiServer):
    stream: Any = aiter(await watch(server))
    await anext(stream)

    await stream.aclose()

    assert watchers(server) == 0


async def test_a_reader_that_is_cancelled_leaves_nothing(server: ApiServer):
    before = asyncio.all_tasks()
    reader = asyncio.create_task(read_until(await watch(server), 1))
    await asyncio.sleep(0)

    reader.cancel()

    await until(lambda: watchers(server) == 0 and asyncio.all_tasks() == before)


async def test_a_thousand_watchers_are_all_told_in_order(server: ApiServer):
    readers = [asyncio.create_task(read_until(await watch(server), 3)) for _ in range(1_000)]
    await asyncio.sleep(0)
    assert watchers(server) == 1_000

    await write(server, 3)

    assert await asyncio.gather(*readers) == [expected(3)] * 1_000
    await until(lambda: watchers(server) == 0)


async def test_streams_end_when_the_server_stops(server: ApiServer):
    readers = [asyncio.create_task(read_until(await watch(server), 1)) for _ in range(10)]
    await asyncio.sleep(0)

    await server.stop()

    assert await asyncio.gather(*readers) == [[]] * 10


class Socket:
    """A connection with a small window, whose client reads only when told to."""

    def __init__(self, server: ApiServer) -> None:
        host, port = server.http_url.removeprefix("http://").split(":")
        self._address = (host, int(port))
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._socket.setblocking(False)

    async def watch(self, start: int) -> None:
        loop = asyncio.get_running_loop()
        await loop.sock_connect(self._socket, self._address)
        request = f"GET {MAPS}?watch=1&resourceVersion={start} HTTP/1.1\r\nHost: test\r\n\r\n"
        await loop.sock_sendall(self._socket, request.encode())

    async def read(self, size: int) -> bytes:
        return await asyncio.get_running_loop().sock_recv(self._socket, size)

    async def read_to_the_end(self) -> bytes:
        """All events; they must be whole, and the stream must end in order."""
        data = bytearray()
        async with asyncio.timeout(30):
            while not data.endswith(b"\r\n0\r\n\r\n"):
                part = await self.read(1 << 20)
                assert part, "the connection was cut in the middle"
                data += part
        _, _, rest = bytes(data).partition(b"\r\n\r\n")
        return _unchunked(rest)

    def close(self) -> None:
        self._socket.close()


def _unchunked(data: bytes) -> bytes:
    parts = []
    while data:
        size, _, data = data.partition(b"\r\n")
        parts.append(data[: int(size, 16)])
        data = data[int(size, 16) + 2 :]
    return b"".join(parts)


async def stuck(server: ApiServer) -> Socket:
    """A client that watches and does not read, when the server has given it up."""
    connected = Socket(server)
    await connected.watch(rev(server))
    await until(lambda: watchers(server) >= 1)
    return connected


async def test_a_client_that_never_reads_is_cut_and_costs_little(listening: ApiServer):
    unread = await stuck(listening)
    start = rev(listening)
    reading = asyncio.create_task(read_until(await watch(listening), MANY))

    for first in range(0, MANY, 50):
        await write(listening, 50, LARGE, first)
        await asyncio.sleep(0)

    assert await reading == expected(MANY)
    await until(lambda: watchers(listening) == 0)
    assert unsent(listening) < 1 << 20
    seen = names(await unread.read_to_the_end())
    assert seen == expected(len(seen))
    assert len(seen) < MANY
    resumed = await read_until(await watch(listening, resourceVersion=start + len(seen)), MANY - len(seen))
    assert seen + resumed == expected(MANY)
    unread.close()


def transports(server: ApiServer) -> list[asyncio.Transport]:
    http: Any = server._http
    return [transport for listener in http._runners.values() for transport in listener.transports]


def unsent(server: ApiServer) -> int:
    """The bytes that the server holds for its clients."""
    return sum(transport.get_write_buffer_size() for transport in transports(server))


async def test_a_client_that_reads_late_misses_nothing(listening: ApiServer):
    late = await stuck(listening)
    await write(listening, 400, LARGE)
    await until(lambda: unsent(listening) > 0)

    reading = asyncio.create_task(late.read_to_the_end())
    listening.app.engine.store.end_watches()

    assert names(await reading) == expected(400)
    late.close()


async def test_stopping_waits_for_no_client(listening: ApiServer):
    clients = [await stuck(listening) for _ in range(30)]
    await until(lambda: watchers(listening) == 30)
    await write(listening, 400, LARGE)
    await until(lambda: unsent(listening) > 0)
    connections = transports(listening)
    loop = asyncio.get_running_loop()

    began = loop.time()
    await listening.stop()
    took = loop.time() - began

    assert took < 1
    assert all(transport.is_closing() and not transport.get_write_buffer_size() for transport in connections)
    for client in clients:
        client.close()


async def test_stopping_waits_for_no_client_with_tls():
    unverified = ssl.create_default_context()
    unverified.check_hostname = False
    unverified.verify_mode = ssl.CERT_NONE
    server = ApiServer(tokens={"secret": User(name="test", groups=("system:masters",))})
    await server.start()
    port = int(server.url.rpartition(":")[2])
    clients = [await asyncio.open_connection("127.0.0.1", port, ssl=unverified) for _ in range(10)]
    for _, writer in clients:
        writer.write(f"GET {MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\n\r\n".encode())
    await until(lambda: watchers(server) == 10)
    loop = asyncio.get_running_loop()

    began = loop.time()
    await server.stop()
    took = loop.time() - began

    assert took < 1
    for reader, writer in clients:
        assert (await reader.read()).endswith(b"\r\n0\r\n\r\n")
        writer.close()


async def test_clients_are_told_in_order_that_a_watch_ends_with_the_server(listening: ApiServer):
    client = await stuck(listening)
    await write(listening, 3)
    reading = asyncio.create_task(client.read_to_the_end())
    await asyncio.sleep(0)

    await listening.stop()

    assert names(await reading) == expected(3)
    client.close()
