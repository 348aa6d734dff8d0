"""``Issuer``: signed tokens (JWT) of service accounts, and what others need in order to check them."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

__all__ = ["BadToken", "Issuer"]

_URL: Final = "https://kubernetes.default.svc.cluster.local"
_ADDRESS: Final = "127.0.0.1:6443"
_HALF: Final = 32
_MOST_KEPT: Final = 1024
_BROKEN: Final = "go-jose/go-jose: error in cryptographic primitive"

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


class BadToken(Exception):
    """A token that the issuer did not sign; the message says what is wrong with it, without showing it."""


class Issuer:
    """Signs what is claimed of service accounts, and knows its own signatures again.

    ``key`` is a private key as PEM, of the curve P-256 or RSA; without one, a fresh one is made when it is needed.
    ``url`` is who the tokens say has issued them, and whom they are for unless ``audiences`` says otherwise.
    """

    def __init__(
        self, url: str = _URL, *, audiences: tuple[str, ...] = (), key: bytes | None = None, address: str = _ADDRESS
    ) -> None:
        self.url: str = url
        self.audiences: tuple[str, ...] = audiences or (url,)
        """Whom tokens must be for to be taken by this server."""
        self.address: str = address
        """Host and port at which the server is found, for those who want its public keys."""
        self._given = _loaded(key) if key is not None else None
        self._verified: dict[str, dict[str, Any]] = {}

    @cached_property
    def _key(self) -> PrivateKey:
        return self._given or ec.generate_private_key(ec.SECP256R1())

    @cached_property
    def _key_id(self) -> str:
        public = self._key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return _encoded(hashlib.sha256(public).digest())

    @property
    def _algorithm(self) -> str:
        return "ES256" if isinstance(self._key, ec.EllipticCurvePrivateKey) else "RS256"

    def sign(self, claims: Mapping[str, Any]) -> str:
        """A token with these claims, which the issuer is added to."""
        header = orjson.dumps({"alg": self._algorithm, "kid": self._key_id})
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
        if header is None or claims is None or claims.get("iss") != self.url:
            return None
        if header.get("kid", self._key_id) != self._key_id:
            raise BadToken("invalid signature, no keys found")
        signature = _decoded(parts[2])
        if header.get("alg") != self._algorithm or signature is None:
            raise BadToken(_BROKEN)
        self._check(f"{parts[0]}.{parts[1]}".encode(), signature)
        return claims

    def _check(self, data: bytes, signature: bytes) -> None:
        key = self._key.public_key()
        try:
            if isinstance(key, rsa.RSAPublicKey):
                key.verify(signature, data, padding.PKCS1v15(), SHA256())
                return
            if len(signature) != 2 * _HALF:
                raise BadToken(_BROKEN)
            halves = int.from_bytes(signature[:_HALF]), int.from_bytes(signature[_HALF:])
            key.verify(encode_dss_signature(*halves), data, ec.ECDSA(SHA256()))
        except InvalidSignature:
            raise BadToken(_BROKEN) from None

    def configuration(self) -> bytes:
        """The OpenID configuration: who issues tokens, and where the keys are."""
        document = {
            "issuer": self.url,
            "jwks_uri": f"https://{self.address}/openid/v1/jwks",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [self._algorithm],
        }
        return orjson.dumps(document)

    def key_set(self) -> bytes:
        """The public key as a set of JSON web keys."""
        key = self._key.public_key()
        named = {"use": "sig", "kty": "RSA", "kid": self._key_id, "alg": self._algorithm}
        if isinstance(key, rsa.RSAPublicKey):
            numbers = key.public_numbers()
            told = {**named, "n": _number(numbers.n), "e": _number(numbers.e)}
        else:
            point = key.public_numbers()
            sides = {"x": _encoded(point.x.to_bytes(_HALF)), "y": _encoded(point.y.to_bytes(_HALF))}
            told = {**named, "kty": "EC", "crv": "P-256", **sides}
        return orjson.dumps({"keys": [told]})


def _loaded(pem: bytes) -> PrivateKey:
    key = load_pem_private_key(pem, password=None)
    if isinstance(key, rsa.RSAPrivateKey):
        return key
    if isinstance(key, ec.EllipticCurvePrivateKey) and isinstance(key.curve, ec.SECP256R1):
        return key
    raise ValueError("the key that service account tokens are signed with must be RSA, or of the curve P-256")


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
