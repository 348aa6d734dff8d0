"""What is read in protobuf: objects, lists of them, and events of watches; each object is turned into it once."""

from __future__ import annotations

from typing import Any

import orjson

from kubewright_apiserver.protobuf import definition_of, encode, encode_list, framed, sealed, written_object
from kubewright_apiserver.registry import Served
from kubewright_apiserver.store import Row
from kubewright_apiserver.verbs.rendering import rendered

__all__ = ["event", "listed_message", "rendered_message"]


def rendered_message(row: Row, served: Served, representation: str) -> bytes:
    """The object of a row in the representation that was asked for."""
    return sealed(*_identity(served, representation), _message(row, served, representation))


def _identity(served: Served, representation: str) -> tuple[str, str]:
    return (representation, "PartialObjectMetadata") if representation else (served.api_version, served.kind)


def _message(row: Row, served: Served, representation: str) -> bytes:
    key = ("message", served, representation)
    found: bytes | None = row.memo.get(key)
    if found is None:
        definition = definition_of(*_identity(served, representation))
        found = row.memo[key] = encode(definition, orjson.loads(rendered(row, served, representation)))
    return found


def listed_message(rows: list[Row], served: Served, representation: str, metadata: dict[str, Any]) -> bytes:
    """A list of the rows."""
    kind = "PartialObjectMetadataList" if representation else served.list_kind
    version = representation or served.api_version
    items = [_message(row, served, representation) for row in rows]
    return sealed(version, kind, *encode_list(definition_of(version, kind), metadata, items))


def event(type: str, obj: bytes | dict[str, Any], *, is_protobuf: bool) -> bytes:
    """An event of a watch as it is sent; the object is one, or what is sent of it."""
    if is_protobuf:
        return framed(type, written_object(obj) if isinstance(obj, dict) else obj)
    return b'{"type":"%s","object":%s}\n' % (type.encode(), orjson.dumps(obj) if isinstance(obj, dict) else obj)
