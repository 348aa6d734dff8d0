"""Watches that stay open while a case does something else."""

from __future__ import annotations

import asyncio
import json
from types import TracebackType
from typing import Any, Self

from conformance.exchange import Api
from kubewright.client import Response

__all__ = ["Stream"]

_PATIENCE = 30.0


class Stream:
    """``async with Stream(api, path, …) as stream``: the events of a watch as they come, none of them recorded."""

    def __init__(self, api: Api, path: str, **query: Any) -> None:
        self._request = api.request("GET", path, query={"watch": "true", **query})
        self._request.streaming = True
        self._send = api.send
        self._response: Response | None = None
        self._rest = b""

    async def __aenter__(self) -> Self:
        self._response = await self._send(self._request)
        assert self._response.stream is not None, self._response.body
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._response is not None
        await self._response.aclose()

    async def next(self) -> Any:
        """The next event, or None when the server has ended the watch."""
        assert self._response is not None
        assert self._response.stream is not None
        async with asyncio.timeout(_PATIENCE):
            while b"\n" not in self._rest:
                try:
                    self._rest += await anext(self._response.stream)
                except StopAsyncIteration:
                    return None
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    async def take(self, count: int) -> list[Any]:
        """So many events."""
        return [await self.next() for _ in range(count)]

    async def rest(self) -> list[Any]:
        """All events until the server ends the watch."""
        events = []
        while (event := await self.next()) is not None:
            events.append(event)
        return events
