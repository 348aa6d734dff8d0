"""``Interrupted``: a coroutine that is cancelled, or paused, at its n-th await."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

__all__ = ["Interrupted", "cancelled_at"]

T = TypeVar("T")


class Interrupted(Generic[T]):
    """Work to be awaited, in which something happens at the n-th time that it really waits, counted from 1.

    ``at`` is called then, within the task that awaits it; if it gives an awaitable, the work goes on only when that
    is done, as if it had been a slow moment. ``awaits`` counts how often the work has waited.

    >>> async def test() -> int:
    ...     return await Interrupted(asyncio.sleep(0, 5), 1, lambda: asyncio.sleep(60))
    """

    def __init__(self, work: Coroutine[Any, Any, T], n: int, at: Callable[[], Awaitable[object] | None]) -> None:
        self._work = work
        self._n = n
        self._at = at
        self.awaits: int = 0

    def __await__(self) -> Generator[Any, Any, T]:
        """What the work returns."""
        work = self._work.__await__()
        try:
            waited_for = next(work)
            while True:
                self.awaits += 1
                pause = self._at() if self.awaits == self._n else None
                try:
                    if pause is not None:
                        yield from pause.__await__()
                    sent = yield waited_for
                except BaseException as error:
                    _forgo(waited_for)
                    waited_for = work.throw(error)
                else:
                    waited_for = work.send(sent)
        except StopIteration as end:
            result: T = end.value
            return result


def _forgo(waited_for: object) -> None:
    """Cancel what was waited for, as a task does that is cancelled; during a pause it is not the task's to know."""
    if isinstance(waited_for, asyncio.Future):
        waited_for.cancel()


async def cancelled_at(n: int, work: Coroutine[Any, Any, object]) -> bool:
    """Run the work in a task that is cancelled at its n-th await; whether it came so far.

    Try n = 1, 2, … until it is False to see the work cancelled at every await. What the work raises is raised, but
    its cancellation.
    """

    async def run() -> None:
        this = asyncio.current_task()
        assert this is not None
        interrupted = Interrupted(work, n, lambda: _cancelled(this, reached))
        await interrupted

    reached: list[int] = []
    task = asyncio.create_task(run(), name=f"cancelled at await {n}")
    await asyncio.wait((task,))
    if not task.cancelled():
        task.result()
    return bool(reached)


def _cancelled(task: asyncio.Task[Any], reached: list[int]) -> None:
    reached.append(1)
    task.cancel()
