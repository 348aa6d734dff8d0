from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Any

import pytest

from kubewright.testing.certificates import Authority, KeyPair, signing_key_pair


def context(purpose: int, authority: Authority, pair: KeyPair, folder: Path) -> ssl.SSLContext:
    made = ssl.SSLContext(purpose)
    made.verify_flags |= ssl.VERIFY_X509_STRICT
    made.verify_mode = ssl.CERT_REQUIRED
    made.load_verify_locations(cadata=authority.pair.public.decode())
    file = folder / f"{purpose}.pem"
    file.write_bytes(pair.public + pair.private)
    made.load_cert_chain(file)
    return made


async def certificate_seen_by_server(authority: Authority, client: KeyPair, folder: Path, host: str) -> dict[str, Any]:
    seen: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

    async def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.set_result(writer.get_extra_info("peercert"))
        writer.close()

    pair = authority.issue_server("server", ["127.0.0.1", "localhost"])
    server_context = context(ssl.PROTOCOL_TLS_SERVER, authority, pair, folder)
    client_context = context(ssl.PROTOCOL_TLS_CLIENT, authority, client, folder)
    async with await asyncio.start_server(accept, "127.0.0.1", 0, ssl=server_context) as server:
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client_context, server_hostname=host)
        await reader.read()
        writer.close()
        await writer.wait_closed()
        return await seen


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_client_certificate_carries_user_and_groups_under_strict_verification(
    tmp_path: Path, host: str
) -> None:
    authority = Authority("test")
    client = authority.issue_client("alice", ["dev", "ops"])

    seen = await certificate_seen_by_server(authority, client, tmp_path, host)

    subject = [pair for names in seen["subject"] for pair in names]
    assert sorted(subject) == [("commonName", "alice"), ("organizationName", "dev"), ("organizationName", "ops")]


async def test_a_server_certificate_is_refused_for_another_host(tmp_path: Path) -> None:
    authority = Authority("test")

    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        await certificate_seen_by_server(authority, authority.issue_client("alice"), tmp_path, "example.org")


def test_a_key_pair_keeps_its_key_out_of_its_repr() -> None:
    pair = signing_key_pair()

    assert b"PRIVATE KEY" in pair.private
    assert "KEY" not in repr(pair)
