"""The queue does what its model does, whatever happens in whatever order."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.queue import Backoff, Queue
from kubewright.testing import elapse, virtual_time
from tests.queue.model import Model

FIRST, LONGEST = 2, 16
KEYS = "abcdef"
REASONS = ["", "changed", "gone", "resync"]
PRIORITIES = [-100, 0, 0, 5]
TOKENS = [None, 1, 2, 3]
STEPS = {
    "add": 8,
    "get": 6,
    "done": 3,
    "succeed": 1,
    "fail": 2,
    "add_after": 2,
    "cancel_timer": 1,
    "forget": 1,
    "retry": 1,
    "advance": 2,
}
"""How often each step is taken."""


class Both:
    """A queue and its model, walked in step."""

    def __init__(self) -> None:
        backoff = Backoff(first=timedelta(seconds=FIRST), longest=timedelta(seconds=LONGEST), jitter=0)
        self.queue: Queue[str] = Queue(backoff=backoff, limit=None)
        self.model = Model(FIRST, LONGEST)

    async def walk(self, dice: random.Random, steps: int) -> None:
        for name in dice.choices([*STEPS], [*STEPS.values()], k=steps):
            await self.step(name, dice)

    async def step(self, name: str, dice: random.Random) -> None:
        method: Callable[[random.Random], Awaitable[None]] = getattr(self, name)
        await method(dice)
        assert len(self.queue) == len(self.model.places)
        assert self.queue.waiting == self.model.waiting
        assert self.queue.statistics().processing == len(self.model.working)
        assert self.queue.statistics().failing == sum(count > 0 for count in self.model.failures.values())

    async def add(self, dice: random.Random) -> None:
        key, reason = dice.choice(KEYS), dice.choice(REASONS)
        priority, token = dice.choice(PRIORITIES), dice.choice(TOKENS)
        self.queue.add(key, reason=reason, priority=priority, token=token)
        self.model.add(key, reason, priority, token)

    async def get(self, dice: random.Random) -> None:
        if self.model.places:
            assert await self.queue.get() == self.model.get()

    async def done(self, dice: random.Random) -> None:
        if self.model.working:
            self._done(self._worked_on(dice), set(dice.choices(TOKENS, k=2)))

    async def succeed(self, dice: random.Random) -> None:
        if self.model.working:
            key = self._worked_on(dice)
            self._forget(key)
            self._cancel_timer(key)
            self._done(key, set())

    async def fail(self, dice: random.Random) -> None:
        if self.model.working:
            key = self._worked_on(dice)
            self._retry(key, dice)
            self._done(key, set())

    async def add_after(self, dice: random.Random) -> None:
        key, seconds, reason = dice.choice(KEYS), dice.randint(1, 9), dice.choice(REASONS)
        self.queue.add_after(key, timedelta(seconds=seconds), reason=reason)
        self.model.add_after(key, seconds, reason)

    async def cancel_timer(self, dice: random.Random) -> None:
        self._cancel_timer(dice.choice(KEYS))

    async def forget(self, dice: random.Random) -> None:
        self._forget(dice.choice(KEYS))

    async def retry(self, dice: random.Random) -> None:
        self._retry(dice.choice(KEYS), dice)

    async def advance(self, dice: random.Random) -> None:
        seconds = dice.randint(1, 6)
        await elapse(timedelta(seconds=seconds))
        self.model.advance(seconds)

    def _done(self, key: str, settled: set[Any]) -> None:
        self.queue.done(key, settled=settled)
        self.model.done(key, settled)

    def _cancel_timer(self, key: str) -> None:
        self.queue.cancel_timer(key)
        self.model.cancel_timer(key)

    def _forget(self, key: str) -> None:
        self.queue.forget(key)
        self.model.forget(key)

    def _retry(self, key: str, dice: random.Random) -> None:
        reason = dice.choice(REASONS)
        assert self.queue.retry(key, reason=reason).total_seconds() == self.model.retry(key, reason)

    def _worked_on(self, dice: random.Random) -> str:
        return dice.choice(sorted(self.model.working))


@settings(derandomize=True, max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 300))
@virtual_time()
async def test_the_queue_does_what_its_model_does(seed: int, steps: int):
    both = Both()

    await both.walk(random.Random(seed), steps)

    both.queue.close()


@settings(derandomize=True, max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 100))
@virtual_time()
async def test_nothing_stays_in_memory_when_all_keys_have_settled(seed: int, steps: int):
    both, dice = Both(), random.Random(seed)
    await both.walk(dice, steps)

    while both.model.places or both.model.working or both.model.waiting:
        for name in ("get", "succeed", "advance"):
            await both.step(name, dice)
    for key in KEYS:
        both.queue.forget(key)

    assert both.queue._entries == {}
    assert len(both.queue._timers._heap) == 0
