"""``Access``: the door of the server: who asks, as whom, and whether they may; before anything else is looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from kubewright_apiserver.access.accounts import Accounts
from kubewright_apiserver.access.attributes import Attributes, attributes_of
from kubewright_apiserver.access.audit import AuditLog, Trail
from kubewright_apiserver.access.authorization import Authorizer, refused_request
from kubewright_apiserver.access.credentials import EXTRA_SPACE, Authenticator, has_extra_space
from kubewright_apiserver.access.front_proxy import FrontProxy
from kubewright_apiserver.access.impersonation import Acting, Impersonation, wanted_user
from kubewright_apiserver.access.tokens import Issuer
from kubewright_apiserver.access.user import ADMIN, ANONYMOUS, User
from kubewright_apiserver.status import Refusal
from kubewright_apiserver.store import Store

__all__ = ["LOCAL", "Access", "AccessOptions", "Asked", "Peer", "Visit"]

_NOT_SNIFFED: Final = ("X-Content-Type-Options", "nosniff")


class AccessOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a server decides who may ask what."""

    modes: tuple[str, ...] = ("RBAC",)
    tokens: Mapping[str, User] = {}
    takes_anonymous: bool = True
    """Whether who shows nothing may ask at all; where everything is allowed they may not."""
    issuers: tuple[str, ...] = ()
    """Who may have issued tokens of service accounts; the first does."""
    audiences: tuple[str, ...] = ()
    signing_key: bytes | None = None
    """The private key of service account tokens as PEM."""
    keys: tuple[bytes, ...] = ()
    """Keys (PEM) that service account tokens are checked by; by that which they are signed with if there are none."""
    audit_path: str | Path | None = None
    audit_policy: Mapping[str, Any] | None = None
    front_proxy: FrontProxy | None = None
    client_authorities: bytes = b""
    """The authorities (PEM) whose certificates tell who a client is."""


class Peer(NamedTuple):
    """The other end of a connection."""

    everybody: User = ANONYMOUS
    """Who asks there without showing anything."""
    certificate: bytes | None = None
    """The client's certificate (DER), which TLS has verified."""
    address: str = "127.0.0.1"


LOCAL: Final = Peer(everybody=ADMIN)
"""Who asks in the process of the server itself, or where everybody is the administrator."""


class Asked(NamedTuple):
    """A request as it came, before anybody knows whose it is."""

    method: str
    target: str
    path: str
    query: str
    headers: Sequence[tuple[str, str]]
    lower: Mapping[str, str]
    """The headers by names in small letters; of those that come twice, one."""


class Access:
    """Lets requests in."""

    def __init__(
        self, store: Store, options: AccessOptions, *, now: Callable[[], datetime], new_uid: Callable[[], str]
    ) -> None:
        self.authorizer: Authorizer = Authorizer(store, options.modes)
        issuer = Issuer(options.issuers, audiences=options.audiences, key=options.signing_key, keys=options.keys)
        self.accounts: Accounts = Accounts(store, issuer, now=now, new_uid=new_uid)
        takes_anonymous = options.takes_anonymous and "AlwaysAllow" not in options.modes
        self.authenticator: Authenticator = Authenticator(
            self.accounts,
            options.tokens,
            takes_anonymous=takes_anonymous,
            front_proxy=options.front_proxy,
            authorities=options.client_authorities,
        )
        self._impersonation = Impersonation(self.authorizer)
        self.audit: AuditLog | None = None
        """Where requests are told of, if they are."""
        if options.audit_path is not None:
            self.audit = AuditLog(options.audit_path, policy=options.audit_policy, now=now, new_id=new_uid)

    @property
    def issuer(self) -> Issuer:
        """Who signs the tokens of service accounts."""
        return self.accounts.issuer

    def forget(self) -> None:
        """Work out all rights anew, after the store was put back to an earlier state."""
        self.authorizer.rbac.forget()

    def close(self) -> None:
        """Tell auditors no more."""
        if self.audit is not None:
            self.audit.close()

    def visit(self, asked: Asked, peer: Peer) -> Visit:
        """The way in of one request."""
        return Visit(self, asked, peer)

    def acting_as(self, asker: User, asked: Asked) -> Acting | None:
        """Whom the asker wants to act as and may; None if nobody is asked for. Raises ``Refusal``, 400 or 403."""
        try:
            wanted = wanted_user(asked.headers)
            return self._impersonation.acting_as(asker, wanted, _attributes(asked)) if wanted is not None else None
        except Refusal as refusal:
            raise _unsniffed(refusal) from None


class Visit:
    """One request on its way in: who asks, as whom, and whether they may."""

    __slots__ = ("_access", "_asked", "_peer", "trail", "user_name")

    def __init__(self, access: Access, asked: Asked, peer: Peer) -> None:
        self._access = access
        self._asked = asked
        self._peer = peer
        self.user_name: str = ""
        """Who asks, or whom they act as, as far as that is known."""
        self.trail: Trail | None = None
        """What auditors are told, if anything."""
        if access.audit is not None:
            lower = asked.lower
            self.trail = access.audit.begin(
                asked.target,
                _attributes(asked),
                lower.get("user-agent", ""),
                peer.address,
                lower.get("audit-id", ""),
            )

    def enter(self) -> User:
        """Whose the request is, once it is clear that they may send it.

        Raises ``Refusal``: 401 for wrong credentials, 400 and 403 for acting as somebody else, 403 for what is not
        allowed.
        """
        asked, user = self._asked, self._authenticated()
        self.user_name = user.name
        if "impersonate-" in " ".join(asked.lower):
            user = self._acting(user)
            self.user_name = user.name
        if user.is_master and self.trail is None:
            return user
        attributes = _attributes(asked)
        decision = self._access.authorizer.decide(user, attributes)
        if self.trail is not None:
            self.trail.decided(decision)
        if not decision.allowed:
            raise _unsniffed(refused_request(user, attributes, decision.reason))
        return user

    def _authenticated(self) -> User:
        peer, authorization = self._peer, self._asked.lower.get("authorization", "")
        authenticator = self._access.authenticator
        try:
            user = authenticator.proxied(self._asked.headers, peer.certificate) or authenticator.user_of(
                authorization, peer.certificate, peer.everybody
            )
        except Refusal as refusal:
            if self.trail is not None:
                self.trail.refused(refusal.body)
            raise
        if self.trail is not None:
            self.trail.authenticated(user)
        return user

    def _acting(self, asker: User) -> User:
        acting = self._access.acting_as(asker, self._asked)
        if acting is None:
            return asker
        if self.trail is not None:
            self.trail.acting_as(acting.user, acting.constraint)
        return acting.user

    @property
    def warnings(self) -> list[str]:
        """What the client should know of its credentials, whatever the answer."""
        authorization = self._asked.lower.get("authorization", "")
        return [EXTRA_SPACE] if authorization and has_extra_space(authorization) else []


def _attributes(asked: Asked) -> Attributes:
    return attributes_of(asked.method, asked.path, asked.query)


def _unsniffed(refusal: Refusal) -> Refusal:
    """The refusal with the header that those have which come before anything is read."""
    refusal.headers = (*refusal.headers, _NOT_SNIFFED)
    return refusal
