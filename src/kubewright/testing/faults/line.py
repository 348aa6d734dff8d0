"""``Line``: a connection that can break while requests and streams are under way on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kubewright.errors import TransportError

__all__ = ["Line"]


class Line:
    """What is under way, to be broken all at once; ``why`` is what the errors say."""

    def __init__(self, why: str) -> None:
        self._why = why
        self._under_way: dict[asyncio.Timeout, None] = {}

    def break_all(self) -> None:
        """Raise ``TransportError`` in everything that is under way."""
        now = asyncio.get_running_loop().time()
        for limit in self._under_way:
            limit.reschedule(now)

    @asynccontextmanager
    async def under_way(self) -> AsyncIterator[None]:
        """The block can be broken."""
        limit = asyncio.timeout(None)
        try:
            async with limit:
                self._under_way[limit] = None
                yield
        except TimeoutError:
            if limit.expired():
                raise TransportError(f"{self._why} before the answer was whole") from None
            raise
        finally:
            self._under_way.pop(limit, None)

    async def passage(self, stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The chunks of a stream, until it ends or is broken."""
        while True:
            async with self.under_way():
                chunk = await anext(stream, None)
            if chunk is None:
                return
            yield chunk
