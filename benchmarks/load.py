"""One client for all servers: aiohttp with bodies made before, so that the server is what takes the time."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import aiohttp
from yarl import URL

from benchmarks.api_servers import ApiServer

__all__ = ["Cost", "Load", "Request", "loading"]

_PLAIN = "application/json"
_HEADERS = {
    # The real server would compress long answers, which costs it more than all the rest; on loopback nobody wants that.
    "Accept-Encoding": "identity",
    "Accept": _PLAIN,
    "User-Agent": "benchmark",
}


class Request(NamedTuple):
    """What is sent; a 2xx is expected."""

    method: str
    path: str
    body: bytes | None = None
    content_type: str = _PLAIN

    @classmethod
    def of(cls, method: str, path: str, document: Any, content_type: str = _PLAIN) -> Request:
        """A request whose body is a document as JSON."""
        return cls(method, path, json.dumps(document, separators=(",", ":")).encode(), content_type)


class Cost(NamedTuple):
    """What some requests cost, each."""

    wall: float
    """Seconds from the first request to the last answer, divided by their number."""
    cpu: dict[str, float]
    """Seconds of CPU of each process of the server."""

    @property
    def total(self) -> float:
        """Seconds of CPU of the server."""
        return sum(self.cpu.values())


class Load:
    """A connected client of one server."""

    def __init__(self, server: ApiServer, session: aiohttp.ClientSession) -> None:
        self.server: ApiServer = server
        self._session = session
        self._url = URL(server.url)

    async def cost(self, requests: Iterable[Request], *, at_once: int = 1) -> Cost:
        """What it costs to send these requests, so many at once."""
        prepared = [self._prepared(request) for request in requests]
        queue = iter(prepared)
        before, began = self.server.cpu(), time.perf_counter()
        await asyncio.gather(*(self._worker(queue) for _ in range(at_once)))
        wall, after, count = time.perf_counter() - began, self.server.cpu(), len(prepared)
        return Cost(wall / count, {name: (after[name] - before[name]) / count for name in after})

    def _prepared(self, request: Request) -> tuple[str, URL, dict[str, Any]]:
        more = {"data": request.body, "headers": {"Content-Type": request.content_type}} if request.body else {}
        return request.method, self._url.join(URL(request.path, encoded=True)), more

    async def _worker(self, queue: Iterator[tuple[str, URL, dict[str, Any]]]) -> None:
        for method, url, more in queue:
            async with self._session.request(method, url, **more) as response:
                body = await response.read()
            if response.status >= 300:
                sys.exit(f"{self.server.name}: {method} {url} was answered with {response.status}: {body.decode()}")


@asynccontextmanager
async def loading(server: ApiServer) -> AsyncIterator[Load]:
    """A client with as many connections as it needs."""
    connector = aiohttp.TCPConnector(ssl=server.context, limit=0)
    async with aiohttp.ClientSession(connector=connector, headers=_HEADERS) as session:
        yield Load(server, session)
