"""``Background``: a coroutine that lives beside the controllers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from kubewright.cluster import Cluster
from kubewright.queue import Backoff

__all__ = ["Activity", "Background"]

_log = logging.getLogger("kubewright.operator")


class Activity(Protocol):
    """What can be asked of somebody who works on things one by one, as controllers do."""

    @property
    def is_busy(self) -> bool:
        """Whether something is being worked on, or could be."""
        ...

    @property
    def rounds(self) -> int:
        """How many things were taken up so far."""
        ...


class Background:
    """A coroutine that runs while the operator does, or only while it leads; begun again with back-off if it raises.

    ``activity`` tells what it does, so that ``settle`` can wait for it as for controllers.

    >>> async def report(cluster: Cluster) -> None: ...
    >>> Operator("sites", controllers, background=[Background(report)])
    """

    def __init__(
        self,
        function: Callable[[Cluster], Awaitable[None]],
        *,
        leader_only: bool = True,
        backoff: Backoff | None = None,
        activity: Activity | None = None,
    ) -> None:
        self._function = function
        self.activity: Activity | None = activity
        self.leader_only: bool = leader_only
        self._backoff = backoff or Backoff()
        self.name: str = getattr(function, "__name__", "background")

    async def run(self, cluster: Cluster) -> None:
        """Run it until it returns."""
        failures = 0
        while True:
            try:
                await self._function(cluster)
                return
            except Exception:
                failures += 1
                wait = self._backoff.delay(failures, cluster.dice)
                _log.exception("background %s failed; again in %s", self.name, wait)
                await asyncio.sleep(wait.total_seconds())
