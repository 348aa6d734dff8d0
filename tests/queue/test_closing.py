"""The end of a queue: what is still handed out, and who is told."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from kubewright.errors import KubewrightError
from kubewright.queue import Backoff, Queue, QueueClosed
from kubewright.testing import elapse, virtual_time, wait_idle

SECOND = timedelta(seconds=1)


async def work_off(queue: Queue[str]) -> list[str]:
    """A worker: what it was handed until the queue was closed."""
    keys: list[str] = []
    while True:
        try:
            work = await queue.get()
        except QueueClosed:
            return keys
        await elapse(SECOND)
        keys.append(work.key)
        queue.done(work.key)


def test_the_end_is_one_of_our_errors():
    assert issubclass(QueueClosed, KubewrightError)


@virtual_time()
async def test_a_waiting_worker_is_told_that_the_queue_is_closed():
    queue: Queue[str] = Queue("greeting")
    task = asyncio.create_task(queue.get())
    await wait_idle()

    queue.close()

    with pytest.raises(QueueClosed, match="queue greeting is closed"):
        await task


@virtual_time()
async def test_ready_keys_are_still_handed_out_when_the_queue_drains():
    queue: Queue[str] = Queue()
    for key in "abc":
        queue.add(key)

    queue.close()

    assert await work_off(queue) == ["a", "b", "c"]


@virtual_time()
async def test_ready_keys_are_dropped_when_the_queue_does_not_drain():
    queue: Queue[str] = Queue()
    queue.add("a")
    queue.add_after("b", SECOND)
    await elapse(SECOND)

    queue.close(drain=False)

    assert len(queue) == 0
    assert await work_off(queue) == []


@virtual_time()
async def test_a_draining_queue_can_be_closed_at_once_after_all():
    queue: Queue[str] = Queue()
    queue.add("a")
    queue.close()

    queue.close(drain=False)

    assert await work_off(queue) == []


@virtual_time()
async def test_additions_to_a_closed_queue_are_ignored_and_counted():
    queue: Queue[str] = Queue(backoff=Backoff(jitter=0))
    queue.close()

    queue.add("a")
    queue.add_after("b", SECOND)
    delay = queue.retry("c")

    assert delay == timedelta(milliseconds=5)
    assert queue.statistics().ignored == 3
    assert (len(queue), queue.waiting) == (0, 0)


@virtual_time()
async def test_timers_and_retries_are_dropped():
    queue: Queue[str] = Queue()
    queue.add_after("a", SECOND)
    queue.retry("b")

    queue.close()
    await elapse(2 * SECOND)

    assert (len(queue), queue.waiting) == (0, 0)


@virtual_time()
async def test_a_timer_that_was_due_before_the_end_is_still_handed_out():
    queue: Queue[str] = Queue()
    queue.add_after("a", SECOND)
    await elapse(SECOND)

    queue.close()

    assert await work_off(queue) == ["a"]


@virtual_time()
async def test_what_was_added_during_the_work_is_handed_out_to_a_worker_that_waits_for_it():
    queue: Queue[str] = Queue()
    queue.add("a")
    await queue.get()
    queue.add("a", reason="changed")
    queue.close()
    task = asyncio.create_task(queue.get())
    await wait_idle()
    assert not task.done()

    queue.done("a")

    assert (await task).reasons == ("changed",)


@virtual_time()
async def test_workers_end_when_what_was_added_during_the_work_turns_out_settled():
    queue: Queue[str] = Queue()
    queue.add("a")
    await queue.get()
    queue.add("a", token=7)
    queue.close()
    task = asyncio.create_task(queue.get())
    await wait_idle()

    queue.done("a", settled={7})

    with pytest.raises(QueueClosed):
        await task


@virtual_time()
async def test_what_was_added_during_the_work_is_dropped_when_the_queue_does_not_drain():
    queue: Queue[str] = Queue()
    queue.add("a")
    await queue.get()
    queue.add("a")
    queue.close(drain=False)

    queue.done("a")

    assert len(queue) == 0


@virtual_time()
async def test_waiting_for_the_end_takes_until_the_last_work_is_done():
    queue: Queue[str] = Queue()
    for key in "abcd":
        queue.add(key)
    workers = [asyncio.create_task(work_off(queue)) for _ in range(2)]
    queue.close()

    await queue.wait_drained()

    assert asyncio.get_running_loop().time() == 2
    assert sorted(await asyncio.gather(*workers)) == [["a", "c"], ["b", "d"]]


@virtual_time()
async def test_waiting_for_the_end_returns_at_once_when_there_is_nothing_to_do():
    queue: Queue[str] = Queue()
    queue.add_after("a", SECOND)

    await queue.wait_drained()

    assert asyncio.get_running_loop().time() == 0
    queue.close()


@virtual_time()
async def test_waiting_for_the_end_returns_when_ready_keys_are_dropped():
    queue: Queue[str] = Queue()
    queue.add("a")
    task = asyncio.create_task(queue.wait_drained())
    await wait_idle()

    queue.close(drain=False)

    await task
