"""Which key next: merging, one worker per key, settled additions, priorities, timers."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import timedelta
from itertools import pairwise

import pytest

from kubewright.queue import LOW, Queue, Work
from kubewright.queue.work import MOST_REASONS
from kubewright.testing import VirtualTime, elapse, virtual_time, wait_idle

SECOND = timedelta(seconds=1)


async def drained(queue: Queue[str]) -> list[str]:
    """The keys that are ready, in the order of the queue; each is worked on for no time."""
    keys = []
    while len(queue):
        work = await queue.get()
        keys.append(work.key)
        queue.done(work.key)
    return keys


def compute(seconds: float) -> None:
    """Let time pass as if the processor were busy."""
    VirtualTime.current().loop._now += seconds


async def note_times(seen: list[float]) -> None:
    while True:
        seen.append(asyncio.get_running_loop().time())
        await asyncio.sleep(0)


async def is_waiting(task: asyncio.Task[Work[str]]) -> bool:
    await wait_idle()
    return not task.done()


@contextlib.asynccontextmanager
async def getting(queue: Queue[str]):
    task = asyncio.create_task(queue.get())
    yield task
    task.cancel()
    await asyncio.wait([task])


@virtual_time()
async def test_keys_are_handed_out_in_the_order_in_which_they_were_added():
    queue: Queue[str] = Queue()
    for key in "cab":
        queue.add(key)

    assert await drained(queue) == ["c", "a", "b"]


@virtual_time()
async def test_get_waits_until_a_key_is_added():
    queue: Queue[str] = Queue()

    async with getting(queue) as task:
        assert await is_waiting(task)
        queue.add("a")

        assert (await task).key == "a"


@virtual_time()
async def test_a_key_added_twice_is_handed_out_once():
    queue: Queue[str] = Queue()
    queue.add("a")
    queue.add("b")
    queue.add("a")

    assert len(queue) == 2
    assert await drained(queue) == ["a", "b"]


@virtual_time()
async def test_work_tells_each_reason_once_in_order_of_arrival():
    queue: Queue[str] = Queue()
    for reason in ("spec changed", "pod gone", "", "spec changed"):
        queue.add("a", reason=reason)

    work = await queue.get()

    assert (work.reasons, work.more_reasons) == (("spec changed", "pod gone"), 0)


@virtual_time()
async def test_reasons_beyond_a_bound_are_counted():
    queue: Queue[str] = Queue()
    for number in range(MOST_REASONS + 3):
        queue.add("a", reason=f"change {number}")

    work = await queue.get()

    assert (len(work.reasons), work.more_reasons) == (MOST_REASONS, 3)


@virtual_time()
async def test_reasons_of_earlier_work_are_not_told_again():
    queue: Queue[str] = Queue()
    queue.add("a", reason="first")
    queue.done((await queue.get()).key)
    queue.add("a")

    assert (await queue.get()).reasons == ()


@virtual_time()
async def test_work_tells_since_when_its_first_reason_has_waited():
    queue: Queue[str] = Queue()
    await elapse(SECOND)
    queue.add("a")
    await elapse(SECOND)
    queue.add("a")
    await elapse(SECOND)

    assert (await queue.get()).queued_at == 1


@virtual_time()
async def test_a_key_is_never_handed_to_two_workers():
    queue: Queue[str] = Queue()
    queue.add("a")
    await queue.get()
    queue.add("a")

    async with getting(queue) as task:
        assert await is_waiting(task)


@virtual_time()
async def test_a_key_added_while_it_is_worked_on_runs_again_afterwards():
    queue: Queue[str] = Queue()
    queue.add("a")
    await queue.get()
    await elapse(SECOND)
    queue.add("a", reason="changed", priority=7)
    await elapse(SECOND)

    queue.done("a")

    work = await queue.get()
    assert (work.reasons, work.priority, work.queued_at) == (("changed",), 7, 1)


@virtual_time()
async def test_a_key_that_was_not_added_during_the_work_does_not_run_again():
    queue: Queue[str] = Queue()
    queue.add("a")
    await queue.get()

    queue.done("a")

    assert len(queue) == 0


@virtual_time()
async def test_done_without_get_is_refused():
    queue: Queue[str] = Queue()
    queue.add("a")

    with pytest.raises(ValueError, match=r"done\('a'\): nobody works on this key"):
        queue.done("a")


@virtual_time()
async def test_done_twice_is_refused():
    queue: Queue[str] = Queue()
    queue.add("a")
    await queue.get()
    queue.done("a")

    with pytest.raises(ValueError, match="nobody works on this key"):
        queue.done("a")


@virtual_time()
async def test_additions_whose_tokens_are_all_settled_cause_no_run():
    queue: Queue[str] = Queue()
    queue.add("a")
    await queue.get()
    queue.add("a", token=7)
    queue.add("a", token=8)

    queue.done("a", settled={7, 8, 9})

    assert len(queue) == 0


@virtual_time()
async def test_an_addition_with_another_token_causes_a_run_for_its_own_reason():
    queue: Queue[str] = Queue()
    queue.add("a")
    await queue.get()
    queue.add("a", reason="own write", token=7, priority=5)
    queue.add("a", reason="foreign write", token=8)

    queue.done("a", settled={7})

    work = await queue.get()
    assert (work.reasons, work.priority) == (("foreign write",), 0)


@virtual_time()
async def test_an_addition_without_a_token_is_never_settled():
    queue: Queue[str] = Queue()
    queue.add("a")
    await queue.get()
    queue.add("a", reason="resync")

    queue.done("a", settled={None})

    assert (await queue.get()).reasons == ("resync",)


@virtual_time()
async def test_additions_before_the_work_began_are_not_held_against_its_tokens():
    queue: Queue[str] = Queue()
    queue.add("a", token=7)
    await queue.get()

    queue.done("a", settled={7})

    assert len(queue) == 0


@virtual_time()
async def test_reasons_given_during_the_work_keep_their_order_whatever_their_tokens():
    queue: Queue[str] = Queue()
    queue.add("a")
    await queue.get()
    queue.add_after("a", SECOND, reason="timer")
    queue.add("a", reason="first", token=1)
    await elapse(2 * SECOND)
    queue.add("a", reason="third")

    queue.done("a")

    assert (await queue.get()).reasons == ("first", "timer", "third")


@virtual_time()
async def test_an_addition_repeated_during_the_work_counts_from_its_first_time_and_with_its_highest_priority():
    queue: Queue[str] = Queue()
    queue.add("a")
    await queue.get()
    queue.add("a", priority=3, token=1)
    await elapse(SECOND)
    queue.add("a", priority=LOW, token=1)

    queue.done("a")

    work = await queue.get()
    assert (work.queued_at, work.priority) == (0, 3)


@virtual_time()
async def test_a_key_added_during_the_work_stays_in_line_when_its_due_timer_is_cancelled():
    queue: Queue[str] = Queue()
    queue.add("a")
    queue.add_after("a", SECOND)
    await queue.get()
    await elapse(SECOND)
    queue.add("a")
    queue.done("a")

    queue.cancel_timer("a")

    assert await drained(queue) == ["a"]


@virtual_time()
async def test_the_highest_of_several_priorities_counts():
    queue: Queue[str] = Queue()
    queue.add("a", priority=LOW)
    queue.add("b")
    queue.add("a", priority=10)
    queue.add("a", priority=3)

    work = await queue.get()

    assert (work.key, work.priority) == ("a", 10)


@virtual_time()
async def test_a_raised_key_goes_behind_those_that_had_its_new_priority_before():
    queue: Queue[str] = Queue()
    queue.add("a", priority=LOW)
    queue.add("b")
    queue.add("a")

    assert await drained(queue) == ["b", "a"]


@virtual_time()
async def test_the_initial_list_waits_for_live_changes_but_gets_its_share():
    queue: Queue[str] = Queue()
    queue.add("old", priority=LOW)
    for number in range(20):
        queue.add(f"live-{number}")

    order = await drained(queue)

    assert order.index("old") == 9


@virtual_time()
async def test_a_key_added_for_later_is_ready_when_its_time_comes():
    queue: Queue[str] = Queue()
    queue.add_after("a", 10 * SECOND, reason="look again")
    assert (len(queue), queue.waiting) == (0, 1)

    work = await queue.get()

    assert VirtualTime.current().elapsed == 10 * SECOND
    assert (work.reasons, work.priority, work.is_retry) == (("look again",), 0, False)
    assert queue.waiting == 0


@pytest.mark.parametrize("second", [5, 20])
def test_a_new_timer_replaces_the_earlier_one_be_it_sooner_or_later(second: int):
    @virtual_time()
    async def scenario() -> None:
        queue: Queue[str] = Queue()
        queue.add_after("a", 10 * SECOND, reason="old")

        queue.add_after("a", second * SECOND, reason="new")

        assert queue.waiting == 1
        assert (await queue.get()).reasons == ("new",)
        assert VirtualTime.current().elapsed == second * SECOND

    scenario()


@virtual_time()
async def test_a_timer_replaces_one_that_came_due_during_the_work():
    queue: Queue[str] = Queue()
    queue.add("a")
    queue.add_after("a", SECOND)
    await queue.get()
    await elapse(2 * SECOND)

    queue.add_after("a", 10 * SECOND)
    queue.done("a")

    assert (len(queue), queue.waiting) == (0, 1)
    queue.close()


@virtual_time()
async def test_a_timer_that_comes_due_during_the_work_causes_a_run_afterwards():
    queue: Queue[str] = Queue()
    queue.add("a")
    queue.add_after("a", SECOND, reason="look again")
    await queue.get()
    await elapse(2 * SECOND)

    queue.done("a")

    assert (await queue.get()).reasons == ("look again",)


@virtual_time()
async def test_a_cancelled_timer_does_not_ring():
    queue: Queue[str] = Queue()
    queue.add_after("a", SECOND)

    queue.cancel_timer("a")
    queue.cancel_timer("unknown")
    await elapse(2 * SECOND)

    assert (len(queue), queue.waiting) == (0, 0)


@virtual_time()
async def test_a_cancelled_timer_that_came_due_during_the_work_causes_no_run():
    queue: Queue[str] = Queue()
    queue.add("a")
    queue.add_after("a", SECOND)
    await queue.get()
    await elapse(2 * SECOND)

    queue.cancel_timer("a")
    queue.done("a")

    assert len(queue) == 0


@virtual_time()
async def test_a_key_that_stands_in_line_for_its_timer_alone_leaves_when_that_is_cancelled():
    queue: Queue[str] = Queue()
    for key in "ab":
        queue.add_after(key, SECOND)
    await elapse(SECOND)
    queue.add("b")

    queue.cancel_timer("a")
    queue.cancel_timer("b")

    assert await drained(queue) == ["b"]


@virtual_time()
async def test_an_addition_leaves_the_timer_alone():
    queue: Queue[str] = Queue()
    queue.add_after("a", 10 * SECOND)
    queue.add("a")
    queue.done((await queue.get()).key)

    await queue.get()

    assert VirtualTime.current().elapsed == 10 * SECOND


@virtual_time()
async def test_a_due_timer_is_not_starved_by_a_storm_of_work_that_never_waits():
    queue: Queue[str] = Queue()
    queue.add_after("quiet", SECOND)
    queue.add("storm")

    while (await queue.get()).key == "storm":
        compute(0.002)
        queue.done("storm")
        queue.add("storm")

    assert 1 <= asyncio.get_running_loop().time() < 1.02


@virtual_time()
async def test_a_worker_that_never_waits_lets_the_rest_of_the_loop_run_every_few_milliseconds():
    queue: Queue[int] = Queue()
    seen: list[float] = []
    other = asyncio.create_task(note_times(seen))
    for key in range(50):
        queue.add(key)

    for _ in range(50):
        work = await queue.get()
        compute(0.002)
        queue.done(work.key)
    other.cancel()

    assert len(seen) > 10
    assert max(later - earlier for earlier, later in pairwise(seen)) < 0.01


@virtual_time()
async def test_a_worker_that_never_waits_lets_the_rest_of_the_loop_run_even_while_time_stands_still():
    queue: Queue[int] = Queue()
    seen: list[float] = []
    other = asyncio.create_task(note_times(seen))
    for key in range(1000):
        queue.add(key)

    for _ in range(1000):
        queue.done((await queue.get()).key)
    other.cancel()

    assert len(seen) >= 10


@virtual_time()
async def test_a_cancelled_get_loses_no_key():
    queue: Queue[str] = Queue()
    first, second = asyncio.create_task(queue.get()), asyncio.create_task(queue.get())
    await wait_idle()

    queue.add("a")
    first.cancel()
    work = await second

    assert work.key == "a"
    with pytest.raises(asyncio.CancelledError):
        await first


@virtual_time()
async def test_a_get_that_is_cancelled_when_called_leaves_the_key_in_line():
    queue: Queue[str] = Queue()
    task = asyncio.create_task(queue.get())
    await wait_idle()

    queue.add("a")
    task.cancel()
    await asyncio.wait([task])

    assert (len(queue), queue.statistics().idle_workers) == (1, 0)
    assert await drained(queue) == ["a"]


@virtual_time()
async def test_a_get_that_times_out_loses_no_key():
    queue: Queue[str] = Queue()
    asyncio.get_running_loop().call_at(1, queue.add, "a")

    handed_out = []
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout_at(1):
            handed_out.append((await queue.get()).key)

    assert handed_out + await drained(queue) == ["a"]


@virtual_time()
async def test_several_waiting_workers_share_the_keys():
    queue: Queue[str] = Queue()
    tasks = [asyncio.create_task(queue.get()) for _ in range(3)]
    await wait_idle()

    for key in "abc":
        queue.add(key)

    assert [work.key for work in await asyncio.gather(*tasks)] == ["a", "b", "c"]


@virtual_time()
async def test_statistics_tell_how_the_queue_stands():
    queue: Queue[str] = Queue()
    queue.add("working")
    await queue.get()
    queue.add("low", priority=LOW)
    queue.add("live")
    queue.add_after("later", SECOND)
    queue.retry("failing")

    statistics = queue.statistics()

    assert statistics.ready == {LOW: 1, 0: 1}
    assert (statistics.processing, statistics.waiting, statistics.failing) == (1, 2, 1)
    queue.close()


@virtual_time()
async def test_a_key_of_which_nothing_is_left_to_know_is_dropped_from_memory():
    queue: Queue[str] = Queue()
    queue.add("a")
    queue.add_after("a", SECOND)
    queue.retry("a")
    await queue.get()
    queue.forget("a")
    queue.cancel_timer("a")

    queue.done("a")

    assert queue._entries == {}
