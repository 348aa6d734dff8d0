"""``Authority``: issues certificates of a server of one's own and of its users; kept in a folder if it is to last."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

__all__ = ["Authority", "KeyPair", "write_private"]

_LIFETIME: Final = timedelta(days=365)
_LEAST_LEFT: Final = timedelta(days=30)
_SIGNS_CERTIFICATES: Final = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


class KeyPair(NamedTuple):
    """A certificate and its key, as PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """An authority that lives as long as its server, unless it is given the certificate and key of an earlier one."""

    def __init__(self, pair: KeyPair | None = None) -> None:
        certificate, key = pair or _new_authority()
        loaded, private = x509.load_pem_x509_certificate(certificate), load_pem_private_key(key, password=None)
        if not isinstance(private, ec.EllipticCurvePrivateKey):
            raise ValueError("the key of an authority must be of an elliptic curve")
        self._key = private
        self._subject = loaded.subject
        self.certificate: bytes = loaded.public_bytes(Encoding.PEM)
        """The authority's own certificate, as PEM."""

    @classmethod
    def kept_in(cls, file: Path) -> Authority:
        """The authority that is kept in a file, readable by its owner alone; a new one if there is none that lasts.

        Raises ``ValueError`` that names the file if it is something else.
        """
        try:
            kept = file.read_bytes()
            if not _is_ending(kept):
                return cls(KeyPair(kept, kept))
        except FileNotFoundError:
            pass
        except ValueError as error:
            raise ValueError(f"{file} is no authority: {error}; remove it to get a new one") from None
        pair = _new_authority()
        write_private(file, pair.certificate + pair.key)
        return cls(pair)

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
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(identifier, critical=False)
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        return KeyPair(builder.sign(self._key, SHA256()).public_bytes(Encoding.PEM), _pem(key))


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


def _new_authority() -> KeyPair:
    key = ec.generate_private_key(ec.SECP256R1())
    # Of two authorities with one name, OpenSSL may take the wrong one.
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    name = f"kubewright-apiserver-{identifier.digest.hex()[:12]}"
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    built = _builder(subject, subject, key.public_key()).add_extension(identifier, critical=False)
    built = built.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    built = built.add_extension(_SIGNS_CERTIFICATES, critical=True)
    return KeyPair(built.sign(key, SHA256()).public_bytes(Encoding.PEM), _pem(key))


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _is_ending(certificate: bytes) -> bool:
    return x509.load_pem_x509_certificate(certificate).not_valid_after_utc < datetime.now(UTC) + _LEAST_LEFT


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read, at once or not at all."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
