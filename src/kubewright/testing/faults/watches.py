"""Faults of watches: broken, silent, expired, repeated, late."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Final, Unpack

from kubewright.errors import TransportError
from kubewright.testing.faults.fault import Fault, Match, relaying
from kubewright.testing.stream import Passage

__all__ = ["delay_events", "drop_watch", "duplicate_events", "expire_watch", "stall_watch"]

_EXPIRED: Final = (
    b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
    b'"message":"a fault expired this watch","reason":"Expired","code":410}}\n'
)
_BOOKMARK: Final = b'{"type":"BOOKMARK"'


def drop_watch(*, after: int = 0, cleanly: bool = False, **match: Unpack[Match]) -> Fault:
    """Watches break after so many events (bookmarks not counted); ``cleanly`` they end, as at their time's end."""

    async def passage(stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for line in _first(after, stream):
            yield line
        if not cleanly:
            raise TransportError("a fault broke the watch")

    return _on_watches(passage, match)


def stall_watch(*, after: int = 0, **match: Unpack[Match]) -> Fault:
    """Watches fall silent after so many events: nothing comes, not even a bookmark or the end."""

    async def passage(stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for line in _first(after, stream):
            yield line
        await asyncio.Event().wait()

    return _on_watches(passage, match)


def expire_watch(*, after: int = 0, **match: Unpack[Match]) -> Fault:
    """Watches end after so many events with the server's word that their revision is too old (410).

    ``refuse(410, verb="watch")`` refuses them at the beginning instead.
    """

    async def passage(stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for line in _first(after, stream):
            yield line
        yield _EXPIRED

    return _on_watches(passage, match)


def duplicate_events(**match: Unpack[Match]) -> Fault:
    """Every event of the watches comes twice."""

    async def passage(stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for line in _lines(stream):
            yield line
            yield line

    return _on_watches(passage, match)


def delay_events(by: timedelta, **match: Unpack[Match]) -> Fault:
    """Events come late, in their order: what the cache holds lags behind; what gathers meanwhile comes together."""

    async def passage(stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for chunk in stream:
            if chunk:
                await asyncio.sleep(by.total_seconds())
            yield chunk

    return _on_watches(passage, match)


def _on_watches(passage: Passage, match: Match) -> Fault:
    match.setdefault("verb", "watch")
    return Fault(relaying(passage), **match)


async def _first(count: int, stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The lines up to that many events; bookmarks come along uncounted."""
    left = count
    if left <= 0:
        return
    async for line in _lines(stream):
        yield line
        left -= not line.startswith(_BOOKMARK)
        if left <= 0:
            return


async def _lines(stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in stream:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in filter(None, whole):
            yield line + b"\n"
