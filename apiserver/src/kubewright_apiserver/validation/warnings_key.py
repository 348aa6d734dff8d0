"""Warnings about a certificate and a key that do not go together, in the words of Go's ``crypto/tls``."""

from __future__ import annotations

import base64
import binascii
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import load_der_private_key

from kubewright_apiserver.golang import go_text
from kubewright_apiserver.validation.pem import pem_blocks

__all__ = ["key_pair_warnings"]

_SEQUENCE: Final = b"\x30"
_KEYS: Final = (rsa.RSAPrivateKey, ec.EllipticCurvePrivateKey, ed25519.Ed25519PrivateKey)
_PUBLIC: Final = (rsa.RSAPublicKey, ec.EllipticCurvePublicKey, ed25519.Ed25519PublicKey)


class _Unfit(ValueError):
    """What keeps two texts from being a certificate and its key."""


def key_pair_warnings(certificate: str, key: str) -> list[str]:
    """What is wrong with a certificate and its key, both PEM in base64; nothing if they fit."""
    try:
        _check(_decoded(certificate), _decoded(key))
    except _Unfit as problem:
        return [str(problem)]
    return []


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except binascii.Error:
        return b""


def _check(certificate: bytes, key: bytes) -> None:
    found, private = _certificate_in(certificate), _key_in(key)
    try:
        public = x509.load_der_x509_certificate(found).public_key()
    except (ValueError, UnsupportedAlgorithm):
        raise _Unfit(f"x509: malformed {'tbs ' if found[:1] == _SEQUENCE else ''}certificate") from None
    try:
        own = load_der_private_key(private, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise _Unfit("tls: failed to parse private key") from None
    kinds = zip(_PUBLIC, _KEYS, strict=True)
    wanted = next((kind for kind_of_public, kind in kinds if isinstance(public, kind_of_public)), None)
    if wanted is None:
        raise _Unfit("tls: unknown public key algorithm")
    if not isinstance(own, wanted):
        raise _Unfit("tls: private key type does not match public key type")
    if own.public_key() != public:
        raise _Unfit("tls: private key does not match public key")


def _certificate_in(text: bytes) -> bytes:
    blocks = pem_blocks(text)
    found = next((body for kind, body in blocks if kind == "CERTIFICATE"), None)
    if found is not None:
        return found
    kinds = [kind for kind, _ in blocks]
    if not kinds:
        raise _Unfit("tls: failed to find any PEM data in certificate input")
    if len(kinds) == 1 and kinds[0].endswith("PRIVATE KEY"):
        what = "failed to find certificate PEM data in certificate input, but did find a private key"
        raise _Unfit(f"tls: {what}; PEM inputs may have been switched")
    skipped = f"after skipping PEM blocks of the following types: {go_text(kinds)}"
    raise _Unfit(f'tls: failed to find "CERTIFICATE" PEM block in certificate input {skipped}')


def _key_in(text: bytes) -> bytes:
    blocks = pem_blocks(text)
    found = next((body or b"" for kind, body in blocks if kind.endswith("PRIVATE KEY")), None)
    if found is not None:
        return found
    kinds = [kind for kind, _ in blocks]
    if not kinds:
        raise _Unfit("tls: failed to find any PEM data in key input")
    if kinds == ["CERTIFICATE"]:
        raise _Unfit("tls: found a certificate rather than a key in the PEM for the private key")
    skipped = f"after skipping PEM blocks of the following types: {go_text(kinds)}"
    raise _Unfit(f'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input {skipped}')
