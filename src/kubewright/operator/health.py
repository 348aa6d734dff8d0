"""Health over HTTP: what a kubelet probes and a Prometheus scrapes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from kubewright.errors import ConfigError
from kubewright.operator.running import RunningOperator

if TYPE_CHECKING:
    from aiohttp import web

__all__ = ["parse_address", "serving_health"]


def parse_address(text: str) -> tuple[str, int]:
    """Host and port in ``host:port`` or ``:port``; raises ``ConfigError`` for anything else."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise ConfigError(f"listen: {text!r} is not an address like :8080 or 127.0.0.1:8080")
    return host.strip("[]") or "0.0.0.0", int(port)


@asynccontextmanager
async def serving_health(running: RunningOperator, host: str, port: int) -> AsyncIterator[tuple[str, int]]:
    """Serve ``/healthz``, ``/livez``, ``/readyz`` and ``/metrics`` inside the block; gives host and port.

    ``?verbose`` lists the checks. Readiness is that of the informers: each must be synced and watching.
    """
    from aiohttp import web

    async def alive(request: web.Request) -> web.Response:
        return _answer(running.live_checks(), request)

    async def ready(request: web.Request) -> web.Response:
        return _answer(running.ready_checks(), request)

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(text=running.metrics.render(), headers={"Content-Type": "text/plain; version=0.0.4"})

    app = web.Application()
    app.add_routes([web.get("/healthz", alive), web.get("/livez", alive)])
    app.add_routes([web.get("/readyz", ready), web.get("/metrics", metrics)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        bound = runner.addresses[0]
        yield bound[0], bound[1]
    except OSError as error:
        raise ConfigError(f"listen: {host}:{port} cannot be listened on: {error.strerror}") from None
    finally:
        await runner.cleanup()


def _answer(checks: Mapping[str, str], request: web.Request) -> web.Response:
    from aiohttp import web

    failed = any(checks.values())
    lines = [f"[-]{name} failed: {problem}" if problem else f"[+]{name} ok" for name, problem in checks.items()]
    verdict = "not ok" if failed else "ok"
    text = "\n".join([*lines, verdict]) if failed or "verbose" in request.query else verdict
    return web.Response(text=text + "\n", status=503 if failed else 200)
