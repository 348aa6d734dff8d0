"""``Issuer``: signed tokens (JWT) of service accounts, and what others need in order to check them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import orjson
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

__all__ = ["BadToken", "Issuer", "new_signing_key", "public_keys"]

_URL: Final = "https://kubernetes.default.svc.cluster.local"
_ADDRESS: Final = "127.0.0.1:6443"
_HALF: Final = 32
_MOST_KEPT: Final = 1024
_BROKEN: Final = "go-jose/go-jose: error in cryptographic primitive"

_BLOCK: Final = re.compile(rb"-----BEGIN [^-]+-----.*?-----END [^-]+-----", re.DOTALL)

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey


class BadToken(Exception):
    """A token that the issuer did not sign; the message says what is wrong with it, without showing it."""


class Issuer:
    """Signs what is claimed of service accounts, and knows its own signatures again.

    ``urls`` are who tokens may say has issued them, the first of them who issues now, and whom they are for unless
    ``audiences`` says otherwise. ``key`` is a private key as PEM, of the curve P-256 or RSA; without one, a fresh one
    is made when it is needed. ``keys`` are further ones, public or private, that signatures are known by.
    """

    def __init__(
        self,
        urls: str | Sequence[str] = (),
        *,
        audiences: tuple[str, ...] = (),
        key: bytes | None = None,
        keys: Sequence[bytes] = (),
        address: str = _ADDRESS,
    ) -> None:
        self.urls: tuple[str, ...] = ((urls,) if isinstance(urls, str) else tuple(urls)) or (_URL,)
        self.audiences: tuple[str, ...] = audiences or self.urls[:1]
        """Whom tokens must be for to be taken by this server."""
        self.address: str = address
        """Host and port at which the server is found, for those who want its public keys."""
        self._given = _loaded(key) if key is not None else None
        self._others = [found for pem in keys for found in public_keys(pem)]
        self._verified: dict[str, dict[str, Any]] = {}

    @property
    def url(self) -> str:
        """Who issues tokens."""
        return self.urls[0]

    @cached_property
    def _key(self) -> PrivateKey:
        return self._given or ec.generate_private_key(ec.SECP256R1())

    @cached_property
    def _key_id(self) -> str:
        return _identified(self._key.public_key())

    @cached_property
    def _keys(self) -> dict[str, PublicKey]:
        """What signatures are known by; a key that was only made for want of one counts as long as none is given."""
        own = [self._key.public_key()] if self._given is not None or not self._others else []
        return {_identified(key): key for key in (*own, *self._others)}

    def sign(self, claims: Mapping[str, Any]) -> str:
        """A token with these claims, which the issuer is added to."""
        header = orjson.dumps({"alg": _algorithm(self._key.public_key()), "kid": self._key_id})
        payload = orjson.dumps({**claims, "iss": self.url}, option=orjson.OPT_SORT_KEYS)
        signed = f"{_encoded(header)}.{_encoded(payload)}"
        return f"{signed}.{_encoded(self._signature(signed.encode()))}"

    def _signature(self, data: bytes) -> bytes:
        key = self._key
        if isinstance(key, rsa.RSAPrivateKey):
            return key.sign(data, padding.PKCS1v15(), SHA256())
        r, s = decode_dss_signature(key.sign(data, ec.ECDSA(SHA256())))
        return r.to_bytes(_HALF) + s.to_bytes(_HALF)

    def claims_in(self, token: str) -> dict[str, Any] | None:
        """What a token claims, or None if it does not say to be of this issuer.

        Raises ``BadToken`` if it says so, but is not. Whether its time is over is for others to see.
        """
        found = self._verified.get(token)
        if found is None:
            found = self._claims_in(token)
            if found is not None:
                if len(self._verified) >= _MOST_KEPT:
                    self._verified.clear()
                self._verified[token] = found
        return found

    def _claims_in(self, token: str) -> dict[str, Any] | None:
        parts = token.split(".")
        if len(parts) != 3:
            return None
        header, claims = _read(parts[0]), _read(parts[1])
        if header is None or claims is None or claims.get("iss") not in self.urls:
            return None
        named = header.get("kid")
        keys = [*self._keys.values()] if named is None else [self._keys[named]] if named in self._keys else []
        if not keys:
            raise BadToken("invalid signature, no keys found")
        signed, signature = f"{parts[0]}.{parts[1]}".encode(), _decoded(parts[2])
        if signature is None or not any(_has_signed(key, header.get("alg"), signed, signature) for key in keys):
            raise BadToken(_BROKEN)
        return claims

    def configuration(self) -> bytes:
        """The OpenID configuration: who issues tokens, and where the keys are."""
        document = {
            "issuer": self.url,
            "jwks_uri": f"https://{self.address}/openid/v1/jwks",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": sorted({_algorithm(key) for key in self._keys.values()}),
        }
        return orjson.dumps(document)

    def key_set(self) -> bytes:
        """The public keys as a set of JSON web keys."""
        return orjson.dumps({"keys": [_web_key(key, key_id) for key_id, key in self._keys.items()]})


def _identified(key: PublicKey) -> str:
    public = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return _encoded(hashlib.sha256(public).digest())


def _algorithm(key: PublicKey) -> str:
    return "ES256" if isinstance(key, ec.EllipticCurvePublicKey) else "RS256"


def _has_signed(key: PublicKey, algorithm: object, data: bytes, signature: bytes) -> bool:
    if algorithm != _algorithm(key):
        return False
    try:
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, data, padding.PKCS1v15(), SHA256())
            return True
        if len(signature) != 2 * _HALF:
            return False
        halves = int.from_bytes(signature[:_HALF]), int.from_bytes(signature[_HALF:])
        key.verify(encode_dss_signature(*halves), data, ec.ECDSA(SHA256()))
    except InvalidSignature:
        return False
    return True


def _web_key(key: PublicKey, key_id: str) -> dict[str, str]:
    named = {"use": "sig", "kty": "RSA", "kid": key_id, "alg": _algorithm(key)}
    if isinstance(key, rsa.RSAPublicKey):
        numbers = key.public_numbers()
        return {**named, "n": _number(numbers.n), "e": _number(numbers.e)}
    point = key.public_numbers()
    sides = {"x": _encoded(point.x.to_bytes(_HALF)), "y": _encoded(point.y.to_bytes(_HALF))}
    return {**named, "kty": "EC", "crv": "P-256", **sides}


def _loaded(pem: bytes) -> PrivateKey:
    key = load_pem_private_key(pem, password=None)
    if isinstance(key, rsa.RSAPrivateKey):
        return key
    if isinstance(key, ec.EllipticCurvePrivateKey) and isinstance(key.curve, ec.SECP256R1):
        return key
    raise ValueError("the key that service account tokens are signed with must be RSA, or of the curve P-256")


def new_signing_key() -> bytes:
    """A fresh private key of service account tokens, as PEM."""
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def public_keys(pem: bytes) -> list[PublicKey]:
    """The keys in a file, public or private, or in certificates; ``ValueError`` if there is none that can be used."""
    found = [_public_key(block) for block in _BLOCK.findall(pem)]
    if not found:
        raise ValueError("data does not contain any valid RSA or ECDSA public keys")
    return found


def _public_key(pem: bytes) -> PublicKey:
    if b"PRIVATE KEY" in pem:
        return _loaded(pem).public_key()
    is_certificate = b"CERTIFICATE" in pem
    key = x509.load_pem_x509_certificate(pem).public_key() if is_certificate else load_pem_public_key(pem)
    if isinstance(key, rsa.RSAPublicKey) or (
        isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, ec.SECP256R1)
    ):
        return key
    raise ValueError("the keys that service account tokens are checked by must be RSA, or of the curve P-256")


def _read(part: str) -> dict[str, Any] | None:
    data = _decoded(part)
    try:
        found = orjson.loads(data) if data is not None else None
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def _decoded(part: str) -> bytes | None:
    try:
        return base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _number(value: int) -> str:
    return _encoded(value.to_bytes((value.bit_length() + 7) // 8))
