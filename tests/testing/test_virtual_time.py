"""Virtual time: hours in milliseconds, no waiting, nothing left behind."""

from __future__ import annotations

import asyncio
import random
import socket
import sys
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import aiohttp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.api import now
from kubewright.testing import (
    Deadlock,
    LeakedTasks,
    Livelock,
    OutsideVirtualTime,
    TimeLimitPassed,
    UnhandledErrors,
    VirtualTime,
    elapse,
    run_virtual,
    virtual_time,
    wait_idle,
)

HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)


def test_a_day_passes_at_once():
    async def main() -> timedelta:
        await elapse(timedelta(days=1))
        return VirtualTime.current().elapsed

    began = time.monotonic()
    elapsed = run_virtual(main())

    assert elapsed == timedelta(days=1)
    assert time.monotonic() - began < 5


def test_the_wall_clock_follows_the_loop():
    async def main() -> list[datetime]:
        first = now()
        await elapse(HOUR)
        return [first, now(), VirtualTime.current().now()]

    assert run_virtual(main(), start=datetime(2030, 5, 6, tzinfo=UTC)) == [
        datetime(2030, 5, 6, tzinfo=UTC),
        datetime(2030, 5, 6, 1, tzinfo=UTC),
        datetime(2030, 5, 6, 1, tzinfo=UTC),
    ]
    assert abs(now() - datetime.now(UTC)) < HOUR


def test_timers_fire_at_exactly_their_time_and_in_order():
    fired: list[tuple[str, float]] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()

        def fire(name: str) -> None:
            fired.append((name, loop.time()))

        for name, delay in (("c", 0.3), ("a", 0.1), ("b", 0.1 + 0.1), ("day", 86400.5)):
            loop.call_later(delay, fire, name)
        await elapse(timedelta(days=2))

    run_virtual(main())

    assert fired == [("a", 0.1), ("b", 0.2), ("c", 0.3), ("day", 86400.5)]


@pytest.fixture
def fixture_value() -> int:
    return 41


@virtual_time()
async def test_the_decorator_leaves_a_plain_test_with_its_fixtures(fixture_value: int) -> None:
    await elapse(HOUR)

    assert fixture_value == 41
    assert VirtualTime.current().elapsed == HOUR


@settings(derandomize=True, max_examples=20)
@given(delays=st.lists(st.floats(0.001, 1e6), min_size=1, max_size=20))
@virtual_time()
async def test_tasks_end_in_the_order_of_their_sleeps(delays: list[float]) -> None:
    ended: list[float] = []

    async def sleeper(delay: float) -> None:
        await elapse(timedelta(seconds=delay))
        ended.append(delay)

    await asyncio.gather(*map(sleeper, delays))

    assert [round(delay, 6) for delay in ended] == sorted(round(delay, 6) for delay in delays)


def test_a_deadlock_is_told_with_the_line_of_every_task():
    async def waits_for_nobody() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(waits_for_nobody(), name="hermit")

    with pytest.raises(Deadlock) as caught:
        run_virtual(main())

    assert "hermit" in str(caught.value)
    assert "in test_a_deadlock_is_told_with_the_line_of_every_task.<locals>.waits_for_nobody" in str(caught.value)
    assert "await asyncio.Event().wait()" in str(caught.value)


def test_tasks_that_spin_without_time_passing_are_told():
    def spin() -> None:
        asyncio.get_running_loop().call_soon(spin)

    async def main() -> None:
        spin()
        await asyncio.Event().wait()

    with pytest.raises(Livelock, match="have not let any time pass"):
        run_virtual(main())


def test_a_test_beyond_its_limit_of_time_is_told():
    async def main() -> None:
        await elapse(HOUR)

    with pytest.raises(TimeLimitPassed, match=r"the next timer is at 3600\.000 s"):
        run_virtual(main(), limit=timedelta(minutes=59))


def test_a_task_left_running_is_an_error_with_its_name_and_line_and_is_ended():
    ended: list[str] = []

    async def runs_on() -> None:
        try:
            await elapse(HOUR)
        finally:
            ended.append("cancelled")

    async def main() -> None:
        main.task = asyncio.create_task(runs_on(), name="runaway")  # type: ignore[attr-defined]
        await elapse(SECOND)

    with pytest.raises(LeakedTasks, match=r"(?s)still running.*runaway.*await elapse\(HOUR\)"):
        run_virtual(main())

    assert ended == ["cancelled"]


def test_a_task_that_is_about_to_end_is_no_leak():
    async def tidy() -> None:
        try:
            await elapse(HOUR)
        finally:
            await asyncio.sleep(0)

    async def main() -> None:
        task = asyncio.create_task(tidy())
        await elapse(SECOND)
        task.cancel()

    run_virtual(main())


def test_a_task_that_refuses_to_end_is_told():
    async def stubborn() -> None:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue

    async def main() -> None:
        main.task = asyncio.create_task(stubborn(), name="stubborn")  # type: ignore[attr-defined]
        await elapse(SECOND)

    with pytest.raises(UnhandledErrors, match=r"(?s)did not end when they were cancelled.*stubborn"):
        run_virtual(main())


@pytest.mark.parametrize("is_held", [True, False])
def test_a_failure_that_nobody_awaits_fails_the_test(is_held: bool):
    kept: list[asyncio.Task[None]] = []

    async def fails() -> None:
        raise ValueError("unseen")

    async def main() -> None:
        task = asyncio.create_task(fails(), name="failing")
        if is_held:
            kept.append(task)
        del task
        await elapse(SECOND)

    with pytest.raises(UnhandledErrors, match="ValueError: unseen") as caught:
        run_virtual(main())

    assert isinstance(caught.value.__cause__, ValueError)


def test_a_failure_in_a_callback_fails_the_test():
    async def main() -> None:
        asyncio.get_running_loop().call_soon(lambda: 1 / 0)
        await elapse(SECOND)

    with pytest.raises(UnhandledErrors, match="ZeroDivisionError"):
        run_virtual(main())


def test_the_tests_own_failure_comes_first_and_tells_seed_and_time():
    async def runs_on() -> None:
        await elapse(HOUR)

    async def main() -> None:
        main.task = asyncio.create_task(runs_on())  # type: ignore[attr-defined]
        await elapse(SECOND)
        raise AssertionError("mine")

    with pytest.raises(AssertionError, match="mine") as caught:
        run_virtual(main(), seed=12)

    assert caught.value.__notes__ == ["in virtual time, seed=12, after 0:00:01"]


def test_forgotten_generators_are_closed():
    closed: list[str] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            await asyncio.sleep(0)
            closed.append("closed")

    async def main() -> None:
        main.iterator = numbers()  # type: ignore[attr-defined]
        assert await anext(main.iterator) == 1  # type: ignore[attr-defined]

    run_virtual(main())

    assert closed == ["closed"]


@virtual_time()
async def test_a_function_given_to_a_thread_runs_inline_and_its_failure_is_raised() -> None:
    assert await asyncio.to_thread(sum, (1, 2)) == 3
    with pytest.raises(ZeroDivisionError):
        await asyncio.to_thread(lambda: 1 / 0)


@virtual_time()
async def test_sockets_and_processes_are_refused_with_the_way_out() -> None:
    with pytest.raises(OutsideVirtualTime, match=r"loop.create_connection.*InProcessTransport"):
        await asyncio.open_connection("127.0.0.1", 1)
    with pytest.raises(OutsideVirtualTime):
        await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    with pytest.raises(OutsideVirtualTime):
        await asyncio.create_subprocess_exec(sys.executable)
    with socket.socket() as plain, pytest.raises(OutsideVirtualTime):
        await asyncio.get_running_loop().sock_connect(plain, ("127.0.0.1", 1))


@virtual_time()
async def test_a_client_over_http_is_refused() -> None:
    async with aiohttp.ClientSession() as session:
        with pytest.raises(OutsideVirtualTime):
            await session.get("http://127.0.0.1:1/")


def test_the_module_random_follows_the_seed_and_is_given_back():
    async def main() -> float:
        return random.random()

    random.seed(5)
    before = random.getstate()

    first, second, other = run_virtual(main(), seed=1), run_virtual(main(), seed=1), run_virtual(main(), seed=2)

    assert first == second != other
    assert random.getstate() == before


@virtual_time(seed=3)
async def test_parts_have_chance_of_their_own() -> None:
    virtual = VirtualTime.current()

    assert virtual.dice_of("server").random() == virtual.dice_of("server").random()
    assert virtual.dice_of("server").random() != virtual.dice_of("client").random()


@virtual_time()
async def test_wait_idle_lets_everything_happen_but_no_time() -> None:
    reached: list[int] = []

    async def steps() -> None:
        for step in range(10):
            await asyncio.sleep(0)
            reached.append(step)
        await elapse(HOUR)

    task = asyncio.create_task(steps())
    await wait_idle()

    assert reached == list(range(10))
    assert VirtualTime.current().elapsed == timedelta()
    await task


def orders(*, shuffle: bool) -> list[list[int]]:
    async def main() -> list[int]:
        order: list[int] = []

        async def step(number: int) -> None:
            await asyncio.sleep(0)
            order.append(number)

        await asyncio.gather(*map(step, range(5)))
        return order

    return [run_virtual(main(), seed=seed, shuffle=shuffle) for seed in range(6)]


def test_shuffling_explores_other_orders_from_the_seed():
    assert orders(shuffle=False) == [[0, 1, 2, 3, 4]] * 6
    assert orders(shuffle=True) == orders(shuffle=True)
    assert len({tuple(order) for order in orders(shuffle=True)}) > 3


def test_shuffling_keeps_the_order_of_plain_callbacks():
    async def main() -> list[int]:
        seen: list[int] = []
        for number in range(20):
            asyncio.get_running_loop().call_soon(seen.append, number)
        await elapse(SECOND)
        return seen

    assert run_virtual(main(), shuffle=True) == list(range(20))


def test_debug_mode_changes_nothing():
    async def main() -> float:
        asyncio.get_running_loop().set_debug(True)
        await asyncio.gather(*(elapse(timedelta(seconds=number)) for number in range(5)))
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) == 4.0


async def test_inside_a_running_loop_it_is_refused():
    async def main() -> None:
        raise AssertionError("never run")

    with pytest.raises(RuntimeError, match="a loop of its own"):
        run_virtual(main())


def test_outside_of_virtual_time_there_is_none():
    with pytest.raises(RuntimeError, match="put @virtual_time"):
        VirtualTime.current()
