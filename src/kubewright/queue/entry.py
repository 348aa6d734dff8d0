"""What the queue knows of one key, from its first addition until nothing more is to be known."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator
from typing import Generic, TypeVar

import msgspec

from kubewright.queue.timers import Alarm
from kubewright.queue.work import MOST_REASONS, Work

__all__ = ["Entry"]

K = TypeVar("K", bound=Hashable)


class Entry(msgspec.Struct, Generic[K], eq=False):
    """A key's causes to run (additions, a look-again timer, a retry), and its state.

    While it stands in line, causes are merged into ``reasons``, ``priority`` and ``queued_at``. While it is worked on,
    they are kept apart, because the end of the work may settle or cancel each of them.
    """

    key: K
    started_at: float | None = None
    """Since when it is worked on."""
    queued_at: float | None = None
    """Since when it stands in line."""
    priority: int = 0
    reasons: tuple[str, ...] = ()
    more_reasons: int = 0
    is_added: bool = False
    """Whether an addition is among the causes why it stands in line."""
    held: dict[tuple[Hashable, str], tuple[float, int]] | None = None
    """Additions during the work: token and reason, with the time of the first and the highest priority."""
    look: Alarm[Entry[K]] | None = None
    retry: Alarm[Entry[K]] | None = None
    failures: int = 0

    @property
    def is_due(self) -> bool:
        """Whether a timer or a retry waits to be acted on."""
        return (self.look is not None and self.look.is_due) or (self.retry is not None and self.retry.is_due)

    @property
    def is_idle(self) -> bool:
        """Whether nothing would be lost if this entry were dropped."""
        if self.started_at is not None or self.queued_at is not None:
            return False
        return self.failures == 0 and self.look is None and self.retry is None

    def give_reason(self, reason: str) -> None:
        """List a reason, or count it if there are many already."""
        if reason and reason not in self.reasons:
            if len(self.reasons) < MOST_REASONS:
                self.reasons += (reason,)
            else:
                self.more_reasons += 1

    def hold(self, reason: str, priority: int, token: Hashable | None, now: float) -> None:
        """Keep an addition until the work is done."""
        if self.held is None:
            self.held = {}
        since, highest = self.held.get((token, reason), (now, priority))
        self.held[token, reason] = (since, max(highest, priority))

    def release(self, settled: Collection[Hashable]) -> Iterator[tuple[float, str, int]]:
        """The causes that came during the work and are not settled: time, reason, priority."""
        held, self.held = self.held, None
        for (token, reason), (since, priority) in (held or {}).items():
            if token is None or token not in settled:
                self.is_added = True
                yield since, reason, priority
        for alarm in (self.look, self.retry):
            if alarm is not None and alarm.is_due:
                yield alarm.when, alarm.reason, 0

    def start(self, now: float) -> Work[K]:
        """Take the entry out of line as work, all its causes with it."""
        retry, look, queued_at = self.retry, self.look, self.queued_at
        is_retry = retry is not None and retry.is_due
        if is_retry:
            self.retry = None
        if look is not None and look.is_due:
            self.look = None
        work = Work(
            self.key,
            self.reasons,
            self.more_reasons,
            self.priority,
            self.failures,
            now if queued_at is None else queued_at,
            is_retry,
        )
        self.leave()
        self.started_at = now
        return work

    def leave(self) -> None:
        """Forget why it stood in line."""
        self.queued_at = None
        self.reasons = ()
        self.more_reasons = 0
        self.is_added = False
