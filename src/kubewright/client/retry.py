"""When a request is sent again, and how fast requests may follow each other."""

from __future__ import annotations

import asyncio
import random
from datetime import timedelta

import msgspec

from kubewright.client.transport import Request, Response, Send
from kubewright.errors import ConnectError, RequestTimeout, TransportError

__all__ = ["RateLimit", "Retry"]


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    """How often and how patiently a request is sent again.

    *Guarantees*: a write that is not idempotent is sent again only if the server cannot have acted on it: no
    connection came about, or it answered 429. Reads and server-side apply are also sent again after 500, 502, 503,
    504 and broken connections. ``Retry-After`` is honoured, waits grow exponentially with jitter, none is longer
    than ``longest_wait``: if the server asks for more, its refusal is raised at once.
    """

    attempts: int = 6
    """How often a request is sent in all; 1 switches retries off."""
    first_wait: timedelta = timedelta(milliseconds=100)
    longest_wait: timedelta = timedelta(seconds=30)

    async def send(self, request: Request, send: Send, dice: random.Random) -> Response:
        """Send the request, again where that is safe and useful; the last answer or error is the caller's."""
        for attempt in range(1, self.attempts):
            try:
                response = await send(request)
            except TransportError as error:
                if not _safe_after(error, request):
                    raise
                wait: float | None = self._back_off(attempt, dice)
            else:
                wait = self._wait_after(response, request, attempt, dice)
                if wait is None:
                    return response
                await response.aclose()
            await asyncio.sleep(wait or 0)
        return await send(request)

    def _back_off(self, attempt: int, dice: random.Random) -> float:
        ceiling: float = min(self.first_wait.total_seconds() * 2 ** (attempt - 1), self.longest_wait.total_seconds())
        return ceiling * dice.uniform(0.5, 1.0)

    def _wait_after(self, response: Response, request: Request, attempt: int, dice: random.Random) -> float | None:
        """Seconds until the next try, or None if this answer is final."""
        if response.status < 429:
            return None
        if response.status == 429:
            # An eviction that a disruption budget forbids is an answer, not a busy server.
            if request.subresource == "eviction":
                return None
        elif response.status not in (500, 502, 503, 504) or not request.idempotent:
            return None
        asked = retry_after(response)
        if asked is None:
            return self._back_off(attempt, dice)
        if asked > self.longest_wait.total_seconds():
            return None
        return asked + self._back_off(1, dice)


def _safe_after(error: TransportError, request: Request) -> bool:
    if isinstance(error, ConnectError):
        return True
    return request.idempotent and not isinstance(error, RequestTimeout)


def retry_after(response: Response) -> float | None:
    """Seconds that the server asks to wait, or None."""
    text = response.header("retry-after")
    return float(text) if text.isascii() and text.isdigit() else None


class RateLimit:
    """A token bucket: ``per_second`` requests on average, ``burst`` at once; the rest wait their turn in order."""

    def __init__(self, per_second: float, burst: int = 1) -> None:
        if per_second <= 0 or burst < 1:
            raise ValueError(f"a rate limit needs per_second > 0 and burst ≥ 1, not {per_second} and {burst}")
        self._interval = 1 / per_second
        self._burst = burst
        self._free_at = float("-inf")

    async def wait_turn(self) -> None:
        """Return when the next request may be sent."""
        now = asyncio.get_running_loop().time()
        earliest = now - (self._burst - 1) * self._interval
        slot = max(self._free_at, earliest)
        self._free_at = slot + self._interval
        if slot > now:
            await asyncio.sleep(slot - now)
