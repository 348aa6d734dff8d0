"""``FaultyTransport``: a transport whose faults come and go while it is used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kubewright.client import Interceptor, Request, Response, Send, Transport, WebSocket

__all__ = ["FaultyTransport"]


class FaultyTransport:
    """A transport with faults around it, the first one outermost; they may be changed between two requests.

    >>> async def test(transport: Transport, fault: Interceptor) -> None:
    ...     network = FaultyTransport(transport)
    ...     with network.having(fault):
    ...         ...
    """

    def __init__(self, transport: Transport, *faults: Interceptor) -> None:
        self._transport = transport
        self.faults: list[Interceptor] = list(faults)
        """What stands around each request now."""

    @contextmanager
    def having(self, *faults: Interceptor) -> Iterator[None]:
        """Put these faults inside the others for the time of the block."""
        self.faults.extend(faults)
        try:
            yield
        finally:
            for fault in faults:
                self.faults.remove(fault)

    async def send(self, request: Request) -> Response:
        """Send the request past all faults."""
        send: Send = self._transport.send
        for fault in reversed(self.faults):
            send = _around(fault, send)
        return await send(request)

    async def connect(self, request: Request, subprotocols: Sequence[str]) -> WebSocket:
        """Upgrade to a WebSocket, which no fault touches."""
        return await self._transport.connect(request, subprotocols)

    async def aclose(self) -> None:
        """Close the transport."""
        await self._transport.aclose()


def _around(fault: Interceptor, send: Send) -> Send:
    async def struck(request: Request) -> Response:
        return await fault(request, send)

    return struck
