"""A scripted API server on plain types, for the in-process transport: each request gets the next answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from kubewright.client import Client, InProcessTransport, Retry

Answer = tuple[int, Any] | tuple[int, Any, Sequence[tuple[str, str]]] | Callable[["Call"], Any]


class Call:
    """One request as the server saw it."""

    def __init__(self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes) -> None:
        self.method = method
        self.target = target
        self.headers = dict(headers)
        self.body = body

    @property
    def document(self) -> Any:
        return json.loads(self.body)

    @property
    def path(self) -> str:
        return self.target.split("?")[0]

    @property
    def query(self) -> dict[str, str]:
        from urllib.parse import parse_qsl

        return dict(parse_qsl(self.target.partition("?")[2], keep_blank_values=True))


class Server:
    """Gives its answers in order, the last one for ever, and remembers what it was asked."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.calls: list[Call] = []

    async def handle(
        self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes
    ) -> tuple[int, Sequence[tuple[str, str]], AsyncIterator[bytes]]:
        call = Call(method, target, headers, body)
        self.calls.append(call)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        status, content, *more = answer(call) if callable(answer) else answer
        return status, [("Content-Type", "application/json"), *(more[0] if more else ())], _chunks(content)

    def client(self, **options: Any) -> Client:
        options.setdefault("retry", Retry(attempts=1))
        return Client(transport=InProcessTransport(self.handle), **options)

    @property
    def targets(self) -> list[str]:
        return [call.target for call in self.calls]


async def _chunks(content: Any) -> AsyncIterator[bytes]:
    if isinstance(content, Stream):
        async for chunk in content.chunks():
            yield chunk
    else:
        yield content if isinstance(content, bytes) else json.dumps(content).encode()


class Stream:
    """A watch: chunks, then the end, an exception, or silence."""

    def __init__(self, *chunks: bytes, then: Exception | str = "end") -> None:
        self._chunks = chunks
        self._then = then

    async def chunks(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk
        if isinstance(self._then, Exception):
            raise self._then
        if self._then == "silence":
            await asyncio.Event().wait()


def thing(name: str = "a", version: int = 1, **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": f"u-{name}", "resourceVersion": str(version)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **more}


def line(type: str, obj: Any) -> bytes:
    return json.dumps({"type": type, "object": obj}).encode() + b"\n"


def bookmark(version: int, *, synced: bool = False) -> bytes:
    metadata: dict[str, Any] = {"resourceVersion": str(version)}
    if synced:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    return line("BOOKMARK", {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata})


def page(*items: Any, version: int = 9, token: str = "") -> dict[str, Any]:
    metadata = {"resourceVersion": str(version), "continue": token}
    return {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": metadata, "items": list(items)}


def failure(code: int, reason: str, message: str = "no", **details: Any) -> dict[str, Any]:
    body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "metadata": {}}
    return body | {"code": code, "reason": reason, "message": message, "details": details}
