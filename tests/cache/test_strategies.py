"""Edge, edge and level, edge and level and resync: which of them ends with the truth when events are lost.

Each of the three keeps a belief about which objects there are. The first believes events alone; the second looks at the
whole state whenever an event comes; the third also when nothing has come for a while.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.cache import Change, Informer, Scope
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.testing import VirtualTime, elapse, virtual_time, wait_idle
from tests.cache.objects import config
from tests.cache.wire import Cluster, Event, Log, cluster

RESYNC = timedelta(minutes=5)


def nothing(event: Event) -> bool:
    return False


def everything(event: Event) -> bool:
    return bool(event["type"] != "BOOKMARK")


class Level:
    """Looks at the whole state at each change that it is told, and believes what it saw."""

    def __init__(self, made: Cluster, *, resync: bool) -> None:
        self._made = made
        self._resync = resync
        self._looks: set[asyncio.Task[None]] = set()
        self.state: dict[str, str] = {}

    def __call__(self, change: Change[Any]) -> None:
        if change.cause != "resync" or self._resync:
            look = asyncio.create_task(self._look())
            self._looks.add(look)
            look.add_done_callback(self._looks.discard)

    async def _look(self) -> None:
        self.state = await self._made.truth()


class Watched:
    """One informer and the three who listen to it."""

    def __init__(self, made: Cluster, informer: Informer[ConfigMap]) -> None:
        self.made = made
        self.edge = Log(informer)
        self.level = Level(made, resync=False)
        self.resynced = Level(made, resync=True)
        informer.add_handler(self.level)
        informer.add_handler(self.resynced)

    async def right(self) -> tuple[bool, bool, bool]:
        """Which of the three know the truth: edge, edge and level, edge and level and resync."""
        truth = await self.made.truth()
        return self.edge.state == truth, self.level.state == truth, self.resynced.state == truth


@asynccontextmanager
async def watched() -> AsyncIterator[Watched]:
    """The three, when they know all there is: one object that stays, and two more."""
    async with cluster() as made:
        for name in ("stays", "a", "b"):
            await made.direct.create(config(name))
        dice = VirtualTime.current().dice_of("cache")
        informer = Informer(made.client, ConfigMap, scope=Scope(resync=RESYNC), dice=dice)
        found = Watched(made, informer)
        async with informer:
            await informer.wait_synced()
            await wait_idle()
            assert await found.right() == (True, True, True)
            yield found


async def change(made: Cluster) -> None:
    """One object more, one less, one other."""
    await made.direct.create(config("c"))
    await made.direct.delete(ConfigMap, "a")
    found = await made.direct.get(ConfigMap, "b")
    found.data["k"] = "v"
    await made.direct.update(found)
    await wait_idle()


@virtual_time()
async def test_without_losses_all_three_know_the_truth():
    async with watched() as them:
        await change(them.made)

        assert await them.right() == (True, True, True)


@virtual_time()
async def test_when_events_are_lost_only_the_resync_brings_the_truth_while_nothing_happens():
    async with watched() as them:
        them.made.wire.loses = everything
        await change(them.made)
        them.made.wire.loses = nothing
        assert await them.right() == (False, False, False)

        await elapse(RESYNC + timedelta(seconds=1))
        assert await them.right() == (False, False, True)

        await elapse(timedelta(hours=1))
        assert await them.right() == (False, False, True)


@virtual_time()
async def test_when_events_are_lost_the_next_one_brings_the_truth_to_all_but_the_edge():
    async with watched() as them:
        them.made.wire.loses = everything
        await change(them.made)
        them.made.wire.loses = nothing

        await them.made.direct.create(config("next"))
        await wait_idle()

        assert await them.right() == (False, True, True)


@settings(derandomize=True, max_examples=20, deadline=None)
@given(steps=st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=12))
@virtual_time()
async def test_with_resync_the_truth_comes_whatever_is_lost(steps: list[tuple[str, bool]]):
    async with watched() as them:
        for name, arrives in steps:
            them.made.wire.loses = nothing if arrives else everything
            if f"default/{name}" in await them.made.truth():
                await them.made.direct.delete(ConfigMap, name)
            else:
                await them.made.direct.create(config(name))
            await wait_idle()
        them.made.wire.loses = nothing

        await elapse(RESYNC + timedelta(seconds=1))
        assert (await them.right())[2]

        await them.made.direct.create(config("last"))
        await wait_idle()
        assert (await them.right())[1:] == (True, True)
