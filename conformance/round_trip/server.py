"""Tries documents on a real API server and reads its refusals."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

import msgspec

from conformance.round_trip.schema import Steps
from kubewright.client import HttpTransport, Request
from kubewright.config import Config
from kubewright.errors import TransportError

__all__ = ["Answer", "Cause", "Door", "Server"]

_STEP: Final = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")
_OF_THE_SERVER: Final = ("managedFields", "resourceVersion")
_CONTENT: Final = {"PATCH": "application/merge-patch+json"}
_QUERY: Final = "fieldManager=round-trip&fieldValidation=Strict"


@dataclass(frozen=True)
class Cause:
    """One thing that the server finds wrong."""

    steps: Steps
    reason: str
    message: str


@dataclass(frozen=True)
class Answer:
    """What the server says to a document: the object that it makes of it, or why it refuses."""

    accepted: bool
    document: dict[str, Any]
    causes: list[Cause] = field(default_factory=list)

    @property
    def message(self) -> str:
        """Why the server refuses, in its words."""
        return str(self.document.get("message", ""))

    def blames(self, steps: Steps) -> bool:
        """Whether a cause lies at or below a place."""
        return any(cause.steps[: len(steps)] == steps for cause in self.causes)


class Server:
    """A real API server."""

    def __init__(self, config: Config) -> None:
        self._transport = HttpTransport(config)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    async def send(self, method: str, target: str, document: Any = None) -> Answer:
        """The server's answer, whatever it is."""
        request = Request(
            method=method,
            target=target,
            headers=[("Accept", "application/json"), ("Content-Type", _CONTENT.get(method, "application/json"))],
            body=b"" if document is None else msgspec.json.encode(document),
            verb="create",
            timeout=timedelta(seconds=30),
        )
        try:
            response = await self._transport.send(request)
        except TransportError:
            # What a handler that panics looks like from outside.
            return Answer(False, {"message": "the server breaks the connection"})
        found = msgspec.json.decode(response.body)
        if response.status < 300:
            return Answer(True, found)
        causes = found.get("details", {}).get("causes", ())
        return Answer(False, found, [_cause(cause) for cause in causes])


@dataclass(frozen=True)
class Door:
    """One way to hand documents to the server."""

    server: Server
    method: str
    path: str
    dry_run: bool = True
    echo: bool = True
    """Whether the server answers with the object; else what was sent counts as what it took."""

    async def send(self, document: dict[str, Any]) -> Answer:
        """The server's answer to the document, which it does not store unless this door is for real."""
        target = f"{self.path}?{_QUERY}" + ("&dryRun=All" if self.dry_run else "")
        metadata = {key: value for key, value in document["metadata"].items() if key not in _OF_THE_SERVER}
        document = {**document, "metadata": metadata}
        answer = await self.server.send(self.method, target, document)
        return Answer(True, _without_nulls(document)) if answer.accepted and not self.echo else answer


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def _cause(cause: dict[str, str]) -> Cause:
    steps = tuple(_step(match) for match in _STEP.finditer(cause.get("field", "")))
    return Cause(steps, cause.get("reason", ""), cause.get("message", ""))


def _step(match: re.Match[str]) -> str | int:
    inside, name = match.groups()
    return name or (int(inside) if inside.isdigit() else inside)
