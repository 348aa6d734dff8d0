"""Between bytes and objects: decoding that forgets nothing, encoding that sends nothing unasked.

On the path of one change this is where ``client`` and ``cache`` turn JSON into what a reconcile sees, and back.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from kubewright.api.leniency import lenient
from kubewright.api.metadata import Metadata
from kubewright.api.microtime import MicroTime
from kubewright.api.overlay import overlay, shape_of
from kubewright.api.patch import merge_patch
from kubewright.api.quantity import Quantity
from kubewright.api.resource import _BASE, MetadataOnly, Resource, Unstructured
from kubewright.errors import NotRead, Undecodable

__all__ = ["base_of", "changes", "decode", "encode", "read_version", "to_dict"]

R = TypeVar("R", bound=Resource)


def _read_scalar(kind: type, value: Any) -> Any:
    if kind is Quantity:
        return Quantity(value)
    if kind is MicroTime:
        return MicroTime.parse(value)
    raise NotImplementedError(f"{kind.__name__} is not a type that kubewright reads from JSON")


def _write_scalar(value: Any) -> Any:
    if isinstance(value, Quantity | MicroTime):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} is not a type that kubewright writes as JSON")


@functools.cache
def _decoder(kind: Any) -> Callable[[bytes], Any]:
    return msgspec.json.Decoder(kind, dec_hook=_read_scalar).decode


def decode(kind: type[R], data: bytes) -> R:
    """The object in ``data``, which it keeps as its base: a later write sends only what changed.

    *Guarantees*: lists and maps may be null, whole numbers may be written as ``3.0``, unknown fields are kept.

    *Raises* ``Undecodable`` naming object and field.
    """
    obj = _untyped(kind, data) if issubclass(kind, Unstructured) else _typed(kind, data)
    obj.__dict__[_BASE] = data
    return obj


def _typed(kind: type[R], data: bytes) -> R:
    try:
        obj: R = _decoder(kind)(data)
    except msgspec.ValidationError:
        obj = _convert(kind, lenient(_json(kind, data), kind), data)
    except msgspec.DecodeError as error:
        raise _undecodable(kind, data, error) from None
    return obj


class _WithMetadata(msgspec.Struct):
    metadata: Metadata = msgspec.field(default_factory=Metadata)


def _untyped(kind: type[R], data: bytes) -> R:
    document = _json(kind, data)
    try:
        metadata = _decoder(_WithMetadata)(data).metadata
    except msgspec.ValidationError:
        metadata = _convert(Metadata, lenient(document.get("metadata") or {}, Metadata), data)
    for known in ("apiVersion", "kind", "metadata"):
        document.pop(known, None)
    return kind(metadata=metadata, content=document)  # type: ignore[call-arg]


def _json(kind: type, data: bytes) -> dict[str, Any]:
    try:
        document = msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise _undecodable(kind, data, error) from None
    if not isinstance(document, dict):
        raise Undecodable(f"{kind.__name__}: expected a JSON object, got {type(document).__name__}")
    return document


def _convert(kind: Any, value: Any, data: bytes) -> Any:
    try:
        return _decoder(kind)(msgspec.json.encode(value))
    except msgspec.ValidationError as error:
        raise _undecodable(kind, data, error) from None


class _Name(msgspec.Struct):
    namespace: str = ""
    name: str = ""


class _Named(msgspec.Struct):
    metadata: _Name


def _undecodable(kind: type, data: bytes, error: Exception) -> Undecodable:
    try:
        found = msgspec.json.decode(data, type=_Named).metadata
        whose = f' "{found.namespace}/{found.name}"' if found.namespace else f' "{found.name}"'
    except msgspec.DecodeError:
        whose = ""
    return Undecodable(f"{kind.__name__}{whose} does not fit its Python type: {error}")


def base_of(obj: Resource) -> bytes | None:
    """The JSON that this object was read from, or None for an object made in Python."""
    base: bytes | None = obj.__dict__.get(_BASE)
    return base


class _Version(msgspec.Struct, rename="camel"):
    resource_version: str = ""


class _Versioned(msgspec.Struct):
    metadata: _Version


def read_version(obj: Resource) -> str:
    """The resourceVersion at which the object was read, whatever was done to its metadata since."""
    base = base_of(obj)
    return msgspec.json.decode(base, type=_Versioned).metadata.resource_version if base else ""


def _known(obj: Resource) -> dict[str, Any]:
    """What the Python type knows of the object, as JSON has it."""
    document: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(obj, enc_hook=_write_scalar))
    if isinstance(obj, Unstructured):
        content = document.pop("content")
        return {**content, **document}
    return document


def to_dict(obj: Resource) -> dict[str, Any]:
    """The whole object as JSON has it: what was read with the changes laid over it, or what was made."""
    base = base_of(obj)
    if base is None:
        return {"apiVersion": obj.api_version, "kind": obj.kind, **_known(obj)}
    raw = msgspec.json.decode(base)
    if isinstance(obj, MetadataOnly):
        raw |= {"apiVersion": obj.api_version, "kind": obj.kind}
    result: dict[str, Any] = _laid_over(obj, base, raw)
    return {"apiVersion": obj.api_version, "kind": obj.kind, **result}


def _laid_over(obj: R, base: bytes, raw: dict[str, Any]) -> Any:
    return overlay(raw, _known(decode(type(obj), base)), _known(obj), shape_of(type(obj)))


def encode(obj: Resource) -> bytes:
    """The whole object as JSON bytes, with ``apiVersion`` and ``kind``."""
    return msgspec.json.encode(to_dict(obj))


def changes(obj: Resource) -> dict[str, Any]:
    """What was changed since the object was read, as a merge patch; empty when nothing was.

    *Raises* ``NotRead`` for an object that was not read from a server.
    """
    base = base_of(obj)
    if base is None:
        raise NotRead(
            f'{obj.kind} "{obj.name}" was not read from the API server, so there is nothing to compare it with: '
            "get it first, or create or apply it"
        )
    raw = msgspec.json.decode(base)
    return merge_patch(raw, _laid_over(obj, base, raw))
