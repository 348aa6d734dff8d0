"""The transport over the network, against real sockets that misbehave on purpose."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import ssl
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kubewright.api import Metadata, Unstructured
from kubewright.client import Client, Options, Request, Retry
from kubewright.config import Anonymous, BearerToken, Config, Impersonation, TlsConfig
from kubewright.errors import (
    ApiError,
    ConnectError,
    InternalError,
    NotServed,
    ProtocolError,
    RequestTimeout,
    TransportError,
    Unauthorized,
)
from tests.client.peer import Exchange, answers, failure, sends, serving
from tests.config.certificates import issue, make_ca

Thing = Unstructured.of("v1", "ConfigMap", plural="configmaps")
ONCE = Retry(attempts=1)
THING = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": "1"}}


def client_of(url: str, **more: object) -> Client:
    return Client(Config(server=url), retry=ONCE, **more)  # type: ignore[arg-type]


async def test_a_get_asks_for_json_and_reads_the_object():
    async with serving(answers(200, THING)) as peer, client_of(peer.url) as client:
        thing = await client.get(Thing, "a")

        assert thing.name == "a"
        assert peer.targets == ["/api/v1/namespaces/default/configmaps/a"]
        assert peer.exchanges[0].headers["accept"] == "application/json"
        assert peer.exchanges[0].headers["user-agent"].startswith("kubewright/")


async def test_a_refused_connection_says_that_nothing_runs_there():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        async with client_of(f"http://127.0.0.1:{unused.getsockname()[1]}") as client:
            with pytest.raises(ConnectError, match=r"is the API server running there\?"):
                await client.get(Thing, "a")


async def test_a_host_name_that_does_not_resolve_is_named():
    async with client_of("http://no-such-host.invalid:1") as client:
        with pytest.raises(ConnectError, match=r"no-such-host\.invalid.*cannot be resolved"):
            await client.get(Thing, "a")


async def test_a_page_of_html_with_success_is_not_taken_for_an_object():
    page = b"<html><body>Sign in</body></html>"
    async with serving(answers(200, page, content_type="text/html")) as peer, client_of(peer.url) as client:
        with pytest.raises(ProtocolError, match=r"text/html, not JSON.*Sign in.*is the server's address"):
            await client.get(Thing, "a")


async def test_a_page_of_html_with_an_error_shows_its_beginning():
    page = b"<html>Bad gateway</html>"
    async with serving(answers(502, page, content_type="text/html")) as peer, client_of(peer.url) as client:
        with pytest.raises(ApiError, match=r"HTTP 502.*Bad gateway") as caught:
            await client.get(Thing, "a")

        assert caught.value.code == 502


async def test_an_answer_that_is_cut_in_the_middle_is_told_as_such():
    cut = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n" + b'{"items":[{"a"'
    async with serving(sends(cut)) as peer, client_of(peer.url) as client:
        with pytest.raises(ProtocolError, match="closed in the middle of the answer"):
            await client.list(Thing)


async def test_json_that_ends_early_is_told_as_such():
    async with serving(answers(200, b'{"metadata":{},"items":[{')) as peer, client_of(peer.url) as client:
        with pytest.raises(ProtocolError, match="not whole"):
            await client.list(Thing)


async def test_a_connection_that_closes_without_an_answer_is_told_as_such():
    async with serving(sends(b"")) as peer, client_of(peer.url) as client:
        with pytest.raises(TransportError, match="broke before the answer came"):
            await client.get(Thing, "a")


async def test_what_does_not_speak_http_is_told_as_such():
    async with serving(sends(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")) as peer, client_of(peer.url) as client:
        with pytest.raises(ProtocolError):
            await client.get(Thing, "a")


async def test_a_server_that_never_answers_meets_the_time_limit():
    async def hang(exchange: Exchange) -> None:
        await asyncio.Event().wait()

    options = Options(timeout=timedelta(milliseconds=50))
    async with serving(hang) as peer, client_of(peer.url, options=options) as client:
        with pytest.raises(RequestTimeout, match=r"no whole answer within 0:00:00\.05"):
            await client.get(Thing, "a")


async def test_a_server_that_stops_in_the_middle_meets_the_time_limit():
    async def stall(exchange: Exchange) -> None:
        await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{")
        await asyncio.Event().wait()

    options = Options(timeout=timedelta(milliseconds=50))
    async with serving(stall) as peer, client_of(peer.url, options=options) as client:
        with pytest.raises(RequestTimeout):
            await client.get(Thing, "a")


async def test_an_unknown_path_is_a_kind_that_is_not_served():
    async with serving(answers(404, b"404 page not found\n", content_type="text/plain")) as peer:
        async with client_of(peer.url) as client:
            with pytest.raises(NotServed, match=r"does not serve ConfigMap of v1.*install its CRD"):
                await client.get(Thing, "a")


async def test_an_error_in_a_foreign_json_is_still_an_api_error():
    async with serving(answers(500, {"error": "oops"})) as peer, client_of(peer.url) as client:
        with pytest.raises(InternalError, match="oops"):
            await client.get(Thing, "a")


class Renewing(Anonymous):
    """Credentials that are refused until they are renewed."""

    renewable = True

    def __init__(self) -> None:
        self.token = "stale"

    async def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def invalidate(self, refused: Mapping[str, str] | None = None) -> None:
        self.token = "fresh"


async def test_a_401_is_answered_with_renewed_credentials_once():
    peer_script = (answers(401, failure(401, "Unauthorized")), answers(200, THING))
    async with serving(*peer_script) as peer:
        async with Client(Config(server=peer.url, credentials=Renewing()), retry=ONCE) as client:
            await client.get(Thing, "a")

        sent = [exchange.headers["authorization"] for exchange in peer.exchanges]
        assert sent == ["Bearer stale", "Bearer fresh"]


async def test_a_401_that_stays_is_raised_after_one_renewal():
    async with serving(answers(401, failure(401, "Unauthorized", "Unauthorized"))) as peer:
        async with Client(Config(server=peer.url, credentials=Renewing()), retry=ONCE) as client:
            with pytest.raises(Unauthorized):
                await client.get(Thing, "a")

        assert len(peer.exchanges) == 2


async def test_a_401_with_credentials_that_cannot_be_renewed_is_raised_at_once():
    async with serving(answers(401, failure(401, "Unauthorized"))) as peer:
        async with Client(Config(server=peer.url, credentials=BearerToken("t")), retry=ONCE) as client:
            with pytest.raises(Unauthorized):
                await client.get(Thing, "a")

        assert len(peer.exchanges) == 1


async def test_no_token_is_shown_in_errors_representations_or_logs(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    async with serving(answers(500, failure(500, "InternalError"))) as peer:
        config = Config(server=peer.url, credentials=BearerToken("s3cr3t"))
        async with Client(config, retry=ONCE) as client:
            with pytest.raises(InternalError) as caught:
                await client.get(Thing, "a")

            shown = [str(caught.value), repr(caught.value), repr(config), repr(client), caplog.text]
            assert not any("s3cr3t" in text for text in shown)


def server_side(tmp_path: Path, **certificate: object) -> tuple[ssl.SSLContext, bytes]:
    ca = make_ca()
    issued = issue(ca, "server", sans=["127.0.0.1", "localhost"], **certificate)  # type: ignore[arg-type]
    (tmp_path / "tls.pem").write_bytes(issued.cert + issued.key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "tls.pem")
    return context, ca.cert


async def test_https_is_spoken_with_the_authority_of_the_configuration(tmp_path: Path):
    context, authority = server_side(tmp_path)
    async with serving(answers(200, THING), ssl=context) as peer:
        async with Client(Config(server=peer.url, tls=TlsConfig(ca_data=authority)), retry=ONCE) as client:
            assert (await client.get(Thing, "a")).name == "a"


async def test_a_server_of_another_authority_is_not_trusted(tmp_path: Path):
    context, _ = server_side(tmp_path)
    async with serving(answers(200, THING), ssl=context) as peer:
        other = TlsConfig(ca_data=make_ca().cert)
        async with Client(Config(server=peer.url, tls=other), retry=ONCE) as client:
            with pytest.raises(ConnectError, match=r"certificate is not trusted.*certificate-authority"):
                await client.get(Thing, "a")


async def test_an_expired_server_certificate_is_told_as_such(tmp_path: Path):
    context, authority = server_side(tmp_path, not_after=datetime.now(UTC) - timedelta(days=1))
    async with serving(answers(200, THING), ssl=context) as peer:
        async with Client(Config(server=peer.url, tls=TlsConfig(ca_data=authority)), retry=ONCE) as client:
            with pytest.raises(ConnectError, match=r"not valid any more.*expired.*renew it"):
                await client.get(Thing, "a")


async def test_the_tls_server_name_is_what_the_certificate_is_checked_for(tmp_path: Path):
    context, authority = server_side(tmp_path)
    async with serving(answers(200, THING), ssl=context) as peer:
        wrong = TlsConfig(ca_data=authority, server_name="api.example.com")
        async with Client(Config(server=peer.url, tls=wrong), retry=ONCE) as client:
            with pytest.raises(ConnectError, match="tls-server-name"):
                await client.get(Thing, "a")
        right = TlsConfig(ca_data=authority, server_name="localhost")
        async with Client(Config(server=peer.url, tls=right), retry=ONCE) as client:
            assert (await client.get(Thing, "a")).name == "a"


async def test_a_proxy_is_used_when_the_configuration_names_one():
    async with serving(answers(200, THING)) as proxy:
        config = Config(server="http://kubernetes.invalid", proxy=proxy.url)
        async with Client(config, retry=ONCE) as client:
            await client.get(Thing, "a")

        assert proxy.targets == ["http://kubernetes.invalid/api/v1/namespaces/default/configmaps/a"]


async def test_a_closed_client_refuses_calls():
    async with serving(answers(200, THING)) as peer:
        client = client_of(peer.url)
        await client.aclose()

        with pytest.raises(TransportError, match="closed"):
            await client.get(Thing, "a")


async def test_a_cancelled_call_gives_its_connection_up():
    started = asyncio.Event()

    async def hang(exchange: Exchange) -> None:
        started.set()
        await asyncio.Event().wait()

    async with serving(hang) as peer, client_of(peer.url) as client:
        call = asyncio.create_task(client.get(Thing, "a"))
        await started.wait()

        call.cancel()

        with pytest.raises(asyncio.CancelledError):
            await call


async def test_a_stream_that_nobody_read_gives_its_connection_back_when_it_is_closed():
    is_closed = asyncio.Event()

    async def stream(exchange: Exchange) -> None:
        await exchange.begin_stream()
        try:
            while True:
                await exchange.chunk(b"x" * 65536)
        finally:
            is_closed.set()

    async with serving(stream) as peer, client_of(peer.url) as client:
        request = Request(method="GET", target="/api/v1/configmaps", headers=[], verb="watch", streaming=True)
        response = await client._caller.open(request)

        await response.aclose()

        async with asyncio.timeout(10):
            await is_closed.wait()
        assert response.stream is not None


async def test_names_are_quoted_so_that_they_stay_names():
    async with serving(answers(200, THING)) as peer, client_of(peer.url) as client:
        await client.get(Thing, "../../secrets/x?y#z", namespace="a/b")

        assert peer.targets == ["/api/v1/namespaces/a%2Fb/configmaps/..%2F..%2Fsecrets%2Fx%3Fy%23z"]


async def test_impersonation_sends_every_group():
    async with serving(answers(200, THING)) as peer, client_of(peer.url) as client:
        acting = client.using(impersonate=Impersonation(user="jane", groups=("dev", "ops")))
        await acting.get(Thing, "a")

        assert peer.exchanges[0].headers["impersonate-user"] == "jane"
        assert peer.exchanges[0].raw_head.count(b"Impersonate-Group") == 2


async def test_a_write_says_who_writes_and_asks_for_strict_validation():
    async with serving(answers(201, THING)) as peer, client_of(peer.url) as client:
        await client.using(dry_run=True).create(Thing(metadata=Metadata(name="a"), content={"data": {"k": "v"}}))

        target = peer.targets[0]
        assert target.endswith("/configmaps?fieldManager=kubewright&fieldValidation=Strict&dryRun=All")
        assert json.loads(peer.exchanges[0].body)["data"] == {"k": "v"}


async def test_a_large_body_is_sent_whole():
    text = "x" * 3_000_000
    async with serving(answers(201, THING)) as peer, client_of(peer.url) as client:
        await client.create(Thing(metadata=Metadata(name="a"), content={"data": {"k": text}}))

        assert json.loads(peer.exchanges[0].body)["data"]["k"] == text
