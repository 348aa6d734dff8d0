"""What the graph of owners is made of: identities, and nodes that know who depends on them."""

from __future__ import annotations

from typing import Final

import msgspec

from kubewright.cache import Owner

__all__ = ["FOREGROUND", "ORPHAN", "Identity", "Node", "matches"]

FOREGROUND: Final = "foregroundDeletion"
"""The finalizer of an object that goes after its dependents."""

ORPHAN: Final = "orphan"
"""The finalizer of an object whose dependents stay."""


class Identity(msgspec.Struct, frozen=True, order=True):
    """Where an object is found, and which one it is. Of two the order is that in which they are tried."""

    kind: str
    api_version: str
    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        place = f"namespace: {self.namespace}, name: {self.name}, uid: {self.uid}"
        return f"[{self.api_version}/{self.kind}, {place}]"

    @classmethod
    def of(cls, owner: Owner, namespace: str) -> Identity:
        """The owner as a dependent in a namespace refers to it."""
        return cls(owner.kind, owner.api_version, namespace, owner.name, owner.uid)

    def elsewhere(self, namespace: str) -> Identity:
        """The same object, if it were in another namespace."""
        return msgspec.structs.replace(self, namespace=namespace)


def matches(owner: Owner, identity: Identity) -> bool:
    """Whether a reference says the same as an identity, but for the namespace, which no reference says."""
    return Identity.of(owner, identity.namespace) == identity


class Node:
    """An object, or an owner that others refer to and that no watch has told of yet (then it is *virtual*)."""

    __slots__ = ("deletes_dependents", "dependents", "identity", "is_deleting", "is_virtual", "orphans", "owners")

    def __init__(self, identity: Identity, owners: tuple[Owner, ...] = (), *, is_virtual: bool = False) -> None:
        self.identity: Identity = identity
        self.owners: tuple[Owner, ...] = owners
        self.dependents: dict[str, Node] = {}
        """By uid, in the order in which they were seen."""
        self.is_virtual: bool = is_virtual
        self.is_deleting: bool = False
        self.deletes_dependents: bool = False
        """Whether it is being deleted in the foreground."""
        self.orphans: bool = False
        """Whether it is being deleted and wants its dependents left alone."""

    @property
    def uid(self) -> str:
        """Its uid."""
        return self.identity.uid

    @property
    def blocking(self) -> list[Node]:
        """The dependents that must be gone before it goes, if it is deleted in the foreground."""
        return [
            dependent
            for dependent in self.dependents.values()
            if any(owner.uid == self.uid and owner.block_owner_deletion for owner in dependent.owners)
        ]

    def divided(self, identity: Identity) -> tuple[list[Node], list[Node]]:
        """The dependents that refer to it by this identity, and those that refer to it by another."""
        agreeing, differing = [], []
        for dependent in self.dependents.values():
            if identity.namespace and identity.namespace != dependent.identity.namespace:
                differing.append(dependent)
                continue
            said = [matches(owner, identity) for owner in dependent.owners if owner.uid == identity.uid]
            if any(said):
                agreeing.append(dependent)
            if not all(said):
                differing.append(dependent)
        return agreeing, differing

    def __repr__(self) -> str:
        return f"<Node {self.identity}{' virtual' if self.is_virtual else ''}>"
