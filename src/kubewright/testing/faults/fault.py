"""``Fault``: an interceptor that strikes some requests and lets the others pass; the ground of this room."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Collection
from typing import Final, TypeAlias, TypedDict, Unpack

import msgspec

from kubewright.api import Resource
from kubewright.client import Request, Response, Send
from kubewright.testing.stream import Passage, Relay
from kubewright.testing.virtual_time import VirtualTime

__all__ = ["READS", "WRITES", "Fault", "Match", "Strike", "matches", "name_of", "relaying"]

READS: Final = ("get", "list", "watch")
"""The verbs that change nothing."""

WRITES: Final = ("create", "update", "patch", "apply", "delete", "deletecollection")
"""The verbs that change something."""

Strike: TypeAlias = Callable[[Request, Send], Awaitable[Response]]


class Match(TypedDict, total=False):
    """Which requests a fault strikes: those to which everything given here applies."""

    verb: str | Collection[str]
    """A verb of Kubernetes, or several: ``WRITES``."""
    kind: type[Resource]
    namespace: str
    name: str
    subresource: str
    """``""`` for requests to objects as a whole."""
    when: Callable[[Request], bool]
    """Anything else that must be true of the request."""
    skip: int
    """How many requests pass before the first is struck."""
    times: int
    """How many are struck; without it, all."""
    chance: float
    """With which probability a request is struck."""
    dice: random.Random
    """What decides by chance; the virtual time's own if not given."""


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    generate_name: str = ""


class _Named(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


_named = msgspec.json.Decoder(_Named)


class Fault:
    """An interceptor that does something to the requests that match, and lets all others pass.

    >>> fault = Fault(lambda request, send: send(request), verb="create", times=2)
    >>> fault.struck
    0
    """

    def __init__(self, strike: Strike, **match: Unpack[Match]) -> None:
        unknown = match.keys() - Match.__annotations__.keys()
        if unknown:
            raise TypeError(f"a fault is not matched by {sorted(unknown)}; there is {sorted(Match.__annotations__)}")
        self._strike = strike
        self._match = match
        self._to_skip = match.get("skip", 0)
        self._left: float = match.get("times", float("inf"))
        chance = match.get("chance", 1.0)
        self._dice = match.get("dice") or (VirtualTime.current().dice if chance < 1.0 else random.Random(0))
        self._chance = chance
        self.struck: int = 0
        """How many requests it has struck."""

    def stop(self) -> None:
        """Strike no more."""
        self._left = 0

    async def __call__(self, request: Request, send: Send) -> Response:
        """Strike the request, or pass it on."""
        if not self._is_due(request):
            return await send(request)
        self.struck += 1
        self._left -= 1
        return await self._strike(request, send)

    def _is_due(self, request: Request) -> bool:
        if self._left <= 0 or not matches(request, self._match):
            return False
        if self._to_skip > 0:
            self._to_skip -= 1
            return False
        return self._chance >= 1.0 or self._dice.random() < self._chance


def relaying(passage: Passage) -> Strike:
    """A strike that leads the stream of an answer, if it has one, through a passage."""

    async def strike(request: Request, send: Send) -> Response:
        response = await send(request)
        if response.stream is not None:
            response.stream = Relay(response.stream, passage)
        return response

    return strike


def matches(request: Request, match: Match) -> bool:
    """Whether the request is of those described; how often does not matter here."""
    verbs = match.get("verb", request.verb)
    return (
        (request.verb == verbs if isinstance(verbs, str) else request.verb in verbs)
        and ("kind" not in match or _is_of(request, match["kind"]))
        and ("name" not in match or name_of(request) == match["name"])
        and match.get("namespace", request.namespace) == request.namespace
        and match.get("subresource", request.subresource) == request.subresource
        and ("when" not in match or match["when"](request))
    )


def _is_of(request: Request, kind: type[Resource]) -> bool:
    wanted, asked = kind.api_resource, request.resource
    return asked is not None and (asked.group, asked.kind) == (wanted.group, wanted.kind)


def name_of(request: Request) -> str:
    """The name of the object; a creation says it in its body."""
    if request.name or request.verb != "create":
        return request.name
    try:
        return _named.decode(request.body).metadata.name
    except msgspec.DecodeError:
        return ""
