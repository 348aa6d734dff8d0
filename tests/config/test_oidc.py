from __future__ import annotations

import asyncio
import json
import ssl
from base64 import b64decode, urlsafe_b64encode
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp import web

from kubewright.config.oidc import Oidc, OidcClient
from kubewright.config.tls import TlsConfig
from kubewright.errors import CredentialError
from tests.config.certificates import issue, make_ca

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def id_token(expiry: datetime | None, **claims) -> str:
    if expiry is not None:
        claims["exp"] = expiry.timestamp()
    payload = urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{payload}.c2ln"


def claims_in(headers: dict[str, str]) -> Any:
    payload = headers["Authorization"].split(".")[1]
    return json.loads(b64decode(payload + "==", altchars=b"-_"))


class Issuer:
    """An OpenID Connect issuer of numbered tokens that each live for an hour."""

    def __init__(self) -> None:
        self.url = ""
        self.now = NOON
        self.refreshes: list[dict[str, str]] = []
        self.authorization: list[str | None] = []
        self.metadata_extra: dict[str, object] = {}
        self.refusal: web.Response | None = None
        self.answer: dict[str, object] | None = None
        self.discovery: web.Response | None = None

    async def discover(self, request: web.Request) -> web.Response:
        if self.discovery is not None:
            return self.discovery
        return web.json_response({"token_endpoint": f"{self.url}/token", **self.metadata_extra})

    async def refresh(self, request: web.Request) -> web.Response:
        form = await request.post()
        self.refreshes.append({key: str(value) for key, value in form.items()})
        self.authorization.append(request.headers.get("Authorization"))
        if self.refusal is not None:
            return self.refusal
        number = len(self.refreshes)
        token = id_token(self.now + timedelta(hours=1), number=number)
        return web.json_response(self.answer or {"id_token": token, "refresh_token": f"refresh-{number}"})

    def credentials(self, *, secret="", tls=None, environ=None, **tokens) -> Oidc:
        client = OidcClient(issuer=self.url, client_id="my app", client_secret=secret, tls=tls or TlsConfig())
        return Oidc(client, **tokens, environ=environ or {}, clock=lambda: self.now)


@asynccontextmanager
async def serving(issuer: Issuer, context: ssl.SSLContext | None = None):
    app = web.Application()
    app.router.add_get("/realm/.well-known/openid-configuration", issuer.discover)
    app.router.add_post("/realm/token", issuer.refresh)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        port = runner.addresses[0][1]
        issuer.url = f"{'https' if context else 'http'}://127.0.0.1:{port}/realm"
        yield issuer
    finally:
        await runner.cleanup()


@pytest.fixture
async def issuer():
    async with serving(Issuer()) as found:
        yield found


async def test_id_token_is_used_until_shortly_before_it_expires(issuer):
    token = id_token(NOON + timedelta(minutes=1))
    credentials = issuer.credentials(id_token=token, refresh_token="refresh-0")

    first = await credentials.headers()
    issuer.now += timedelta(seconds=49)
    second = await credentials.headers()
    issuer.now += timedelta(seconds=1)
    third = await credentials.headers()

    assert first == second == {"Authorization": f"Bearer {token}"}
    assert claims_in(third)["number"] == 1
    assert issuer.refreshes == [
        {"grant_type": "refresh_token", "refresh_token": "refresh-0", "client_id": "my app"},
    ]


async def test_new_refresh_token_replaces_the_one_before(issuer):
    credentials = issuer.credentials(refresh_token="refresh-0")

    await credentials.headers()
    issuer.now += timedelta(hours=1)
    await credentials.headers()

    assert [each["refresh_token"] for each in issuer.refreshes] == ["refresh-0", "refresh-1"]


async def test_refresh_token_stays_when_the_issuer_gives_no_new_one(issuer):
    credentials = issuer.credentials(refresh_token="refresh-0")
    issuer.answer = {"id_token": id_token(NOON + timedelta(minutes=5))}

    await credentials.headers()
    issuer.now += timedelta(hours=1)
    await credentials.headers()

    assert [each["refresh_token"] for each in issuer.refreshes] == ["refresh-0", "refresh-0"]


@pytest.mark.parametrize("token", ["", "no-jwt", "a.b.c", "e30.e30.c2ln", id_token(None), id_token(NOON)])
async def test_id_token_that_tells_no_later_expiry_is_refreshed(issuer, token):
    credentials = issuer.credentials(id_token=token, refresh_token="refresh-0")

    assert claims_in(await credentials.headers())["number"] == 1


async def test_refused_id_token_is_refreshed_once(issuer):
    credentials = issuer.credentials(id_token=id_token(NOON + timedelta(hours=1)), refresh_token="refresh-0")
    refused = await credentials.headers()

    for _ in range(3):
        credentials.invalidate(refused)
        await credentials.headers()

    assert credentials.renewable
    assert len(issuer.refreshes) == 1


async def test_callers_at_the_same_time_share_one_refresh(issuer):
    credentials = issuer.credentials(refresh_token="refresh-0")

    await asyncio.gather(*(credentials.headers() for _ in range(10)))

    assert len(issuer.refreshes) == 1


async def test_client_secret_goes_into_the_header_by_default(issuer):
    await issuer.credentials(refresh_token="refresh-0", secret="s:e c").headers()

    assert issuer.authorization == ["Basic " + "bXkrYXBwOnMlM0FlK2M="]
    assert "client_secret" not in issuer.refreshes[0]


async def test_client_secret_goes_into_the_form_where_the_issuer_takes_only_that(issuer):
    issuer.metadata_extra = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}

    await issuer.credentials(refresh_token="refresh-0", secret="s3cret").headers()

    assert issuer.authorization == [None]
    assert issuer.refreshes[0]["client_id"] == "my app"
    assert issuer.refreshes[0]["client_secret"] == "s3cret"


async def test_refused_refresh_is_an_error_that_names_issuer_and_remedy_without_secrets(issuer):
    told = {"error": "invalid_grant", "error_description": "unknown refresh-0 of s3cret"}
    issuer.refusal = web.json_response(told, status=400)
    credentials = issuer.credentials(refresh_token="refresh-0", secret="s3cret")

    with pytest.raises(CredentialError, match=r"HTTP 400, invalid_grant, unknown … of …\); log in again") as caught:
        await credentials.headers()

    assert issuer.url in str(caught.value)
    assert not any(secret in str(caught.value) for secret in ("refresh-0", "s3cret"))


async def test_expired_id_token_without_a_refresh_token_is_an_error(issuer):
    credentials = issuer.credentials(id_token=id_token(NOON))

    with pytest.raises(CredentialError, match="there is no refresh-token; log in again"):
        await credentials.headers()

    assert not credentials.renewable


@pytest.mark.parametrize(
    ("answer", "problem"),
    [({"access_token": "hush"}, "gave no id_token"), ({"id_token": "hush hush"}, "is empty, or has blanks")],
)
async def test_refresh_without_a_usable_id_token_is_an_error(issuer, answer, problem):
    issuer.answer = answer

    with pytest.raises(CredentialError, match=problem) as caught:
        await issuer.credentials(refresh_token="refresh-0").headers()

    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("response", "problem"),
    [
        (lambda: web.Response(status=404, text="<html>"), r"did not give its metadata \(HTTP 404\)"),
        (lambda: web.Response(text="<html>"), "its answer is not a JSON object"),
        (lambda: web.json_response([]), "its answer is not a JSON object"),
        (lambda: web.json_response({}), "names no token_endpoint"),
        (lambda: web.json_response({"token_endpoint": "file:///etc"}), "names no token_endpoint"),
    ],
)
async def test_issuer_without_metadata_is_an_error(issuer, response, problem):
    issuer.discovery = response()

    with pytest.raises(CredentialError, match=problem):
        await issuer.credentials(refresh_token="refresh-0").headers()


async def test_unreachable_issuer_is_an_error_that_names_it():
    issuer = Issuer()
    async with serving(issuer):
        pass

    with pytest.raises(CredentialError, match=f"cannot reach the OIDC issuer {issuer.url}"):
        await issuer.credentials(refresh_token="refresh-0").headers()


def server_context(ca, folder) -> ssl.SSLContext:
    pair = issue(ca, "issuer", sans=["127.0.0.1"])
    (folder / "issuer.pem").write_bytes(pair.cert + pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "issuer.pem")
    return context


async def test_issuer_is_trusted_by_its_authority_alone(tmp_path):
    ca = make_ca()
    async with serving(Issuer(), server_context(ca, tmp_path)) as issuer:
        headers = await issuer.credentials(refresh_token="refresh-0", tls=TlsConfig(ca_data=ca.cert)).headers()
        with pytest.raises(CredentialError, match="cannot reach the OIDC issuer"):
            await issuer.credentials(refresh_token="refresh-0", tls=TlsConfig(ca_data=make_ca().cert)).headers()

    assert claims_in(headers)["number"] == 1


async def test_token_endpoint_without_tls_of_an_issuer_with_tls_gets_no_token(tmp_path):
    ca = make_ca()
    async with serving(Issuer(), server_context(ca, tmp_path)) as issuer:
        issuer.metadata_extra = {"token_endpoint": issuer.url.replace("https:", "http:") + "/token"}
        credentials = issuer.credentials(refresh_token="refresh-0", tls=TlsConfig(ca_data=ca.cert))

        with pytest.raises(CredentialError, match="a token_endpoint without TLS"):
            await credentials.headers()

    assert issuer.refreshes == []


async def test_refresh_goes_through_the_proxy_of_the_environment():
    asked = []

    async def serve(reader, writer):
        asked.append((await reader.readline()).decode())
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(serve, "127.0.0.1") as proxy:
        port = proxy.sockets[0].getsockname()[1]
        issuer = Issuer()
        issuer.url = "http://issuer.example.com/realm"
        credentials = issuer.credentials(
            refresh_token="refresh-0", environ={"HTTP_PROXY": f"http://me:hunter2@127.0.0.1:{port}"}
        )

        with pytest.raises(CredentialError, match="cannot reach") as caught:
            await credentials.headers()

    assert set(asked) == {"GET http://issuer.example.com/realm/.well-known/openid-configuration HTTP/1.1\r\n"}
    assert "hunter2" not in str(caught.value)
