"""From rows of the store to what a client asked for: whole objects at a version, or their metadata."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from kubewright_apiserver.registry import Served
from kubewright_apiserver.registry.behaviours import behaviour_of
from kubewright_apiserver.store import Row

__all__ = ["internal_at", "listed", "object_at", "partial", "rendered", "shown", "shown_stored"]


def object_at(row: Row, served: Served) -> dict[str, Any]:
    """The object of a row at the version of a resource, fresh: the caller may change it."""
    obj: dict[str, Any] = orjson.loads(row.value)
    return behaviour_of(served).from_storage(obj)


def internal_at(row: Row, served: Served) -> dict[str, Any]:
    """The object of a row as strategies and rules know it, fresh."""
    obj: dict[str, Any] = orjson.loads(row.value)
    return behaviour_of(served).internal_from_storage(obj)


def rendered(row: Row, served: Served, representation: str = "") -> bytes:
    """The object of a row as JSON in the representation that was asked for; made once for each row."""
    if not representation and behaviour_of(served).is_stored_as_served:
        return row.value
    key = (served, representation)
    found: bytes | None = row.memo.get(key)
    if found is None:
        found = row.memo[key] = orjson.dumps(_represented(row, served, representation))
    return found


def _represented(row: Row, served: Served, representation: str) -> dict[str, Any]:
    return partial(row.obj, representation) if representation else object_at(row, served)


def partial(obj: dict[str, Any], version: str) -> dict[str, Any]:
    """The metadata of an object, as PartialObjectMetadata of that version."""
    return {"kind": "PartialObjectMetadata", "apiVersion": version, "metadata": obj["metadata"]}


def shown(obj: dict[str, Any], representation: str) -> dict[str, Any]:
    """An object that is not stored, in the representation that was asked for."""
    return partial(obj, representation) if representation else obj


def shown_stored(stored: dict[str, Any], served: Served, representation: str) -> dict[str, Any]:
    """An object that would be stored so, in the version and representation that was asked for."""
    behaviour = behaviour_of(served)
    return shown(stored if behaviour.is_stored_as_served else behaviour.from_storage(stored), representation)


def listed(rows: list[Row], served: Served, representation: str, metadata: dict[str, Any]) -> bytes:
    """A list of the rows as JSON; items of built-in kinds do not repeat their kind and version."""
    opening = b""
    if representation:
        told = {key: value for key, value in metadata.items() if value != ""}
        head = {"kind": "PartialObjectMetadataList", "apiVersion": representation, "metadata": told}
        if not rows:
            return orjson.dumps({**head, "items": None}) + b"\n"
    else:
        head = {"kind": served.list_kind, "apiVersion": served.api_version, "metadata": metadata}
        if served.crd is None:
            opening = f'{{"kind":"{served.kind}","apiVersion":"{served.api_version}",'.encode()
    if not representation and behaviour_of(served).is_stored_as_served:
        items: list[bytes] = [row.value for row in rows]
    else:
        items = [rendered(row, served, representation) for row in rows]
    return b"".join((orjson.dumps(head)[:-1], b',"items":[', *_separated(items, opening), b"]}\n"))


def _separated(items: list[bytes], opening: bytes) -> Iterator[bytes | memoryview]:
    """The parts of a list of items without what all begin with; long ones are copied once, when they are joined."""
    separator, skipped = b"", len(opening)
    for item in items:
        yield separator
        if opening and item.startswith(opening):
            yield b"{"
            yield memoryview(item)[skipped:]
        else:
            yield item
        separator = b","
