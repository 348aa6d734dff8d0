from __future__ import annotations

import asyncio
import logging
import os
import ssl
import tempfile
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat

from kubewright.config.credentials import Anonymous
from kubewright.config.tls import TlsConfig, TlsContext
from kubewright.errors import ConfigError, CredentialError
from tests.config.certificates import issue, make_ca

HTTPS = "https://127.0.0.1"


class Clock:
    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


class Changing(Anonymous):
    """Credentials that bring whatever certificate they are given."""

    pair: tuple[bytes, bytes] | None = None

    def client_certificate(self):
        return self.pair


@pytest.fixture(scope="module")
def ca():
    return make_ca()


@pytest.fixture(scope="module")
def server_pair(ca):
    return issue(ca, "server", sans=["127.0.0.1", "api.example.com"])


@asynccontextmanager
async def tls_server(pair, folder, client_ca=None):
    """A server that tells each client the name in its certificate; its port."""
    (folder / "server.pem").write_bytes(pair.cert + pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    if client_ca is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=client_ca.cert.decode())

    async def serve(reader, writer):
        certificate = writer.get_extra_info("peercert")
        name = certificate["subject"][-1][0][1] if certificate else "nobody"
        writer.write(name.encode())
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(serve, "127.0.0.1", ssl=context) as server:
        yield server.sockets[0].getsockname()[1]


async def greet(port, tls: TlsContext) -> str:
    context = tls.context()
    name = tls.server_name or "127.0.0.1"
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=name)
    try:
        return (await reader.read()).decode()
    finally:
        writer.close()
        await writer.wait_closed()


def test_server_without_tls_needs_no_context():
    assert TlsContext("http://host", TlsConfig()).context() is None


def test_context_is_the_same_object_while_nothing_changes(ca):
    tls = TlsContext(HTTPS, TlsConfig(ca_data=ca.cert))

    assert tls.context() is tls.context()


async def test_server_is_trusted_by_its_authority_alone(ca, server_pair, tmp_path):
    trusting, other = (TlsContext(HTTPS, TlsConfig(ca_data=each.cert)) for each in (ca, make_ca()))

    async with tls_server(server_pair, tmp_path) as port:
        greeting = await greet(port, trusting)
        with pytest.raises(ssl.SSLCertVerificationError):
            await greet(port, other)

    assert greeting == "nobody"


async def test_server_is_not_trusted_by_the_system_without_an_authority(server_pair, tmp_path):
    async with tls_server(server_pair, tmp_path) as port:
        with pytest.raises(ssl.SSLCertVerificationError):
            await greet(port, TlsContext(HTTPS, TlsConfig()))


async def test_self_signed_server_is_trusted_by_its_own_certificate_as_in_go(ca, server_pair, tmp_path):
    async with tls_server(server_pair, tmp_path) as port:
        assert await greet(port, TlsContext(HTTPS, TlsConfig(ca_data=server_pair.cert))) == "nobody"


async def test_insecure_context_trusts_any_server(tmp_path):
    stranger = issue(make_ca(), "stranger", sans=["other.example.com"])

    async with tls_server(stranger, tmp_path) as port:
        assert await greet(port, TlsContext(HTTPS, TlsConfig(insecure=True))) == "nobody"


async def test_server_name_is_verified_in_place_of_the_host(ca, tmp_path):
    named = issue(ca, "server", sans=["api.example.com"])
    right, wrong, none = (
        TlsContext(HTTPS, TlsConfig(ca_data=ca.cert, server_name=name))
        for name in ("api.example.com", "other.example.com", None)
    )

    async with tls_server(named, tmp_path) as port:
        greeting = await greet(port, right)
        for tls in (wrong, none):
            with pytest.raises(ssl.SSLCertVerificationError):
                await greet(port, tls)

    assert greeting == "nobody"


async def test_client_certificate_from_data_and_from_files_is_shown(ca, server_pair, tmp_path):
    alice = issue(ca, "alice")
    cert_file, key_file = tmp_path / "alice.crt", tmp_path / "alice.key"
    cert_file.write_bytes(alice.cert)
    key_file.write_bytes(alice.key)
    configs = [
        TlsConfig(ca_data=ca.cert, cert_data=alice.cert, key_data=alice.key),
        TlsConfig(ca_data=ca.cert, cert_file=cert_file, key_file=key_file),
        TlsConfig(ca_data=ca.cert, cert_file=cert_file, key_data=alice.key),
    ]

    async with tls_server(server_pair, tmp_path, client_ca=ca) as port:
        greetings = [await greet(port, TlsContext(HTTPS, config)) for config in configs]

    assert greetings == ["alice"] * 3


async def test_data_wins_over_a_file(ca, server_pair, tmp_path):
    alice, bob = issue(ca, "alice"), issue(ca, "bob")
    (tmp_path / "bob.pem").write_bytes(bob.cert + bob.key)
    config = TlsConfig(
        ca_data=ca.cert,
        ca_file=tmp_path / "absent",
        cert_data=alice.cert,
        cert_file=tmp_path / "bob.pem",
        key_data=alice.key,
        key_file=tmp_path / "bob.pem",
    )

    async with tls_server(server_pair, tmp_path, client_ca=ca) as port:
        assert await greet(port, TlsContext(HTTPS, config)) == "alice"


async def test_certificate_of_the_credentials_is_shown_and_followed(ca, server_pair, tmp_path):
    credentials = Changing()
    tls = TlsContext(HTTPS, TlsConfig(ca_data=ca.cert), credentials)
    greetings = []

    async with tls_server(server_pair, tmp_path, client_ca=ca) as port:
        for name in ("alice", "bob"):
            pair = issue(ca, name)
            credentials.pair = (pair.cert, pair.key)
            greetings.append(await greet(port, tls))

    assert greetings == ["alice", "bob"]


async def test_rotated_authority_is_seen_after_a_second_and_not_before(ca, server_pair, tmp_path):
    file, clock = tmp_path / "ca.crt", Clock()
    file.write_bytes(make_ca().cert)
    tls = TlsContext(HTTPS, TlsConfig(ca_file=file), clock=clock)
    before = tls.context()
    file.write_bytes(ca.cert + b"\n# another size\n")

    clock.time += 0.9
    soon = tls.context()
    clock.time += 0.2
    async with tls_server(server_pair, tmp_path) as port:
        greeting = await greet(port, tls)

    assert soon is before
    assert tls.context() is not before
    assert greeting == "nobody"


@pytest.mark.parametrize("by", ["inode", "mtime"])
def test_rotated_file_of_the_same_size_is_seen(ca, tmp_path, by):
    file, clock = tmp_path / "ca.crt", Clock()
    file.write_bytes(ca.cert)
    tls = TlsContext(HTTPS, TlsConfig(ca_file=file), clock=clock)
    before, stamp = tls.context(), file.stat()

    clock.time += 2
    if by == "inode":
        (tmp_path / "new").write_bytes(ca.cert)
        os.utime(tmp_path / "new", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        (tmp_path / "new").replace(file)
    else:
        os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns + 1))

    assert tls.context() is not before


async def test_rotated_client_certificate_is_seen_once_its_key_fits(ca, server_pair, tmp_path, caplog):
    alice, bob, clock = issue(ca, "alice"), issue(ca, "bob"), Clock()
    cert_file, key_file = tmp_path / "client.crt", tmp_path / "client.key"
    cert_file.write_bytes(alice.cert)
    key_file.write_bytes(alice.key)
    tls = TlsContext(HTTPS, TlsConfig(ca_data=ca.cert, cert_file=cert_file, key_file=key_file), clock=clock)
    first = tls.context()

    cert_file.write_bytes(bob.cert + b"\n")
    contexts = []
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            clock.time += 2
            contexts.append(tls.context())
    key_file.write_bytes(bob.key + b"\n")
    clock.time += 2
    async with tls_server(server_pair, tmp_path, client_ca=ca) as port:
        greeting = await greet(port, tls)

    assert contexts == [first] * 3
    assert len(caplog.records) == 1
    assert "do not belong together" in caplog.text
    assert greeting == "bob"


def test_vanished_file_leaves_the_context_in_use(ca, tmp_path):
    file, clock = tmp_path / "ca.crt", Clock()
    file.write_bytes(ca.cert)
    tls = TlsContext(HTTPS, TlsConfig(ca_file=file), clock=clock)
    before = tls.context()

    file.unlink()
    clock.time += 2

    assert tls.context() is before


def test_missing_file_is_an_error_that_names_it(tmp_path):
    tls = TlsContext(HTTPS, TlsConfig(ca_file=tmp_path / "absent.crt", origin="the kubeconfig"))

    with pytest.raises(ConfigError, match=r"the kubeconfig: cannot read certificate-authority .*absent\.crt: No such"):
        tls.context()


DAMAGED = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"ca_data": b"garbage"}, "certificate-authority-data holds no PEM certificate"),
        ({"ca_data": make_ca().key}, "certificate-authority-data holds no PEM certificate"),
        ({"ca_data": DAMAGED}, "certificate-authority-data holds a certificate that cannot be read"),
        ({"cert_data": b"garbage", "key_data": b"garbage"}, "client certificate or its key is not PEM, or is damaged"),
        ({"cert_data": DAMAGED, "key_data": b"garbage"}, "client certificate or its key is not PEM, or is damaged"),
    ],
)
def test_unusable_data_is_an_error_that_says_which(fields, problem):
    with pytest.raises(ConfigError, match=f"users: .*{problem}"):
        TlsContext(HTTPS, TlsConfig(**fields, origin="users")).context()


@pytest.mark.parametrize("content", [b"", b"garbage"])
def test_unusable_authority_file_is_an_error_that_names_it(tmp_path, content):
    file = tmp_path / "ca.crt"
    file.write_bytes(content)

    with pytest.raises(ConfigError, match=rf"certificate-authority .*{file.name}"):
        TlsContext(HTTPS, TlsConfig(ca_file=file)).context()


def test_key_of_another_certificate_is_an_error(ca):
    config = TlsConfig(cert_data=issue(ca, "alice").cert, key_data=issue(ca, "bob").key)

    with pytest.raises(ConfigError, match="do not belong together"):
        TlsContext(HTTPS, config).context()


def test_encrypted_key_is_an_error_and_asks_nobody_for_a_passphrase(ca):
    key = ca.private_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"hunter2"))

    with pytest.raises(ConfigError, match="encrypted with a passphrase"):
        TlsContext(HTTPS, TlsConfig(cert_data=ca.cert, key_data=key)).context()


@pytest.mark.parametrize("fields", [{"cert_data": b"x"}, {"key_data": b"x"}])
def test_certificate_without_key_and_key_without_certificate_are_errors(fields):
    with pytest.raises(ConfigError, match="go together, but one of them is missing"):
        TlsConfig(**fields)


def test_insecure_and_an_authority_exclude_each_other():
    with pytest.raises(ConfigError, match="exclude each other"):
        TlsConfig(insecure=True, ca_data=b"x")


def test_expired_client_certificate_is_an_error_with_its_date(ca, tmp_path):
    pair = issue(ca, "alice", not_after=datetime(2020, 2, 3, 4, 5, 6, tzinfo=UTC))
    (tmp_path / "alice.pem").write_bytes(pair.cert + pair.key)
    by_data = TlsConfig(cert_data=pair.cert, key_data=pair.key, origin="users[alice]")
    by_file = TlsConfig(cert_file=tmp_path / "alice.pem", key_file=tmp_path / "alice.pem")

    for config, where in ((by_data, r"of users\[alice\]"), (by_file, "in .*alice.pem")):
        with pytest.raises(CredentialError, match=f"{where} expired at 2020-02-03 04:05:06 UTC"):
            TlsContext(HTTPS, config).context()


def test_certificate_that_expires_while_we_run_is_an_error_until_its_file_is_renewed(ca, tmp_path):
    noon = datetime.now(UTC).replace(microsecond=0)
    file, clock, now = tmp_path / "alice.pem", Clock(), [noon]
    old = issue(ca, "alice", not_after=noon + timedelta(hours=1))
    new = issue(ca, "alice", not_after=noon + timedelta(hours=9))
    file.write_bytes(old.cert + old.key)
    config = TlsConfig(cert_file=file, key_file=file)
    tls = TlsContext(HTTPS, config, clock=clock, wall_clock=lambda: now[0])
    before = tls.context()

    now[0] = noon + timedelta(hours=2)
    with pytest.raises(CredentialError, match="expired"):
        tls.context()
    file.write_bytes(new.cert + new.key + b"\n")
    clock.time += 2

    assert tls.context() not in (None, before)


@pytest.mark.parametrize("spoil", [lambda pair: (pair.cert, b"garbage"), lambda pair: (b"garbage", pair.key)])
def test_unusable_certificate_of_the_credentials_is_a_credential_error_that_names_them(ca, spoil):
    credentials = Changing()
    credentials.pair = spoil(issue(ca, "alice"))

    with pytest.raises(CredentialError, match=r"from Changing\(\): the client certificate or its key"):
        TlsContext(HTTPS, TlsConfig(), credentials).context()


def test_key_is_left_in_no_file(ca, tmp_path, monkeypatch):
    pair = issue(ca, "alice")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    tls = TlsContext(HTTPS, TlsConfig(cert_data=pair.cert, key_data=pair.key))
    tempfile.tempdir = None
    try:
        tls.context()
        used = Path(tempfile.gettempdir())
    finally:
        tempfile.tempdir = None

    assert used == tmp_path
    assert list(tmp_path.iterdir()) == []
