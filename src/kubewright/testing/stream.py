"""``Relay``: a stream of chunks led through something on its way; closed as a whole, also when never read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, TypeAlias

__all__ = ["Passage", "Relay"]

Passage: TypeAlias = Callable[[AsyncIterator[bytes]], AsyncIterator[bytes]]
"""Makes of a stream another one."""


class Relay:
    """The chunks of a stream as they come out of a passage; closing it closes both."""

    def __init__(self, source: AsyncIterator[bytes], passage: Passage) -> None:
        self._source = source
        self._passed = passage(source)

    def __aiter__(self) -> Relay:
        return self

    async def __anext__(self) -> bytes:
        return await anext(self._passed)

    async def aclose(self) -> None:
        """End the stream."""
        # A generator that was never begun does not close what it was made of.
        for stream in (self._passed, self._source):
            close: Any = getattr(stream, "aclose", None)
            if close is not None:
                await close()
