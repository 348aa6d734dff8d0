"""Health over HTTP: what a kubelet probes and a Prometheus scrapes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import Final, NamedTuple

from kubewright.errors import ConfigError
from kubewright.operator.running import RunningOperator

__all__ = ["parse_address", "serving_health"]

_PATIENCE: Final = 10.0
"""Seconds in which a request must have come and its answer must have been taken."""


def parse_address(text: str) -> tuple[str, int]:
    """Host and port in ``host:port`` or ``:port``; raises ``ConfigError`` for anything else."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise ConfigError(f"listen: {text!r} is not an address like :8080 or 127.0.0.1:8080")
    return host.strip("[]") or "0.0.0.0", int(port)


class _Page(NamedTuple):
    text: str
    status: HTTPStatus = HTTPStatus.OK
    content_type: str = "text/plain; charset=utf-8"


@asynccontextmanager
async def serving_health(running: RunningOperator, host: str, port: int) -> AsyncIterator[tuple[str, int]]:
    """Serve ``/healthz``, ``/livez``, ``/readyz`` and ``/metrics`` inside the block; gives host and port.

    ``?verbose`` lists the checks. Readiness is that of the informers: each must be synced and watching.
    """
    door = _Door(running)
    try:
        server = await asyncio.start_server(door.serve, host, port)
    except OSError as error:
        raise ConfigError(f"listen: {host}:{port} cannot be listened on: {error.strerror}") from None
    try:
        bound = server.sockets[0].getsockname()
        yield bound[0], bound[1]
    finally:
        server.close()
        await door.aclose()


class _Door:
    """Answers one request on each connection: all that probes and scrapers need, without a web framework."""

    def __init__(self, running: RunningOperator) -> None:
        self._pages: dict[str, Callable[[str], _Page]] = {
            "/healthz": lambda query: _verdict(running.live_checks(), query),
            "/livez": lambda query: _verdict(running.live_checks(), query),
            "/readyz": lambda query: _verdict(running.ready_checks(), query),
            "/metrics": lambda _: _Page(running.metrics.render(), content_type="text/plain; version=0.0.4"),
        }
        self._visits: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer whoever has connected."""
        visit = asyncio.current_task()
        assert visit is not None
        self._visits.add(visit)
        try:
            with suppress(TimeoutError, ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                async with asyncio.timeout(_PATIENCE):
                    writer.write(await self._answer(reader))
                    await writer.drain()
        finally:
            self._visits.discard(visit)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader) -> bytes:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return _message(_Page("too long\n", HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE))
        words = head.partition(b"\r\n")[0].decode("ascii", "replace").split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            return _message(_Page("not HTTP/1.1\n", HTTPStatus.BAD_REQUEST))
        if words[0] not in ("GET", "HEAD"):
            return _message(_Page("GET only\n", HTTPStatus.METHOD_NOT_ALLOWED))
        path, _, query = words[1].partition("?")
        page = self._pages[path](query) if path in self._pages else _Page("not found\n", HTTPStatus.NOT_FOUND)
        return _message(page, with_text=words[0] == "GET")

    async def aclose(self) -> None:
        """End the visits that are underway."""
        visits = list(self._visits)
        for visit in visits:
            visit.cancel()
        await asyncio.gather(*visits, return_exceptions=True)


def _message(page: _Page, *, with_text: bool = True) -> bytes:
    body = page.text.encode()
    lines = [
        f"HTTP/1.1 {page.status.value} {page.status.phrase}",
        f"Content-Type: {page.content_type}",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + (body if with_text else b"")


def _verdict(checks: Mapping[str, str], query: str) -> _Page:
    failed = any(checks.values())
    lines = [f"[-]{name} failed: {problem}" if problem else f"[+]{name} ok" for name, problem in checks.items()]
    verdict = "not ok" if failed else "ok"
    is_verbose = "verbose" in (name.partition("=")[0] for name in query.split("&"))
    text = "\n".join([*lines, verdict]) if failed or is_verbose else verdict
    return _Page(text + "\n", HTTPStatus.SERVICE_UNAVAILABLE if failed else HTTPStatus.OK)
