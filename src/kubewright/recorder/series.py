"""Series: Events that say the same again are one object with a count; too many about one object are held back."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from kubewright.queue import TokenBucket

__all__ = ["Series", "SeriesBook", "Subject"]

_SPAM: Final = TokenBucket(per_second=1 / 300, burst=25)
_SIMILAR: Final = 10
_QUIET: Final = timedelta(minutes=6)


class Subject(NamedTuple):
    """What makes two Events the same, but for the note."""

    regarding: tuple[str, str, str, str, str]
    related: tuple[str, str, str, str, str] | None
    type: str
    reason: str
    action: str
    component: str
    """Who tells it."""
    field_path: str = ""
    """Which part of the object it is about, if not all of it."""


class Series:
    """One Event object: how often it happened, and what of that has been written."""

    __slots__ = ("count", "first_seen", "last_seen", "name", "namespace", "note", "subject", "written")

    def __init__(self, subject: Subject, note: str, name: str, namespace: str, seen: datetime) -> None:
        self.subject: Subject = subject
        self.note: str = note
        self.name: str = name
        self.namespace: str = namespace
        self.first_seen: datetime = seen
        self.last_seen: datetime = seen
        self.count: int = 0
        self.written: int = 0


class SeriesBook:
    """Which series are going on.

    The same subject and note within six minutes is one series. The tenth and further notes on one subject are
    combined into one, as client-go does it. For each object 25 Events may be told at once, then one in five minutes;
    what is held back is still counted, and told with the next.
    """

    def __init__(self, *, limit: TokenBucket = _SPAM, most: int = 4096) -> None:
        self._limit = limit
        self._most = most
        self._series: dict[tuple[Subject, str], Series] = {}
        self._notes: dict[Subject, dict[str, datetime]] = {}
        self._free_at: dict[tuple[str, str, str, str, str], float] = {}

    def note(self, subject: Subject, note: str, seen: datetime, name: str, namespace: str) -> Series:
        """The series that this belongs to, counted; ``name`` is taken if it is a new one."""
        note = self._combined(subject, note, seen)
        found = self._series.pop((subject, note), None)
        if found is None or seen - found.last_seen > _QUIET:
            found = Series(subject, note, name, namespace, seen)
        self._series[subject, note] = found
        found.count += 1
        found.last_seen = seen
        self._forget_quiet(seen)
        return found

    def _forget_quiet(self, seen: datetime) -> None:
        """Drop the series that ended; the one noted longest ago stands first."""
        while self._series:
            oldest = next(iter(self._series))
            if len(self._series) <= self._most and seen - self._series[oldest].last_seen <= _QUIET:
                return
            del self._series[oldest]
            if all(seen - when > _QUIET for when in self._notes.get(oldest[0], {}).values()):
                self._notes.pop(oldest[0], None)

    def may_write(self, series: Series, now: float) -> bool:
        """Whether one more write about that object is not too many."""
        whom = series.subject.regarding
        begin, free_at = self._limit.take(self._free_at.pop(whom, float("-inf")), now)
        if begin > now:
            self._free_at[whom] = free_at - 1 / self._limit.per_second
            return False
        self._free_at[whom] = free_at
        if len(self._free_at) > self._most:
            del self._free_at[next(iter(self._free_at))]
        return True

    def drop(self, series: Series) -> None:
        """Begin anew next time, because the object that held the series is gone."""
        self._series.pop((series.subject, series.note), None)

    def _combined(self, subject: Subject, note: str, seen: datetime) -> str:
        notes = self._notes.pop(subject, {})
        notes = {text: when for text, when in notes.items() if seen - when <= _QUIET}
        self._notes[subject] = notes
        if len(self._notes) > self._most:
            del self._notes[next(iter(self._notes))]
        if note in notes or len(notes) < _SIMILAR - 1:
            notes[note] = seen
            return note
        return "(combined from similar events)"
