"""What is around a message: four bytes that say Kubernetes, and what kind of object it is; frames of watches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from kubewright_apiserver.protobuf.encoding import encode, sized
from kubewright_apiserver.protobuf.exact import ExactReader
from kubewright_apiserver.protobuf.messages import ENVELOPE, definition_of
from kubewright_apiserver.protobuf.wire import MalformedProtobuf, varint

__all__ = ["MAGIC", "Envelope", "framed", "open_envelope", "sealed", "written_object"]

MAGIC: Final = b"k8s\x00"
"""What every object in protobuf begins with, and no JSON."""
_PREFIX: Final = "[" + " ".join(map(str, MAGIC)) + "]"
_REST: Final = b"\x1a\x00\x22\x00"
_reader: Final = ExactReader({})


class Envelope(NamedTuple):
    """A message, and what it says that it is; empty where it says nothing that can be understood."""

    api_version: str
    kind: str
    message: bytes


def open_envelope(data: bytes) -> Envelope:
    """What a body holds.

    Raises ``MalformedProtobuf`` in Go's words.
    """
    if not data:
        raise MalformedProtobuf("empty data")
    if not data.startswith(MAGIC):
        raise MalformedProtobuf(f"provided data does not appear to be a protobuf message, expected prefix {_PREFIX}")
    if data == MAGIC:
        raise MalformedProtobuf("empty body")
    found: dict[str, Any] = {}
    _reader.read(ENVELOPE, found, data, len(MAGIC), len(data))
    said = found.get("TypeMeta", {})
    version = said.get("APIVersion", "")
    is_known = version.count("/") < 2 and not version.endswith("/")
    return Envelope(version if is_known else "", said.get("Kind", ""), found.get("Raw", b""))


def sealed(api_version: str, kind: str, *message: bytes) -> bytes:
    """A message, or the parts of one, as a body."""
    said = sized(b"\x0a" + sized(api_version.encode()) + b"\x12" + sized(kind.encode()))
    return b"".join((MAGIC, b"\x0a", said, b"\x12", varint(sum(map(len, message))), *message, _REST))


def written_object(document: Mapping[str, Any]) -> bytes:
    """An object of a built-in kind as a body.

    Raises ``KeyError`` for other kinds.
    """
    api_version, kind = document.get("apiVersion", ""), document["kind"]
    return sealed(api_version, kind, encode(definition_of(api_version, kind), document))


def framed(event: str, body: bytes) -> bytes:
    """An event of a watch about an object that is a body already."""
    told = b"\x0a" + sized(event.encode()) + b"\x12" + sized(b"\x0a" + sized(body))
    return len(told).to_bytes(4) + told
