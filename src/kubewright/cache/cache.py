"""``Cache``: all that is watched of one API server, read without ``await``."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeVar, cast

from kubewright.api import (
    ApiResource,
    FieldSelector,
    Key,
    LabelSelector,
    Resource,
    field_selector_text,
    label_selector_text,
)
from kubewright.cache.answers import Answers
from kubewright.cache.entry import Transform
from kubewright.cache.health import InformerHealth, InformerStatistics
from kubewright.cache.informer import Informer
from kubewright.cache.observer import Observer
from kubewright.cache.scope import Scope
from kubewright.client import Client, Request, Response, Send
from kubewright.errors import NotCached
from kubewright.metrics import Registry

__all__ = ["Cache"]

R = TypeVar("R", bound=Resource)

_DEFAULT = timedelta(days=-1)


class Cache:
    """The objects of some kinds, kept in memory and up to date while the block runs.

    >>> async def look(client: Client) -> list[str]:
    ...     cache = Cache(client)
    ...     cache.watch(ConfigMap)
    ...     async with cache:
    ...         await cache.wait_synced()
    ...         return [config.name for config in cache.list(ConfigMap)]

    ``resync`` is how often handlers look at every object again, at least; None: never. ``keep_managers`` keeps the
    managed fields of managers whose name begins so, for kinds that do not say otherwise.

    *Guarantees*: only kinds that were named are watched. What is read is the reader's own copy. What was written by a
    client with ``observe`` around it is read at once.
    """

    def __init__(
        self,
        client: Client,
        *,
        resync: timedelta | None = timedelta(minutes=5),
        metrics: Registry | None = None,
        dice: random.Random | None = None,
        keep_managers: str | None = None,
    ) -> None:
        self._client = client
        self._resync = resync
        self._metrics = metrics or Registry()
        self._dice = dice or random.Random()
        self._keep: bool | str = keep_managers or False
        self._informers: dict[type[Resource], Informer[Any]] = {}
        self._observer = Observer(self._writers)
        self._settling = asyncio.Lock()
        self._is_running = False

    async def __aenter__(self) -> Cache:
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def start(self) -> None:
        """Begin to watch, in tasks of the running loop; ``stop`` ends them."""
        if not self._is_running:
            self._is_running = True
            for informer in self._informers.values():
                informer.start()

    async def stop(self) -> None:
        """Return when nothing runs any more; what is in memory can still be read."""
        self._is_running = False
        # Nothing may be left running if this is cancelled while it waits.
        for informer in self._informers.values():
            informer.end()
        for informer in self._informers.values():
            await informer.stop()

    async def run(self) -> None:
        """Watch until cancelled."""
        async with self:
            await asyncio.Event().wait()

    def watch(  # noqa: PLR0913 # keywords only
        self,
        kind: type[R],
        *,
        namespaces: Sequence[str] | None = None,
        labels: str | Mapping[str, str] | LabelSelector | None = None,
        fields: str | Mapping[str, str] | FieldSelector | None = None,
        transform: Transform | None = None,
        resync: timedelta | None = _DEFAULT,
        relist: timedelta | None = None,
        keep_managed_fields: bool | str | None = None,
        shard_selector: str | None = None,
    ) -> Informer[R]:
        """Have a kind in the cache; the same kind again, with the same options, gives the same informer.

        ``namespaces`` (None: all), ``labels``, ``fields`` and ``shard_selector`` choose objects; ``transform`` gets
        each as JSON has it and gives it as it shall be kept. ``resync`` is how often, at least, handlers look at all
        objects again; ``relist`` how often the cache is compared with the server. ``keep_managed_fields`` keeps all,
        none, or those of managers whose name begins with a text.

        *Raises* ``ValueError`` if the kind is watched with other options.
        """
        if namespaces is not None and not kind.api_resource.namespaced:
            raise ValueError(f"{kind.kind} objects are in no namespace; leave out namespaces=")
        scope = Scope(
            namespaces=None if namespaces is None else tuple(sorted(set(namespaces))),
            labels=label_selector_text(labels) if labels is not None else "",
            fields=field_selector_text(fields) if fields is not None else "",
            shard_selector=shard_selector or "",
            transform=transform,
            keep_managed_fields=self._keep if keep_managed_fields is None else keep_managed_fields,
            resync=self._resync if resync is _DEFAULT else resync,
            relist=relist,
        )
        known = self._informers.get(kind)
        if known is None:
            return self._begin(kind, scope)
        if known.scope != scope:
            raise ValueError(
                f"{kind.kind} is watched already, with other options ({known.scope.difference(scope)}); "
                "watch it once, with options that suit all who read it"
            )
        return known

    def _begin(self, kind: type[R], scope: Scope) -> Informer[R]:
        informer = Informer(
            self._client, kind, scope=scope, metrics=self._metrics, dice=self._dice, on_lost=self._distrust
        )
        self._informers[kind] = informer
        if self._is_running:
            informer.start()
        return informer

    def _distrust(self) -> None:
        """One kind shows that the server has lost its history: the numbers of the others may be of that history too."""
        for informer in self._informers.values():
            informer.distrust()

    def ensure(self, kind: type[R]) -> Informer[R]:
        """The informer of a kind, which is watched with the usual options if it is not watched yet."""
        known = self._informers.get(kind)
        return self.watch(kind) if known is None else known

    async def unwatch(self, kind: type[Resource]) -> None:
        """Have a kind in the cache no more; handlers are told nothing."""
        informer = self._informers.pop(kind, None)
        if informer is not None:
            await informer.stop()
            informer.forget()

    def add_namespace(self, kind: type[Resource], namespace: str) -> None:
        """Watch a kind in one more namespace; raises ``ValueError`` if it is watched in all."""
        self.informer(kind).add_namespace(namespace)

    def remove_namespace(self, kind: type[Resource], namespace: str) -> None:
        """Watch a kind in a namespace no more: its objects leave the cache, and handlers are told so."""
        self.informer(kind).remove_namespace(namespace)

    def informer(self, kind: type[R]) -> Informer[R]:
        """The informer of a kind; raises ``NotCached`` if it is not watched."""
        known = self._informers.get(kind)
        if known is None:
            name = kind.__name__
            raise NotCached(
                f"{name} is not in the cache: add it to owns=[{name}], watches=[Watch({name}, …)] or reads=[{name}] of "
                f"the controller, or call cache.watch({name})"
            )
        return cast("Informer[R]", known)

    @property
    def kinds(self) -> tuple[type[Resource], ...]:
        """The kinds that are watched."""
        return tuple(self._informers)

    def get(self, kind: type[R], name: str, *, namespace: str | None = None) -> R | None:
        """A copy of the object, the caller's own, or None; without ``namespace`` in the client's.

        *Raises* ``Undecodable`` if it does not fit its type, ``NotCached`` if its kind is not watched.
        """
        informer = self.informer(kind)
        if not kind.api_resource.namespaced:
            return informer.get(Key("", name))
        found = informer.get(Key(self._client.namespace if namespace is None else namespace, name))
        if found is None and namespace is None and not kind.api_resource.plural:
            return informer.get(Key("", name))  # Only the server knows whether the kind has namespaces.
        return found

    def keys(
        self,
        kind: type[Resource],
        *,
        namespace: str | None = None,
        labels: str | Mapping[str, str] | LabelSelector | None = None,
        where: Mapping[str, str] | None = None,
        owned_by: Resource | None = None,
    ) -> list[Key]:
        """The keys of the objects that match, sorted; see ``list``."""
        return self.informer(kind).keys(namespace=namespace, labels=labels, where=where, owned_by=owned_by)

    async def observe(self, request: Request, send: Send) -> Response:
        """An interceptor: what is written through it is read from the cache at once.

        >>> writer = client.intercepted(cache.observe)
        """
        return await self._observer.observe(request, send)

    def _writers(self, resource: ApiResource) -> list[tuple[type[Resource], Answers]]:
        return [
            (kind, informer.answers)
            for kind, informer in self._informers.items()
            if kind.api_resource.kind == resource.kind and kind.api_resource.group == resource.group
        ]

    async def settle(self) -> None:
        """Read live what was written without an answer, so that the cache shows what came of it.

        *Raises* what the server, or the way to it, answers with; what could not be read is tried again next time.
        """
        if self._are_sure():
            return
        async with self._settling:
            for informer in list(self._informers.values()):
                await informer.answers.settle()

    def _are_sure(self) -> bool:
        return all(informer.answers.is_sure for informer in self._informers.values())

    async def wait_newer(self, kind: type[Resource], key: Key, than: str) -> None:
        """Return when the object is gone or of another revision than the one given."""
        await self.informer(kind).wait_newer(key, than)

    async def wait_synced(self, *kinds: type[Resource]) -> None:
        """Return when handlers were called for all objects that were there at the start, of these kinds or all."""
        for kind in kinds or self.kinds:
            await self.informer(kind).wait_synced()

    @property
    def health(self) -> dict[type[Resource], InformerHealth]:
        """How each informer is."""
        return {kind: informer.health for kind, informer in self._informers.items()}

    def statistics(self) -> dict[type[Resource], InformerStatistics]:
        """What each informer holds."""
        return {kind: informer.statistics() for kind, informer in self._informers.items()}

    def list(
        self,
        kind: type[R],
        *,
        namespace: str | None = None,
        labels: str | Mapping[str, str] | LabelSelector | None = None,
        where: Mapping[str, str] | None = None,
        owned_by: Resource | None = None,
    ) -> list[R]:
        """Copies of the objects that match, the caller's own, sorted by key, without those that do not fit their type.

        Without ``namespace`` those of all. ``where`` maps names of indexes to the value looked for; ``owned_by`` is an
        object that must be among the owners.
        """
        return self.informer(kind).list(namespace=namespace, labels=labels, where=where, owned_by=owned_by)
