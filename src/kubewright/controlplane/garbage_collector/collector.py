"""``GarbageCollector``: deletes what has lost its last owner, and lets owners go whose dependents are gone.

The graph says what to look at; here it is looked at, on the server itself, and acted upon. A cache that is late or
wrong can so delay a deletion, but never cause one.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple

from kubewright.api import ApiResource, Metadata, MetadataOnly, OwnerReference
from kubewright.cache import Change, Owner
from kubewright.client import Propagation
from kubewright.cluster import Cluster
from kubewright.controlplane.garbage_collector.absent import AbsentOwners
from kubewright.controlplane.garbage_collector.graph import Attention, Graph
from kubewright.controlplane.garbage_collector.live import Live, NamespacedOwner
from kubewright.controlplane.garbage_collector.monitors import KindUnknown, Monitors, identity_of
from kubewright.controlplane.garbage_collector.node import FOREGROUND, ORPHAN, Identity, Node
from kubewright.controlplane.loop import MANAGER, account
from kubewright.errors import KubewrightError, NotFound
from kubewright.queue import Queue

__all__ = ["GarbageCollector"]

_log = logging.getLogger("kubewright.controlplane")

_COMPONENT: Final = "garbage-collector-controller"


class NotSeenYet(KubewrightError):
    """An owner is there, but no watch has told of it: it must be looked at again, lest it stay in the graph."""


class _Owners(NamedTuple):
    """The owners of one object, by what they mean to it."""

    solid: list[OwnerReference]
    """They are there: it lives."""
    dangling: list[OwnerReference]
    """They are not."""
    waiting: list[OwnerReference]
    """They go as soon as it is gone."""


class GarbageCollector:
    """The graph of all objects of a cluster, and the workers who look at what it points to."""

    def __init__(self, cluster: Cluster) -> None:
        client = cluster.client.using(
            field_manager=MANAGER, field_validation="Ignore", impersonate=account("generic-garbage-collector")
        )
        self._recorder = cluster.recorder
        self._absent = AbsentOwners()
        attention = Attention(
            examine=lambda node: self._deletions.add(node.uid),
            examine_later=lambda node: self._later(node.uid),
            orphan=lambda node: self._orphanings.add(node.uid),
            complain=self._complain,
        )
        self._graph = Graph(attention, self._absent)
        self._monitors = Monitors(cluster, self._on_change)
        self._live = Live(client, self._monitors)
        self._deletions: Queue[str] = Queue(
            "garbage_collector_attempt_to_delete", metrics=cluster.metrics, dice=cluster.dice
        )
        self._orphanings: Queue[str] = Queue(
            "garbage_collector_attempt_to_orphan", metrics=cluster.metrics, dice=cluster.dice
        )
        self._is_working = False
        self.rounds: int = 0
        """How many objects it has looked at."""

    @property
    def is_busy(self) -> bool:
        """Whether something is being looked at, or could be."""
        queues = (self._deletions, self._orphanings)
        return not self._is_working or any(len(queue) or queue.statistics().processing for queue in queues)

    async def run(self, *, workers: int, discover_every: float, patience: float) -> None:
        """Collect garbage until cancelled.

        Workers begin when all objects have been seen; a kind that cannot be listed is waited for no longer than
        ``patience`` seconds.
        """
        async with self._monitors, asyncio.TaskGroup() as group:
            await self._monitors.refresh()
            try:
                async with asyncio.timeout(patience):
                    await self._monitors.wait_synced()
            except TimeoutError:
                _log.warning("garbage collector: not all kinds could be listed yet; it begins without them")
            self._is_working = True
            group.create_task(self._monitors.follow(discover_every), name="garbage collector discovery")
            for number in range(workers):
                group.create_task(self._work(self._deletions, self._examine), name=f"garbage collector {number}")
                group.create_task(self._work(self._orphanings, self._orphan), name=f"garbage orphaner {number}")

    def _on_change(self, resource: ApiResource, change: Change[Any]) -> None:
        if change.new_head is not None:
            self._graph.observed(identity_of(resource, change.new_head), change.new_head)
        elif change.old_head is not None:
            self._graph.deleted(identity_of(resource, change.old_head), is_sure=change.cause == "live")

    def _later(self, uid: str) -> None:
        self._deletions.retry(uid, reason="known by another name too")

    def _complain(self, node: Node, owner: Owner) -> None:
        identity = node.identity
        said = Identity.of(owner, identity.namespace)
        message = f"ownerRef {said} does not exist in namespace {json.dumps(identity.namespace)}"
        try:
            kind = self._monitors.kind(identity.api_version, identity.kind)
        except KindUnknown:
            return
        metadata = Metadata(name=identity.name, namespace=identity.namespace, uid=identity.uid)
        self._recorder.event(
            kind(metadata=metadata), "Warning", "OwnerRefInvalidNamespace", message, component=_COMPONENT
        )

    async def _work(self, queue: Queue[str], look: Callable[[Node], Awaitable[None]]) -> None:
        while True:
            work = await queue.get()
            self.rounds += 1
            try:
                node = self._graph.get(work.key)
                if node is not None:
                    await look(node)
            except NamespacedOwner as error:
                _log.info("garbage collector: %s", error)
                queue.forget(work.key)
            except (KindUnknown, NotSeenYet) as error:
                wait = queue.retry(work.key, reason=str(error))
                _log.debug("garbage collector: %s; again in %s", error, wait)
            except KubewrightError as error:
                wait = queue.retry(work.key, reason=str(error))
                _log.warning("garbage collector: %s; again in %s", error, wait)
            else:
                queue.forget(work.key)
            finally:
                queue.done(work.key)

    async def _examine(self, node: Node) -> None:
        """Look at an object that may have lost its owners, may wait for its dependents, or may not be there."""
        if node.is_deleting and not node.deletes_dependents:
            return  # Its end is on its way; its dependents are looked at when it has come.
        identity, is_virtual = node.identity, node.is_virtual
        found = await self._live.get(identity)
        if found is None:
            self._graph.not_found(identity)
            return
        if node.deletes_dependents:
            await self._release(node)
        elif found.metadata.owner_references:
            await self._judge(node, identity, found)
        if is_virtual and node.is_virtual:
            raise NotSeenYet(f"{identity} was not told by a watch yet")

    async def _release(self, node: Node) -> None:
        """Let an object go that is deleted in the foreground, if no dependent blocks that; else see to these."""
        blocking = node.blocking
        if not blocking:
            await self._live.remove_finalizer(node.identity, FOREGROUND)
        for dependent in blocking:
            if not dependent.deletes_dependents:
                self._deletions.add(dependent.uid, reason="its owner waits")

    async def _judge(self, node: Node, identity: Identity, found: MetadataOnly) -> None:
        """Delete an object without owners; take out the dangling references of one that keeps some."""
        owners = await self._classified(node, found.metadata.owner_references)
        if owners.solid:
            lost = [owner.uid for owner in (*owners.dangling, *owners.waiting)]
            if lost:
                await self._live.remove_owners(identity, lost)
        elif owners.waiting and node.dependents:
            # Two that wait for each other would wait for ever.
            if any(dependent.deletes_dependents for dependent in node.dependents.values()):
                await self._live.unblock_owners(identity, found)
                unblocked = await self._live.get(identity)
                found = unblocked if unblocked is not None else found
            await self._delete(identity, found, "Foreground")
        else:
            await self._delete(identity, found, _propagation(found))

    async def _delete(self, identity: Identity, found: MetadataOnly, propagation: Propagation) -> None:
        if not await self._live.delete(identity, found, propagation):
            self._graph.not_found(identity)

    async def _classified(self, node: Node, references: list[OwnerReference]) -> _Owners:
        owners = _Owners([], [], [])
        for reference in references:
            owner = await self._owner(node, reference)
            if owner is None:
                owners.dangling.append(reference)
            elif owner.metadata.deletion_timestamp is not None and FOREGROUND in owner.metadata.finalizers:
                owners.waiting.append(reference)
            else:
                owners.solid.append(reference)
        return owners

    async def _owner(self, node: Node, reference: OwnerReference) -> MetadataOnly | None:
        """The owner that a reference means, or None if it is known or found to be absent."""
        said = Identity(reference.kind, reference.api_version, "", reference.name, reference.uid)
        here = said.elsewhere(node.identity.namespace)
        if said in self._absent or here in self._absent:
            return None
        identity = here if self._live.is_namespaced(said) else said
        owner = await self._live.get(identity)
        if owner is None:
            self._absent.add(identity)
        return owner

    async def _orphan(self, node: Node) -> None:
        """Take an object out of the owners of its dependents, then let it go."""
        if not self._monitors.is_synced:
            raise NotSeenYet(f"not all dependents of {node.identity} may be known yet")
        identity = node.identity
        for dependent in list(node.dependents.values()):
            try:
                await self._live.remove_owners(dependent.identity, [identity.uid])
            except NotFound:
                continue
        await self._live.remove_finalizer(identity, ORPHAN)


def _propagation(found: MetadataOnly) -> Propagation:
    """What an object says itself of its dependents."""
    if ORPHAN in found.metadata.finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in found.metadata.finalizers else "Background"
