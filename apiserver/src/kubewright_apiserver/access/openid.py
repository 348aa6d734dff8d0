"""What OpenID clients ask: who issues the tokens of service accounts, and by which keys they are known."""

from __future__ import annotations

from typing import Final

from kubewright_apiserver.access.tokens import Issuer
from kubewright_apiserver.negotiation import check_route
from kubewright_apiserver.status import method_not_allowed

__all__ = ["openid_document"]

_CACHED: Final = ("Cache-Control", "public, max-age=3600")
_KEYS: Final = "application/jwk-set+json"
_MEDIA: Final = {"/.well-known/openid-configuration": "application/json", "/openid/v1/jwks": _KEYS}

Found = tuple[int, list[tuple[str, str]], bytes]


def openid_document(issuer: Issuer, method: str, path: str, accept: str) -> Found | None:
    """The answer to a request for one of the documents, or None for another path.

    Raises ``Refusal``: 405 for another method than GET, 406 for a client that takes something else.
    """
    media = _MEDIA.get(path.rstrip("/"))
    if media is None:
        return None
    if method != "GET":
        raise method_not_allowed()
    check_route(accept, (media,))
    document = issuer.key_set() if media == _KEYS else issuer.configuration()
    return 200, [_CACHED, ("Content-Type", media)], document
