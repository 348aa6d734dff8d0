"""Many watches of one server and writes to it, on bare sockets in one loop: a client that costs next to nothing.

A write carries the moment at which it was sent, so what a watcher reads tells how long it took.
"""

from __future__ import annotations

import re
import selectors
import socket
import ssl
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple
from urllib.parse import urlsplit

from benchmarks.api_servers import ApiServer

__all__ = ["Deliveries", "Watchers", "watching"]

_SENT = re.compile(rb'"sent":"(\d+)"')
_LENGTH = re.compile(rb"\r\nContent-Length: (\d+)", re.IGNORECASE)
_HEAD = (
    "{method} {path} HTTP/1.1\r\nHost: server\r\nUser-Agent: benchmark\r\nAccept: application/json\r\n"
    "Content-Type: application/merge-patch+json\r\nContent-Length: {length}\r\n\r\n"
)


class Deliveries(NamedTuple):
    """What came of some writes: how long it took altogether, and each watcher's wait for each write, all in seconds."""

    wall: float
    waits: list[float]


class _Connection:
    """A socket with TLS that never blocks a reader; what it receives goes to ``received``."""

    def __init__(self, server: ApiServer) -> None:
        address = urlsplit(server.url)
        plain = socket.create_connection((address.hostname, address.port))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket: ssl.SSLSocket = server.context.wrap_socket(plain, server_hostname=address.hostname)
        self.socket.setblocking(False)
        self.received: Callable[[bytes], None] = lambda data: None

    def send(self, method: str, path: str, body: bytes = b"") -> None:
        """Send a request; it is short enough to go at once."""
        self.socket.sendall(_HEAD.format(method=method, path=path, length=len(body)).encode() + body)

    def read(self) -> None:
        """Hand on all that is there."""
        while True:
            try:
                data = self.socket.recv(65536)
            except ssl.SSLWantReadError:
                return
            if not data:
                sys.exit("the server ended a connection")
            self.received(data)


class _Reader:
    """Finds the moments of writes in what a watcher reads, which may break anywhere."""

    def __init__(self, delivered: Callable[[int], None]) -> None:
        self._delivered = delivered
        self._rest = b""

    def received(self, data: bytes) -> None:
        """Tell of each write in the lines that are whole."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if (found := _SENT.search(line)) is not None:
                self._delivered(int(found[1]))


class _Writer:
    """Changes one object again and again; is busy until the answer has come in full."""

    def __init__(self, connection: _Connection, path: str) -> None:
        self._connection = connection
        self._path = path
        self._answer = b""
        self.is_busy: bool = False
        connection.received = self._received

    def write(self) -> None:
        """Change the object."""
        self.is_busy = True
        now = time.perf_counter_ns()
        self._connection.send("PATCH", self._path, b'{"data":{"sent":"%d"}}' % now)

    def _received(self, data: bytes) -> None:
        self._answer += data
        head, end, body = self._answer.partition(b"\r\n\r\n")
        if not end or not _is_whole(head, body):
            return
        if not head.startswith(b"HTTP/1.1 200"):
            sys.exit(f"a write was answered with {self._answer.decode()}")
        self._answer, self.is_busy = b"", False


def _is_whole(head: bytes, body: bytes) -> bool:
    length = _LENGTH.search(head)
    return len(body) >= int(length[1]) if length is not None else body.endswith(b"0\r\n\r\n")


class Watchers:
    """A number of watches of a path, and writers to objects in it. Made by ``watching``."""

    def __init__(self, selector: selectors.BaseSelector, watches: list[_Connection], writers: list[_Writer]) -> None:
        self._selector = selector
        self._watches = len(watches)
        self._writers = writers
        self._seen: Counter[int] = Counter()
        self._waits: list[float] = []
        self._complete = 0
        for connection in watches:
            connection.received = _Reader(self._delivered).received

    def run(self, writes: int, *, pause: float = 0.0) -> Deliveries:
        """Write so often: one write each pause, or without one as soon as fewer than one for each writer are under way.

        A write is under way until every watcher has it.
        """
        self._seen.clear()
        self._waits, self._complete = [], 0
        began, sent = time.perf_counter(), 0
        while self._complete < writes:
            writer = next((writer for writer in self._writers if not writer.is_busy), None)
            due = began + sent * pause - time.perf_counter() if pause else 0.0
            has_room = pause or sent - self._complete < len(self._writers)
            if sent < writes and writer is not None and due <= 0 and has_room:
                writer.write()
                sent += 1
            else:
                self._read(due if sent < writes and due > 0 else None)
        return Deliveries(time.perf_counter() - began, self._waits)

    def _read(self, seconds: float | None) -> None:
        for key, _ in self._selector.select(seconds):
            key.data.read()

    def _delivered(self, sent: int) -> None:
        self._waits.append((time.perf_counter_ns() - sent) / 1e9)
        self._seen[sent] += 1
        if self._seen[sent] == self._watches:
            self._complete += 1


@contextmanager
def watching(server: ApiServer, watched: str, objects: list[str], *, watches: int) -> Iterator[Watchers]:
    """So many watches of the path ``watched``, and a writer for each of the paths in ``objects``."""
    with ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())

        def connected() -> _Connection:
            connection = _Connection(server)
            stack.callback(connection.socket.close)
            selector.register(connection.socket, selectors.EVENT_READ, connection)
            return connection

        connections = [connected() for _ in range(watches)]
        watchers = Watchers(selector, connections, [_Writer(connected(), path) for path in objects])
        for connection in connections:
            connection.send("GET", watched)
        yield watchers
