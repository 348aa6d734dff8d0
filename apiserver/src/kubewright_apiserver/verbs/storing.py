"""Storing an object, unless it is larger than what etcd takes in one request."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import orjson

from kubewright_apiserver.schema.node import Node
from kubewright_apiserver.status import internal_error
from kubewright_apiserver.store import Row
from kubewright_apiserver.verbs.call import Call

__all__ = ["put_object"]

_LARGEST_REQUEST: Final = 1536 * 1024
_LARGEST_MESSAGE: Final = 2 << 20
# A transaction: the comparison of the revision, what to put, and for updates what to get if that fails.
_CREATION: Final = 25
_UPDATE: Final = 30
_METADATA: Final = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers",
    "managedFields",
)  # fmt: skip
_RANK: Final = {name: rank for rank, name in enumerate(_METADATA)}


class _TooLarge(Exception):
    """What etcd, or the connection to it, says to a request that is too large."""


async def put_object(call: Call, table: str, key: str, obj: dict[str, Any], *, expected: int) -> Row:
    """The row of a stored object, whose ``metadata.resourceVersion`` is set in place.

    One that is too large is stored without its managedFields, except by an apply; if that does not help, it is refused
    (500).
    """
    _put_in_order(obj["metadata"], is_custom=call.served.crd is not None)
    store = call.engine.store
    check = partial(_check_size, call, key, expected)
    try:
        try:
            return await store.put(table, key, obj, expected=expected, check=check)
        except _TooLarge:
            is_apply = call.headers.get("content-type", "").startswith("application/apply-patch")
            if is_apply or not obj["metadata"].pop("managedFields", None):
                raise
        return await store.put(table, key, obj, expected=expected, check=check)
    except _TooLarge as error:
        raise internal_error(str(error)) from None


def _put_in_order(metadata: dict[str, Any], *, is_custom: bool) -> None:
    """Order the fields as Go writes them, with a place for the revision: those of custom resources by name."""
    metadata.setdefault("resourceVersion", "")
    names = sorted(metadata) if is_custom else sorted(metadata, key=_RANK.__getitem__)
    ordered = [(name, metadata[name]) for name in names]
    metadata.clear()
    metadata.update(ordered)


def _check_size(call: Call, key: str, expected: int, value: bytes) -> None:
    """Raise ``_TooLarge`` if etcd would not take the request to store an object with this JSON."""
    is_custom = call.served.crd is not None
    length = len(f"/registry/{f'{call.served.group}/' if is_custom else ''}{call.served.plural}/{key}".encode())
    size = _json_size(value) if is_custom else _weight(orjson.loads(value), call.served.node)
    if call.method in ("PUT", "PATCH"):
        size += 3 * length + _UPDATE + max(1, -(-expected.bit_length() // 7))
    else:
        size += 2 * length + _CREATION
    if size > _LARGEST_MESSAGE:
        limit = f"trying to send message larger than max ({size} vs. {_LARGEST_MESSAGE})"
        raise _TooLarge(f"rpc error: code = ResourceExhausted desc = {limit}")
    if size > _LARGEST_REQUEST:
        raise _TooLarge("etcdserver: request is too large")


def _json_size(value: bytes) -> int:
    """The size of a custom resource as Go writes it, which has a line end, no revision, and escapes for HTML."""
    version = orjson.loads(value)["metadata"]["resourceVersion"]
    escapes = sum(value.count(sign) for sign in (b"<", b">", b"&"))
    return len(value) + 1 - len(f'"resourceVersion":"{version}",') + 5 * escapes


def _weight(value: Any, node: Node) -> int:
    """About the size of a value of a built-in type as protobuf, which has no names of fields."""
    if isinstance(value, str):
        size = len(value.encode())
        return 3 + (size * 3 // 4 if node.schema.get("format") == "byte" else size)
    if node.type == "any":
        return 3 + len(orjson.dumps(value))
    if isinstance(value, dict):
        names = sum(len(name.encode()) + 3 for name in value) if node.type == "map" else 0
        return 3 + names + sum(_weight(inner, node.field(name)) for name, inner in value.items())
    if isinstance(value, list):
        return sum(_weight(inner, node.item) for inner in value)
    return 3
