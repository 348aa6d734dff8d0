"""``Queue``: which key next, and when; between the watches that name keys and the workers that take them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection, Hashable
from datetime import timedelta
from operator import itemgetter
from typing import Final, Generic, TypeVar

from kubewright.metrics import Registry
from kubewright.queue.backoff import DEFAULT_BACKOFF, DEFAULT_LIMIT, Backoff, TokenBucket
from kubewright.queue.entry import Entry
from kubewright.queue.instruments import Instruments
from kubewright.queue.line import Line
from kubewright.queue.statistics import Statistics
from kubewright.queue.timers import Alarm, Timers
from kubewright.queue.waiters import Waiters
from kubewright.queue.work import QueueClosed, Work

__all__ = ["Queue"]

K = TypeVar("K", bound=Hashable)

_LONGEST_BREATH: Final = 0.005
_MOST_IN_A_BREATH: Final = 100
"""After so many seconds or keys, workers that never wait let the rest of the loop run, timers and retries among it."""


class Queue(Generic[K]):
    """Keys to be worked on, each by one worker at a time, for the event loop it is first used in.

    *Guarantees*: a key stands in line once, however often it is added, and whoever takes it learns all reasons. A key
    that is added while it is worked on runs again afterwards. Higher priorities come first, but every tenth pick goes
    to the lower ones. A failing key keeps its retry time however many changes come meanwhile. A cancelled ``get`` loses
    nothing. All times are the loop's, so a queue works in virtual time.

    ``limit`` bounds the retries of all keys together, never additions; ``None`` is no bound. Not for several threads.
    """

    def __init__(
        self,
        name: str = "",
        *,
        backoff: Backoff = DEFAULT_BACKOFF,
        limit: TokenBucket | None = DEFAULT_LIMIT,
        metrics: Registry | None = None,
        dice: random.Random | None = None,
    ) -> None:
        self.name = name
        self._backoff = backoff
        self._limit = limit
        self._free_at = float("-inf")
        self._dice = dice if dice is not None else random.Random()
        self._entries: dict[K, Entry[K]] = {}
        self._line: Line[Entry[K]] = Line()
        self._processing: dict[K, Entry[K]] = {}
        self._timers: Timers[Entry[K]] = Timers(self._ring)
        self._workers = Waiters()
        self._drained = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._breathed_at = float("-inf")
        self._in_a_breath = 0
        self._is_closed = False
        self._ignored = 0
        self._registry = metrics if metrics is not None else Registry()
        self._registry.collect(self._show)
        self._instruments = Instruments(self._registry, name)

    def __len__(self) -> int:
        return len(self._line)

    @property
    def waiting(self) -> int:
        """How many timers and retries are not due yet."""
        return len(self._timers)

    def statistics(self) -> Statistics:
        """How the queue stands now."""
        return Statistics(
            ready=self._line.depths(),
            processing=len(self._processing),
            waiting=len(self._timers),
            failing=sum(entry.failures > 0 for entry in self._entries.values()),
            idle_workers=len(self._workers),
            ignored=self._ignored,
        )

    def add(self, key: K, *, reason: str = "", priority: int = 0, token: Hashable | None = None) -> None:
        """Let the key be worked on as soon as a worker is free.

        ``token`` names what happened, for example the revision of a change, so that ``done`` can say that this was
        the work itself. Of several priorities the highest counts.
        """
        if self._is_closed:
            self._ignored += 1
            return
        entry = self._entry(key)
        if entry.started_at is None:
            entry.is_added = True
            self._want(entry, reason, priority, _now())
        else:
            entry.hold(reason, priority, token, _now())

    def add_after(self, key: K, delay: timedelta, *, reason: str = "") -> None:
        """Look at the key again after ``delay``; replaces the timer that an earlier call set, sooner or later."""
        if self._is_closed:
            self._ignored += 1
            return
        entry = self._entry(key)
        earlier, entry.look = entry.look, self._timers.set(entry, _now() + delay.total_seconds(), reason)
        self._instruments.retries.inc()
        if earlier is not None:
            self._timers.cancel(earlier)
            self._reconsider(entry)

    def cancel_timer(self, key: K) -> None:
        """Drop the timer that ``add_after`` set, if there is one; also one that came due during the work."""
        entry = self._entries.get(key)
        if entry is not None and entry.look is not None:
            self._timers.cancel(entry.look)
            entry.look = None
            self._reconsider(entry)

    def retry(self, key: K, *, reason: str = "") -> timedelta:
        """The time until the key is tried again, after a failure.

        The first failure sets a deadline. Until the run that this deadline causes, further failures neither move it
        nor count. A closed queue tries nothing again; it only tells how long it would have waited.
        """
        entry, now = self._entry(key), _now()
        if self._is_closed:
            self._ignored += 1
            return self._backoff.delay(entry.failures + 1, self._dice)
        if entry.retry is None:
            entry.failures += 1
            entry.retry = self._timers.set(entry, self._deadline(entry.failures, now), reason)
            self._instruments.retries.inc()
        return timedelta(seconds=max(0.0, entry.retry.when - now))

    def forget(self, key: K) -> None:
        """Count no failures of the key any more and drop its retry: it succeeded, is gone, or retries are of no use."""
        entry = self._entries.get(key)
        if entry is None:
            return
        entry.failures = 0
        if entry.retry is not None:
            self._timers.cancel(entry.retry)
            entry.retry = None
        self._reconsider(entry)

    async def get(self) -> Work[K]:
        """The next key to work on; waits for one. Call ``done`` when the work has ended, whatever came of it.

        Raises ``QueueClosed`` when the queue was closed and nothing is left to hand out.
        """
        loop = self._loop = asyncio.get_running_loop()
        while True:
            now = loop.time()
            if not self._line:
                await self._wait()
            elif now - self._breathed_at > _LONGEST_BREATH or self._in_a_breath >= _MOST_IN_A_BREATH:
                await asyncio.sleep(0)
            else:
                return self._take(now)
            self._breathed_at = loop.time()
            self._in_a_breath = 0

    def done(self, key: K, *, settled: Collection[Hashable] = ()) -> None:
        """Say that the work on the key has ended; what was added meanwhile lets it run again.

        Additions whose token is in ``settled`` do not: they told of what the work itself did.
        """
        entry = self._processing.pop(key, None)
        if entry is None or entry.started_at is None:
            raise ValueError(f"done({key!r}): nobody works on this key; call done once for each get")
        self._instruments.work_duration.observe(_now() - entry.started_at)
        entry.started_at = None
        if entry.held or entry.is_due:
            for since, reason, priority in sorted(entry.release(settled), key=itemgetter(0)):
                self._want(entry, reason, priority, since)
        self._drop_if_idle(entry)
        if self._is_closed:
            self._workers.call_all()
            self._retire()

    def close(self, *, drain: bool = True) -> None:
        """Take no more additions and drop timers and retries; workers get ``QueueClosed`` when nothing is left.

        With ``drain`` keys that are ready are still handed out, without it they are dropped too.
        """
        self._is_closed = True
        self._timers.clear()
        for entry in list(self._entries.values()):
            self._close_entry(entry, drain)
            self._drop_if_idle(entry)
        self._workers.call_all()
        self._retire()

    async def wait_drained(self) -> None:
        """Return when no key is ready and none is worked on; timers and retries do not count."""
        while self._line or self._processing:
            self._drained.clear()
            await self._drained.wait()

    def _retire(self) -> None:
        """Show the metrics a last time, or else a registry that outlives many queues would keep them all."""
        if not self._line and not self._processing:
            self._show()
            self._registry.stop_collecting(self._show)

    def _entry(self, key: K) -> Entry[K]:
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = Entry(key)
        return entry

    def _want(self, entry: Entry[K], reason: str, priority: int, since: float) -> None:
        """Let the entry stand in line for one more reason."""
        if entry.queued_at is None:
            entry.queued_at = since
            entry.priority = priority
            entry.reasons = (reason,) if reason else ()
            self._line.join(entry, priority)
            self._instruments.adds.inc()
            self._workers.call_one()
            return
        entry.give_reason(reason)
        if priority > entry.priority:
            self._line.leave(entry, entry.priority)
            self._line.join(entry, priority)
            entry.priority = priority

    def _ring(self, alarm: Alarm[Entry[K]]) -> None:
        if alarm.item.started_at is None:
            self._want(alarm.item, alarm.reason, 0, alarm.when)

    def _reconsider(self, entry: Entry[K]) -> None:
        """Take the entry out of line if its last cause has gone."""
        if entry.queued_at is not None and not entry.is_added and not entry.is_due:
            self._line.leave(entry, entry.priority)
            entry.leave()
        self._drop_if_idle(entry)

    def _drop_if_idle(self, entry: Entry[K]) -> None:
        if entry.is_idle:
            self._entries.pop(entry.key, None)
        if not self._processing and not self._line:
            self._drained.set()

    def _deadline(self, failures: int, now: float) -> float:
        deadline = now + self._backoff.delay(failures, self._dice).total_seconds()
        if self._limit is None:
            return deadline
        slot, self._free_at = self._limit.take(self._free_at, now)
        return max(deadline, slot)

    def _close_entry(self, entry: Entry[K], drain: bool) -> None:
        if not drain:
            entry.held = None
            entry.is_added = False
        if not drain or entry.look is None or not entry.look.is_due:
            entry.look = None
        if not drain or entry.retry is None or not entry.retry.is_due:
            entry.retry = None
        if entry.queued_at is not None and not drain:
            self._line.leave(entry, entry.priority)
            entry.leave()

    def _take(self, now: float) -> Work[K]:
        entry = self._line.pick()
        work = entry.start(now)
        self._processing[entry.key] = entry
        self._in_a_breath += 1
        self._instruments.queue_duration.observe(now - work.queued_at)
        return work

    async def _wait(self) -> None:
        """Return when the line may have changed."""
        if self._is_closed and not any(entry.held or entry.is_due for entry in self._processing.values()):
            raise QueueClosed(f"queue {self.name or 'without a name'} is closed")
        await self._workers.wait()

    def _show(self) -> None:
        now = self._loop.time() if self._loop is not None else 0.0
        ages = [now - entry.started_at for entry in self._processing.values() if entry.started_at is not None]
        self._instruments.show(self._line.depths(), ages)


def _now() -> float:
    return asyncio.get_running_loop().time()
