"""Certificates for tests: an authority of one's own and what it issues, made fresh, as PEM bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


@dataclass(frozen=True)
class Pair:
    """A certificate and its key as PEM."""

    cert: bytes
    key: bytes


@dataclass(frozen=True)
class Authority(Pair):
    """A certificate authority; give it to ``issue``."""

    certificate: x509.Certificate
    private_key: ec.EllipticCurvePrivateKey


def make_ca(common_name: str = "test authority") -> Authority:
    """A new authority that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name(common_name)
    builder = (
        _builder(name, name, key, None, None)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_key_usage(authority=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    certificate = builder.sign(key, hashes.SHA256())
    return Authority(_cert_pem(certificate), _key_pem(key), certificate, key)


def issue(
    ca: Authority,
    common_name: str,
    sans: Iterable[str] = (),
    organizations: Iterable[str] = (),
    not_after: datetime | None = None,
    not_before: datetime | None = None,
) -> Pair:
    """A certificate for a server (with names or addresses in ``sans``) or a client, signed by ``ca``."""
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        _builder(_name(common_name, organizations), ca.certificate.subject, key, not_before, not_after)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(authority=False), critical=True)
        .add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False
        )
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca.private_key.public_key()), critical=False)
    )
    names = [_general_name(san) for san in sans]
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return Pair(_cert_pem(builder.sign(ca.private_key, hashes.SHA256())), _key_pem(key))


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    not_before: datetime | None,
    not_after: datetime | None,
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    end = not_after or now + timedelta(days=1)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(not_before or min(now, end) - timedelta(hours=1))
        .not_valid_after(end)
    )


def _name(common_name: str, organizations: Iterable[str] = ()) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization) for organization in organizations]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general_name(san: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(san))
    except ValueError:
        return x509.DNSName(san)


def _key_usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def _cert_pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
