"""Connections: kept, given up, and led through proxies; against real sockets."""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kubewright.api import Metadata, Unstructured
from kubewright.client import Client, Request, Retry
from kubewright.config import Config, Impersonation, TlsConfig
from kubewright.errors import ApiError, ConnectError, ProtocolError, TransportError
from tests.client.peer import Exchange, Peer, answers, sends, serving
from tests.config.certificates import issue, make_ca

Thing = Unstructured.of("v1", "ConfigMap", plural="configmaps")
ONCE = Retry(attempts=1)
THING = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": "1"}}


def client_of(url: str) -> Client:
    return Client(Config(server=url), retry=ONCE)


class Counted(Peer):
    """A peer that counts connections, and can close those that lie idle."""

    def __init__(self, *scripts: object) -> None:
        super().__init__(*scripts)  # type: ignore[arg-type]
        self.connections: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.append(writer)
        await super().serve(reader, writer)


@asynccontextmanager
async def counting(*scripts: object) -> AsyncIterator[Counted]:
    peer = Counted(*scripts)
    server = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
    peer.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield peer
    finally:
        server.close()


async def test_requests_one_after_the_other_share_a_connection():
    async with counting(answers(200, THING)) as peer, client_of(peer.url) as client:
        for _ in range(5):
            await client.get(Thing, "a")

        assert len(peer.connections) == 1


async def test_requests_at_once_have_a_connection_each():
    arrived = asyncio.Barrier(5)

    async def together(exchange: Exchange) -> None:
        await arrived.wait()
        await exchange.answer(200, THING)

    async with counting(together) as peer, client_of(peer.url) as client:
        await asyncio.gather(*(client.get(Thing, "a") for _ in range(5)))

        assert len(peer.connections) == 5


async def test_a_connection_is_not_used_again_when_the_server_says_so():
    async with counting(answers(200, THING, headers=["Connection: close"])) as peer, client_of(peer.url) as client:
        await client.get(Thing, "a")
        await client.get(Thing, "a")

        assert len(peer.connections) == 2


async def test_a_connection_on_which_too_much_came_is_not_used_again():
    async def twice(exchange: Exchange) -> None:
        await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\n")

    async with counting(twice, answers(200, THING)) as peer, client_of(peer.url) as client:
        await client.get(Thing, "a")
        await client.get(Thing, "a")

        assert len(peer.connections) == 2


async def closing(exchange: Exchange) -> None:
    """Read the request and close the connection without a word, as a server does that had given it up."""
    exchange.closing = True  # type: ignore[attr-defined]


async def test_a_read_on_a_connection_that_the_server_gave_up_is_sent_again_on_another():
    async with counting(answers(200, THING), closing, answers(200, THING)) as peer, client_of(peer.url) as client:
        await client.get(Thing, "a")

        assert (await client.get(Thing, "a")).name == "a"
        assert len(peer.connections) == 2


async def test_a_write_on_a_connection_that_breaks_is_not_sent_twice():
    async with counting(answers(200, THING), closing, answers(201, THING)) as peer, client_of(peer.url) as client:
        await client.get(Thing, "a")

        with pytest.raises(TransportError, match="broke before the answer came"):
            await client.create(Thing(metadata=Metadata(name="a"), content={}))
        assert len(peer.exchanges) == 2


async def test_news_that_the_server_goes_on_are_not_taken_for_the_answer():
    body = json.dumps(THING).encode()
    said = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    async with serving(sends(said)) as peer, client_of(peer.url) as client:
        assert (await client.get(Thing, "a")).name == "a"


async def test_a_compressed_answer_is_read():
    body = gzip.compress(json.dumps(THING).encode())
    async with serving(answers(200, body, headers=["Content-Encoding: gzip"])) as peer, client_of(peer.url) as client:
        assert (await client.get(Thing, "a")).name == "a"
        assert peer.exchanges[0].headers["accept-encoding"] == "gzip"


async def test_whoever_wants_no_compression_is_asked_for_none():
    async with serving(answers(200, THING)) as peer, client_of(peer.url) as client:
        headers = [("Accept-Encoding", "identity")]
        await client._caller.send(Request(method="GET", target="/api", headers=headers, verb="get"))

        assert peer.exchanges[0].raw_head.lower().count(b"accept-encoding") == 1
        assert peer.exchanges[0].headers["accept-encoding"] == "identity"


async def test_an_answer_to_a_head_has_a_length_and_no_body():
    async def head(exchange: Exchange) -> None:
        await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n")

    async with counting(head, answers(200, THING)) as peer, client_of(peer.url) as client:
        response = await client._caller.send(Request(method="HEAD", target="/healthz", headers=[], verb="get"))

        assert (response.status, response.body) == (200, b"")
        assert (await client.get(Thing, "a")).name == "a"
        assert len(peer.connections) == 1


async def test_a_header_with_a_line_end_is_not_sent():
    async with serving(answers(200, THING)) as peer, client_of(peer.url) as client:
        acting = client.using(impersonate=Impersonation(user="jane\r\nX-Evil: 1"))

        with pytest.raises(ProtocolError, match="line end"):
            await acting.get(Thing, "a")
        assert peer.exchanges == []


async def test_a_redirect_is_told_and_not_followed():
    async with serving(answers(302, b"", headers=["Location: https://login.example.com/?state=s3cr3t"])) as peer:
        async with client_of(peer.url) as client:
            with pytest.raises(ApiError, match=r"HTTP 302.*https://login\.example\.com/.*not followed") as caught:
                await client.get(Thing, "a")

        assert "s3cr3t" not in str(caught.value)


async def test_headers_without_end_are_refused():
    async def endless(exchange: Exchange) -> None:
        await exchange.send(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 300_000)

    async with serving(endless) as peer, client_of(peer.url) as client:
        with pytest.raises(ProtocolError, match="headers without end"):
            await client.get(Thing, "a")


async def test_a_stream_that_nobody_reads_makes_the_server_wait():
    sent = 0

    async def pour(exchange: Exchange) -> None:
        nonlocal sent
        await exchange.begin_stream()
        for _ in range(1000):
            await exchange.chunk(b"x" * (1 << 20))
            sent += 1

    async with serving(pour) as peer, client_of(peer.url) as client:
        request = Request(method="GET", target="/api/v1/configmaps", headers=[], verb="watch", streaming=True)
        response = await client._caller.open(request)
        assert response.stream is not None
        first = await anext(response.stream)
        # What fits into the sockets' own buffers goes on for a while; then nothing does.
        last = -1
        while last != sent:
            last = sent
            for _ in range(100):
                await asyncio.sleep(0)
        await response.aclose()

        assert first
        assert sent < 100


async def test_a_client_that_is_closed_ends_what_is_underway():
    begun = asyncio.Event()

    async def hang(exchange: Exchange) -> None:
        begun.set()
        await asyncio.Event().wait()

    async with serving(hang) as peer:
        client = client_of(peer.url)
        call = asyncio.create_task(client.get(Thing, "a"))
        await begun.wait()

        await client.aclose()

        with pytest.raises(TransportError):
            await call


async def test_replaced_certificates_are_shown_on_a_new_connection(tmp_path: Path):
    ca, other = make_ca(), make_ca()
    file = tmp_path / "ca.pem"
    file.write_bytes(ca.cert)
    context = _server_context(tmp_path, issue(ca, "server", sans=["127.0.0.1"]))
    async with serving(answers(200, THING), ssl=context) as peer:
        async with Client(Config(server=peer.url, tls=TlsConfig(ca_file=file)), retry=ONCE) as client:
            await client.get(Thing, "a")
            file.write_bytes(other.cert + b"\n")
            # Files are looked at once a second; that second is over.
            client._caller.transport._pool._tls._looked_at = float("-inf")  # type: ignore[attr-defined]

            with pytest.raises(ConnectError, match="not trusted"):
                await client.get(Thing, "a")


def _server_context(folder: Path, issued: object) -> ssl.SSLContext:
    (folder / "tls.pem").write_bytes(issued.cert + issued.key)  # type: ignore[attr-defined]
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "tls.pem")
    return context


class Proxy:
    """Leads CONNECTs through to where they want; keeps what it was told."""

    def __init__(self, refusal: bytes = b"") -> None:
        self._refusal = refusal
        self.heads: list[str] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        if self._refusal:
            writer.write(self._refusal)
            writer.close()
            return
        host, _, port = head.split(" ")[1].rpartition(":")
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
    except ConnectionError:
        pass
    finally:
        writer.close()


@asynccontextmanager
async def proxying(refusal: bytes = b"") -> AsyncIterator[Proxy]:
    proxy = Proxy(refusal)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.url = f"http://jane:p%40ss@127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()


async def test_tls_goes_through_a_proxy_that_only_passes_it_on(tmp_path: Path):
    ca = make_ca()
    context = _server_context(tmp_path, issue(ca, "server", sans=["127.0.0.1"]))
    async with serving(answers(200, THING), ssl=context) as peer, proxying() as proxy:
        config = Config(server=peer.url, tls=TlsConfig(ca_data=ca.cert), proxy=proxy.url)
        async with Client(config, retry=ONCE) as client:
            assert (await client.get(Thing, "a")).name == "a"
            assert (await client.get(Thing, "a")).name == "a"

    host = peer.url.removeprefix("https://")
    assert [head.splitlines()[0] for head in proxy.heads] == [f"CONNECT {host} HTTP/1.1"]
    assert "Proxy-Authorization: Basic amFuZTpwQHNz" in proxy.heads[0]
    assert peer.targets == ["/api/v1/namespaces/default/configmaps/a"] * 2
    assert "proxy-authorization" not in peer.exchanges[0].headers


async def test_a_proxy_that_refuses_is_named_without_its_password():
    refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
    async with proxying(refusal) as proxy:
        async with Client(Config(server="https://kubernetes.invalid", proxy=proxy.url), retry=ONCE) as client:
            with pytest.raises(
                ConnectError, match=r"the proxy 127\.0\.0\.1:\d+ does not let us through.*407"
            ) as caught:
                await client.get(Thing, "a")

    assert "p@ss" not in str(caught.value)
    assert "p%40ss" not in str(caught.value)


async def test_a_proxy_that_is_not_there_is_named():
    async with proxying() as proxy:
        pass
    async with Client(Config(server="https://kubernetes.invalid", proxy=proxy.url), retry=ONCE) as client:
        with pytest.raises(ConnectError, match=r"the proxy .* does not let us through"):
            await client.get(Thing, "a")
