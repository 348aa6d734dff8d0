"""``Informer``: one kind's objects in memory, kept up to date, shared by all who ask; it tells handlers what changes.

On the path of one change it stands between the store and the controllers' sources.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final, Generic, TypeAlias, TypeVar

import msgspec

from kubewright.api import Key, LabelSelector, Resource, label_selector_text
from kubewright.cache.answers import Answers
from kubewright.cache.change import Change
from kubewright.cache.entry import Entry
from kubewright.cache.handler import Handler, edges
from kubewright.cache.health import InformerHealth, InformerStatistics
from kubewright.cache.measures import Measures, resource_name
from kubewright.cache.mirror import Mirror
from kubewright.cache.reflecting import Reflecting, end_tasks
from kubewright.cache.reflector import Reflector
from kubewright.cache.scope import Scope
from kubewright.client import ALL_NAMESPACES, Client, without_collecting
from kubewright.errors import Undecodable
from kubewright.metrics import Registry

__all__ = ["Informer"]

R = TypeVar("R", bound=Resource)

_log = logging.getLogger("kubewright.cache")

_CHUNK: Final = 200
_RESYNC_CHUNK: Final = 100
_RESYNC_PAUSE: Final = 0.02

Labels: TypeAlias = str | Mapping[str, str] | LabelSelector | None


class Informer(Generic[R]):
    """The objects of one kind, as the server has them a moment ago.

    ``Cache.watch`` makes it. It is read without ``await``, and what is read is the reader's own copy.

    *Guarantees*: handlers are called in the event loop, in the order of an object's changes; one that raises is logged
    and counted, and harms no other. Changes that come together are compressed per object.
    """

    def __init__(
        self,
        client: Client,
        kind: type[R],
        *,
        scope: Scope | None = None,
        metrics: Registry | None = None,
        dice: random.Random | None = None,
        on_lost: Callable[[], object] = bool,
    ) -> None:
        self.kind: type[R] = kind
        self.scope: Scope = scope or Scope()
        self._client = client
        self._on_lost = on_lost
        self._dice = dice or random.Random()
        self._measures = Measures(metrics or Registry(), kind.api_resource)
        self._mirror: Mirror[R] = Mirror(kind, self._shared)
        self._measures.show_size_of(self._mirror.store)
        self._handlers: dict[Handler[R], None] = {}
        self._waiting: dict[Key, list[asyncio.Future[None]]] = {}
        self._last: tuple[Entry, R] | None = None
        self._undecodable: dict[Key, str] = {}
        self._resyncing: asyncio.Task[None] | None = None
        self.answers: Answers = Answers(client, kind, self.scope, self._mirror, self)
        """Where answers to own writes go."""
        self._reflecting: Reflecting[R] = Reflecting(
            self._reflector,
            self._repair,
            namespaces=(None,) if self.scope.namespaces is None else self.scope.namespaces,
            relist=self.scope.relist,
            dice=self._dice,
        )

    def _reflector(self, namespace: str | None) -> Reflector[R]:
        return Reflector(
            self._client,
            self.kind,
            self,
            namespace=namespace,
            scope=self.scope,
            measures=self._measures,
            dice=self._dice,
            written=lambda: self._mirror.overlay.latest,
            on_lost=self._on_lost,
        )

    async def __aenter__(self) -> Informer[R]:
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def start(self) -> None:
        """Begin to watch, in tasks of the running loop; ``stop`` ends them."""
        self._reflecting.start()
        if self.scope.resync is not None:
            self._resyncing = asyncio.create_task(self._resync_forever(), name=f"resync {self.kind.__name__}")

    def end(self) -> None:
        """Tell everything to end; ``stop`` waits until it has."""
        if self._resyncing is not None:
            self._resyncing.cancel()
        self._reflecting.end()

    async def stop(self) -> None:
        """Return when nothing runs any more; what is in memory can still be read."""
        self.end()
        if self._resyncing is not None:
            await end_tasks([self._resyncing])
        await self._reflecting.stop()

    def distrust(self) -> None:
        """Read all objects anew, because the server has lost its history."""
        for reflector in self._reflecting.reflectors:
            reflector.distrust()

    def forget(self) -> None:
        """Show no more metrics of what is not there any more."""
        self._measures.forget()

    def add_namespace(self, namespace: str) -> None:
        """Watch a namespace too."""
        self._reflecting.add(namespace)
        self._measures.synced.set(self.synced)

    def remove_namespace(self, namespace: str) -> None:
        """Watch a namespace no more: its objects leave the cache, and handlers are told so."""
        if self._reflecting.remove(namespace):
            self._mirror.replace((), cause="relist", namespace=namespace, lost=True)
            while not self._mirror.is_settled:
                self._apply()

    def add_handler(self, on_change: Callable[[Change[R]], None]) -> Handler[R]:
        """Call a function with each change; with all objects that are there at once, if there are some.

        It is called in the event loop and must not block; what it raises is logged and counted.
        """
        handler = Handler(on_change, lambda handler: self._handlers.pop(handler, None))
        self._handlers[handler] = None
        for change in self._mirror.present():
            self._call(handler, change)
        return handler

    def on(
        self,
        *,
        add: Callable[[R], None] | None = None,
        update: Callable[[R, R], None] | None = None,
        delete: Callable[[R], None] | None = None,
    ) -> Handler[R]:
        """Call functions with objects that come, change (as they were, as they are) and go; a resync is an update."""
        return self.add_handler(edges(add, update, delete))

    def add_index(self, name: str, function: Callable[[R], Iterable[str]]) -> None:
        """Find objects by the values that a function gives for them: ``list(where={name: value})``.

        It is called when an object comes or changes. If it raises, the object is found under no value.
        """

        def indexed(entry: Entry) -> Iterable[str]:
            try:
                return tuple(function(self._shared(entry)))
            except Undecodable:
                return ()
            except Exception:
                self._measures.handler_errors.inc()
                _log.exception("the index %r failed on %s %s", name, self.kind.__name__, entry.key)
                return ()

        self._mirror.store.add_index(name, indexed)

    def _tell(self, changes: list[Change[R]]) -> None:
        for change in changes:
            for handler in tuple(self._handlers):
                self._call(handler, change)
            if self._waiting:
                self.shown(change.key)
            if change.type == "deleted" and self._undecodable:
                self._undecodable.pop(change.key, None)

    def _call(self, handler: Handler[R], change: Change[R]) -> None:
        if handler not in self._handlers:
            return
        try:
            handler.call(change)
        except Undecodable as error:
            self.tell_undecodable(error, change.head)
        except Exception:
            self._measures.handler_errors.inc()
            _log.exception("a handler failed on %s %s (%s)", self.kind.__name__, change.key, change.type)

    def knows(self, entry: Entry, *, deleted: bool) -> bool:
        """Whether the watch told just this already."""
        return self._mirror.knows(entry, deleted=deleted)

    async def replaced(self, entries: list[Entry], revision: str, namespace: str | None, *, lost: bool) -> None:
        """A reflector lists all objects."""
        reflector = self._reflecting.of(namespace or "")
        is_first = reflector is None or not reflector.synced.is_set()
        self._mirror.replace(entries, cause="initial" if is_first else "relist", namespace=namespace, lost=lost)
        await self._drain()
        self._mirror.overlay.reach(revision, namespace, listed=True)
        await self._drain()

    async def changed(self, changes: list[tuple[Entry, bool]]) -> None:
        """A reflector tells changes."""
        for entry, deleted in changes:
            self._mirror.add(entry, deleted=deleted)
        await self._drain()

    def passed(self, revision: str, namespace: str | None) -> None:
        """A reflector has told everything up to a revision."""
        self._mirror.overlay.reach(revision, namespace)
        if self._mirror.overlay.undone:
            self._apply()
        self._measures.synced.set(self.synced)

    def _repair(self, entries: list[Entry], revision: str, namespace: str | None, buried: Collection[Key]) -> None:
        wrong = self._mirror.repair(entries, revision, namespace=namespace, buried=buried)
        if wrong:
            _log.warning("%d %s objects were not as the watch had told; repaired", wrong, self.kind.__name__)
            self._measures.drift.inc(wrong)
        while not self._mirror.is_settled:
            self._apply()

    async def _drain(self) -> None:
        self._apply()
        while not self._mirror.is_settled:
            await asyncio.sleep(0)
            self._apply()

    def _apply(self) -> None:
        self._tell(self._mirror.changes(_CHUNK))

    async def _resync_forever(self) -> None:
        assert self.scope.resync is not None
        period = self.scope.resync.total_seconds()
        while True:
            await asyncio.sleep(period * self._dice.uniform(0.8, 1.0))
            keys = self.keys()
            for at in range(0, len(keys), _RESYNC_CHUNK):
                self._mirror.sync(keys[at : at + _RESYNC_CHUNK])
                self._apply()
                await asyncio.sleep(_RESYNC_PAUSE)

    def _shared(self, entry: Entry) -> R:
        """The object of an entry, decoded once for indexes and all handlers."""
        if self._last is None or self._last[0] is not entry:
            self._last = (entry, self._decoded(entry))
        return self._last[1]

    def _decoded(self, entry: Entry) -> R:
        try:
            found = entry.decode(self.kind)
        except Undecodable as error:
            self.tell_undecodable(error, entry)
            raise
        if self._undecodable:
            self._undecodable.pop(entry.key, None)
        return found

    def tell_undecodable(self, error: Undecodable, entry: Entry | None) -> None:
        """Log and count an object that cannot be read, once each time that it changes."""
        if entry is not None:
            if self._undecodable.get(entry.key) == entry.resource_version:
                return
            self._undecodable[entry.key] = entry.resource_version
        self._measures.undecodable.inc()
        _log.error("in the cache, but not readable: %s", error)

    def reached(self, namespace: str) -> str | None:
        """The revision up to which the watch has told a namespace, empty before it told all; None: not watched."""
        reflector = self._reflecting.of(namespace)
        return None if reflector is None else reflector.revision

    def shown(self, key: Key) -> None:
        """Wake who waits for an object to be another."""
        for waiter in self._waiting.pop(key, ()):
            if not waiter.done():
                waiter.set_result(None)

    @property
    def synced(self) -> bool:
        """Whether handlers were called for everything that was there at the start."""
        return self._reflecting.synced

    async def wait_synced(self) -> None:
        """Return when handlers were called for everything that was there at the start."""
        await self._reflecting.wait_synced()

    async def wait_newer(self, key: Key, than: str) -> None:
        """Return when the object is gone or of another revision than the one given."""
        while (head := self.head(key)) is not None and head.resource_version == than:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(key, []).append(waiter)
            try:
                await waiter
            finally:
                _forget(self._waiting, key, waiter)

    @property
    def health(self) -> InformerHealth:
        """How its watches are."""
        each = tuple(msgspec.structs.replace(reflector.health) for reflector in self._reflecting.reflectors)
        heard = [one.last_event_at for one in each]
        return InformerHealth(
            resource=resource_name(self.kind.api_resource),
            synced=self.synced,
            watching=all(one.watching for one in each),
            last_event_at=min((at for at in heard if at is not None), default=None) if all(heard) else None,
            failures=max((one.failures for one in each), default=0),
            drift=int(self._measures.drift.value),
            undecodable=len(self._undecodable),
            error=next((one.error for one in each if one.error), ""),
            reflectors=each,
        )

    def statistics(self) -> InformerStatistics:
        """What it holds."""
        return InformerStatistics(
            resource=resource_name(self.kind.api_resource),
            objects=len(self._mirror.store),
            bytes=self._mirror.store.size,
            written=len(self._mirror.overlay),
            handlers=len(self._handlers),
        )

    def __len__(self) -> int:
        return len(self._mirror.store)

    def __iter__(self) -> Iterator[Key]:
        return iter(self.keys())

    def __contains__(self, key: object) -> bool:
        return key in self._mirror.store

    def get(self, key: Key) -> R | None:
        """A copy of the object, the caller's own, or None; raises ``Undecodable`` if it does not fit its type."""
        entry = self._mirror.store.get(key)
        return None if entry is None else self._decoded(entry)

    def head(self, key: Key) -> Entry | None:
        """The metadata of an object, without decoding the rest; None if there is no such object."""
        return self._mirror.store.get(key)

    def raw(self, key: Key) -> bytes | None:
        """The object as JSON, as the cache keeps it; None if there is no such object."""
        entry = self._mirror.store.get(key)
        return None if entry is None else entry.data

    def keys(
        self,
        *,
        namespace: str | None = None,
        labels: Labels = None,
        where: Mapping[str, str] | None = None,
        owned_by: Resource | None = None,
    ) -> list[Key]:
        """The keys of the objects that match, sorted; see ``list``."""
        return [entry.key for entry in self._select(namespace, labels, where, owned_by)]

    def _select(
        self, namespace: str | None, labels: Labels, where: Mapping[str, str] | None, owned_by: Resource | None
    ) -> list[Entry]:
        owner = owned_by.metadata.uid if owned_by is not None else None
        if owner == "":
            return []
        selector = None if labels is None else _label_selector(labels)
        place = None if namespace == ALL_NAMESPACES else namespace
        return self._mirror.store.select(namespace=place, labels=selector, where=where, owner=owner)

    def list(
        self,
        *,
        namespace: str | None = None,
        labels: Labels = None,
        where: Mapping[str, str] | None = None,
        owned_by: Resource | None = None,
    ) -> list[R]:
        """Copies of the objects that match, the caller's own, sorted by key, without those that do not fit their type.

        Without ``namespace`` those of all. ``where`` maps names of indexes to the value looked for; ``owned_by`` is an
        object that must be among the owners.
        """
        found = []
        with without_collecting():
            for entry in self._select(namespace, labels, where, owned_by):
                try:
                    found.append(self._decoded(entry))
                except Undecodable:
                    continue
        return found


def _label_selector(labels: str | Mapping[str, str] | LabelSelector) -> LabelSelector:
    return labels if isinstance(labels, LabelSelector) else _parsed(label_selector_text(labels))


@functools.lru_cache(maxsize=256)
def _parsed(text: str) -> LabelSelector:
    return LabelSelector.parse(text)


def _forget(waiting: dict[Key, list[asyncio.Future[None]]], key: Key, waiter: asyncio.Future[None]) -> None:
    """Take away a waiter that gave up."""
    waiters = waiting.get(key)
    if waiters is not None and waiter in waiters:
        waiters.remove(waiter)
        if not waiters:
            del waiting[key]
