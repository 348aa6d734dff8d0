"""Back-off: the deadline, what moves it, and the limit for all keys together."""

from __future__ import annotations

import random
from datetime import timedelta

from kubewright.queue import Backoff, Queue, TokenBucket, Work
from kubewright.testing import VirtualTime, elapse, virtual_time

SECOND = timedelta(seconds=1)
BACKOFF = Backoff(first=10 * SECOND, longest=timedelta(hours=1), jitter=0)


def seconds() -> float:
    return VirtualTime.current().loop.time()


async def fail(queue: Queue[str]) -> Work[str]:
    """Take the next key and fail with it."""
    work = await queue.get()
    queue.retry(work.key, reason="failed")
    queue.done(work.key)
    return work


@virtual_time()
async def test_a_failed_key_runs_again_after_its_back_off():
    queue: Queue[str] = Queue(backoff=BACKOFF)
    queue.add("a")
    await fail(queue)

    work = await queue.get()

    assert seconds() == 10
    assert (work.is_retry, work.attempt, work.reasons, work.priority) == (True, 1, ("failed",), 0)


@virtual_time()
async def test_retry_tells_the_time_until_the_next_try():
    queue: Queue[str] = Queue(backoff=BACKOFF)

    assert queue.retry("a") == 10 * SECOND
    await elapse(4 * SECOND)
    assert queue.retry("a") == 6 * SECOND
    queue.close()


@virtual_time()
async def test_waits_double_from_retry_to_retry():
    queue: Queue[str] = Queue(backoff=BACKOFF)
    queue.add("a")

    times = []
    for _ in range(4):
        await fail(queue)
        times.append(seconds())

    assert times == [0, 10, 30, 70]
    queue.close()


@virtual_time()
async def test_forget_lets_the_back_off_begin_anew():
    queue: Queue[str] = Queue(backoff=BACKOFF)
    queue.add("a")
    for _ in range(3):
        await fail(queue)

    queue.forget("a")

    assert queue.waiting == 0
    assert queue.retry("a") == 10 * SECOND
    queue.close()


@virtual_time()
async def test_a_change_runs_at_once_although_the_key_backs_off():
    queue: Queue[str] = Queue(backoff=BACKOFF)
    queue.add("a")
    await fail(queue)
    await elapse(3 * SECOND)

    queue.add("a", reason="changed")
    work = await queue.get()

    assert seconds() == 3
    assert (work.reasons, work.is_retry, work.attempt) == (("changed",), False, 1)
    queue.close()


@virtual_time()
async def test_a_change_that_fails_too_neither_moves_the_deadline_nor_counts():
    queue: Queue[str] = Queue(backoff=BACKOFF)
    queue.add("a")
    await fail(queue)
    await elapse(3 * SECOND)
    queue.add("a")
    await fail(queue)

    work = await queue.get()

    assert seconds() == 10
    assert (work.is_retry, work.attempt) == (True, 1)


@virtual_time()
async def test_a_storm_of_failing_changes_does_not_drive_the_back_off_up():
    queue: Queue[str] = Queue(backoff=BACKOFF)
    queue.add("a")
    await fail(queue)

    retries: list[tuple[float, int]] = []
    while len(retries) < 3:
        queue.add("a")
        work = await fail(queue)
        retries += [(seconds(), work.attempt)] if work.is_retry else []
        await elapse(SECOND)

    assert retries == [(10, 1), (30, 2), (70, 3)]
    queue.close()


@virtual_time()
async def test_a_deadline_that_passes_while_a_change_is_worked_on_still_gets_its_run():
    queue: Queue[str] = Queue(backoff=BACKOFF)
    queue.add("a")
    await fail(queue)
    await elapse(9 * SECOND)
    queue.add("a")
    await queue.get()
    await elapse(5 * SECOND)

    delay = queue.retry("a")
    queue.done("a")
    work = await queue.get()

    assert delay == timedelta(0)
    assert (work.is_retry, work.attempt, seconds()) == (True, 1, 14)


@virtual_time()
async def test_a_success_drops_a_retry_that_came_due_during_the_work():
    queue: Queue[str] = Queue(backoff=BACKOFF)
    queue.add("a")
    await fail(queue)
    queue.add("a")
    await queue.get()
    await elapse(20 * SECOND)

    queue.forget("a")
    queue.done("a")

    assert (len(queue), queue.waiting) == (0, 0)


@virtual_time()
async def test_a_change_that_meets_the_due_retry_is_one_run_that_counts_as_the_retry():
    queue: Queue[str] = Queue(backoff=BACKOFF)
    queue.add("a")
    await fail(queue)
    await elapse(10 * SECOND)
    queue.add("a", reason="changed")

    work = await queue.get()

    assert (work.reasons, work.is_retry) == (("failed", "changed"), True)
    queue.done("a")
    assert queue.retry("a") == 20 * SECOND
    queue.close()


@virtual_time()
async def test_a_run_that_neither_fails_nor_succeeds_leaves_the_count_as_it_is():
    queue: Queue[str] = Queue(backoff=BACKOFF)
    queue.add("a")
    await fail(queue)
    queue.done((await queue.get()).key)

    queue.add("a")

    assert (await queue.get()).attempt == 1
    assert queue.retry("a") == 20 * SECOND
    queue.close()


@virtual_time()
async def test_a_timer_and_a_retry_of_one_key_do_not_touch_each_other():
    queue: Queue[str] = Queue(backoff=BACKOFF)
    queue.retry("a", reason="failed")
    queue.add_after("a", 5 * SECOND, reason="look again")

    first = await fail(queue)
    second = await queue.get()

    assert (first.reasons, first.is_retry) == (("look again",), False)
    assert (second.reasons, second.is_retry, seconds()) == (("failed",), True, 10)


@virtual_time()
async def test_a_retry_takes_its_place_in_line_during_a_storm_of_other_keys():
    queue: Queue[str] = Queue(backoff=BACKOFF)
    queue.retry("failing")
    await elapse(9 * SECOND)
    for number in range(5):
        queue.add(f"before-{number}")
    await elapse(SECOND)
    for number in range(50):
        queue.add(f"after-{number}")

    order = [(await queue.get()).key for _ in range(7)]

    assert order[5] == "failing"


@virtual_time()
async def test_a_retry_raises_a_key_that_stands_in_line_with_low_priority():
    queue: Queue[str] = Queue(backoff=BACKOFF)
    queue.add("a", priority=-100)
    queue.retry("a")

    await elapse(10 * SECOND)

    work = await queue.get()
    assert (work.priority, work.is_retry) == (0, True)


@virtual_time()
async def test_the_limit_spreads_the_retries_of_many_keys():
    queue: Queue[int] = Queue(backoff=BACKOFF, limit=TokenBucket(per_second=0.05, burst=2))

    delays = [queue.retry(key) for key in range(5)]

    assert delays == [10 * SECOND, 10 * SECOND, 20 * SECOND, 40 * SECOND, 60 * SECOND]
    queue.close()


@virtual_time()
async def test_a_kept_deadline_takes_nothing_from_the_limit():
    queue: Queue[str] = Queue(backoff=BACKOFF, limit=TokenBucket(per_second=0.01, burst=2))
    for _ in range(10):
        queue.retry("a")

    assert queue.retry("b") == 10 * SECOND
    queue.close()


@virtual_time()
async def test_the_limit_does_not_touch_additions():
    queue: Queue[int] = Queue(limit=TokenBucket(per_second=0.01, burst=1))

    for key in range(1000):
        queue.add(key)

    assert len(queue) == 1000


@virtual_time()
async def test_queues_do_not_share_the_default_limit():
    queues: list[Queue[int]] = [Queue(backoff=BACKOFF), Queue(backoff=BACKOFF)]
    for key in range(300):
        queues[0].retry(key)

    assert queues[0].retry(1000) > 10 * SECOND
    assert queues[1].retry(1000) == 10 * SECOND
    for queue in queues:
        queue.close()


@virtual_time()
async def test_chance_is_the_given_dice():
    queues: list[Queue[str]] = [Queue(dice=random.Random(seed)) for seed in (1, 1, 2)]

    delays = [queue.retry("a") for queue in queues]

    assert delays[0] == delays[1] != delays[2]
    for queue in queues:
        queue.close()
