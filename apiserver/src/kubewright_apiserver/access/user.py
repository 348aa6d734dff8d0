"""``User``: somebody who asks, as every part of access control knows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

__all__ = [
    "ADMIN",
    "ANONYMOUS",
    "AUTHENTICATED",
    "MASTERS",
    "UNAUTHENTICATED",
    "User",
    "account_groups",
    "account_name",
]

MASTERS: Final = "system:masters"
"""The group whose members may do everything."""
AUTHENTICATED: Final = "system:authenticated"
UNAUTHENTICATED: Final = "system:unauthenticated"


class User(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who asks."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = {}
    """What else is known of them, such as the pod that their token was issued for."""

    @property
    def is_master(self) -> bool:
        """Whether they may do everything."""
        return MASTERS in self.groups

    def known(self) -> User:
        """The same user, in the group of all whose name is known."""
        if self.name == ANONYMOUS.name or AUTHENTICATED in self.groups or UNAUTHENTICATED in self.groups:
            return self
        return User(name=self.name, groups=(*self.groups, AUTHENTICATED), uid=self.uid, extra=self.extra)


ANONYMOUS: Final = User(name="system:anonymous", groups=(UNAUTHENTICATED,))
"""Who asks without credentials."""

ADMIN: Final = User(name="kubernetes-admin", groups=(MASTERS, AUTHENTICATED))
"""Who may do everything, and asks in the process of the server itself."""


def account_name(namespace: str, name: str) -> str:
    """The name of a service account as a user."""
    return f"system:serviceaccount:{namespace}:{name}"


def account_groups(namespace: str) -> tuple[str, str]:
    """The groups of all service accounts of a namespace."""
    return "system:serviceaccounts", f"system:serviceaccounts:{namespace}"
