"""A server in the same process, and a wire to it that a test can disturb."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from kubewright.cache import Change, Informer
from kubewright.client import ALL_NAMESPACES, Client, InProcessTransport, Request, Response, Retry, Send
from kubewright.errors import TransportError
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.testing import VirtualTime
from kubewright_apiserver import ApiServer

__all__ = ["Cluster", "Event", "Log", "Wire", "cluster", "held", "refusal"]

Event = dict[str, Any]


def refusal(code: int, reason: str, message: str = "no") -> Response:
    """A refusal as a server words it."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason}
    return Response(code, [("Content-Type", "application/json")], json.dumps(body | {"message": message}).encode())


class Wire:
    """An interceptor that loses, doubles, holds up and cuts what comes through it, as long as a test says so."""

    def __init__(self) -> None:
        self.loses: Callable[[Event], bool] = lambda event: False
        """Which watch events do not arrive."""
        self.copies = 1
        """How often each chunk of a watch arrives."""
        self.repeats = 0
        """How many of the last lines of a watch come again before its next chunk."""
        self.is_silent = False
        """Whether open watches say nothing any more; those that are opened later are not concerned."""
        self.cuts = 0
        """How many of the next chunks are lost with the connection that brings them."""
        self.watch_answers: list[Response | Exception] = []
        """What the next watches are answered instead of being opened."""
        self.list_answers: list[Response | Exception] = []
        """What the next lists are answered."""
        self.answers: list[Callable[[Request, Send], Any]] = []
        """How the next writes are answered."""
        self.requests: list[Request] = []

    async def __call__(self, request: Request, send: Send) -> Response:
        self.requests.append(request)
        if request.verb not in ("get", "list", "watch") and self.answers:
            answer: Response = await self.answers.pop(0)(request, send)
            return answer
        prepared = {"watch": self.watch_answers, "list": self.list_answers}.get(request.verb)
        if prepared:
            found = prepared.pop(0)
            if isinstance(found, Exception):
                raise found
            return found
        response = await send(request)
        if request.verb == "watch" and response.stream is not None:
            response.stream = self._disturbed(response.stream)
        return response

    def count(self, verb: str) -> int:
        return sum(request.verb == verb for request in self.requests)

    async def _disturbed(self, stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        passed: list[bytes] = []
        try:
            async for chunk in stream:
                if self.is_silent:
                    await asyncio.Event().wait()
                if self.cuts and chunk:
                    self.cuts -= 1
                    raise TransportError("the connection was cut")
                lines = [line for line in chunk.splitlines(keepends=True) if not self.loses(json.loads(line))]
                repeated, self.repeats = passed[-self.repeats :] if self.repeats else [], 0
                passed += lines
                for _ in range(self.copies):
                    yield b"".join(repeated + lines)
        finally:
            await stream.aclose()  # type: ignore[attr-defined]


class Cluster:
    """A server, a client with a disturbed wire to it, and one with an undisturbed wire."""

    def __init__(self, server: ApiServer, wire: Wire, client: Client, direct: Client) -> None:
        self.server = server
        self.wire = wire
        self.client = client
        self.direct = direct
        self._empty = server.snapshot()

    def reset(self) -> None:
        """Let the server lose everything, its history too."""
        self.server.restore(self._empty)

    async def truth(self, kind: Any = ConfigMap) -> dict[str, str]:
        """By key, uid and revision of all objects that the server has."""
        listed = await self.direct.list(kind, namespace=ALL_NAMESPACES)
        return {str(obj.key): f"{obj.metadata.uid} {obj.metadata.resource_version}" for obj in listed}


@asynccontextmanager
async def cluster(**options: Any) -> AsyncIterator[Cluster]:
    """A cluster in virtual time, without any ConfigMap."""
    time = VirtualTime.current()
    async with ApiServer(listens=False, clock=time.now, dice=time.dice_of("server"), **options) as server:
        wire = Wire()
        client = Client(
            transport=InProcessTransport(server.handle),
            interceptors=[wire],
            retry=Retry(attempts=1),
            dice=time.dice_of("client"),
        )
        async with client, Client(transport=InProcessTransport(server.handle)) as direct:
            for own in await direct.list(ConfigMap, namespace=ALL_NAMESPACES):
                await direct.delete(own)
            yield Cluster(server, wire, client, direct)


class Log:
    """A handler that remembers what it was told."""

    def __init__(self, informer: Informer[Any] | None = None) -> None:
        self.changes: list[Change[Any]] = []
        if informer is not None:
            informer.add_handler(self)

    def __call__(self, change: Change[Any]) -> None:
        self.changes.append(change)

    def take(self) -> list[tuple[str, str, str]]:
        """Name, type and cause of what was told since the last look."""
        found: list[tuple[str, str, str]] = [(c.key.name, c.type, c.cause) for c in self.changes]
        self.changes.clear()
        return found

    @property
    def state(self) -> dict[str, str]:
        """By key, uid and revision of all objects, as far as they were told."""
        found: dict[str, str] = {}
        for change in self.changes:
            if change.new_head is None:
                found.pop(str(change.key), None)
            else:
                found[str(change.key)] = f"{change.new_head.uid} {change.new_head.resource_version}"
        return found


def held(informer: Informer[Any]) -> dict[str, str]:
    """By key, uid and revision of all objects in the cache."""
    heads = [head for key in informer if (head := informer.head(key)) is not None]
    return {str(head.key): f"{head.uid} {head.resource_version}" for head in heads}
