"""``encode``: objects of built-in kinds as Go writes them in protobuf, byte for byte.

A message is laid out as a list of its fields as they are written when empty; what an object has is put in its place.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import lru_cache, partial
from typing import Any, Final

import orjson

from kubewright_apiserver.protobuf.leaves import (
    FIELDS,
    INT_OR_STRING,
    JSON,
    MICRO_TIME,
    QUANTITY,
    RAW,
    SCHEMA_OR_ARRAY,
    SCHEMA_OR_BOOL,
    SCHEMA_OR_TEXTS,
    TIME,
    is_list,
)
from kubewright_apiserver.protobuf.messages import Field, message_of
from kubewright_apiserver.protobuf.wire import varint

__all__ = ["encode", "encode_list", "sized"]

Write = Callable[[Any], bytes]
"""What a value comes to on the wire, without its tag."""

_VARINT, _FIXED64, _BYTES = 0, 1, 2
_WIRE_TYPES: Final = {"bool": _VARINT, "int32": _VARINT, "int64": _VARINT, "float64": _FIXED64}
_EPOCH: Final = datetime(1970, 1, 1)
_SHORT: Final = 0x80
_KEY, _VALUE = b"\x0a", b"\x12"
_SCHEMA: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"


def sized(data: bytes) -> bytes:
    """Bytes with their size before them."""
    size = len(data)
    return (_SIZES[size] if size < _SHORT else varint(size)) + data


_SIZES: Final = tuple(bytes((size,)) for size in range(_SHORT))


def encode(definition: str, value: Mapping[str, Any]) -> bytes:
    """The message of a definition that an object is, without its kind and version.

    Raises ``KeyError`` for a definition that has no protobuf form.
    """
    return _layout(definition).message(value)


def encode_list(definition: str, metadata: Mapping[str, Any], items: Iterable[bytes]) -> list[bytes]:
    """The parts of the message of a list whose items are messages already; a long list is best copied once."""
    parts: list[bytes] = []
    for field in message_of(definition).fields:
        tag = varint(field.number << 3 | _BYTES)
        for item in items if field.name == "items" else (encode(field.kind, metadata),):
            parts += (tag + varint(len(item)), item)
    return parts


class _Layout:
    """What a message is made of."""

    __slots__ = ("_empty", "_inlined", "_places")

    def __init__(self) -> None:
        self._empty: list[bytes] = []
        self._places: dict[str, tuple[int, Write]] = {}
        self._inlined: list[tuple[int, Write]] = []

    def fill(self, definition: str) -> None:
        for place, field in enumerate(message_of(definition).fields):
            write = _labelled(field)
            if field.name:
                self._places[field.name] = place, write
            else:
                self._inlined.append((place, write))
            self._empty.append(_absent(field, write))

    def message(self, value: Mapping[str, Any]) -> bytes:
        parts = self._empty.copy()
        places = self._places
        for name, found in value.items():
            if found is not None and name in places:
                place, write = places[name]
                parts[place] = write(found)
        for place, write in self._inlined:
            parts[place] = write(value)
        return b"".join(parts)


_layouts: Final[dict[str, _Layout]] = {}


def _layout(definition: str) -> _Layout:
    """The layout of a message; schemas are inside of themselves, so it is there before it is complete."""
    found = _layouts.get(definition)
    if found is None:
        message_of(definition)
        found = _layouts[definition] = _Layout()
        found.fill(definition)
    return found


def _absent(field: Field, write: Write) -> bytes:
    """What is written for a field that an object does not have."""
    if field.label or field.kind == "bytes" or _zero(field.kind) == []:
        return b""
    return write(_zero(field.kind))


def _zero(kind: str) -> Any:
    if kind in _ZEROS:
        return _ZEROS[kind]
    return [] if is_list(message_of(kind)) else {}


def _labelled(field: Field) -> Write:
    """What a field comes to with its tags."""
    tag = varint(field.number << 3 | (_BYTES if field.label == "{}" else _WIRE_TYPES.get(field.kind, _BYTES)))
    write = _writer(field.kind)
    if field.label == "[]":
        return lambda values: b"".join([tag + write(value) for value in values])
    if field.label == "{}":
        return partial(_entries, tag, write, b"" if field.kind == "bytes" else _VALUE + write(_zero(field.kind)))
    return lambda value: tag + write(value)


def _entries(tag: bytes, write: Write, nothing: bytes, values: dict[str, Any]) -> bytes:
    parts = []
    for key in sorted(values):
        value = values[key]
        written = nothing if value is None else _VALUE + write(value)
        parts.append(tag + sized(_KEY + _text(key) + written))
    return b"".join(parts)


def _writer(kind: str) -> Write:
    if kind in _SCALARS:
        return _SCALARS[kind]
    if kind in _LEAVES:
        return _LEAVES[kind]
    if is_list(message_of(kind)):
        return _texts
    message = _layout(kind).message
    return lambda value: sized(message(value))


def _text(value: str) -> bytes:
    data = value.encode()
    size = len(data)
    return (_SIZES[size] if size < _SHORT else varint(size)) + data


def _bool(value: bool) -> bytes:
    return b"\x01" if value else b"\x00"


def _bytes(value: str) -> bytes:
    return sized(base64.b64decode(value))


def _float(value: float) -> bytes:
    return struct.pack("<d", value)


def _texts(values: list[str]) -> bytes:
    return sized(b"".join([_KEY + _text(value) for value in values]))


@lru_cache(maxsize=4096)
def _time(value: str) -> bytes:
    """A point in time; nothing is none."""
    return sized(_stamp(value)) if value else b"\x00"


def _stamp(value: str) -> bytes:
    span = datetime.fromisoformat(value.removesuffix("Z")) - _EPOCH
    return b"\x08" + varint(span.days * 86400 + span.seconds) + b"\x10" + varint(span.microseconds * 1000)


@lru_cache(maxsize=4096)
def _quantity(value: str) -> bytes:
    return sized(_KEY + _text(value))


@lru_cache(maxsize=4096)
def _int_or_string(value: int | str) -> bytes:
    if isinstance(value, str):
        return sized(b"\x08\x01\x10\x00\x1a" + _text(value))
    return sized(b"\x08\x00\x10" + varint(value) + b"\x1a\x00")


def _raw(value: Any) -> bytes:
    """JSON as it is; nothing is none."""
    return b"\x00" if value is _NO_JSON else sized(_KEY + sized(orjson.dumps(value)))


def _schema_or_array(value: Any) -> bytes:
    if value is _NO_JSON:
        return b"\x00"
    if isinstance(value, list):
        return sized(b"".join([_VALUE + sized(encode(_SCHEMA, one)) for one in value]))
    return sized(_KEY + sized(encode(_SCHEMA, value)))


def _schema_or_bool(value: Any) -> bytes:
    if isinstance(value, bool):
        return sized(b"\x08" + _bool(value))
    return sized(b"\x08\x01\x12" + sized(encode(_SCHEMA, value)))


def _schema_or_texts(value: Any) -> bytes:
    if value is _NO_JSON:
        return b"\x00"
    if isinstance(value, list):
        return sized(b"".join([_VALUE + _text(one) for one in value]))
    return sized(_KEY + sized(encode(_SCHEMA, value)))


class _NoJson:
    """Stands for JSON that is not there, since None is one that is."""


_NO_JSON: Final = _NoJson()
_ZEROS: Final[dict[str, Any]] = {
    "string": "",
    "bool": False,
    "int32": 0,
    "int64": 0,
    "float64": 0,
    TIME: "",
    MICRO_TIME: "",
    QUANTITY: "0",
    INT_OR_STRING: 0,
    RAW: _NO_JSON,
    JSON: _NO_JSON,
    FIELDS: _NO_JSON,
    SCHEMA_OR_ARRAY: _NO_JSON,
    SCHEMA_OR_BOOL: False,
    SCHEMA_OR_TEXTS: _NO_JSON,
}
_SCALARS: Final[dict[str, Write]] = {
    "string": _text,
    "bytes": _bytes,
    "bool": _bool,
    "int32": varint,
    "int64": varint,
    "float64": _float,
}
_LEAVES: Final[dict[str, Write]] = {
    TIME: _time,
    MICRO_TIME: _time,
    QUANTITY: _quantity,
    INT_OR_STRING: _int_or_string,
    RAW: _raw,
    JSON: _raw,
    FIELDS: _raw,
    SCHEMA_OR_ARRAY: _schema_or_array,
    SCHEMA_OR_BOOL: _schema_or_bool,
    SCHEMA_OR_TEXTS: _schema_or_texts,
}
