"""Credentials that are obtained, live for a while, and are obtained anew: by exec plugins and OIDC."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from kubewright.config.credentials import are_in
from kubewright.config.secret import Secretive

__all__ = ["Issued", "Renewal", "wall_clock"]

_MARGIN: Final = timedelta(seconds=10)
"""How long before their end credentials are renewed: a request must reach the server while they hold."""


def wall_clock() -> datetime:
    """The time by which servers and certificates expire, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, eq=False)
class Issued(Secretive):
    """Credentials as they were issued: headers, perhaps a certificate with its key, and until when to use them."""

    headers: Mapping[str, str] = field(repr=False)
    certificate: tuple[bytes, bytes] | None = field(default=None, repr=False)
    good_until: datetime | None = None

    @classmethod
    def until(
        cls,
        expiry: datetime | None,
        headers: Mapping[str, str],
        certificate: tuple[bytes, bytes] | None = None,
        *,
        now: datetime,
    ) -> Issued:
        """Credentials good until shortly before they expire; for ever, without an expiry.

        Those that come with less than the margin to live are used to their very end: their issuer has no better ones
        yet, and would be asked anew for each request.
        """
        if expiry is not None and expiry - _MARGIN > now:
            expiry -= _MARGIN
        return cls(headers, certificate, expiry)

    def is_good(self, now: datetime) -> bool:
        """Whether these credentials may still be used."""
        return self.good_until is None or now < self.good_until


@dataclass(slots=True, eq=False)
class _Run:
    task: asyncio.Task[Issued]
    waiting: int = 0


class Renewal(Secretive):
    """The credentials issued last, renewed when they have expired or were refused.

    All who wait at the same time share one run and its outcome, also its failure. A run is cancelled when the last
    one who waits for it is.
    """

    def __init__(
        self, obtain: Callable[[], Coroutine[Any, Any, Issued]], *, clock: Callable[[], datetime] = wall_clock
    ) -> None:
        self._obtain = obtain
        self._clock = clock
        self._run: _Run | None = None
        self.issued: Issued | None = None
        """What was issued last, or None if there is nothing or it was refused."""

    async def current(self) -> Issued:
        """Credentials that have not expired."""
        if self.issued is not None and self.issued.is_good(self._clock()):
            return self.issued
        return await self._wait_for_run()

    def forget(self, refused: Mapping[str, str] | None) -> None:
        """Obtain new credentials next time, unless others than the refused headers are in use already."""
        if self.issued is not None and are_in(self.issued.headers, refused):
            self.issued = None

    async def _wait_for_run(self) -> Issued:
        if self._run is None or self._run.task.done():
            self._run = _Run(asyncio.create_task(self._renew()))
        run = self._run
        run.waiting += 1
        try:
            await asyncio.wait((run.task,))
        finally:
            run.waiting -= 1
            if not run.waiting and not run.task.done():
                run.task.cancel()
                await asyncio.wait((run.task,))
        return run.task.result()

    async def _renew(self) -> Issued:
        self.issued = await self._obtain()
        return self.issued
