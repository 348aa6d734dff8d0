"""What a server shows, whom it believes, and an authority that outlives it."""

import asyncio
import base64
import json
import ssl
import stat
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from cryptography import x509

from kubewright_apiserver import ApiServer
from kubewright_apiserver.access import Authority, Certificates, KeyPair

MASTERS = ["system:masters"]
NAMESPACES = "/api/v1/namespaces"


def context_with(authority: bytes, pair: KeyPair | None, folder: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=authority.decode())
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    if pair is not None:
        file = folder / "client.pem"
        file.write_bytes(pair.certificate + pair.key)
        context.load_cert_chain(file)
    return context


async def status_of(url: str, context: ssl.SSLContext) -> int:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session:
        async with session.get(url + NAMESPACES) as answer:
            return answer.status


async def test_a_server_of_ones_own_is_believed_by_strict_clients(tmp_path: Path):
    certificates = Certificates()
    pair = certificates.authority.issue_client("admin", MASTERS)

    async with ApiServer(certificates=certificates) as server:
        context = context_with(certificates.shown, pair, tmp_path)

        assert await status_of(server.url, context) == 200


async def test_a_given_certificate_is_shown(tmp_path: Path):
    other = Authority()
    certificates = Certificates(server=other.issue_server(["127.0.0.1"]))
    pair = certificates.authority.issue_client("admin", MASTERS)

    async with ApiServer(certificates=certificates) as server:
        assert await status_of(server.url, context_with(other.certificate, pair, tmp_path)) == 200
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await status_of(server.url, context_with(certificates.authority.certificate, pair, tmp_path))


async def test_a_kubeconfig_believes_what_is_shown():
    pair = Authority().issue_server(["127.0.0.1"])

    async with ApiServer(certificates=Certificates(server=pair)) as server:
        config = yaml.safe_load(server.kubeconfig.read_text())

    shown = base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"])
    assert shown == pair.certificate


async def test_clients_of_a_given_authority_are_known(tmp_path: Path):
    users = Authority()
    certificates = Certificates(clients=users.certificate)

    async with ApiServer(certificates=certificates) as server:
        known = context_with(certificates.shown, users.issue_client("alice", MASTERS), tmp_path)
        own = context_with(certificates.shown, certificates.authority.issue_client("admin", MASTERS), tmp_path)

        assert await status_of(server.url, known) == 200
        assert await status_of(server.url, own) == 200


async def test_the_given_authority_of_clients_is_told_to_others():
    users = Authority()

    async with ApiServer(certificates=Certificates(clients=users.certificate)) as server:
        path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
        _, _, chunks = await server.handle("GET", path, [], b"")
        found: Any = json.loads(b"".join([chunk async for chunk in chunks]))

    assert found["data"]["client-ca-file"] == users.certificate.decode()


async def test_the_servers_own_certificate_is_for_its_names(tmp_path: Path):
    async with ApiServer(names=["api.example.com", "192.0.2.7"], service_ranges=["10.9.0.0/16"]) as server:
        host, port = server.url.removeprefix("https://").split(":")
        pem = await asyncio.to_thread(ssl.get_server_certificate, (host, int(port)))

    names = x509.load_pem_x509_certificate(pem.encode()).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    dns = names.value.get_values_for_type(x509.DNSName)
    addresses = [str(address) for address in names.value.get_values_for_type(x509.IPAddress)]
    assert {"api.example.com", "kubernetes.default.svc", "localhost"} <= set(dns)
    assert {"192.0.2.7", "127.0.0.1", "10.9.0.1"} <= set(addresses)


def test_an_authority_is_kept_for_its_owner_alone(tmp_path: Path):
    file = tmp_path / "authority.pem"

    first, second = Authority.kept_in(file), Authority.kept_in(file)

    assert first.certificate == second.certificate
    assert b"PRIVATE KEY" not in second.certificate
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_something_else_than_an_authority_is_refused_and_left_alone(tmp_path: Path):
    file = tmp_path / "authority.pem"
    file.write_text("hello")

    with pytest.raises(ValueError, match=r"authority\.pem is no authority.*remove it to get a new one"):
        Authority.kept_in(file)

    assert file.read_text() == "hello"
