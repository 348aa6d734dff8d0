"""Slow start: many equal calls in batches of 1, 2, 4, …, so that a failure that all would share is met only once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

__all__ = ["slow_start"]


async def slow_start(
    count: int, call: Callable[[int], Awaitable[object]], *, first: int = 1, burst: int = 500
) -> tuple[int, BaseException | None]:
    """How many of ``count`` calls succeeded, and the first failure if there was one.

    ``call`` gets the number of the call. The batches double in size as long as all of one succeed; after a batch with
    a failure no more are made: ``count`` less the successes were not made or failed. At most ``burst`` calls are made
    in all, the rest is for the next reconcile.
    """
    remaining = min(count, burst)
    succeeded, size, number = 0, max(1, first), 0
    while remaining > 0:
        batch = min(size, remaining)
        answers = await asyncio.gather(*(call(number + i) for i in range(batch)), return_exceptions=True)
        failures = [answer for answer in answers if isinstance(answer, BaseException)]
        succeeded += batch - len(failures)
        if failures:
            return succeeded, failures[0]
        number, remaining, size = number + batch, remaining - batch, size * 2
    return succeeded, None
