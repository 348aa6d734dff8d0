"""The graph of owners and dependents, as the watches tell it, and what of it must be looked at.

It only remembers and asks for attention; whether something is deleted is decided by the collector, who asks the server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kubewright.cache import Entry, Owner
from kubewright.controlplane.garbage_collector.absent import AbsentOwners
from kubewright.controlplane.garbage_collector.node import FOREGROUND, ORPHAN, Identity, Node, matches

__all__ = ["Attention", "Graph"]


@dataclass(frozen=True, slots=True)
class Attention:
    """Whom the graph tells what must be looked at."""

    examine: Callable[[Node], None]
    """Perhaps it has lost its owners, or waits for its dependents, or is not there at all."""
    examine_later: Callable[[Node], None]
    orphan: Callable[[Node], None]
    """It goes, and its dependents stay."""
    complain: Callable[[Node, Owner], None]
    """Its owner is in another namespace."""


class Graph:
    """Nodes by uid."""

    def __init__(self, attention: Attention, absent: AbsentOwners) -> None:
        self._attention = attention
        self._absent = absent
        self._nodes: dict[str, Node] = {}

    def get(self, uid: str) -> Node | None:
        """The node of an object, or None."""
        return self._nodes.get(uid)

    def __len__(self) -> int:
        return len(self._nodes)

    def observed(self, identity: Identity, head: Entry) -> None:
        """A watch tells how an object is."""
        self._absent.discard(identity)
        node = self._nodes.get(identity.uid)
        if node is None:
            node = self._nodes[identity.uid] = Node(identity, head.owner_references)
            self._join(node, node.owners)
        else:
            if node.is_virtual:
                self._reveal(node, identity)
            self._change_owners(node, head.owner_references)
        node.is_deleting = head.is_deleting
        self._see_finalizers(node, head.finalizers if head.is_deleting else ())

    def _see_finalizers(self, node: Node, finalizers: Iterable[str]) -> None:
        had_orphan, had_foreground = node.orphans, node.deletes_dependents
        node.orphans, node.deletes_dependents = ORPHAN in finalizers, FOREGROUND in finalizers
        if node.orphans and not had_orphan:
            self._attention.orphan(node)
        elif node.deletes_dependents and not had_foreground:
            for dependent in node.dependents.values():
                self._attention.examine(dependent)
            self._attention.examine(node)

    def _reveal(self, node: Node, identity: Identity) -> None:
        """An owner that dependents have told of is there; those who said it wrongly must be looked at."""
        if node.identity != identity:
            for dependent in node.divided(identity)[1]:
                if identity.namespace and dependent.identity.namespace != identity.namespace:
                    self._complain(dependent, identity.uid)
                self._attention.examine(dependent)
            node.identity = identity
        node.is_virtual = False

    def _change_owners(self, node: Node, owners: tuple[Owner, ...]) -> None:
        if node.owners == owners:
            return
        before, after = {owner.uid: owner for owner in node.owners}, {owner.uid: owner for owner in owners}
        for uid, owner in before.items():
            if owner.block_owner_deletion and not (uid in after and after[uid].block_owner_deletion):
                self._examine_uid(uid)
        node.owners = owners
        self._join(node, [owner for owner in owners if owner.uid not in before])
        self._leave(node, [uid for uid in before if uid not in after])

    def _join(self, node: Node, owners: Iterable[Owner]) -> None:
        """Make it a dependent of its owners; one that is not known yet becomes a virtual node."""
        is_doubtful = False
        for owner in owners:
            found = self._nodes.get(owner.uid)
            if found is None:
                found = self._nodes[owner.uid] = Node(Identity.of(owner, node.identity.namespace), is_virtual=True)
                found.dependents[node.uid] = node
                self._attention.examine(found)
                continue
            found.dependents[node.uid] = node
            is_doubtful = is_doubtful or self._is_doubtful(node, owner, found)
        if is_doubtful:
            self._attention.examine(node)

    def _is_doubtful(self, node: Node, owner: Owner, found: Node) -> bool:
        """Whether a reference to a known owner may be wrong: another namespace, other coordinates."""
        is_same_place = found.identity.namespace == node.identity.namespace
        if found.identity.namespace and not is_same_place:
            if not found.is_virtual:
                self._complain(node, owner.uid)
            return True
        # A virtual owner without a namespace was named by a cluster-scoped object, perhaps wrongly.
        return not matches(owner, found.identity) or (found.is_virtual and not is_same_place)

    def _complain(self, node: Node, uid: str) -> None:
        for owner in node.owners:
            if owner.uid == uid:
                self._attention.complain(node, owner)
                return

    def _leave(self, node: Node, owners: Iterable[str]) -> None:
        for uid in owners:
            found = self._nodes.get(uid)
            if found is not None:
                found.dependents.pop(node.uid, None)

    def _examine_uid(self, uid: str) -> None:
        found = self._nodes.get(uid)
        if found is not None:
            self._attention.examine(found)

    def deleted(self, identity: Identity, *, is_sure: bool) -> None:
        """An object is gone; unless that is sure, because it was seen to go, the server must be asked for it again."""
        node = self._nodes.get(identity.uid)
        if node is not None:
            self._remove(node, identity, is_sure=is_sure)

    def not_found(self, identity: Identity) -> None:
        """The server has no such object; perhaps it is known, or referred to, by another identity."""
        node = self._nodes.get(identity.uid)
        if node is None:
            return
        agreeing, differing = node.divided(identity)
        if node.is_virtual and differing:
            self._look_elsewhere(node, identity, differing)
        elif node.is_virtual or node.identity == identity:
            self._remove(node, identity, is_sure=True)
            return
        if agreeing:
            self._absent.add(identity)
            for dependent in agreeing:
                self._attention.examine(dependent)

    def _look_elsewhere(self, node: Node, identity: Identity, differing: list[Node]) -> None:
        """Not found where some said that it is: try where others say."""
        if node.identity == identity:
            other = _alternative(differing, identity)
            if other is not None:
                node.identity = other
                self._attention.examine_later(node)

    def _remove(self, node: Node, identity: Identity, *, is_sure: bool) -> None:
        del self._nodes[node.uid]
        self._leave(node, [owner.uid for owner in node.owners])
        if node.dependents and is_sure:
            self._absent.add(identity)
        for dependent in node.dependents.values():
            self._attention.examine(dependent)
        for owner in node.owners:
            found = self._nodes.get(owner.uid)
            if found is not None and found.deletes_dependents:
                self._attention.examine(found)


def _alternative(dependents: list[Node], absent: Identity) -> Identity | None:
    """Another identity by which dependents refer to an owner: the next in order, so that all get their turn."""
    found: dict[Identity, None] = {}
    for dependent in dependents:
        for owner in dependent.owners:
            if owner.uid == absent.uid:
                said = Identity.of(owner, dependent.identity.namespace)
                if not absent.namespace and (said.api_version, said.kind) == (absent.api_version, absent.kind):
                    said = said.elsewhere("")
                found[said] = None
    found.pop(absent, None)
    return min((said for said in found if said > absent), default=min(found, default=None))
