"""One call from end to end: rate limit, retries, interceptors, transport; the server's warnings are logged."""

from __future__ import annotations

import copy
import logging
import random
import re
from collections.abc import Sequence

from kubewright.client.answer import checked, error_in
from kubewright.client.retry import RateLimit, Retry
from kubewright.client.transport import Interceptor, Request, Response, Transport, chained

__all__ = ["Caller"]

_log = logging.getLogger("kubewright.client")
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
_MOST_WARNINGS = 1000


class Caller:
    """Sends requests for a client and all views of it."""

    def __init__(
        self,
        transport: Transport,
        *,
        interceptors: Sequence[Interceptor] = (),
        retry: Retry | None = None,
        rate_limit: RateLimit | None = None,
        dice: random.Random | None = None,
    ) -> None:
        self.transport: Transport = transport
        self._send = chained(transport.send, interceptors)
        self._retry = retry or Retry()
        self._rate_limit = rate_limit
        self.dice: random.Random = dice or random.Random()
        self._warned: set[str] = set()

    def intercepted(self, interceptors: Sequence[Interceptor]) -> Caller:
        """The same with these interceptors around its own; transport, retries, rate limit and chance are shared."""
        twin = copy.copy(self)
        twin._send = chained(self._send, interceptors)
        return twin

    async def send(self, request: Request) -> Response:
        """The answer, whatever its status."""
        if self._rate_limit is not None:
            await self._rate_limit.wait_turn()
        response = await self._retry.send(request, self._send, self.dice)
        if response.headers:
            self._tell_warnings(request, response)
        return response

    async def fetch(self, request: Request) -> bytes:
        """The JSON of a successful answer; raises for any other."""
        return checked(request, await self.send(request))

    async def open(self, request: Request) -> Response:
        """An answer to be read chunk by chunk; raises if the server refuses."""
        response = await self.send(request)
        if response.status >= 300 or response.stream is None:
            raise error_in(request, response)
        return response

    def _tell_warnings(self, request: Request, response: Response) -> None:
        """Log each warning once: the same deprecated field in a thousand objects is one message."""
        for value in response.header_values("warning"):
            for match in _WARNING.finditer(value):
                text = match.group(1).replace('\\"', '"').replace("\\\\", "\\")
                if text not in self._warned and len(self._warned) < _MOST_WARNINGS:
                    self._warned.add(text)
                    _log.warning("%s %s: the API server warns: %s", request.verb, request.target.split("?")[0], text)

    async def aclose(self) -> None:
        """Close the transport."""
        await self.transport.aclose()
