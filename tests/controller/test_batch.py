"""Slow-start batches."""

from __future__ import annotations

import asyncio

from kubewright.controller import slow_start


async def test_batches_double_while_all_succeed() -> None:
    running = 0
    sizes: list[int] = []

    async def call(_: int) -> None:
        nonlocal running
        running += 1
        await asyncio.sleep(0)
        sizes.append(running)
        await asyncio.sleep(0)
        running -= 1

    succeeded, error = await slow_start(12, call)

    assert (succeeded, error) == (12, None)
    assert [max(sizes[start:end]) for start, end in ((0, 1), (1, 3), (3, 7), (7, 12))] == [1, 2, 4, 5]


async def test_a_failure_ends_it_after_its_batch() -> None:
    calls: list[int] = []

    async def call(number: int) -> None:
        calls.append(number)
        if number == 2:
            raise RuntimeError("quota")

    succeeded, error = await slow_start(100, call)

    assert succeeded == 2
    assert str(error) == "quota"
    assert calls == [0, 1, 2]


async def test_no_more_than_the_burst_is_called() -> None:
    calls: list[int] = []

    async def call(number: int) -> None:
        calls.append(number)

    succeeded, error = await slow_start(1000, call, burst=10)

    assert (succeeded, error, len(calls)) == (10, None, 10)


async def test_nothing_wanted_calls_nothing() -> None:
    async def call(number: int) -> None:
        raise AssertionError(number)

    assert await slow_start(0, call) == (0, None)
