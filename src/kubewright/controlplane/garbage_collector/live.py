"""Objects as the server has them: all that the garbage collector decides on, and all that it writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from kubewright.api import MetadataOnly, OwnerReference
from kubewright.client import Client, Propagation, StrategicPatch
from kubewright.controlplane.garbage_collector.monitors import Monitors
from kubewright.controlplane.garbage_collector.node import Identity
from kubewright.errors import Conflict, KubewrightError, NotFound, NotServed, UnsupportedMediaType

__all__ = ["Live", "NamespacedOwner"]

_TRIES: Final = 5


class NamespacedOwner(KubewrightError):
    """A cluster-scoped object refers to an owner in a namespace: it can never be found, so nothing is deleted."""


class Live:
    """Reads and writes metadata of objects of any kind."""

    def __init__(self, client: Client, monitors: Monitors) -> None:
        self._client = client
        self._monitors = monitors

    def is_namespaced(self, identity: Identity) -> bool:
        """Whether objects of the kind have a namespace; raises ``KindUnknown`` if the kind is not known."""
        return self._monitors.kind(identity.api_version, identity.kind).api_resource.namespaced

    async def get(self, identity: Identity) -> MetadataOnly | None:
        """The object, or None if the server says that there is no such object, or another one of that name.

        *Raises* whatever leaves that in doubt: that the kind is not served is no proof.
        """
        kind = self._monitors.kind(identity.api_version, identity.kind)
        if kind.api_resource.namespaced and not identity.namespace:
            raise NamespacedOwner(f"{identity} can be no owner of a cluster-scoped object")
        try:
            found = await self._client.get(kind, identity.name, namespace=identity.namespace or None)
        except NotServed:
            raise
        except NotFound:
            return None
        return found if found.metadata.uid == identity.uid else None

    async def delete(self, identity: Identity, read: MetadataOnly, propagation: Propagation) -> bool:
        """Delete the object as it was read; False if it is gone already.

        A change meanwhile that leaves its owners is no reason to let it live, another is: that raises ``Conflict``.
        """
        try:
            await self._client.delete(read, propagation=propagation, unchanged=True)
        except NotFound:
            return False
        except Conflict:
            now = await self.get(identity)
            if now is None:
                return False
            if now.metadata.owner_references != read.metadata.owner_references:
                raise
            return await self._delete_any(now, propagation)
        return True

    async def _delete_any(self, obj: MetadataOnly, propagation: Propagation) -> bool:
        try:
            await self._client.delete(obj, propagation=propagation)
        except NotFound:
            return False
        return True

    async def remove_owners(self, identity: Identity, uids: Sequence[str]) -> None:
        """Take references to owners out of an object, which may have changed meanwhile."""
        lost = [{"$patch": "delete", "uid": uid} for uid in uids]
        try:
            await self._patch(identity, lost)
        except UnsupportedMediaType:
            await self._rewrite(identity, lambda owners: [owner for owner in owners if owner.uid not in uids])

    async def unblock_owners(self, identity: Identity, read: MetadataOnly) -> None:
        """Let an object block the deletion of none of its owners any more."""
        blocking = [owner for owner in read.metadata.owner_references if owner.block_owner_deletion]
        try:
            await self._patch(identity, [msgspec.to_builtins(_unblocked(owner)) for owner in blocking])
        except UnsupportedMediaType:
            await self._rewrite(identity, lambda owners: [_unblocked(owner) for owner in owners])

    async def _patch(self, identity: Identity, owners: Sequence[Mapping[str, Any]]) -> None:
        kind = self._monitors.kind(identity.api_version, identity.kind)
        patch = StrategicPatch({"metadata": {"uid": identity.uid, "ownerReferences": owners}})
        await self._client.patch(kind, patch, name=identity.name, namespace=identity.namespace or None)

    async def _rewrite(
        self, identity: Identity, change: Callable[[list[OwnerReference]], list[OwnerReference]]
    ) -> None:
        """Custom resources know no strategic patch: the whole list is written, at the revision it was read at."""
        obj = await self.get(identity)
        if obj is not None:
            obj.metadata.owner_references = change(obj.metadata.owner_references)
            await self._client.update(obj)

    async def remove_finalizer(self, identity: Identity, finalizer: str) -> None:
        """Take a finalizer out of an object; raises ``Conflict`` if others are always quicker."""
        for tries_left in reversed(range(_TRIES)):
            obj = await self.get(identity)
            if obj is None or finalizer not in obj.metadata.finalizers:
                return
            obj.metadata.finalizers.remove(finalizer)
            try:
                await self._client.update(obj)
                return
            except NotFound:
                return
            except Conflict:
                if not tries_left:
                    raise


def _unblocked(owner: OwnerReference) -> OwnerReference:
    return msgspec.structs.replace(owner, block_owner_deletion=False)
