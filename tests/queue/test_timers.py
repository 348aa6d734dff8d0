"""Many alarms on one timer of the loop."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from kubewright.queue.timers import Alarm, Timers
from kubewright.testing import VirtualTime, elapse, virtual_time


class Bell:
    """Notes which alarms rang, and when."""

    def __init__(self) -> None:
        self.rung: list[tuple[str, float]] = []
        self.timers: Timers[str] = Timers(self.ring)

    def ring(self, alarm: Alarm[str]) -> None:
        self.rung.append((alarm.item, asyncio.get_running_loop().time()))


def timers_of_the_loop() -> int:
    return sum(not handle.cancelled() for handle in VirtualTime.current().loop._scheduled)


@virtual_time()
async def test_alarms_ring_at_their_times_in_order_of_time():
    bell = Bell()
    bell.timers.set("late", 3, "")
    bell.timers.set("early", 1, "")
    bell.timers.set("middle", 2, "")

    await elapse(timedelta(seconds=5))

    assert bell.rung == [("early", 1), ("middle", 2), ("late", 3)]


@virtual_time()
async def test_alarms_of_one_time_ring_in_the_order_they_were_set():
    bell = Bell()
    for name in "abc":
        bell.timers.set(name, 1, "")

    await elapse(timedelta(seconds=1))

    assert [name for name, _ in bell.rung] == ["a", "b", "c"]


@virtual_time()
async def test_an_alarm_in_the_past_rings_in_the_next_round():
    bell = Bell()
    bell.timers.set("past", -1, "")
    assert bell.rung == []

    await elapse(timedelta(0))
    await asyncio.sleep(0)

    assert bell.rung == [("past", 0)]


@virtual_time()
async def test_a_cancelled_alarm_does_not_ring():
    bell = Bell()
    alarm = bell.timers.set("a", 1, "")
    bell.timers.set("b", 2, "")

    bell.timers.cancel(alarm)
    bell.timers.cancel(alarm)
    await elapse(timedelta(seconds=3))

    assert bell.rung == [("b", 2)]


@virtual_time()
async def test_cancelling_an_alarm_that_rang_does_nothing():
    bell = Bell()
    alarm = bell.timers.set("a", 1, "")
    bell.timers.set("b", 2, "")
    await elapse(timedelta(seconds=1))

    bell.timers.cancel(alarm)

    assert alarm.is_due
    assert len(bell.timers) == 1


@virtual_time()
async def test_a_thousand_alarms_need_one_timer_of_the_loop():
    bell = Bell()

    for number in range(1000):
        bell.timers.set(str(number), 1000 - number, "")

    assert timers_of_the_loop() == 1
    assert len(bell.timers) == 1000
    bell.timers.clear()


@virtual_time()
async def test_the_loop_has_no_timer_when_the_last_alarm_is_cancelled():
    bell = Bell()
    alarm = bell.timers.set("a", 1, "")

    bell.timers.cancel(alarm)

    assert timers_of_the_loop() == 0


@virtual_time()
async def test_alarms_set_and_cancelled_for_ever_do_not_pile_up():
    bell = Bell()
    bell.timers.set("kept", 1, "")

    for _ in range(10_000):
        bell.timers.cancel(bell.timers.set("dropped", 3600, ""))

    assert len(bell.timers._heap) < 100
    bell.timers.clear()


@virtual_time()
async def test_clearing_drops_all_alarms():
    bell = Bell()
    bell.timers.set("a", 1, "")

    bell.timers.clear()
    await elapse(timedelta(seconds=2))

    assert bell.rung == []
    assert len(bell.timers) == 0
