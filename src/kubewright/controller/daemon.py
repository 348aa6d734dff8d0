"""Daemons: coroutines that run beside an object for as long as it lives."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Any

from kubewright.api import Key, Resource
from kubewright.controller.context import Context
from kubewright.controller.log import LoggingFor
from kubewright.queue import Backoff

__all__ = ["Daemon", "Daemons"]

_log = logging.getLogger("kubewright.controller")

Daemon = Callable[[Any, Context], Awaitable[None]]
"""``async def daemon(obj, ctx)``: runs while the object lives; begun again with back-off if it raises.

It gets the object as it was when it began; ``ctx.cache`` has it as it is now. One that returns is not begun again.
"""


class Daemons:
    """The running daemons of one controller."""

    def __init__(self, functions: tuple[Daemon, ...], backoff: Backoff, dice: random.Random) -> None:
        self._functions = functions
        self._backoff = backoff
        self._dice = dice
        self._running: dict[Key, tuple[str, list[asyncio.Task[None]]]] = {}
        self._ending: dict[asyncio.Task[None], Key] = {}

    def begin(self, obj: Resource, context: Callable[[], Context], fields: dict[str, str]) -> None:
        """Let the object's daemons run, if they do not yet; those of a namesake before it are ended."""
        running = self._running.get(obj.key)
        if running is not None:
            if running[0] == obj.metadata.uid:
                return
            self.end(obj.key, running[0])
        before = [task for task, key in self._ending.items() if key == obj.key]
        tasks = [
            asyncio.create_task(self._keep(function, obj, context, fields, before), name=f"daemon of {obj.key}")
            for function in self._functions
        ]
        self._running[obj.key] = (obj.metadata.uid, tasks)

    def end(self, key: Key, uid: str) -> None:
        """Cancel the daemons of an object that goes."""
        running = self._running.get(key)
        if running is None or running[0] != uid:
            return
        del self._running[key]
        for task in running[1]:
            task.cancel()
            self._ending[task] = key
            task.add_done_callback(self._ending.pop)

    async def aclose(self) -> None:
        """Cancel all daemons and wait until they have ended."""
        for key, (uid, _) in list(self._running.items()):
            self.end(key, uid)
        await asyncio.gather(*self._ending, return_exceptions=True)

    async def _keep(
        self,
        function: Daemon,
        obj: Resource,
        context: Callable[[], Context],
        fields: dict[str, str],
        before: list[asyncio.Task[None]],
    ) -> None:
        failures = 0
        if before:
            await asyncio.wait(before)
        with LoggingFor(fields):
            while True:
                try:
                    await function(obj, context())
                    return
                except Exception:
                    failures += 1
                    wait = self._backoff.delay(failures, self._dice)
                    name = getattr(function, "__name__", "daemon")
                    _log.exception('%s of %s "%s" failed; again in %s', name, obj.kind, obj.key, wait)
                    await asyncio.sleep(wait.total_seconds())
