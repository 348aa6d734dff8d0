"""What OpenID clients ask: who issues the tokens of service accounts, and by which keys they are known."""

from __future__ import annotations

from typing import Final

from kubewright_apiserver.access.tokens import Issuer
from kubewright_apiserver.negotiation import check_route

__all__ = ["openid_document"]

_CACHED: Final = ("Cache-Control", "public, max-age=3600")
_KEYS: Final = "application/jwk-set+json"

Found = tuple[int, list[tuple[str, str]], bytes]


def openid_document(issuer: Issuer, path: str, accept: str) -> Found | None:
    """The answer to a request for one of the documents, or None for another path; ``Refusal`` (406) if not wanted."""
    asked = path.rstrip("/")
    if asked == "/.well-known/openid-configuration":
        check_route(accept, ("application/json",))
        return 200, [_CACHED, ("Content-Type", "application/json")], issuer.configuration()
    if asked == "/openid/v1/jwks":
        check_route(accept, (_KEYS,))
        return 200, [_CACHED, ("Content-Type", _KEYS)], issuer.key_set()
    return None
