"""From rows of the store to what a client asked for: whole objects at a version, or their metadata."""

from __future__ import annotations

from typing import Any

import orjson

from kubewright_apiserver.registry import Served
from kubewright_apiserver.registry.behaviours import behaviour_of
from kubewright_apiserver.store import Row

__all__ = ["listed", "object_at", "partial", "rendered", "shown"]


def object_at(row: Row, served: Served) -> dict[str, Any]:
    """The object of a row at the version of a resource, fresh: the caller may change it."""
    obj: dict[str, Any] = orjson.loads(row.value)
    return behaviour_of(served).from_storage(obj)


def rendered(row: Row, served: Served, representation: str = "") -> bytes:
    """The object of a row as JSON in the representation that was asked for; made once for each row."""
    if not representation and behaviour_of(served).is_stored_as_served:
        return row.value
    key = (served.api_version, representation)
    found: bytes | None = row.memo.get(key)
    if found is None:
        found = row.memo[key] = orjson.dumps(_represented(row, served, representation))
    return found


def _represented(row: Row, served: Served, representation: str) -> dict[str, Any]:
    if representation == "metadata":
        return partial(row.obj)
    return object_at(row, served)


def partial(obj: dict[str, Any]) -> dict[str, Any]:
    """The metadata of an object, as PartialObjectMetadata."""
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}


def shown(obj: dict[str, Any], representation: str) -> dict[str, Any]:
    """An object that is not stored, in the representation that was asked for."""
    return partial(obj) if representation == "metadata" else obj


def listed(rows: list[Row], served: Served, representation: str, metadata: dict[str, Any]) -> bytes:
    """A list of the rows as JSON; items of built-in kinds do not repeat their kind and version."""
    if representation == "metadata":
        head = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
        items = [rendered(row, served, representation) for row in rows]
    else:
        head = {"kind": served.list_kind, "apiVersion": served.api_version, "metadata": metadata}
        items = [_item(rendered(row, served), served) for row in rows]
    return orjson.dumps(head)[:-1] + b',"items":[' + b",".join(items) + b"]}"


def _item(data: bytes, served: Served) -> bytes:
    if served.crd is not None:
        return data
    opening = f'{{"kind":"{served.kind}","apiVersion":"{served.api_version}",'.encode()
    return b"{" + data[len(opening) :] if data.startswith(opening) else data
