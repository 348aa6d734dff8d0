"""Coroutines that are cancelled or paused at their n-th await."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from kubewright.testing import VirtualTime, elapse, virtual_time
from kubewright.testing.faults import Interrupted, cancelled_at

SECOND = timedelta(seconds=1)


async def steps(log: list[str]) -> str:
    for name in ("a", "b", "c"):
        log.append(name)
        await elapse(SECOND)
    return "done"


@pytest.mark.parametrize(("n", "came_so_far", "expected"), [(1, True, "a"), (3, True, "abc"), (4, False, "abc")])
@virtual_time()
async def test_work_is_cancelled_at_the_await_that_is_named(n: int, came_so_far: bool, expected: str) -> None:
    log: list[str] = []

    assert await cancelled_at(n, steps(log)) is came_so_far
    assert "".join(log) == expected


@virtual_time()
async def test_what_the_work_raises_is_raised() -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await cancelled_at(2, fails())


@virtual_time()
async def test_work_that_shields_itself_from_cancellation_still_came_so_far() -> None:
    async def stubborn() -> None:
        try:
            await elapse(SECOND)
        except asyncio.CancelledError:
            await elapse(SECOND)

    assert await cancelled_at(1, stubborn())


@virtual_time()
async def test_work_is_paused_at_an_await_and_goes_on() -> None:
    log: list[str] = []
    work = Interrupted(steps(log), 2, lambda: elapse(timedelta(hours=1)))

    assert await work == "done"
    assert work.awaits == 3
    # The second step waited meanwhile, so the pause hides it.
    assert VirtualTime.current().elapsed == timedelta(hours=1) + 2 * SECOND


@virtual_time()
async def test_work_that_is_cancelled_while_paused_ends() -> None:
    log: list[str] = []

    async def paused() -> None:
        await Interrupted(steps(log), 1, lambda: elapse(timedelta(hours=1)))

    task = asyncio.create_task(paused())
    await elapse(timedelta(minutes=1))
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert log == ["a"]


@virtual_time()
async def test_a_call_at_an_await_may_be_a_plain_one() -> None:
    seen: list[float] = []
    loop = asyncio.get_running_loop()

    await Interrupted(steps([]), 3, lambda: seen.append(loop.time()))

    assert seen == [2.0]
