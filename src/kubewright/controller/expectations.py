"""Expectations: creations and deletions that were asked for and not seen yet, so that a stale cache makes no doubles.

The ReplicaSet controller's own algorithm, for controllers that create objects without knowing their names before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta
from typing import Any, Final, TypeVar

from kubewright.api import Key, Resource
from kubewright.cache import Cache, Change
from kubewright.controller.batch import slow_start
from kubewright.controller.mapping import owners_of
from kubewright.controller.source import Wake
from kubewright.errors import ConnectError, ServerTimeout, TransportError

__all__ = ["Expectations"]

R = TypeVar("R", bound=Resource)

_LIFETIME: Final = timedelta(minutes=5)
_BURST: Final = 500


class _Awaited:
    __slots__ = ("creations", "deletions", "since")

    def __init__(self, since: float) -> None:
        self.creations = 0
        self.deletions: set[Key] = set()
        self.since = since


class Expectations:
    """Counts what a controller awaits of one kind of children, per owner; a source that wakes the owner when all came.

    >>> expectations = Expectations(PodSet, Pod)
    >>> async def reconcile(podset: PodSet, ctx: Context) -> None:
    ...     if not expectations.are_met(podset.key):
    ...         return                      # woken when they are
    ...     await expectations.create(podset, 3, lambda: ctx.create(pod_of(podset)))
    >>> Controller(PodSet, reconcile, owns=[Pod], sources=[expectations])

    *Guarantees*: a creation that failed is taken back with ``creation_failed``; deletions are awaited by key, so that
    one seen twice counts once; what is not seen within ``lifetime`` is forgotten, and the owner woken; a namesake of an
    owner that is gone awaits nothing.
    """

    def __init__(self, owner: type[Resource], child: type[Resource], *, lifetime: timedelta = _LIFETIME) -> None:
        self._owner = owner
        self._child = child
        self._lifetime = lifetime.total_seconds()
        self._awaited: dict[Key, _Awaited] = {}
        self._wake: Wake | None = None

    @property
    def kinds(self) -> tuple[type[Resource], ...]:
        """The kind that must be cached."""
        return (self._child,)

    def expect_creations(self, owner: Key, count: int) -> None:
        """Await ``count`` creations; call it before they are sent."""
        if count > 0:
            self._of(owner).creations += count

    def expect_deletions(self, owner: Key, children: Iterable[Key]) -> None:
        """Await the deletion of these children; call it before it is sent."""
        keys = list(children)
        if keys:
            self._of(owner).deletions.update(keys)

    def creation_failed(self, owner: Key, count: int = 1) -> None:
        """Take back creations that failed or were not tried; wakes nobody, because who calls it knows."""
        awaited = self._awaited.get(owner)
        if awaited is not None:
            awaited.creations -= count
            self._drop_if_met(owner, awaited)

    def deletion_failed(self, owner: Key, child: Key) -> None:
        """Take back a deletion that failed or was not tried; wakes nobody."""
        awaited = self._awaited.get(owner)
        if awaited is not None:
            awaited.deletions.discard(child)
            self._drop_if_met(owner, awaited)

    async def create(
        self, owner: Resource, count: int, call: Callable[[], Awaitable[object]], *, burst: int = _BURST
    ) -> int:
        """Make ``count`` children by ``call``, awaited and with a slow start; how many were made.

        At most ``burst`` are made; when these were seen the owner is woken, and makes the rest.

        *Raises* the first failure, after what failed and what was not tried was taken back. A creation whose answer
        was lost may have taken effect: it stays awaited, until it is seen or overdue.
        """
        count = min(count, burst)
        self.expect_creations(owner.key, count)
        in_doubt = 0

        async def one(_: int) -> None:
            nonlocal in_doubt
            try:
                await call()
            except (TransportError, ServerTimeout, asyncio.CancelledError) as error:
                in_doubt += not isinstance(error, ConnectError)
                raise

        made = 0
        failure: BaseException | None = None
        try:
            made, failure = await slow_start(count, one, burst=count)
        finally:
            self.creation_failed(owner.key, count - made - in_doubt)
        if failure is not None:
            raise failure
        return made

    async def delete(
        self,
        owner: Resource,
        children: Iterable[R],
        call: Callable[[R], Awaitable[object]],
        *,
        burst: int = _BURST,
    ) -> int:
        """Delete the children by ``call``, awaited, at most ``burst`` of them; how many were.

        *Raises* the first failure, after what failed was taken back.
        """
        chosen = list(children)[:burst]
        self.expect_deletions(owner.key, [child.key for child in chosen])

        async def one(child: R) -> None:
            try:
                await call(child)
            except BaseException:
                self.deletion_failed(owner.key, child.key)
                raise

        answers = await asyncio.gather(*(one(child) for child in chosen), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return len(chosen)

    def are_met(self, owner: Key) -> bool:
        """Whether everything awaited was seen, or is overdue."""
        awaited = self._awaited.get(owner)
        if awaited is None:
            return True
        if asyncio.get_running_loop().time() - awaited.since >= self._lifetime:
            del self._awaited[owner]
            return True
        return False

    def forget(self, owner: Key) -> None:
        """Await nothing any more, for example because the owner is gone."""
        self._awaited.pop(owner, None)

    async def run(self, wake: Wake, cache: Cache) -> None:
        """See the children come and go; part of being a source."""
        self._wake = wake
        handlers = [cache.informer(self._child).add_handler(self._see)]
        if self._owner in cache.kinds:
            handlers.append(cache.informer(self._owner).add_handler(self._see_owner))
        try:
            await self._wake_overdue(wake)
        finally:
            for handler in handlers:
                handler.remove()
            self._wake = None

    async def _wake_overdue(self, wake: Wake) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self._lifetime / 5)
            for owner, awaited in list(self._awaited.items()):
                if loop.time() - awaited.since >= self._lifetime:
                    wake(owner, reason=f"expectations of {self._child.__name__} are overdue")

    def _of(self, owner: Key) -> _Awaited:
        awaited = self._awaited.get(owner)
        if awaited is None:
            awaited = self._awaited[owner] = _Awaited(asyncio.get_running_loop().time())
        return awaited

    def _see_owner(self, change: Change[Any]) -> None:
        if change.type == "deleted":
            self.forget(change.key)

    def _see(self, change: Change[Any]) -> None:
        if change.type == "updated" and (change.new_head is None or not change.new_head.is_deleting):
            return
        for owner in owners_of(change, self._owner):
            awaited = self._awaited.get(owner)
            if awaited is None:
                continue
            if change.type == "added":
                awaited.creations -= 1
            else:
                awaited.deletions.discard(change.key)
            if self._drop_if_met(owner, awaited) and self._wake is not None:
                self._wake(owner, reason=f"expectations of {self._child.__name__} are met")

    def _drop_if_met(self, owner: Key, awaited: _Awaited) -> bool:
        if awaited.creations > 0 or awaited.deletions:
            return False
        self._awaited.pop(owner, None)
        return True
