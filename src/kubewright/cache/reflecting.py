"""``Reflecting``: the reflectors of one kind, one a namespace or one for all, and the tasks that they run in."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Collection, Iterable
from datetime import timedelta
from typing import Any, Generic, TypeVar

from kubewright.api import Key, Resource
from kubewright.cache.entry import Entry
from kubewright.cache.reflector import Reflector
from kubewright.cache.relist import relist_forever

__all__ = ["Reflecting", "end_tasks"]

R = TypeVar("R", bound=Resource)


class Reflecting(Generic[R]):
    """Runs reflectors between ``start`` and ``stop``; namespaces may come and go meanwhile.

    ``make`` makes the reflector of a namespace (None: all). With ``relist`` the objects are listed that often, and
    ``repair`` is told them.
    """

    def __init__(
        self,
        make: Callable[[str | None], Reflector[R]],
        repair: Callable[[list[Entry], str, str | None, Collection[Key]], None],
        *,
        namespaces: Iterable[str | None],
        relist: timedelta | None,
        dice: random.Random,
    ) -> None:
        self._make = make
        self._repair = repair
        self._relist = relist
        self._dice = dice
        self._reflectors: dict[str | None, Reflector[R]] = {namespace: make(namespace) for namespace in namespaces}
        self._tasks: dict[str | None, list[asyncio.Task[None]]] = {}
        self._ending: dict[asyncio.Task[None], None] = {}
        self._is_running = False

    @property
    def reflectors(self) -> list[Reflector[R]]:
        """All of them."""
        return list(self._reflectors.values())

    def of(self, namespace: str) -> Reflector[R] | None:
        """The one that brings the objects of a namespace; None if that is not watched."""
        return self._reflectors.get(None) or self._reflectors.get(namespace)

    @property
    def synced(self) -> bool:
        """Whether all have told everything once."""
        return all(reflector.synced.is_set() for reflector in self._reflectors.values())

    async def wait_synced(self) -> None:
        """Return when all have told everything once."""
        while not self.synced:
            for reflector in self.reflectors:
                await reflector.synced.wait()

    def start(self) -> None:
        """Run them, each in a task of its own."""
        self._is_running = True
        for namespace in self._reflectors:
            self._start(namespace)

    def end(self) -> None:
        """Tell all of them to end; ``stop`` waits until they have."""
        self._is_running = False
        for namespace in list(self._tasks):
            self._end(namespace)

    async def stop(self) -> None:
        """Return when none runs any more."""
        self.end()
        await end_tasks(self._ending)

    def add(self, namespace: str) -> None:
        """Watch a namespace too; if it is watched already, nothing happens."""
        if None in self._reflectors:
            raise ValueError(f"all namespaces are watched already, {namespace!r} too")
        if namespace not in self._reflectors:
            self._reflectors[namespace] = self._make(namespace)
            if self._is_running:
                self._start(namespace)

    def remove(self, namespace: str) -> bool:
        """Watch a namespace no more; whether it was."""
        if None in self._reflectors:
            raise ValueError(f"all namespaces are watched; name them with namespaces= to leave out {namespace!r}")
        self._end(namespace)
        return self._reflectors.pop(namespace, None) is not None

    def _start(self, namespace: str | None) -> None:
        reflector = self._reflectors[namespace]
        tasks = [asyncio.create_task(reflector.run(), name=f"watch {reflector.name}")]
        if self._relist is not None:
            relisting = self._relist_of(namespace, reflector, self._relist)
            tasks.append(asyncio.create_task(relisting, name=f"relist {reflector.name}"))
        self._tasks[namespace] = tasks

    async def _relist_of(self, namespace: str | None, reflector: Reflector[R], every: timedelta) -> None:
        def repair(entries: list[Entry], revision: str, buried: Collection[Key]) -> None:
            self._repair(entries, revision, namespace, buried)

        await relist_forever(reflector, repair, every=every, dice=self._dice)

    def _end(self, namespace: str | None) -> None:
        for task in self._tasks.pop(namespace, ()):
            task.cancel()
            self._ending[task] = None
            task.add_done_callback(self._ending.pop)


async def end_tasks(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks and return when they have ended."""
    ending = list(tasks)
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)
