"""Who is called when there is something to do."""

from __future__ import annotations

import asyncio

import pytest

from kubewright.queue.waiters import Waiters
from kubewright.testing import virtual_time, wait_idle


@virtual_time()
async def test_the_one_who_waited_longest_is_called_first():
    waiters, called = Waiters(), []

    async def wait(name: str) -> None:
        await waiters.wait()
        called.append(name)

    tasks = [asyncio.create_task(wait(name)) for name in "ab"]
    await wait_idle()
    waiters.call_one()
    await wait_idle()

    assert called == ["a"]
    waiters.call_all()
    await asyncio.gather(*tasks)


@virtual_time()
async def test_a_call_goes_to_the_next_when_the_called_one_is_cancelled():
    waiters = Waiters()
    first, second = asyncio.create_task(waiters.wait()), asyncio.create_task(waiters.wait())
    await wait_idle()

    waiters.call_one()
    first.cancel()
    await second

    with pytest.raises(asyncio.CancelledError):
        await first


@virtual_time()
async def test_a_call_skips_one_who_was_cancelled_but_has_not_noticed_yet():
    waiters = Waiters()
    first, second = asyncio.create_task(waiters.wait()), asyncio.create_task(waiters.wait())
    await wait_idle()

    first.cancel()
    waiters.call_one()
    await second

    with pytest.raises(asyncio.CancelledError):
        await first


@virtual_time()
async def test_one_who_was_cancelled_waits_no_more():
    waiters = Waiters()
    task = asyncio.create_task(waiters.wait())
    await wait_idle()
    assert len(waiters) == 1

    task.cancel()
    await asyncio.wait([task])

    assert len(waiters) == 0


@virtual_time()
async def test_one_whose_coroutine_is_closed_waits_no_more():
    waiters = Waiters()
    coroutine = waiters.wait()
    coroutine.send(None)

    coroutine.close()

    assert len(waiters) == 0
