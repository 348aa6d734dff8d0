"""``Head``: how far the store has come, shared by its tables and feeds."""

from __future__ import annotations

import asyncio

from kubewright_apiserver.store.errors import Closed, Forgotten, StoreFailed, renewed

__all__ = ["Head"]


class Head:
    """The last visible revision, the oldest readable one, and why the store ended, if it did."""

    __slots__ = ("_waiters", "compacted", "end", "origin", "rev")

    def __init__(self, rev: int, compacted: int) -> None:
        self.end: Closed | StoreFailed | None = None
        self._waiters: dict[asyncio.Future[None], int] = {}
        self.begin(rev, compacted)

    def begin(self, rev: int, compacted: int) -> None:
        """Stand at `rev`, with no memory of what came before `compacted`."""
        self.rev: int = rev
        self.compacted: int = compacted
        self.origin: int = compacted

    def reach(self, rev: int) -> None:
        """Go forward to `rev`."""
        self.rev = rev
        if self._waiters:
            self._wake()

    def finish(self, reason: Closed | StoreFailed) -> None:
        """Let every later `check` raise `reason`; the first reason stays."""
        if self.end is None:
            self.end = reason
        self._wake()

    def check(self) -> None:
        """Return while the store works; raise `Closed` or `StoreFailed` once it does not."""
        if self.end is not None:
            raise renewed(self.end)

    def check_readable(self, rev: int) -> None:
        """Return if the state at `rev` is known; raise `Forgotten`, or `ValueError` for the future."""
        if rev < self.compacted:
            raise Forgotten(rev, self.compacted)
        if rev > self.rev:
            raise ValueError(f"revision {rev} has not come yet, the last is {self.rev}")

    async def wait_for(self, rev: int) -> None:
        """Return once `rev` is reached; raise `Closed` or `StoreFailed` if the store ends before."""
        while self.rev < rev:
            self.check()
            waiter = asyncio.get_running_loop().create_future()
            self._waiters[waiter] = rev
            try:
                await waiter
            finally:
                del self._waiters[waiter]

    def _wake(self) -> None:
        for waiter, rev in self._waiters.items():
            if (rev <= self.rev or self.end is not None) and not waiter.done():
                waiter.set_result(None)
