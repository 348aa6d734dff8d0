"""Acting as somebody else: what the headers ask for, and whether one may."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple
from urllib.parse import unquote

from kubewright_apiserver.access.attributes import Attributes
from kubewright_apiserver.access.authorization import Authorizer, refused_request
from kubewright_apiserver.access.rbac import aggregated_text
from kubewright_apiserver.access.user import (
    ANONYMOUS,
    AUTHENTICATED,
    MASTERS,
    UNAUTHENTICATED,
    User,
    account_groups,
)
from kubewright_apiserver.golang import go_quoted
from kubewright_apiserver.query import BAD_ESCAPE
from kubewright_apiserver.status import Refusal, bad_request, invalid_field
from kubewright_apiserver.validation.names import dns_label, dns_subdomain

__all__ = ["Acting", "Impersonation", "wanted_user"]

_EXTRA: Final = "impersonate-extra-"
_ACCOUNT: Final = "system:serviceaccount:"
_NODE: Final = "system:node:"
_NODES: Final = "system:nodes"
_AUTHENTICATION: Final = "authentication.k8s.io"
_NODE_NAME: Final = "authentication.kubernetes.io/node-name"
_LEGACY: Final = ""
_MANY: Final = 4
_MOST_REMEMBERED: Final = 10_000
_PATH: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"


def wanted_user(headers: Iterable[tuple[str, str]]) -> User | None:
    """Whom the headers of a request, with all that come twice, ask to act as; None if nobody.

    Raises ``Refusal`` (400) for groups and the like without a name.
    """
    name = uid = ""
    groups: list[str] = []
    extra: dict[str, list[str]] = {}
    for header, value in headers:
        lower = header.lower()
        if lower == "impersonate-user":
            name = name or value
        elif lower == "impersonate-uid":
            uid = uid or value
        elif lower == "impersonate-group":
            groups.append(value)
        elif lower.startswith(_EXTRA):
            extra.setdefault(_extra_key(lower.removeprefix(_EXTRA)), []).append(value)
    if name:
        return User(name=name, uid=uid, groups=tuple(groups), extra=extra)
    if uid or groups or extra:
        raise bad_request(f"requested {_printed(uid, groups, extra)} without impersonating a user name")
    return None


def _extra_key(text: str) -> str:
    return text if BAD_ESCAPE.search(text) else unquote(text)


def _printed(uid: str, groups: list[str], extra: dict[str, list[str]]) -> str:
    """A user as Go's ``%#v`` prints it."""
    listed = f"[]string{_go_list(groups)}" if groups else "[]string(nil)"
    pairs = ", ".join(f"{go_quoted(key)}:[]string{_go_list(extra[key])}" for key in sorted(extra))
    mapped = f"map[string][]string{{{pairs}}}" if extra else "map[string][]string(nil)"
    return f'&user.DefaultInfo{{Name:"", UID:{go_quoted(uid)}, Groups:{listed}, Extra:{mapped}}}'


def _go_list(texts: list[str]) -> str:
    return f"{{{', '.join(map(go_quoted, texts))}}}"


class Acting(NamedTuple):
    """Whom somebody acts as, and by which limited right; empty for the older one, which has no limits."""

    user: User
    constraint: str


class Impersonation:
    """Decides who may act as whom: by rights that are limited to a kind of user and a verb, or by the older ones."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer
        self._worked: dict[str, str] = {}

    def acting_as(self, asker: User, wanted: User, attributes: Attributes) -> Acting:
        """The user that the asker acts as for what they want to do; ``Refusal`` (403) if they may not."""
        modes = _modes_for(asker, wanted)
        worked = self._worked.get(asker.name)
        if worked in modes:
            modes = [worked, *(mode for mode in modes if mode != worked)]
        first: Refusal | None = None
        for mode in modes:
            try:
                user = self._checked(mode, asker, wanted, attributes)
            except Refusal as refusal:
                first = first or refusal
            else:
                if len(self._worked) >= _MOST_REMEMBERED:
                    self._worked.clear()
                self._worked[asker.name] = mode
                return Acting(user, f"impersonate:{mode}" if mode else "")
        assert first is not None
        raise first

    def _checked(self, mode: str, asker: User, wanted: User, attributes: Attributes) -> User:
        if mode:
            self._check(asker, attributes._replace(verb=f"impersonate-on:{mode}:{attributes.verb}"))
        self._check_name(mode, asker, wanted.name)
        verb = f"impersonate:{mode}" if mode else "impersonate"
        if wanted.uid:
            self._check(asker, Attributes(verb, _AUTHENTICATION, "uids", name=wanted.uid))
        self._check_groups(mode, asker, wanted.groups)
        self._check_extra(mode, asker, wanted.extra)
        return _completed(mode, wanted)

    def _check(self, asker: User, attributes: Attributes) -> None:
        decision = self._authorizer.decide(asker, attributes)
        if not decision.allowed:
            raise refused_request(asker, attributes, decision.reason)

    def _check_name(self, mode: str, asker: User, name: str) -> None:
        verb, group = _verb_and_group(mode)
        namespace, account = _account_in(name)
        if account:
            self._check(asker, Attributes(verb, group, "serviceaccounts", "", namespace, account))
        elif mode and _node_in(name):
            node = "*" if mode == "associated-node" else _node_in(name)
            self._check(asker, Attributes(verb, group, "nodes", name=node))
        else:
            self._check(asker, Attributes(verb, group, "users", name=name))

    def _check_groups(self, mode: str, asker: User, groups: tuple[str, ...]) -> None:
        verb, group = _verb_and_group(mode)
        wanted = Attributes(verb, group, "groups")
        if mode and "" in groups:
            raise refused_request(asker, wanted, "impersonating the empty string group is not allowed")
        if mode and MASTERS in groups:
            why = "impersonating the system:masters group is not allowed"
            raise refused_request(asker, wanted._replace(name=MASTERS), why)
        if mode and len(groups) >= _MANY and self._authorizer.decide(asker, wanted._replace(name="*")).allowed:
            return
        for name in groups:
            self._check(asker, wanted._replace(name=name))

    def _check_extra(self, mode: str, asker: User, extra: Mapping[str, Iterable[str]]) -> None:
        verb, _ = _verb_and_group(mode)
        wanted = Attributes(verb, _AUTHENTICATION, "userextras")
        pairs = [(key, value) for key, values in extra.items() for value in values]
        why = _extra_problem(pairs) if mode else ""
        if why:
            raise refused_request(asker, wanted, why)
        if mode and len(pairs) >= _MANY:
            everything = wanted._replace(subresource="*", name="*")
            if self._authorizer.decide(asker, everything).allowed:
                return
        for key, value in pairs:
            self._check(asker, wanted._replace(subresource=key, name=value))


def _verb_and_group(mode: str) -> tuple[str, str]:
    return (f"impersonate:{mode}", _AUTHENTICATION) if mode else ("impersonate", "")


def _modes_for(asker: User, wanted: User) -> list[str]:
    """The ways in which somebody could be acted as, the most limited first; the older way is the last."""
    node, account = _node_in(wanted.name), _account_in(wanted.name)[1]
    if not node and not account:
        return ["user-info", _LEGACY]
    if wanted.uid or wanted.groups or wanted.extra:
        return [_LEGACY]
    if account:
        return ["serviceaccount", _LEGACY]
    is_associated = bool(_account_in(asker.name)[1]) and list(asker.extra.get(_NODE_NAME, ())) == [node]
    return [*(["associated-node"] if is_associated else []), "arbitrary-node", _LEGACY]


def _completed(mode: str, wanted: User) -> User:
    """The wanted user with the groups that go with the name."""
    groups = wanted.groups
    namespace, account = _account_in(wanted.name)
    if account and not groups:
        groups = account_groups(namespace)
    elif mode and _node_in(wanted.name):
        groups = (_NODES,)
    if wanted.name == ANONYMOUS.name:
        missing = UNAUTHENTICATED
    else:
        missing = AUTHENTICATED if UNAUTHENTICATED not in groups else UNAUTHENTICATED
    if missing not in groups:
        groups = (*groups, missing)
    return User(name=wanted.name, uid=wanted.uid, groups=groups, extra=wanted.extra)


def _account_in(name: str) -> tuple[str, str]:
    """Namespace and name of a service account, empty if a user is none."""
    if not name.startswith(_ACCOUNT):
        return "", ""
    namespace, _, account = name.removeprefix(_ACCOUNT).partition(":")
    is_one = not dns_label(namespace) and not dns_subdomain(account)
    return (namespace, account) if is_one else ("", "")


def _node_in(name: str) -> str:
    node = name.removeprefix(_NODE)
    return node if name != node and not dns_subdomain(node) else ""


def _extra_problem(pairs: list[tuple[str, str]]) -> str:
    for key, value in pairs:
        if not key:
            return "impersonating the empty string key in extra is not allowed"
        wrong = _key_errors(key)
        if wrong:
            return f"impersonating an invalid key in extra is not allowed: {aggregated_text(wrong)}"
        if not value:
            return "impersonating the empty string value in extra is not allowed"
    return ""


def _key_errors(key: str) -> list[str]:
    host, _, path = key.partition("/")
    if not host or not path:
        why = 'must be a domain-prefixed path (such as "acme.io/foo")'
        return [invalid_field("extra.key", key, why).message]
    errors = [invalid_field("extra.key", host, why) for why in dns_subdomain(host)]
    if not re.fullmatch(_PATH, path):
        errors.append(invalid_field("extra.key", path, f"Invalid path (regex used for validation is '{_PATH}')"))
    return [error.message for error in errors]
