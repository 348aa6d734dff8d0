"""``OpenApiV2``: answers ``/openapi/v2``, in JSON or in protobuf."""

from __future__ import annotations

import hashlib
from typing import Final

import orjson

from kubewright_apiserver.registry import Registry

__all__ = ["OpenApiV2"]

Found = tuple[int, list[tuple[str, str]], bytes]

_JSON: Final = "application/json"
_MEDIA: Final = ("*/*", "application/*", _JSON)
# The first of these is no media type, but what clients ask for.
_PROTOBUF: Final = (
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
)
_PRIVATE: Final = ("Cache-Control", "no-cache, private")
_VARY: Final = ("Vary", "Accept")


class OpenApiV2:
    """The document of what is served, made when first asked for and again when that has changed."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._generation = -1
        self._data = b""
        self._message = b""
        self._etag = ""

    def answer(self, headers: dict[str, str]) -> Found:
        """``/openapi/v2``."""
        media = _media(headers.get("accept", "") or "*/*")
        if not media:
            return 406, [_PRIVATE, _VARY], b""
        if self._generation != self._registry.generation:
            self._make()
        told = [_PRIVATE, _VARY, ("ETag", self._etag)]
        if headers.get("if-none-match") == self._etag:
            return 304, told, b""
        data = self._data if media == _JSON else self._in_protobuf()
        return 200, [("Content-Type", media), ("Accept-Ranges", "bytes"), *told], data

    def _make(self) -> None:
        # Few clients read this; a server should start without it.
        from kubewright_apiserver.discovery.swagger import swagger_of

        self._generation = self._registry.generation
        self._data, self._message = orjson.dumps(swagger_of(self._registry)), b""
        self._etag = f'"{hashlib.sha512(self._data).hexdigest().upper()}"'

    def _in_protobuf(self) -> bytes:
        from kubewright_apiserver.discovery.gnostic import in_protobuf

        if not self._message:
            self._message = in_protobuf(orjson.loads(self._data))
        return self._message


def _media(accept: str) -> str:
    """The first media type of those that a client takes in which there is a document; empty if there is none."""
    for clause in accept.split(","):
        name = clause.partition(";")[0].strip()
        if name in _MEDIA or name in _PROTOBUF:
            return _JSON if name in _MEDIA else _PROTOBUF[-1]
    return ""
