"""The queue's rules as plainly as they can be said: one list of causes, searched anew each time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable
from dataclasses import dataclass, field

from kubewright.queue import Work

FAIR_SHARE = 10


@dataclass(eq=False)
class Cause:
    """Why a key is to run."""

    kind: str
    key: str
    at: float
    reason: str
    priority: int = 0
    token: Hashable = None
    is_due: bool = True


@dataclass(eq=False)
class Place:
    """Where a key stands in line."""

    priority: int
    joined: int
    since: float
    told: list[Cause] = field(default_factory=list)


class Model:
    """What a queue should do, with a back-off of ``first``, doubling up to ``longest``, without jitter and limit."""

    def __init__(self, first: float, longest: float) -> None:
        self.first = first
        self.longest = longest
        self.now = 0.0
        self.causes: list[Cause] = []
        self.places: dict[str, Place] = {}
        self.working: dict[str, float] = {}
        self.failures: Counter[str] = Counter()
        self.joins = 0
        self.picks = 0

    @property
    def waiting(self) -> int:
        return sum(not cause.is_due for cause in self.causes)

    def add(self, key: str, reason: str, priority: int, token: Hashable) -> None:
        self.causes.append(Cause("add", key, self.now, reason, priority, token))
        self.arrange()

    def add_after(self, key: str, delay: float, reason: str) -> None:
        self.cancel_timer(key)
        self.causes.append(Cause("look", key, self.now + delay, reason, is_due=False))

    def cancel_timer(self, key: str) -> None:
        self.causes = [cause for cause in self.causes if (cause.kind, cause.key) != ("look", key)]
        self.arrange()

    def retry(self, key: str, reason: str) -> float:
        pending = [cause for cause in self.causes if (cause.kind, cause.key) == ("retry", key)]
        if not pending:
            self.failures[key] += 1
            delay = min(self.first * 2 ** (self.failures[key] - 1), self.longest)
            pending = [Cause("retry", key, self.now + delay, reason, is_due=False)]
            self.causes += pending
        return max(0, pending[0].at - self.now)

    def forget(self, key: str) -> None:
        self.failures[key] = 0
        self.causes = [cause for cause in self.causes if (cause.kind, cause.key) != ("retry", key)]
        self.arrange()

    def get(self) -> Work[str]:
        key = self.next()
        place = self.places.pop(key)
        reasons = tuple(dict.fromkeys(cause.reason for cause in place.told if cause.reason))
        is_retry = any(cause.kind == "retry" for cause in self.due(key))
        self.causes = [cause for cause in self.causes if cause not in self.due(key)]
        self.working[key] = self.now
        return Work(key, reasons, 0, place.priority, self.failures[key], place.since, is_retry)

    def done(self, key: str, settled: Collection[Hashable]) -> None:
        del self.working[key]
        self.causes = [
            cause
            for cause in self.causes
            if cause.key != key or cause.kind != "add" or cause.token is None or cause.token not in settled
        ]
        self.arrange()

    def advance(self, seconds: float) -> None:
        self.now += seconds
        alarms = [cause for cause in self.causes if not cause.is_due and cause.at <= self.now]
        for alarm in sorted(alarms, key=lambda cause: cause.at):
            alarm.is_due = True
            self.arrange()

    def due(self, key: str) -> list[Cause]:
        return [cause for cause in self.causes if cause.key == key and cause.is_due]

    def next(self) -> str:
        by_joining = sorted(self.places, key=lambda key: self.places[key].joined)
        top = max(place.priority for place in self.places.values())
        lower = [key for key in by_joining if self.places[key].priority < top]
        if lower:
            self.picks += 1
            if self.picks % FAIR_SHARE == 0:
                return lower[0]
        return next(key for key in by_joining if self.places[key].priority == top)

    def arrange(self) -> None:
        """Let every key with a due cause stand in line, unless it is worked on, and nobody else."""
        for key in sorted({cause.key for cause in self.causes} | set(self.places)):
            due = sorted(self.due(key), key=lambda cause: (cause.at, ["add", "look", "retry"].index(cause.kind)))
            if key in self.working or not due:
                self.places.pop(key, None)
                continue
            priority = max(cause.priority for cause in due)
            place = self.places.get(key)
            if place is None:
                place = self.places[key] = Place(priority, self.join(), due[0].at)
            elif priority > place.priority:
                place.priority, place.joined = priority, self.join()
            place.told += [cause for cause in due if cause not in place.told]

    def join(self) -> int:
        self.joins += 1
        return self.joins
