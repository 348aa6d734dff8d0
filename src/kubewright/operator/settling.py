"""Waiting until those who work on things one by one have nothing to do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final

from kubewright.errors import WaitTimeout
from kubewright.operator.background import Activity

__all__ = ["PATIENCE", "QUIET", "settled"]

QUIET: Final = timedelta(milliseconds=200)
"""For how long nobody may have had anything to do."""

PATIENCE: Final = timedelta(minutes=1)
"""For how long that is waited for."""


async def settled(
    active: Callable[[], Mapping[str, Activity]], *, who: str, quiet: timedelta = QUIET, within: timedelta = PATIENCE
) -> None:
    """Return when none of them has had anything to do for as long as ``quiet``; timers may still wait.

    *Raises* ``WaitTimeout`` naming those who are still busy.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within.total_seconds()
    while True:
        before = [one.rounds for one in active().values()]
        await asyncio.sleep(quiet.total_seconds())
        busy = [name for name, one in active().items() if one.is_busy]
        if not busy and before == [one.rounds for one in active().values()]:
            return
        if loop.time() >= deadline:
            now_busy = ", ".join(busy) or "each of them by turns"
            raise WaitTimeout(f"{who} is not settled after {within}; busy: {now_busy}")
