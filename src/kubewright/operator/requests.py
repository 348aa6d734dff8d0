"""Metrics of the requests that an operator makes, named as client-go's."""

from __future__ import annotations

import asyncio

from kubewright.client import Interceptor, Request, Response, Send
from kubewright.metrics import Registry

__all__ = ["measured_requests"]

_BUCKETS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)


def measured_requests(registry: Registry) -> Interceptor:
    """An interceptor that counts each attempt by method and code, and times it by verb."""
    total = registry.counter("rest_client_requests_total", "Requests by method and code.", ("method", "code"))
    took = registry.histogram(
        "rest_client_request_duration_seconds", "Time until the answer, by verb.", ("verb",), buckets=_BUCKETS
    )

    async def measure(request: Request, send: Send) -> Response:
        loop = asyncio.get_running_loop()
        begun, code = loop.time(), "<error>"
        try:
            response = await send(request)
            code = str(response.status)
            return response
        finally:
            total.labels(request.method, code).inc()
            took.labels(request.verb).observe(loop.time() - begun)

    return measure
