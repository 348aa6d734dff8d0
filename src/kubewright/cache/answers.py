"""``Answers``: what own writes were answered, for one kind, so that they are read at once; and what was not answered.

``Observer`` brings the answers; they lie in the ``Overlay`` until the watch is as far.
"""

from __future__ import annotations

import logging
from typing import Any, Protocol

from kubewright.api import Key, Resource
from kubewright.cache.entry import Entry, Intake, TransformFailed, is_older
from kubewright.cache.mirror import Mirror
from kubewright.cache.scope import Scope
from kubewright.client import ALL_NAMESPACES, Client
from kubewright.errors import Forbidden, NotServed, Undecodable

__all__ = ["Answers", "Watched"]

_log = logging.getLogger("kubewright.cache")


class Watched(Protocol):
    """The informer whose objects are written."""

    def reached(self, namespace: str) -> str | None:
        """The revision up to which that namespace was told, empty before all was; None if it is not watched."""
        ...

    def shown(self, key: Key) -> None:
        """What is to be read under a key is another now."""
        ...


class Answers:
    """Lays answers to writes over one kind's objects.

    *Guarantees*: an answer is shown only if selectors and namespaces choose the object, as the watch will show it, and
    only until the watch is as far. A write that may or may not have been done is found out by ``settle``.
    """

    def __init__(
        self,
        client: Client,
        kind: type[Resource],
        scope: Scope,
        mirror: Mirror[Any],
        watched: Watched,
    ) -> None:
        self._client = client
        self._kind = kind
        self._scope = scope
        self._mirror = mirror
        self._watched = watched
        self._intake: Intake = scope.intake(kind)
        self._unsure: dict[Key, object] = {}

    @property
    def is_sure(self) -> bool:
        """Whether all writes were answered."""
        return not self._unsure

    def wrote(self, raw: bytes) -> None:
        """A write was answered with an object as it is now."""
        entry = self._read(raw)
        if entry is None:
            return
        self._unsure.pop(entry.key, None)
        if not self._is_news(entry.key, entry.resource_version):
            return
        if entry.data and entry.is_gone:
            self.deleted(entry.key, entry.uid)
        elif self._scope.chooses(entry, raw):
            self._mirror.overlay.lay(entry)
        elif entry.key in self._mirror.store:
            self._mirror.overlay.hide(entry, until=entry.resource_version)
        self._watched.shown(entry.key)

    def deleted(self, key: Key, uid: str) -> None:
        """A delete was answered: the object is gone."""
        self._unsure.pop(key, None)
        shown = self._mirror.store.get(key)
        if shown is not None and uid in ("", shown.uid):
            self._mirror.overlay.hide(shown)
            self._watched.shown(key)

    def doubt(self, namespace: str, name: str) -> None:
        """A write was sent and not answered; without a name, all objects of the namespace are in doubt."""
        if self._watched.reached(namespace) is not None:
            self._unsure[Key(namespace, name)] = object()

    async def settle(self) -> None:
        """Read live what is in doubt; raises if the server cannot be asked."""
        while self._unsure:
            key, doubt = next(iter(self._unsure.items()))
            try:
                await self._look(key)
            except (Forbidden, NotServed) as error:
                _log.warning("%s %s may have been written and cannot be read: %s", self._kind.__name__, key, error)
            if self._unsure.get(key) is doubt:
                del self._unsure[key]

    async def _look(self, key: Key) -> None:
        query = self._scope.query()
        if key.name:
            query["fields"] = ",".join(filter(None, (self._scope.fields, f"metadata.name={key.name}")))
        pages = await self._client.list(self._kind, namespace=key.namespace or ALL_NAMESPACES, **query).raw_whole()
        found = [self._read(bytes(raw)) for page in pages for raw in page.items or ()]
        listed = {entry.key: entry for entry in found if entry is not None}
        revision = pages[-1].metadata.resource_version
        for entry in listed.values():
            if self._is_news(entry.key, entry.resource_version):
                self._mirror.overlay.lay(entry)
                self._watched.shown(entry.key)
        for shown in self._shown(key):
            if shown.key not in listed and self._is_news(shown.key, revision):
                self._mirror.overlay.hide(shown, until=revision)
                self._watched.shown(shown.key)

    def _shown(self, key: Key) -> list[Entry]:
        if not key.name:
            return self._mirror.store.select(namespace=key.namespace)
        shown = self._mirror.store.get(key)
        return [] if shown is None else [shown]

    def _is_news(self, key: Key, revision: str) -> bool:
        """Whether the watch does not know that revision yet."""
        reached = self._watched.reached(key.namespace)
        if reached is None:
            return False
        seen = self._mirror.overlay.seen(key)
        if seen is not None and (seen.resource_version == revision or is_older(revision, seen.resource_version)):
            return False
        return not reached or is_older(reached, revision) or self._mirror.is_pending(key) or not revision.isdigit()

    def _read(self, raw: bytes) -> Entry | None:
        try:
            return self._intake.read(raw)
        except TransformFailed as error:
            return error.entry
        except Undecodable:
            return None
