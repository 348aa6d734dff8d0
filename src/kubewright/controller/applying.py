"""Applying what a reconcile means: owner references, field managers, and no request when nothing would change."""

from __future__ import annotations

import hashlib
import logging
from typing import Any, TypeVar

import msgspec

from kubewright.api import Key, Metadata, Resource, decode, to_dict
from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.controller.intent import is_fulfilled
from kubewright.controller.mapping import OWNER_ANNOTATION, OWNER_LABEL
from kubewright.errors import AlreadyOwned, ApplyConflict, Invalid, KubewrightError, NotCached

__all__ = ["Applier"]

R = TypeVar("R", bound=Resource)

_log = logging.getLogger("kubewright.controller")


class Applier:
    """States intents for one controller; remembers what the server found to be no change."""

    def __init__(
        self,
        cluster: Cluster,
        client: Client,
        *,
        owns: tuple[type[Resource], ...],
        tracks: tuple[type[Resource], ...],
    ) -> None:
        self._cache = cluster.cache
        self._client = client
        self._owns = owns
        self._tracks = tracks
        self._parts: dict[str, Client] = {}
        self._settled: dict[tuple[type[Resource], Key, str], tuple[bytes, str]] = {}

    async def apply(self, owner: Resource, obj: R, *, part: str = "", force: bool | None = None) -> R:
        """The object as it is once it has the fields that ``obj`` states."""
        child = self.placed(owner, obj)
        live = self._live(child)
        if live is not None and type(child) in self._owns:
            _check_owner(owner, child, live)
        client = self._client_for(part)
        intent = to_dict(child)
        slot = (type(child), child.key, part)
        digest = hashlib.blake2b(msgspec.json.encode(intent), digest_size=16).digest()
        if live is not None and self._is_settled(slot, digest, live, intent, client.options.field_manager):
            return decode(type(child), live)
        applied = await self._send(client, owner, child, force)
        self._settled[slot] = (digest, applied.metadata.resource_version)
        return applied

    def placed(self, owner: Resource, obj: R) -> R:
        """A copy of ``obj`` in its namespace, with what says to whom it belongs."""
        metadata = obj.metadata
        changed: dict[str, Any] = {}
        if not metadata.namespace and obj.api_resource.namespaced:
            changed["namespace"] = owner.namespace or self._client.namespace
        if type(obj) in self._owns:
            _check_place(owner, obj)
            references = [entry for entry in metadata.owner_references if entry.uid != owner.metadata.uid]
            changed["owner_references"] = [*references, owner.owner_reference]
        elif type(obj) in self._tracks:
            changed["labels"] = {**metadata.labels, OWNER_LABEL: owner.metadata.uid}
            changed["annotations"] = {**metadata.annotations, OWNER_ANNOTATION: _tracking(owner)}
        if not changed:
            return obj
        placed: Metadata = msgspec.structs.replace(metadata, **changed)
        twin = msgspec.structs.replace(obj, metadata=placed)
        twin.__dict__.update(obj.__dict__)
        return twin

    def forget(self, kind: type[Resource], key: Key) -> None:
        """Drop what is remembered about an object that is gone."""
        for slot in [slot for slot in self._settled if slot[0] is kind and slot[1] == key]:
            del self._settled[slot]

    def _live(self, child: Resource) -> bytes | None:
        try:
            return self._cache.informer(type(child)).raw(child.key)
        except NotCached:
            return None

    def _client_for(self, part: str) -> Client:
        if not part:
            return self._client
        if part not in self._parts:
            manager = f"{self._client.options.field_manager}/{part}"
            self._parts[part] = self._client.using(field_manager=manager)
        return self._parts[part]

    def _is_settled(
        self, slot: tuple[type[Resource], Key, str], digest: bytes, live: bytes, intent: dict[str, Any], manager: str
    ) -> bool:
        document = msgspec.json.decode(live)
        remembered = self._settled.get(slot)
        if remembered is not None and remembered == (digest, document["metadata"].get("resourceVersion")):
            return True
        return is_fulfilled(intent, document, manager)

    async def _send(self, client: Client, owner: Resource, child: R, force: bool | None) -> R:
        try:
            return await client.apply(child, force=bool(force))
        except ApplyConflict as conflict:
            ours = type(child) in self._owns or type(child) in self._tracks
            if force is False or (force is None and not ours):
                raise
            taken = ", ".join(f"{entry.field} of {entry.manager}" for entry in conflict.conflicts)
            _log.info('%s "%s": taking over %s', child.kind, child.key, taken)
            return await client.apply(child, force=True)
        except Invalid as refusal:
            if type(child) in self._owns and any("Controller set to true" in cause.message for cause in refusal.causes):
                raise AlreadyOwned(
                    f'{child.kind} "{child.key}" is controlled by another object, so {owner.kind} "{owner.key}" '
                    "cannot own it; choose another name or delete it"
                ) from refusal
            raise


def _tracking(owner: Resource) -> str:
    return f"{owner.api_resource.kind}.{owner.api_resource.group}:{owner.namespace}/{owner.name}"


def _check_place(owner: Resource, child: Resource) -> None:
    if not owner.namespace:
        return
    cluster_scoped = not child.api_resource.namespaced
    if cluster_scoped or child.metadata.namespace not in ("", owner.namespace):
        where = "is cluster-scoped" if cluster_scoped else f"lives in namespace {child.metadata.namespace}"
        raise KubewrightError(
            f'{child.kind} "{child.name}" {where}, so {owner.kind} "{owner.key}" cannot own it: the garbage collector '
            f"would delete it. Put {type(child).__name__} into tracks= instead of owns=, and delete it in cleanup="
        )


class _Owner(msgspec.Struct, rename="camel"):
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class _Head(msgspec.Struct, rename="camel"):
    owner_references: list[_Owner] | None = None


class _Owned(msgspec.Struct):
    metadata: _Head


_owned = msgspec.json.Decoder(_Owned)


def _check_owner(owner: Resource, child: Resource, live: bytes) -> None:
    for reference in _owned.decode(live).metadata.owner_references or ():
        if reference.controller and reference.uid != owner.metadata.uid:
            raise AlreadyOwned(
                f'{child.kind} "{child.key}" is controlled by {reference.kind} "{reference.name}", so {owner.kind} '
                f'"{owner.key}" cannot own it; choose another name or delete it'
            )
