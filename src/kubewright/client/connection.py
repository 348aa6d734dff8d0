"""``Connection``: one HTTP/1.1 connection to a server, which carries one exchange after the other."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final, NamedTuple, cast

from kubewright.client.framing import Body, Head, body_of, parse_head
from kubewright.deadline import Deadline
from kubewright.errors import ProtocolError, TransportError

__all__ = ["Answer", "Connection"]

_LONGEST_HEAD: Final = 1 << 20
_ENOUGH: Final = 1 << 20
"""Bytes of a stream that wait for its reader, until the server has to wait too."""


class Answer(NamedTuple):
    """The head of an answer, and its body if that is whole; else it comes from the connection, chunk by chunk."""

    head: Head
    body: bytes | None


class Connection(asyncio.Protocol):
    """Sends a request, reads its answer; then the next.

    An exchange that is not whole, because its waiter was cancelled, time was up or bytes were wrong, ends the
    connection: what would come next could not be told from what was given up.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Answer] | None = None
        self._is_streaming = False
        self._method = ""
        self._received = b""
        self._head: Head | None = None
        self._body: Body | None = None
        self._pieces: deque[bytes] = deque()
        self._waiting = 0
        self._is_paused = False
        self._has_ended = False
        self._news: asyncio.Future[None] | None = None
        self._failure: Exception | None = None
        self.closed: asyncio.Future[None] = self._loop.create_future()
        """Done when the socket is."""
        self._deadline = Deadline(self._be_late)
        self.idle_since: float = 0.0

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember the socket."""
        self._transport = cast(asyncio.Transport, transport)

    def secured(self, transport: asyncio.Transport) -> None:
        """Go on over TLS, which was put around the socket."""
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        """Tell who waits that no more will come."""
        body = self._body
        if body is not None:
            if error is None and body.may_end:
                self._end()
            else:
                self._fail(ProtocolError("the connection was closed in the middle of the answer"))
        elif self._answer is not None:
            self._fail(self._broken(error))
        self._deadline.close()
        if not self.closed.done():
            self.closed.set_result(None)

    def data_received(self, data: bytes) -> None:
        """Read on in the answer."""
        try:
            if self._body is not None:
                self._take_body(data)
            elif self._answer is not None:
                self._take_head(data)
            else:
                # Nobody asked for anything.
                self.abort()
        except ProtocolError as error:
            self._fail(error)
            self.abort()

    # What the transport of a client calls.

    @property
    def is_free(self) -> bool:
        """Whether the next request may be sent."""
        return self._answer is None and self._transport is not None and not self._transport.is_closing()

    @property
    def has_answered(self) -> bool:
        """Whether any byte of an answer came to the request last sent."""
        return bool(self._received) or self._head is not None

    @property
    def socket_transport(self) -> asyncio.Transport:
        """What asyncio gave for the socket."""
        assert self._transport is not None
        return self._transport

    async def exchange(self, message: bytes, *, is_streaming: bool = False, deadline: float | None = None) -> Answer:
        """Send a request; its answer, with a whole body unless it is a stream.

        Raises ``TimeoutError`` at the deadline, ``TransportError`` if the connection broke before the answer,
        ``ProtocolError`` if it broke in the middle or the answer is not HTTP's.
        """
        assert self.is_free
        answer: asyncio.Future[Answer] = self._loop.create_future()
        self._answer = answer
        self._is_streaming, self._head, self._received = is_streaming, None, b""
        self._method = message[: message.find(b" ")].decode()
        if deadline is not None:
            self._deadline.set(deadline)
        self.socket_transport.write(message)
        try:
            return await answer
        except BaseException:
            self.abort()
            raise
        finally:
            self._deadline.lift()

    async def connect(self, message: bytes) -> Head:
        """Send a CONNECT; the head of its answer. What follows a success is not HTTP's any more."""
        head, _ = await self.exchange(message, is_streaming=True)
        self._answer = self._body = None
        return head

    async def read(self) -> bytes:
        """The next of a stream, all that is there; empty at its end. Raises ``ProtocolError`` if it was cut."""
        while not self._pieces:
            if self._failure is not None:
                raise self._failure
            if self._has_ended:
                return b""
            self._news = self._loop.create_future()
            try:
                await self._news
            finally:
                self._news = None
        data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._waiting = 0
        if self._is_paused:
            self._is_paused = False
            self.socket_transport.resume_reading()
        return data

    def abort(self) -> None:
        """Close at once, whatever is underway."""
        if self._transport is not None:
            self._transport.abort()

    # How an answer comes about.

    def _take_head(self, data: bytes) -> None:
        data = self._received + data if self._received else data
        stop = data.find(b"\r\n\r\n")
        if stop < 0:
            self._received = data
            if len(data) > _LONGEST_HEAD:
                raise ProtocolError("the answer has headers without end")
            return
        head = parse_head(data[:stop])
        rest = data[stop + 4 :]
        if head.status < 200:
            # The server tells that it goes on; the answer follows.
            self._received = b""
            if rest:
                self._take_head(rest)
            return
        self._head, self._body = head, body_of(head, self._method)
        if self._is_streaming and head.status < 300:
            self._answered(Answer(head, None))
        self._take_body(rest)

    def _take_body(self, data: bytes) -> None:
        body = self._body
        assert body is not None
        piece = body.feed(data)
        if piece:
            self._pieces.append(piece)
            self._waiting += len(piece)
            if self._has_reader:
                self._tell()
                if self._waiting > _ENOUGH and not self._is_paused:
                    self._is_paused = True
                    self.socket_transport.pause_reading()
        if body.is_whole:
            self._end()

    @property
    def _has_reader(self) -> bool:
        return self._answer is not None and self._answer.done()

    def _end(self) -> None:
        head, body = self._head, self._body
        assert head is not None
        assert body is not None
        self._body = None
        if not head.stays_open or body.surplus or not body.is_whole:
            self.abort()
        if self._has_reader:
            self._has_ended = True
            self._tell()
            # A stream is not followed by anything: its connection is not used again.
            self.abort()
            return
        whole = b"".join(self._pieces) if len(self._pieces) != 1 else self._pieces[0]
        self._pieces.clear()
        self._waiting = 0
        self._answered(Answer(head, whole))
        self._answer = None

    def _answered(self, answer: Answer) -> None:
        assert self._answer is not None
        if not self._answer.done():
            self._answer.set_result(answer)

    def _be_late(self) -> None:
        self._fail(TimeoutError())
        self.abort()

    def _fail(self, error: Exception) -> None:
        self._body = None
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
            self._answer = None
        elif self._failure is None and not self._has_ended:
            self._failure = error
            self._tell()

    def _broken(self, error: Exception | None) -> Exception:
        if self._received[:7] != b"HTTP/1."[: len(self._received)]:
            return ProtocolError(f"the answer is not HTTP/1.1; it begins {self._received[:80]!r}")
        why = f" ({error})" if error is not None and str(error) else ""
        return TransportError(f"the connection broke before the answer came{why}")

    def _tell(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)
