"""A time limit that one task uses again and again."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from kubewright.deadline import TimeLimit
from kubewright.testing import elapse, virtual_time

SECOND = timedelta(seconds=1)


@virtual_time()
async def test_a_block_that_lasts_too_long_is_cut_off() -> None:
    limit = TimeLimit(10 * SECOND)

    with pytest.raises(TimeoutError), limit:
        await elapse(11 * SECOND)

    assert limit.has_expired


@virtual_time()
async def test_each_block_has_its_own_time() -> None:
    limit = TimeLimit(10 * SECOND)
    for _ in range(5):
        with limit:
            await elapse(9 * SECOND)

    begun = asyncio.get_running_loop().time()
    with pytest.raises(TimeoutError), limit:
        await elapse(60 * SECOND)

    assert asyncio.get_running_loop().time() - begun == 10


@virtual_time()
async def test_time_between_blocks_does_not_count() -> None:
    limit = TimeLimit(10 * SECOND)
    with limit:
        await elapse(SECOND)
    await elapse(60 * SECOND)

    with limit:
        await elapse(9 * SECOND)

    assert not limit.has_expired
    limit.close()


@virtual_time()
async def test_without_a_limit_nothing_is_cut_off() -> None:
    with TimeLimit(None):
        await elapse(timedelta(days=1))


@virtual_time()
async def test_a_cancellation_from_outside_stays_one() -> None:
    limit = TimeLimit(10 * SECOND)

    async def work() -> None:
        with limit:
            await elapse(60 * SECOND)

    task = asyncio.create_task(work())
    await elapse(SECOND)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert not limit.has_expired
    limit.close()


@virtual_time()
async def test_the_blocks_own_timeout_is_not_taken_for_the_limit() -> None:
    limit = TimeLimit(10 * SECOND)

    with pytest.raises(TimeoutError), limit:
        raise TimeoutError("its own")

    assert not limit.has_expired
    limit.close()
