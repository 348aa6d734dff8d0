"""Certificates of a server of one's own: an authority, a server certificate, and certificates of users."""

from __future__ import annotations

import ipaddress
import ssl
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

__all__ = ["Authority", "KeyPair", "server_context"]

_LIFETIME: Final = timedelta(days=365)


class KeyPair(NamedTuple):
    """A certificate and its key, as PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """An authority that lives as long as its server."""

    def __init__(self, name: str = "kubewright-apiserver") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        built = _builder(self._subject, self._subject, self._key.public_key())
        signed = built.add_extension(constraints, critical=True).sign(self._key, SHA256())
        self.certificate: bytes = signed.public_bytes(Encoding.PEM)
        """The authority's own certificate, as PEM."""

    def issue_server(self, hosts: Sequence[str]) -> KeyPair:
        """A certificate for a server at these names and addresses."""
        names = x509.SubjectAlternativeName([_host(host) for host in hosts])
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        return self._issue("kube-apiserver", (), (names, usage))

    def issue_client(self, user: str, groups: Sequence[str] = ()) -> KeyPair:
        """A certificate for a user: the common name is the user's, organisations are the groups."""
        return self._issue(user, groups, (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]),))

    def _issue(self, name: str, groups: Sequence[str], extensions: Sequence[x509.ExtensionType]) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        subject = x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = _builder(subject, self._subject, key.public_key())
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return KeyPair(builder.sign(self._key, SHA256()).public_bytes(Encoding.PEM), pem)


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    # Certificates are checked by the wall clock of clients, whatever the server's own clock says.
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(hours=1))
    return builder.not_valid_after(now + _LIFETIME)


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def server_context(pair: KeyPair, authority: bytes) -> ssl.SSLContext:
    """TLS for a server that takes, but does not demand, certificates of the authority from its clients."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_verify_locations(cadata=authority.decode())
    # Python loads keys from files only; this one is readable by its owner alone and gone at once.
    with tempfile.NamedTemporaryFile(prefix="kubewright-apiserver-") as file:
        file.write(pair.certificate + pair.key)
        file.flush()
        context.load_cert_chain(Path(file.name))
    return context
