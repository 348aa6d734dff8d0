"""Waiting for an object to become what one waits for, by watching it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from datetime import timedelta
from typing import TypeVar

from kubewright.api import Resource
from kubewright.client.watch import Watch
from kubewright.errors import Gone, WaitTimeout

__all__ = ["wait_gone", "wait_until"]

R = TypeVar("R", bound=Resource)


async def wait_until(
    kind: type[R], name: str, watch: Callable[[], Watch[R]], predicate: Callable[[R], bool], within: timedelta
) -> R:
    """The object once the predicate holds for it; ``watch`` begins to watch it alone."""
    last: list[R] = []

    def matches(obj: R | None) -> bool:
        if obj is None:
            last.clear()
            return False
        last[:] = [obj]
        return predicate(obj)

    if not await _seen(watch, matches, within):
        what = _described(last[0]) if last else "there is no such object"
        raise WaitTimeout(f'{kind.__name__} "{name}" is not as waited for after {within}: {what}')
    return last[0]


def _described(obj: Resource) -> str:
    """How an object stands: its version and status, never its data, which may be secret."""
    status = getattr(obj, "status", None)
    told = f", status {status!r}" if status is not None else ""
    return (
        f"it is at resourceVersion {obj.metadata.resource_version}, generation {obj.metadata.generation}{told[:2000]}"
    )


async def wait_gone(kind: type[R], name: str, watch: Callable[[], Watch[R]], within: timedelta) -> None:
    """Return once there is no such object."""
    if not await _seen(watch, lambda obj: obj is None, within):
        raise WaitTimeout(f'{kind.__name__} "{name}" is still there after {within}')


async def _seen(watch: Callable[[], Watch[R]], matches: Callable[[R | None], bool], within: timedelta) -> bool:
    try:
        async with asyncio.timeout(within.total_seconds()) as timer:
            while True:
                try:
                    return await _follow(watch(), matches)
                except Gone:
                    continue
    except TimeoutError:
        if timer.expired():
            return False
        raise


async def _follow(watch: Watch[R], matches: Callable[[R | None], bool]) -> bool:
    found: R | None = None
    is_synced = False
    async with aclosing(aiter(watch)) as events:
        async for event in events:
            if event.type == "BOOKMARK":
                is_synced = is_synced or event.synced
            else:
                found = None if event.type == "DELETED" else event.object
            # Absence is known only after the whole initial list.
            if (found is not None or is_synced) and matches(found):
                return True
    return False
