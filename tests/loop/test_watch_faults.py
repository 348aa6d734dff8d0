"""Watches that break, fall silent, expire, repeat themselves or come late: nothing is missed, nothing made twice."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from kubewright.client import Request
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.testing import elapse, virtual_time
from kubewright.testing.faults import (
    Fault,
    delay_events,
    drop_watch,
    duplicate_events,
    expire_watch,
    refuse,
    stall_watch,
)
from tests.loop.reference import Flock, flock
from tests.loop.world import world

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


def is_resumed(request: Request) -> bool:
    """Whether a watch goes on after a revision; one that begins with all objects would never be complete."""
    return "sendInitialEvents" not in request.target


FAULTS: dict[str, Callable[[], Fault]] = {
    "dropped at once": lambda: drop_watch(after=0, times=20),
    "dropped after each event": lambda: drop_watch(after=1, when=is_resumed),
    "ended after each event": lambda: drop_watch(after=1, cleanly=True, when=is_resumed),
    "stalled": lambda: stall_watch(after=1, times=6),
    "expired on the stream": lambda: expire_watch(after=1, when=is_resumed),
    "expired at the beginning": lambda: refuse(410, verb="watch", when=is_resumed),
    "told twice": duplicate_events,
    "late": lambda: delay_events(timedelta(seconds=3)),
    "late about children": lambda: delay_events(timedelta(seconds=3), kind=ConfigMap),
    "late about owners": lambda: delay_events(timedelta(seconds=3), kind=Flock),
}


@pytest.mark.parametrize("kind", FAULTS)
@virtual_time()
async def test_the_operator_converges_and_makes_nothing_twice_when_watches_are(kind: str) -> None:
    async with world() as place:
        await place.client.create(flock("before", size=1))
        await elapse(SECOND)
        fault = FAULTS[kind]()
        with place.network.having(fault):
            place.network.break_all()
            await place.live_through()

            await place.wait_converged(within=timedelta(minutes=10))

        assert fault.struck
        assert place.children_made <= 1 + 5
        assert len(place.network.begun) < 300
