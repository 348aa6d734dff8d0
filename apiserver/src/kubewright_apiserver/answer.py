"""``Answer``: status, headers and chunks, as everything that is asked ends."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence
from typing import Final, Protocol

from kubewright_apiserver.negotiation import Form
from kubewright_apiserver.status import Refusal
from kubewright_apiserver.store import Closed, NoRoom, StoreFailed
from kubewright_apiserver.warning import warning_headers

__all__ = ["PRIVATE", "Answer", "Socket", "Upgraded", "Whole", "broken", "plain", "refused"]

Answer = tuple[int, Sequence[tuple[str, str]], AsyncIterable[bytes]]

PRIVATE: Final = ("Cache-Control", "no-cache, private")
"""That nobody on the way may keep an answer."""

_ENDING: Final = Refusal(503, "ServiceUnavailable", "apiserver is shutting down", headers=[("Retry-After", "1")])


class Whole:
    """An answer that is there already, as the one chunk of its stream."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data: bytes = data

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.data


class Socket(Protocol):
    """A WebSocket: messages both ways, until one side ends it."""

    @property
    def subprotocol(self) -> str:
        """What is spoken on it."""
        ...

    async def send(self, message: bytes) -> None:
        """Send one binary message."""
        ...

    async def receive(self) -> bytes | None:
        """The next message, or None when the other side has ended it."""
        ...

    async def aclose(self) -> None:
        """End it."""
        ...


class Upgraded:
    """An answer (101) that goes on as a WebSocket; it has no chunks. ``when_closed`` is called at its end."""

    __slots__ = ("_when_closed", "socket")

    def __init__(self, socket: Socket, when_closed: Callable[[], None] | None = None) -> None:
        self.socket: Socket = socket
        self._when_closed = when_closed

    @property
    def subprotocol(self) -> str:
        """What is spoken on it."""
        return self.socket.subprotocol

    async def send(self, message: bytes) -> None:
        """Send one binary message."""
        await self.socket.send(message)

    async def receive(self) -> bytes | None:
        """The next message, or None when the other side has ended it."""
        return await self.socket.receive()

    async def aclose(self) -> None:
        """End it."""
        told, self._when_closed = self._when_closed, None
        try:
            await self.socket.aclose()
        finally:
            if told is not None:
                told()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        none: tuple[bytes, ...] = ()
        for chunk in none:
            yield chunk


def refused(refusal: Refusal, form: Form, warnings: Sequence[str] = ()) -> Answer:
    """The answer that says no, written as the client likes it."""
    headers = [*refusal.headers, PRIVATE, *warning_headers(warnings), ("Content-Type", form.content_type)]
    return refusal.code, headers, Whole(form.written(refusal.body))


def plain(status: int, text: str) -> Answer:
    """An answer in plain words."""
    headers = [PRIVATE, ("Content-Type", "text/plain; charset=utf-8"), ("X-Content-Type-Options", "nosniff")]
    return status, headers, Whole(text.encode())


def broken(error: Closed | StoreFailed) -> Answer:
    """The answer when nothing can be stored, or not even read, any more."""
    if isinstance(error, Closed):
        return refused(_ENDING, Form())
    if isinstance(error, NoRoom):
        # It begins as kube-apiserver's does when etcd is full, since there are tools that look for that.
        return refused(Refusal(500, "", f"etcdserver: mvcc: database space exceeded: {error}"), Form())
    causes = {"causes": [{"message": str(error)}]}
    return refused(Refusal(500, "InternalError", f"Internal error occurred: {error}", details=causes), Form())
