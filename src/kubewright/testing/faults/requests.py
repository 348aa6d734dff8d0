"""Faults of single requests: refused, lost on the way or on the way back, late."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, Final, Unpack

import msgspec

from kubewright.client import Request, Response, Send
from kubewright.errors import RequestTimeout, TransportError
from kubewright.testing.faults.fault import Fault, Match, name_of

__all__ = ["delay_answer", "delay_request", "lose_answer", "lose_request", "refuse", "within_limit"]

_REASONS: Final = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    410: "Expired",
    413: "RequestEntityTooLarge",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


def refuse(code: int = 503, *, reason: str = "", retry_after: timedelta | None = None, **match: Unpack[Match]) -> Fault:
    """Requests are answered with this status code, and never reach the server.

    ``reason`` is Kubernetes' usual one for the code unless given (``AlreadyExists`` is the other 409).
    """
    headers = [("Content-Type", "application/json")]
    if retry_after is not None:
        headers.append(("Retry-After", str(int(retry_after.total_seconds()))))

    async def strike(request: Request, send: Send) -> Response:
        body = _status(code, reason or _REASONS.get(code, ""), request)
        return Response(code, headers, msgspec.json.encode(body))

    return Fault(strike, **match)


def _status(code: int, reason: str, request: Request) -> dict[str, Any]:
    resource = request.resource
    details = {"name": name_of(request), "kind": resource.plural, "group": resource.group} if resource else {}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": f"a fault refuses this {request.verb} with {code} {reason}".rstrip(),
        "details": {key: value for key, value in details.items() if value},
    }


def lose_request(**match: Unpack[Match]) -> Fault:
    """Requests never reach the server; the connection breaks, so that the sender cannot know."""

    async def strike(request: Request, send: Send) -> Response:
        raise TransportError(f"{request}: a fault broke the connection")

    return Fault(strike, **match)


def lose_answer(*, breaks: bool = False, **match: Unpack[Match]) -> Fault:
    """Requests take effect, but the sender waits for the answer until its time limit is over.

    With ``breaks`` the connection breaks instead, at once.
    """

    async def strike(request: Request, send: Send) -> Response:
        await (await send(request)).aclose()
        if breaks or request.timeout is None:
            raise TransportError(f"{request}: a fault broke the connection before the answer came")
        await asyncio.sleep(request.timeout.total_seconds())
        raise _too_late(request)

    return Fault(strike, **match)


def delay_answer(by: timedelta, **match: Unpack[Match]) -> Fault:
    """Requests take effect at once, but the answer comes late; beyond the time limit, not at all."""

    async def strike(request: Request, send: Send) -> Response:
        async with within_limit(request):
            response = await send(request)
            try:
                await asyncio.sleep(by.total_seconds())
            except asyncio.CancelledError:
                await response.aclose()
                raise
        return response

    return Fault(strike, **match)


def delay_request(by: timedelta, **match: Unpack[Match]) -> Fault:
    """Requests reach the server late; also those whose sender has given up meanwhile."""

    async def strike(request: Request, send: Send) -> Response:
        if request.timeout is None or by < request.timeout:
            await asyncio.sleep(by.total_seconds())
            return await send(request)
        loop = asyncio.get_running_loop()
        late: list[asyncio.Task[None]] = []
        loop.call_later(by.total_seconds(), lambda: late.append(loop.create_task(_deliver(request, send))))
        await asyncio.sleep(request.timeout.total_seconds())
        raise _too_late(request)

    return Fault(strike, **match)


async def _deliver(request: Request, send: Send) -> None:
    try:
        await (await send(request)).aclose()
    except TransportError:
        return  # Nobody waits for it.


@asynccontextmanager
async def within_limit(request: Request) -> AsyncIterator[None]:
    """Raise ``RequestTimeout`` when the block takes longer than the request may."""
    try:
        async with asyncio.timeout(request.timeout.total_seconds() if request.timeout else None):
            yield
    except TimeoutError:
        raise _too_late(request) from None


def _too_late(request: Request) -> RequestTimeout:
    return RequestTimeout(f"{request}: no answer within {request.timeout}")
