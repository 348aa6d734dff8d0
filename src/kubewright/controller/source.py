"""Sources of work besides kinds: a timer, a channel, a poller of something outside Kubernetes.

On the path of one change a source stands where an informer does: it says which keys to reconcile.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from datetime import timedelta
from typing import Protocol

from kubewright.api import Key, Resource
from kubewright.cache import Cache

__all__ = ["Channel", "Poller", "Source", "Timer", "Wake"]

_log = logging.getLogger("kubewright.controller")


class Wake(Protocol):
    """Asks for a reconcile of a key."""

    def __call__(self, key: Key, *, reason: str) -> None:
        """Queue the key; ``reason`` is told to reconcile and log."""
        ...


class Source(Protocol):
    """Something that knows when objects need a reconcile."""

    @property
    def kinds(self) -> tuple[type[Resource], ...]:
        """Kinds that must be cached for it."""
        ...

    async def run(self, wake: Wake, cache: Cache) -> None:
        """Call ``wake`` until cancelled; restarted with back-off if it raises or returns."""
        ...


class Timer:
    """Wakes keys again and again: all objects of a kind, or those that ``keys`` picks from the cache.

    >>> Controller(Site, reconcile, sources=[Timer(Site, every=timedelta(minutes=10))])

    The first time comes after one period; each is moved by up to ``jitter`` of it, so that replicas spread.
    """

    def __init__(
        self,
        kind: type[Resource],
        *,
        every: timedelta,
        keys: Callable[[Cache], Iterable[Key]] | None = None,
        jitter: float = 0.1,
        dice: random.Random | None = None,
    ) -> None:
        if every <= timedelta(0):
            raise ValueError(f"a timer needs a positive period, not {every}")
        self._kind = kind
        self._every = every.total_seconds()
        self._keys = keys
        self._jitter = jitter
        self._dice = dice or random.Random(0)

    @property
    def kinds(self) -> tuple[type[Resource], ...]:
        """The kind whose objects are woken."""
        return (self._kind,)

    async def run(self, wake: Wake, cache: Cache) -> None:
        """Wake the keys each period."""
        while True:
            await asyncio.sleep(self._every * (1 + self._dice.uniform(-self._jitter, self._jitter)))
            for key in self._keys(cache) if self._keys is not None else cache.keys(self._kind):
                wake(key, reason="timer")


class Channel:
    """Wakes the keys that your code puts into it, from the event loop or from any thread.

    Keys put in while no controller listens are kept; each is delivered once, to one controller.
    """

    def __init__(self) -> None:
        self._waiting: dict[Key, str] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._filled: asyncio.Event | None = None

    @property
    def kinds(self) -> tuple[type[Resource], ...]:
        """None: what is put in is known already."""
        return ()

    def put(self, target: Key | Resource, *, reason: str = "channel") -> None:
        """Ask for a reconcile of an object, given itself or by its key."""
        self._waiting[target.key if isinstance(target, Resource) else target] = reason
        loop, filled = self._loop, self._filled
        if loop is not None and filled is not None and not loop.is_closed():
            loop.call_soon_threadsafe(filled.set)

    async def run(self, wake: Wake, cache: Cache) -> None:
        """Wake what is put in."""
        self._loop, self._filled = asyncio.get_running_loop(), asyncio.Event()
        try:
            while True:
                while self._waiting:
                    key = next(iter(self._waiting))
                    wake(key, reason=self._waiting.pop(key))
                self._filled.clear()
                if not self._waiting:
                    await self._filled.wait()
        finally:
            self._loop = self._filled = None


class Poller:
    """Looks at something outside Kubernetes, and wakes the keys for which it looks different from last time.

    ``poll`` gives what it found by key: any value that can be compared. Keys that appear or vanish are woken too. A
    poll that raises is logged and tried again after the next period; what was found before stays.
    """

    def __init__(self, poll: Callable[[], Awaitable[Mapping[Key, Hashable]]], *, every: timedelta) -> None:
        if every <= timedelta(0):
            raise ValueError(f"a poller needs a positive period, not {every}")
        self._poll = poll
        self._every = every.total_seconds()

    @property
    def kinds(self) -> tuple[type[Resource], ...]:
        """None: what is polled says its keys."""
        return ()

    async def run(self, wake: Wake, cache: Cache) -> None:
        """Poll each period and wake what changed."""
        seen: dict[Key, Hashable] = {}
        while True:
            try:
                found = dict(await self._poll())
            except Exception:
                _log.exception("a poll failed; what was found before stands, the next is in %s s", self._every)
            else:
                for key in [*found, *(key for key in seen if key not in found)]:
                    if found.get(key, _NOTHING) != seen.get(key, _NOTHING):
                        wake(key, reason="poll")
                seen = found
            await asyncio.sleep(self._every)


_NOTHING = object()
