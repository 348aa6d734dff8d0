"""``Context``: what a reconcile has at hand besides its object.

On the path of one change it stands between the user's reconcile and the client.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, Literal, ParamSpec, TypeVar

from kubewright.api import LabelSelector, Resource, now
from kubewright.cache import Cache
from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.controller.applying import Applier
from kubewright.controller.log import ContextLogger, current_fields
from kubewright.errors import NotFound

__all__ = ["Context", "NamespacedCache"]

P = ParamSpec("P")
R = TypeVar("R", bound=Resource)
T = TypeVar("T")


_reconcile_log = logging.getLogger("kubewright.reconcile")


class NamespacedCache:
    """The operator's cache, looking into the object's namespace unless another is named."""

    __slots__ = ("_cache", "_namespace")

    def __init__(self, cache: Cache, namespace: str) -> None:
        self._cache = cache
        self._namespace = namespace

    def get(self, kind: type[R], name: str, *, namespace: str | None = None) -> R | None:
        """A private copy of the object, or None; raises ``NotCached`` for a kind that the controller does not name."""
        return self._cache.get(kind, name, namespace=self._place(kind, namespace))

    def list(
        self,
        kind: type[R],
        *,
        namespace: str | None = None,
        labels: str | Mapping[str, str] | LabelSelector | None = None,
        where: Mapping[str, str] | None = None,
        owned_by: Resource | None = None,
    ) -> list[R]:
        """Private copies of the objects that match, ordered by name; ``ALL_NAMESPACES`` looks everywhere.

        ``where`` asks indexes, ``owned_by`` gives what an object controls.
        """
        place = self._place(kind, namespace)
        return self._cache.list(kind, namespace=place, labels=labels, where=where, owned_by=owned_by)

    def _place(self, kind: type[Resource], namespace: str | None) -> str | None:
        if namespace is not None or not kind.api_resource.namespaced:
            return namespace
        return self._namespace or None


class Context:
    """What a reconcile has at hand: the cache to read, the client to write, and why it was called."""

    __slots__ = (
        "_applier",
        "_background",
        "_cluster",
        "_component",
        "_object",
        "attempt",
        "cache",
        "client",
        "log",
        "reasons",
    )

    def __init__(
        self,
        obj: Resource,
        *,
        cluster: Cluster,
        client: Client,
        applier: Applier,
        background: Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]],
        component: str | None = None,
        reasons: tuple[str, ...] = (),
        attempt: int = 0,
    ) -> None:
        self._object = obj
        self._cluster = cluster
        self._applier = applier
        self._background = background
        self._component = component
        self.client: Client = client
        """Full freedom over any kind, in the object's namespace, as the controller's field manager."""
        self.cache: NamespacedCache = NamespacedCache(cluster.cache, obj.namespace)
        """Reads without ``await``, of the kinds that the controller names."""
        self.reasons: tuple[str, ...] = reasons
        """Why this reconcile was called: the changes, timers and retries that queued its key."""
        self.attempt: int = attempt
        """How many reconciles of this key have failed in a row before this one."""
        self.log: ContextLogger = ContextLogger(_reconcile_log, current_fields())
        """A logger whose records say which object they are about."""

    @property
    def now(self) -> datetime:
        """The time, by the operator's clock."""
        return now()

    async def apply(self, obj: R, *, part: str = "", force: bool | None = None) -> R:
        """State the whole intent for one object; give it as it is then.

        An object of a kind in ``owns`` gets its owner reference, and the namespace of its owner. A field that an
        earlier intent had and this one has not is removed. Nothing is sent if nothing would change. ``part`` names a
        second intent on the same object. ``force`` takes fields from other managers; for owned and tracked kinds that
        is so unless it is ``False``, and what was taken is logged.

        *Raises* ``AlreadyOwned`` if another object controls it, ``ApplyConflict`` if others own fields of it.
        """
        return await self._applier.apply(self._object, obj, part=part, force=force)

    async def create(self, obj: R) -> R:
        """Create an object, with an owner reference if its kind is in ``owns``; for names that the server makes.

        Where you know the name, prefer ``apply``: it does the same again without harm.
        """
        return await self.client.create(self._applier.placed(self._object, obj))

    async def delete(self, obj: Resource) -> None:
        """Delete this very object (by uid); one that is gone already is fine."""
        with suppress(NotFound):
            await self.client.delete(obj)

    def owned(self, kind: type[R]) -> list[R]:
        """What the object controls of a kind in ``owns``, from the cache, without what is being deleted."""
        found = self.cache.list(kind, owned_by=self._object)
        return [child for child in found if child.metadata.deletion_timestamp is None]

    def event(
        self,
        type: Literal["Normal", "Warning"],
        reason: str,
        message: str,
        *,
        action: str = "Reconcile",
        related: Resource | None = None,
        field_path: str = "",
    ) -> None:
        """Tell people about it in an Event object of this object; never blocks, never fails."""
        self._cluster.recorder.event(
            self._object,
            type,
            reason,
            message,
            action=action,
            related=related,
            component=self._component,
            field_path=field_path,
        )

    def background(self, work: Coroutine[Any, Any, None], *, name: str = "background") -> asyncio.Task[None]:
        """Let a coroutine go on after this reconcile; it is cancelled when the controller stops."""
        return self._background(work, name)

    async def in_thread(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run blocking code in a thread: the one way to call what does not await."""
        return await asyncio.to_thread(function, *args, **kwargs)
