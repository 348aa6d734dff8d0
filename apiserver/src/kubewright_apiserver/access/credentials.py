"""``Authenticator``: who asks, by what they show: a client certificate, a bearer token, or nothing."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.x509.oid import NameOID, ObjectIdentifier

from kubewright_apiserver.access.accounts import Accounts, Authenticated
from kubewright_apiserver.access.front_proxy import FrontProxy, is_issued_by
from kubewright_apiserver.access.rbac import aggregated_text
from kubewright_apiserver.access.tokens import BadToken
from kubewright_apiserver.access.user import ANONYMOUS, User
from kubewright_apiserver.status import Refusal

__all__ = ["EXTRA_SPACE", "Authenticator", "bearer_token", "has_extra_space", "read_token_file"]

EXTRA_SPACE: Final = "the provided Authorization header contains extra space before the bearer token, and is ignored"
"""What clients are told whose token is not looked at."""

_CREDENTIAL: Final = "authentication.kubernetes.io/credential-id"
_UID: Final = ObjectIdentifier("1.3.6.1.4.1.57683.2")
_INVALID: Final = "invalid bearer token"


class Authenticator:
    """Knows users by certificates that TLS has verified, by tokens that were given, and service accounts by theirs.

    ``front_proxy`` says whose word is taken for who asks; ``authorities`` (PEM) are those of clients, which the
    authority of proxies may be one of.
    """

    def __init__(
        self,
        accounts: Accounts,
        tokens: Mapping[str, User],
        *,
        takes_anonymous: bool = True,
        front_proxy: FrontProxy | None = None,
        authorities: bytes = b"",
    ) -> None:
        self._accounts = accounts
        self._tokens = {token: user.known() for token, user in tokens.items()}
        self._takes_anonymous = takes_anonymous
        self._front_proxy = front_proxy
        self._authorities = authorities

    def proxied(self, headers: Sequence[tuple[str, str]], certificate: bytes | None) -> User | None:
        """Whom a proxy with this certificate (DER) names; None if no proxy asks."""
        return self._front_proxy.user_of(headers, certificate) if self._front_proxy is not None else None

    def _is_of_proxies(self, certificate: bytes) -> bool:
        """Whether a certificate tells that somebody is a proxy, and nothing more."""
        proxy = self._front_proxy
        is_one = proxy is not None and is_issued_by(certificate, proxy.authority)
        return is_one and not (self._authorities and is_issued_by(certificate, self._authorities))

    def user_of(self, authorization: str, certificate: bytes | None, everybody: User = ANONYMOUS) -> User:
        """Who sends a request with this header over a connection with this certificate (DER).

        ``everybody`` is who asks without showing anything. Raises ``Refusal`` (401) for a wrong token.
        """
        if certificate is not None and self._is_of_proxies(certificate):
            certificate = None
        if certificate is not None and (found := _certified(certificate)) is not None:
            return found
        token = bearer_token(authorization) if authorization else ""
        if token:
            try:
                return self.review(token, self._accounts.issuer.audiences).user
            except BadToken:
                raise _unauthorized() from None
        if everybody is ANONYMOUS and not self._takes_anonymous:
            raise _unauthorized()
        return everybody

    def review_header(self, authorization: str, audiences: Sequence[str]) -> Authenticated:
        """Who sends such a header, and for whom; ``BadToken`` if nobody. One without a token is anybody's."""
        token = bearer_token(authorization)
        if token:
            return self.review(token, audiences)
        if not self._takes_anonymous:
            raise BadToken("")
        return Authenticated(ANONYMOUS, tuple(audiences))

    def review(self, token: str, audiences: Sequence[str]) -> Authenticated:
        """Who a token is of, and for whom; ``BadToken`` in kube-apiserver's words if it is of nobody."""
        known = self._tokens.get(token)
        if known is not None:
            common = tuple(audience for audience in audiences if audience in self._accounts.issuer.audiences)
            if common:
                return Authenticated(known, common)
        try:
            found = self._accounts.authenticate(token, audiences)
        except BadToken as error:
            raise BadToken(aggregated_text([_INVALID, str(error)])) from None
        if found is None:
            raise BadToken(_INVALID)
        return found


def bearer_token(authorization: str) -> str:
    """The token in an Authorization header, or nothing; one after two spaces is none."""
    parts = authorization.strip().split(" ", 2)
    return parts[1] if len(parts) > 1 and parts[0].lower() == "bearer" else ""


def has_extra_space(authorization: str) -> bool:
    """Whether there is a token in an Authorization header that is not looked at."""
    parts = authorization.strip().split(" ", 2)
    return len(parts) == 3 and parts[0].lower() == "bearer" and not parts[1]


def _unauthorized() -> Refusal:
    return Refusal(401, "Unauthorized", "Unauthorized")


@lru_cache(maxsize=1024)
def _certified(certificate: bytes) -> User | None:
    """The user that a certificate is of: the common name, in the groups that the organisations name."""
    subject = x509.load_der_x509_certificate(certificate).subject
    names = _values(subject, NameOID.COMMON_NAME)
    uids = _values(subject, _UID)
    if not names or not names[-1] or len(uids) > 1:
        return None
    shown = f"X509SHA256={hashlib.sha256(certificate).hexdigest()}"
    user = User(
        name=names[-1],
        groups=tuple(_values(subject, NameOID.ORGANIZATION_NAME)),
        uid=uids[0] if uids else "",
        extra={_CREDENTIAL: (shown,)},
    )
    return user.known()


def _values(subject: x509.Name, kind: ObjectIdentifier) -> list[str]:
    return [str(attribute.value) for attribute in subject.get_attributes_for_oid(kind)]


def read_token_file(path: str | Path) -> dict[str, User]:
    """Users by their tokens from a file of lines ``token,user,uid,"group,group"``, as kube-apiserver takes it.

    Raises ``ValueError`` that names the line for one of fewer than three parts.
    """
    tokens: dict[str, User] = {}
    with Path(path).open(newline="") as file:
        for number, record in enumerate(csv.reader(file), 1):
            if not record:
                continue
            if len(record) < 3:
                raise ValueError(f"{path}: line {number} needs a token, a user's name and a uid, separated by commas")
            token, name, uid, *rest = record
            groups = tuple(rest[0].split(",")) if rest and rest[0] else ()
            if token:
                tokens[token] = User(name=name, uid=uid, groups=groups)
    return tokens
