"""Who asks: by client certificate, by bearer token, or nobody."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from kubewright_apiserver.status import Refusal

__all__ = ["ANONYMOUS", "Authenticator", "User"]


class User(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who asks."""

    name: str
    groups: tuple[str, ...] = ()


ANONYMOUS: Final = User(name="system:anonymous", groups=("system:unauthenticated",))


class Authenticator:
    """Knows users by their tokens and certificates."""

    def __init__(self, tokens: Mapping[str, User]) -> None:
        self._tokens = dict(tokens)

    def user_of(self, headers: Mapping[str, str], certificate: Mapping[str, Any] | None) -> User:
        """Who sends a request with these headers over a connection with this certificate; 401 for a wrong token."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            user = self._tokens.get(token.strip())
            if user is None:
                raise Refusal(401, "Unauthorized", "Unauthorized")
            return user
        return _certified(certificate.get("subject", ())) if certificate else ANONYMOUS


@lru_cache(maxsize=1024)
def _certified(subject: tuple[tuple[tuple[str, str], ...], ...]) -> User:
    pairs = [pair for entry in subject for pair in entry]
    name = next((value for key, value in pairs if key == "commonName"), "")
    groups = tuple(value for key, value in pairs if key == "organizationName")
    return User(name=name, groups=(*groups, "system:authenticated"))
