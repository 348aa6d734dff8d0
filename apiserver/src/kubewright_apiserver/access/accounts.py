"""Service accounts as users: what a token claims of one, and whether that still holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from kubewright_apiserver.access.rules import go_strings
from kubewright_apiserver.access.tokens import BadToken, Issuer
from kubewright_apiserver.access.user import User, account_groups, account_name
from kubewright_apiserver.golang import go_quoted
from kubewright_apiserver.store import Store

__all__ = ["Accounts", "Authenticated", "Claimed", "Lifetime"]

Object = dict[str, Any]

_LEEWAY: Final = 60
_MOST_KEPT: Final = 1024
_ABOUT: Final = "authentication.kubernetes.io"
_INVALIDATED: Final = "service account token has been invalidated"


class Authenticated(NamedTuple):
    """Who a token is of, and which of the wanted audiences it is for."""

    user: User
    audiences: tuple[str, ...]


class Claimed(NamedTuple):
    """The account that a token is issued for, and the objects that it is bound to."""

    account: Object
    pod: Object | None = None
    secret: Object | None = None
    node: Object | None = None


class Lifetime(NamedTuple):
    """How long a token holds, in seconds; after ``warns_after``, if that is not 0, its use is told to auditors."""

    seconds: int
    warns_after: int = 0


class Accounts:
    """Issues tokens of service accounts and takes them, as long as what they are bound to is there."""

    def __init__(
        self, store: Store, issuer: Issuer, *, now: Callable[[], datetime], new_uid: Callable[[], str]
    ) -> None:
        self.issuer: Issuer = issuer
        self._now = now
        self._new_uid = new_uid
        self._users: dict[str, User] = {}
        self._accounts = store.table("/serviceaccounts")
        self._bound = {
            "secret": store.table("/secrets"),
            "pod": store.table("/pods"),
            "node": store.table("/nodes"),
        }

    def issue(self, claimed: Claimed, audiences: Sequence[str], lifetime: Lifetime) -> str:
        """A token of an account for these audiences."""
        now, metadata = int(self._now().timestamp()), claimed.account["metadata"]
        about: Object = {"namespace": metadata["namespace"], "serviceaccount": _reference(claimed.account)}
        for kind in ("pod", "secret", "node"):
            bound: Object | None = getattr(claimed, kind)
            if bound is not None:
                about[kind] = _reference(bound)
        if lifetime.warns_after:
            about["warnafter"] = now + lifetime.warns_after
        return self.issuer.sign(
            {
                "aud": list(audiences),
                "exp": now + lifetime.seconds,
                "iat": now,
                "nbf": now,
                "jti": self._new_uid(),
                "sub": account_name(metadata["namespace"], metadata["name"]),
                "kubernetes.io": about,
            }
        )

    def authenticate(self, token: str, audiences: Sequence[str]) -> Authenticated | None:
        """Who a token is of, or None if it is of another issuer; ``BadToken`` if it holds no more, or for others."""
        claims = self.issuer.claims_in(token)
        if claims is None:
            return None
        meant = _audiences_in(claims) or self.issuer.audiences
        common = tuple(audience for audience in audiences if audience in meant)
        if not common:
            told = f"token audiences {go_strings(meant)} is invalid for the target audiences {go_strings(audiences)}"
            raise BadToken(told)
        _check_times(claims, self._now().timestamp())
        about: Object = claims.get("kubernetes.io") or {}
        self._check_account(about)
        self._check_bound(about)
        return Authenticated(self._user_of(token, claims), common)

    def _user_of(self, token: str, claims: Object) -> User:
        found = self._users.get(token)
        if found is None:
            if len(self._users) >= _MOST_KEPT:
                self._users.clear()
            found = self._users[token] = _user(claims["kubernetes.io"], claims.get("jti", "")).known()
        return found

    def _check_account(self, about: Object) -> None:
        namespace, claimed = about.get("namespace", ""), about.get("serviceaccount") or {}
        name = claimed.get("name", "")
        row = self._accounts.get(f"{namespace}/{name}")
        if row is None:
            raise BadToken(f"serviceaccounts {go_quoted(name)} not found")
        metadata = row.obj["metadata"]
        if metadata["uid"] != claimed.get("uid", ""):
            told = f"service account UID ({metadata['uid']}) does not match claim ({claimed.get('uid', '')})"
            raise BadToken(told)
        if self._is_gone(metadata):
            raise BadToken(f"service account {namespace}/{name} has been deleted")

    def _check_bound(self, about: Object) -> None:
        for kind, table in self._bound.items():
            claimed = about.get(kind)
            if claimed is None or (kind == "node" and about.get("pod") is not None):
                continue
            name = claimed.get("name", "")
            row = table.get(name if kind == "node" else f"{about.get('namespace', '')}/{name}")
            if row is None:
                raise BadToken(_INVALIDATED)
            metadata, uid = row.obj["metadata"], claimed.get("uid", "")
            if metadata["uid"] != uid:
                told = f"{kind} UID ({metadata['uid']}) does not match service account {kind} ref claim ({uid})"
                raise BadToken(told)
            if self._is_gone(metadata):
                raise BadToken(_INVALIDATED)

    def _is_gone(self, metadata: Object) -> bool:
        """Whether an object's deletion is over for so long that it counts as gone."""
        deleted = metadata.get("deletionTimestamp")
        return deleted is not None and datetime.fromisoformat(deleted).timestamp() < self._now().timestamp() - _LEEWAY


def _check_times(claims: Object, now: float) -> None:
    starts, ends, issued = claims.get("nbf"), claims.get("exp"), claims.get("iat")
    if starts is not None and now + _LEEWAY < starts:
        raise BadToken("service account token is not valid yet")
    if ends is not None and now - _LEEWAY > ends:
        raise BadToken("service account token has expired")
    if issued is not None and now + _LEEWAY < issued:
        raise BadToken("service account token is issued in the future")


def _audiences_in(claims: Object) -> tuple[str, ...]:
    found = claims.get("aud") or ()
    return (found,) if isinstance(found, str) else tuple(found)


def _reference(obj: Object) -> Object:
    metadata = obj["metadata"]
    return {"name": metadata["name"], "uid": metadata["uid"]} if "uid" in metadata else {"name": metadata["name"]}


def _user(about: Object, token_id: str) -> User:
    namespace, account = about["namespace"], about["serviceaccount"]
    extra: dict[str, Sequence[str]] = {}
    if token_id:
        extra[f"{_ABOUT}/credential-id"] = (f"JTI={token_id}",)
    for kind in ("node", "pod"):
        claimed = about.get(kind) or {}
        if claimed.get("name"):
            extra[f"{_ABOUT}/{kind}-name"] = (claimed["name"],)
        if claimed.get("uid"):
            extra[f"{_ABOUT}/{kind}-uid"] = (claimed["uid"],)
    name = account_name(namespace, account["name"])
    return User(name=name, uid=account["uid"], groups=account_groups(namespace), extra=extra)
