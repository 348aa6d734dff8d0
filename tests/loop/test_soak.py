"""An hour of steady work leaves no more in memory than its first minutes."""

from __future__ import annotations

import gc
import logging
from collections import Counter
from contextlib import suppress
from datetime import timedelta

import pytest

from kubewright.errors import NotFound
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.testing import VirtualTime, elapse, running, virtual_time
from kubewright.testing.faults import drop_watch, lose_answer, refuse
from tests.loop.reference import Flock, Garden, Outside, Rounds, both_operator, flock, garden
from tests.loop.world import Network, World

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


async def churn(place: World, number: int) -> None:
    """One step of steady work: every name is used once, and goes again."""
    name = f"n{number}"
    await place.client.create(garden(name, text=name))
    await place.client.create(flock(name, size=2))
    await place.client.modify(Flock, "steady", lambda obj: setattr(obj.spec, "size", 2 + number % 3))
    await elapse(15 * SECOND)
    await place.client.modify(Garden, "steady", lambda obj: setattr(obj.spec, "text", name))
    await place.client.delete(Garden, name)
    await place.client.delete(Flock, name)
    await elapse(15 * SECOND)
    for child in [child async for child in place.client.list(ConfigMap)]:
        if child.name.startswith(f"{name}-"):
            with suppress(NotFound):
                await place.client.delete(child)
    place.server.requests.clear()
    place.network.begun.clear()
    place.flocks.count.clear()
    place.gardens.count.clear()


def live_objects() -> Counter[str]:
    """How many live objects there are of each type that Python's collector knows."""
    gc.collect()
    return Counter(type(found).__qualname__ for found in gc.get_objects())


async def live_objects_of(place: World) -> Counter[str]:
    """The same without the server's history, which it keeps as long as it has room."""
    place.server.restore(place.server.snapshot())
    await elapse(MINUTE)
    place.server.requests.clear()
    place.network.begun.clear()
    return live_objects()


@virtual_time()
async def test_live_objects_do_not_grow_from_minute_10_to_minute_60(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "kubewright")  # Records are kept, with tracebacks and all that is in them.
    network, outside, rounds = Network(), Outside(), [Rounds(), Rounds()]
    lossy = lose_answer(verb="create", chance=0.05, breaks=True)
    network.faults += [drop_watch(after=40), refuse(500, chance=0.02), lossy]
    operator = both_operator(outside, *rounds, resync=5 * MINUTE)
    async with running(operator, interceptors=[network]) as cluster:
        place = World(cluster, network, outside, rounds)
        await place.client.create(flock("steady", size=2))
        await place.client.create(garden("steady"))
        counts: dict[int, Counter[str]] = {}
        number = 0
        for minute in (10, 60):
            while VirtualTime.current().elapsed < timedelta(minutes=minute):
                number += 1
                await churn(place, number)
            counts[minute] = await live_objects_of(place)

    grown = counts[60] - counts[10]
    assert counts[60].total() <= 1.05 * counts[10].total(), grown.most_common(20)
    assert number > 100
