"""``MicroTime``: a moment as Kubernetes writes it in Leases and Events, always with six fractional digits."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, Final, Self, overload

from kubewright.api.clock import now

__all__ = ["MicroTime"]

_RFC3339: Final = re.compile(r"\d{4}-\d\d-\d\dT([01]\d|2[0-3]):\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)", re.ASCII)


class MicroTime(datetime):
    """A datetime in UTC that is written with exactly six fractional digits; Go refuses any other number of them.

    It is made as a ``datetime`` is; without ``tzinfo`` the numbers are UTC, with another zone they are converted.

    >>> str(MicroTime(2026, 1, 2, 3, 4, 5))
    '2026-01-02T03:04:05.000000Z'

    *Guarantees*: every MicroTime is in UTC, and compares and hashes as the datetime of that moment; adding or
    subtracting a ``timedelta`` gives a MicroTime.
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Take what ``datetime`` takes."""
        made = super().__new__(cls, *args, **kwargs)
        if made.tzinfo is UTC:
            return made
        moment = _plain(made).astimezone(UTC)
        in_utc = moment.astimezone(UTC)
        return cls.combine(in_utc.date(), in_utc.timetz())

    @classmethod
    def parse(cls, text: str) -> Self:
        """The moment in an RFC 3339 text; digits beyond microseconds are cut off.

        *Raises* ``ValueError`` for anything else.
        """
        try:
            if _RFC3339.fullmatch(text):
                return cls.fromisoformat(text)
        except (OverflowError, TypeError, ValueError):
            pass
        raise ValueError(f"{text!r} is not a time as RFC 3339 writes it, like 2026-01-02T03:04:05.000000Z")

    @classmethod
    def of(cls, moment: datetime) -> Self:
        """The same moment as a MicroTime.

        *Raises* ``ValueError`` for a datetime without a time zone, because it names no moment.
        """
        if moment.utcoffset() is None:
            raise ValueError(f"{moment.isoformat()} has no time zone: pass a datetime with tzinfo, for example UTC")
        in_utc = moment.astimezone(UTC)
        return cls.combine(in_utc.date(), in_utc.timetz())

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        """The current time by kubewright's clock; in UTC whatever ``tz`` is."""
        return cls.of(now())

    @classmethod
    def fromtimestamp(cls, timestamp: float, tz: tzinfo | None = None) -> Self:
        """The moment that many seconds after 1970 began; in UTC whatever ``tz`` is."""
        return cls.of(datetime.fromtimestamp(timestamp, UTC))

    def replace(self, *args: Any, **kwargs: Any) -> Self:
        """A MicroTime with some of its numbers replaced, as ``datetime.replace`` does it."""
        changed = super().replace(*args, **kwargs)
        return self.combine(changed.date(), changed.timetz())

    __replace__ = replace

    def astimezone(self, tz: tzinfo | None = None) -> datetime:  # type: ignore[override] # elsewhere it is no MicroTime
        """A plain datetime of the same moment in another zone."""
        return _plain(self).astimezone(tz)

    # Typeshed knows the difference of two MicroTimes only, not of a MicroTime and a datetime.
    @overload  # type: ignore[override]
    def __sub__(self, other: datetime, /) -> timedelta: ...

    @overload
    def __sub__(self, other: timedelta, /) -> Self: ...

    def __sub__(self, other: Any, /) -> Any:
        return super().__sub__(other)

    def __str__(self) -> str:
        return self.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def _plain(moment: datetime) -> datetime:
    return datetime.combine(moment.date(), moment.time(), moment.tzinfo or UTC)
