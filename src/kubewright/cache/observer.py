"""``Observer``: the interceptor that lets the cache see writes: which object they were about, and what was answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import msgspec

from kubewright.api import ApiResource, Key, MetadataOnly, Resource
from kubewright.cache.answers import Answers
from kubewright.client import Request, Response, Send
from kubewright.errors import ConnectError, KubewrightError, TransportError

__all__ = ["Observer"]

_WRITES: Final = frozenset({"create", "update", "patch", "apply", "delete", "deletecollection"})
_PARTIAL: Final = "PartialObjectMetadata"


class _Metadata(msgspec.Struct):
    name: str = ""
    uid: str = ""


class _Details(msgspec.Struct):
    uid: str = ""


class _Body(msgspec.Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    details: _Details | None = None


_body = msgspec.json.Decoder(_Body)

Writers: TypeAlias = Callable[[ApiResource], Sequence[tuple[type[Resource], Answers]]]
"""The kinds that are cached of a resource, and where answers about them go."""


class Observer:
    """Tells the cache of each write that passes: its answer, or that it may have been done.

    A write is in doubt if it was cancelled, if its answer did not come although it may have been sent, and if the
    server says that it failed (5xx). Dry runs do not count.
    """

    def __init__(self, writers: Writers) -> None:
        self._writers = writers

    async def observe(self, request: Request, send: Send) -> Response:
        """Send a request, and see what comes of it if it is a write."""
        resource = request.resource
        if request.verb not in _WRITES or resource is None or _is_dry(request):
            return await send(request)
        writers = self._writers(resource)
        try:
            response = await send(request)
        except BaseException as error:
            if _may_be_sent(error):
                self._doubt(request, writers)
            raise
        if response.status >= 500 or (request.verb == "deletecollection" and response.status < 300):
            self._doubt(request, writers)
        elif response.status < 300:
            self._see(request, resource, response.body, writers)
        return response

    def _see(
        self, request: Request, resource: ApiResource, body: bytes, writers: Sequence[tuple[type[Resource], Answers]]
    ) -> None:
        answer = _read(body)
        key = Key(request.namespace, request.name or answer.metadata.name)
        for kind, answers in writers:
            if answer.kind == "Status":
                if request.verb == "delete":
                    answers.deleted(key, answer.details.uid if answer.details is not None else "")
            elif answer.kind not in (resource.kind, _PARTIAL):
                continue  # A subresource of its own kind: Scale, Binding, TokenRequest.
            elif request.verb == "delete" and b'"deletionTimestamp"' not in body:
                answers.deleted(key, answer.metadata.uid)
            elif _fits(kind, answer):
                answers.wrote(body)
            else:
                answers.doubt(key.namespace, key.name)

    def _doubt(self, request: Request, writers: Sequence[tuple[type[Resource], Answers]]) -> None:
        name = request.name
        if request.verb == "create" and not request.subresource:
            name = _read(request.body).metadata.name
        for _, answers in writers:
            answers.doubt(request.namespace, name)


def _fits(kind: type[Resource], answer: _Body) -> bool:
    """Whether an answer has what the cache keeps of the kind, in its version."""
    if answer.kind == _PARTIAL:
        return issubclass(kind, MetadataOnly)
    return answer.api_version == kind.api_version


def _may_be_sent(error: BaseException) -> bool:
    if isinstance(error, KubewrightError):
        return isinstance(error, TransportError) and not isinstance(error, ConnectError)
    return True


def _is_dry(request: Request) -> bool:
    return "dryRun=" in request.target or (request.method == "DELETE" and b'"dryRun"' in request.body)


def _read(body: bytes) -> _Body:
    try:
        return _body.decode(body)
    except msgspec.DecodeError:
        return _Body()
