"""``Trace``: what happened when, as lines and as one digest, so that two runs can be compared."""

from __future__ import annotations

import asyncio
import functools
import hashlib
from collections import deque
from collections.abc import AsyncIterator
from typing import Final

from kubewright.client import Request, Response, Send
from kubewright.testing.stream import Relay

__all__ = ["Trace"]

_MOST_LINES: Final = 10_000


class Trace:
    """What happened when, by the loop's clock. Two runs did the same if their digests are equal.

    ``Client(interceptors=[trace.observe])`` notes every request, its answer and each chunk of a stream; ``note`` adds
    what else matters. The digest covers everything; of the lines, only the last 10,000 are kept for reading.
    """

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._lines: deque[str] = deque(maxlen=_MOST_LINES)

    @property
    def lines(self) -> list[str]:
        """The last lines, each with the seconds since the loop's beginning."""
        return list(self._lines)

    def note(self, label: str) -> None:
        """Add a line."""
        line = f"{asyncio.get_running_loop().time():.6f} {label}"
        self._lines.append(line)
        self._hash.update(line.encode() + b"\n")

    def digest(self) -> str:
        """A hash of all lines so far."""
        return self._hash.hexdigest()

    async def observe(self, request: Request, send: Send) -> Response:
        """Note a request and what came of it; an interceptor for ``Client``."""
        self.note(f"{request.verb} {request.target} {_brief(request.body)}")
        try:
            response = await send(request)
        except BaseException as error:
            self.note(f"{request.verb} {request.target} raised {type(error).__name__}")
            raise
        self.note(f"{request.verb} {request.target} gave {response.status} {_brief(response.body)}")
        if response.stream is not None:
            response.stream = Relay(response.stream, functools.partial(self._noted, f"{request.verb} {request.target}"))
        return response

    async def _noted(self, label: str, stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for chunk in stream:
            self.note(f"{label} streamed {_brief(chunk)}")
            yield chunk
        self.note(f"{label} ended")

    def __str__(self) -> str:
        return "\n".join(self._lines)


def _brief(data: bytes) -> str:
    return f"{len(data)}:{hashlib.sha256(data).hexdigest()[:16]}" if data else "-"
