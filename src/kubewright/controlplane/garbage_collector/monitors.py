"""Which kinds are watched: all that can be listed, watched and deleted, followed as CRDs come and go."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from kubewright.api import ApiResource, MetadataOnly, Unstructured
from kubewright.cache import Cache, Change, Entry, Handler, Informer, Scope
from kubewright.client import Inventory
from kubewright.cluster import Cluster
from kubewright.controlplane.garbage_collector.node import Identity
from kubewright.errors import KubewrightError

__all__ = ["KindUnknown", "Monitors", "identity_of"]

_log = logging.getLogger("kubewright.controlplane")

_IGNORED: Final = frozenset([("", "events"), ("events.k8s.io", "events")])
_SERVERS: Final = frozenset(["CustomResourceDefinition", "APIService"])
"""Kinds whose objects change what is served."""


class KindUnknown(KubewrightError):
    """A reference to a kind that is not served, or not yet: who owns cannot be found out, so nothing is deleted."""


class _Place(NamedTuple):
    group: str
    version: str
    plural: str


class _Monitor(NamedTuple):
    informer: Informer[Any]
    handler: Handler[Any]
    kind: type[MetadataOnly] | None
    """The kind in the cache of its own, if no controller watches the same."""


class Monitors:
    """Watches every deletable kind and tells all changes, by metadata alone.

    What controllers watch already is not watched again. *Guarantees*: a kind whose group discovery cannot tell of
    stays watched, and known; if nothing is discovered, everything stays as it was.
    """

    def __init__(self, cluster: Cluster, tell: Callable[[ApiResource, Change[Any]], None]) -> None:
        self._cluster = cluster
        self._tell = tell
        self._cache = Cache(cluster.client, resync=None, metrics=cluster.metrics, dice=cluster.dice)
        self._watched: dict[_Place, _Monitor] = {}
        self._kinds: Mapping[tuple[str, str], type[MetadataOnly]] = {}
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Monitors:
        self._cache.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        for monitor in self._watched.values():
            monitor.handler.remove()
        await self._cache.stop()

    def kind(self, api_version: str, kind: str) -> type[MetadataOnly]:
        """Where a kind is served, in just this version; raises ``KindUnknown`` if it is not known to be."""
        found = self._kinds.get((api_version, kind))
        if found is None:
            raise KindUnknown(f"{kind} of {api_version} is not served, as far as is known")
        return found

    @property
    def is_synced(self) -> bool:
        """Whether all objects of all kinds have been seen."""
        return bool(self._watched) and all(monitor.informer.synced for monitor in self._watched.values())

    async def wait_synced(self) -> None:
        """Return when all objects of the kinds that are watched now have been seen."""
        for monitor in list(self._watched.values()):
            await monitor.informer.wait_synced()

    async def follow(self, every: float) -> None:
        """Ask again what is served, each time that a CRD changes, and that often at least."""
        while True:
            try:
                async with asyncio.timeout(every):
                    await self._changed.wait()
            except TimeoutError:
                pass
            self._changed.clear()
            try:
                await self.refresh()
            except KubewrightError as error:
                _log.warning("what is served could not be found out; everything stays as it was: %s", error)

    async def refresh(self) -> None:
        """Watch what is served now, and only that."""
        inventory = await self._cluster.client.discovery.inventory()
        if not inventory.resources:
            return
        wanted = self._wanted(inventory)
        self._kinds = self._known(inventory)
        for place in [place for place in self._watched if place not in wanted]:
            await self._stop(place)
        for place, resource in wanted.items():
            if place not in self._watched:
                self._watched[place] = self._begin(resource)

    def _wanted(self, inventory: Inventory) -> dict[_Place, ApiResource | None]:
        wanted: dict[_Place, ApiResource | None] = {}
        for served in inventory.preferred():
            resource = served.resource
            if served.can("delete", "list", "watch") and (resource.group, resource.plural) not in _IGNORED:
                wanted[_Place(resource.group, resource.version, resource.plural)] = resource
        in_doubt = [place for place in self._watched if f"{place.group}/{place.version}" in inventory.failures]
        return {**wanted, **dict.fromkeys(place for place in in_doubt if place not in wanted)}

    def _known(self, inventory: Inventory) -> dict[tuple[str, str], type[MetadataOnly]]:
        in_doubt = {key: kind for key, kind in self._kinds.items() if key[0] in inventory.failures}
        found = {
            (served.resource.api_version, served.resource.kind): _metadata_only(served.resource)
            for served in inventory.resources
            if served.can("get")
        }
        return {**in_doubt, **found}

    def _begin(self, resource: ApiResource | None) -> _Monitor:
        assert resource is not None
        shared = self._shared(resource)
        kind = None if shared is not None else _metadata_only(resource)
        informer = shared if shared is not None else self._cache.watch(_metadata_only(resource))
        return _Monitor(informer, informer.add_handler(lambda change: self._on_change(resource, change)), kind)

    def _shared(self, resource: ApiResource) -> Informer[Any] | None:
        """The informer that a controller has of the same kind, if it holds all its objects as they are."""
        for kind in self._cluster.cache.kinds:
            known = kind.api_resource
            if (known.group, known.version, known.plural) == (resource.group, resource.version, resource.plural):
                informer = self._cluster.cache.informer(kind)
                return informer if _is_whole(informer.scope) else None
        return None

    async def _stop(self, place: _Place) -> None:
        monitor = self._watched.pop(place)
        monitor.handler.remove()
        if monitor.kind is not None:
            await self._cache.unwatch(monitor.kind)

    def _on_change(self, resource: ApiResource, change: Change[Any]) -> None:
        if change.cause == "resync":
            return
        if resource.kind in _SERVERS:
            self._changed.set()
        self._tell(resource, change)


def identity_of(resource: ApiResource, head: Entry) -> Identity:
    """Who an object is that a watch tells of."""
    return Identity(resource.kind, resource.api_version, head.namespace, head.name, head.uid)


def _metadata_only(resource: ApiResource) -> type[MetadataOnly]:
    untyped = Unstructured.of(
        resource.api_version, resource.kind, plural=resource.plural, namespaced=resource.namespaced
    )
    return MetadataOnly.of(untyped)


def _is_whole(scope: Scope) -> bool:
    chosen = (scope.namespaces, scope.labels, scope.fields, scope.shard_selector, scope.transform)
    return chosen == (None, "", "", "", None)
