"""Reads messages exactly as Go does: fields in any order, repeated, unknown, and with Go's words for what is wrong."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Mapping
from typing import Any, Final

from kubewright_apiserver.protobuf.leaves import LIST, Leaf, is_list
from kubewright_apiserver.protobuf.messages import Field, Message, message_of
from kubewright_apiserver.protobuf.wire import (
    END,
    MalformedProtobuf,
    int32_of,
    int64_of,
    number_of,
    read_size,
    read_text,
    read_varint,
    skip_field,
)

__all__ = ["ExactReader", "Handler", "Value"]

Handler = Callable[[dict[str, Any], bytes, int, int], int]
"""Puts the field whose tag was before a place into an object; where the next thing begins."""
Value = Callable[[bytes, int, int], tuple[Any, int]]
"""The value at a place before an end, and where the next thing begins."""

_VARINT, _FIXED64, _BYTES, _STOP = 0, 1, 2, 4
_LARGEST_TAG: Final = 2**32


def _string(data: bytes, i: int, end: int) -> tuple[str, int]:
    stop, i = read_size(data, i, end)
    return read_text(data[i:stop]), stop


def _bytes(data: bytes, i: int, end: int) -> tuple[str, int]:
    stop, i = read_size(data, i, end)
    return base64.b64encode(data[i:stop]).decode(), stop


def _raw_bytes(data: bytes, i: int, end: int) -> tuple[bytes, int]:
    stop, i = read_size(data, i, end)
    return data[i:stop], stop


def _int32(data: bytes, i: int, end: int) -> tuple[int, int]:
    value, i = read_varint(data, i, end)
    return int32_of(value), i


def _int64(data: bytes, i: int, end: int) -> tuple[int, int]:
    value, i = read_varint(data, i, end)
    return int64_of(value), i


def _bool(data: bytes, i: int, end: int) -> tuple[bool, int]:
    value, i = read_varint(data, i, end)
    return value != 0, i


def _float64(data: bytes, i: int, end: int) -> tuple[float, int]:
    if i + 8 > end:
        raise MalformedProtobuf(END)
    (value,) = struct.unpack_from("<d", data, i)
    return value, i + 8


_SCALARS: Final[dict[str, tuple[int, Value]]] = {
    "string": (_BYTES, _string),
    "bytes": (_BYTES, _bytes),
    "int32": (_VARINT, _int32),
    "int64": (_VARINT, _int64),
    "bool": (_VARINT, _bool),
    "float64": (_FIXED64, _float64),
}
_ZEROS: Final[dict[str, Any]] = {"string": "", "bytes": ""}


class ExactReader:
    """Reads messages; what is known of each type is put together when it is first read."""

    def __init__(self, leaves: Mapping[str, Leaf]) -> None:
        self._leaves = leaves
        self._handlers: dict[str, dict[int, Handler]] = {}

    def read(self, definition: str, out: dict[str, Any], data: bytes, i: int, end: int) -> None:
        """Put the fields of a message into an object, beside or in place of what is there.

        Raises ``MalformedProtobuf``.
        """
        handlers = self.handlers(definition)
        while i < end:
            start = i
            tag, i = read_varint(data, i, end)
            handler = handlers.get(tag)
            if handler is not None:
                i = handler(out, data, i, end)
            else:
                i = self._stray(message_of(definition), out, data, start, i, end)

    def handlers(self, definition: str) -> dict[int, Handler]:
        """For each tag what becomes of its field."""
        found = self._handlers.get(definition)
        if found is None:
            found = self._handlers[definition] = {}
            message = message_of(definition)
            is_leaf = self.leaf(definition) is not None
            for field in message.fields:
                found.update(self._tagged(field._replace(name=field.go_name) if is_leaf else field))
        return found

    def leaf(self, definition: str) -> Leaf | None:
        """How a message is read that is a single value, None for others."""
        return LIST if is_list(message_of(definition)) else self._leaves.get(definition)

    def _tagged(self, field: Field) -> dict[int, Handler]:
        wire_type, value = self._value(field)
        if field.kind not in _SCALARS and self.leaf(field.kind) is None and field.label in ("", "*"):
            return {field.number << 3 | _BYTES: self._merging(field)}
        if field.label == "{}":
            return {field.number << 3 | _BYTES: _mapping(field.name, value, self._zero(field.kind))}
        if field.label == "[]":
            found = {field.number << 3 | wire_type: _appending(field.name, value)}
            return found if wire_type == _BYTES else found | {field.number << 3 | _BYTES: _packed(field.name, value)}
        keeps_zero = field.label == "*" or field.kind not in _SCALARS or field.kind == "bytes"
        return {field.number << 3 | wire_type: _setting(field.name, value, keeps_zero=keeps_zero)}

    def _value(self, field: Field) -> tuple[int, Value]:
        if field.name == "Raw" and field.kind == "bytes":
            return _BYTES, _raw_bytes
        if field.kind in _SCALARS:
            return _SCALARS[field.kind]
        leaf = self.leaf(field.kind)
        return _BYTES, self._whole(field.kind) if leaf is None else self.leaf_value(field.kind, leaf)

    def _zero(self, kind: str) -> Callable[[], Any]:
        if kind in _SCALARS:
            return lambda: _ZEROS[kind]
        leaf = self.leaf(kind)
        return dict if leaf is None else leaf.empty

    def _whole(self, definition: str) -> Value:
        def value(data: bytes, i: int, end: int) -> tuple[dict[str, Any], int]:
            stop, i = read_size(data, i, end)
            found: dict[str, Any] = {}
            self.read(definition, found, data, i, stop)
            return found, stop

        return value

    def leaf_value(self, definition: str, leaf: Leaf) -> Value:
        """The reader of a message that is a single value."""

        def value(data: bytes, i: int, end: int) -> tuple[Any, int]:
            stop, i = read_size(data, i, end)
            if i == stop:
                return leaf.empty(), stop
            found: dict[str, Any] = {}
            self.read(definition, found, data, i, stop)
            return leaf.value(found), stop

        return value

    def _merging(self, field: Field) -> Handler:
        name, kind = field.name, field.kind

        def handle(out: dict[str, Any], data: bytes, i: int, end: int) -> int:
            stop, i = read_size(data, i, end)
            self.read(kind, out.setdefault(name, {}) if name else out, data, i, stop)
            return stop

        return handle

    def _stray(self, message: Message, out: dict[str, Any], data: bytes, start: int, i: int, end: int) -> int:
        """Pass over an unknown field; refuse a known one of another wire type."""
        tag, _ = read_varint(data, start, end)
        wire_type, number = tag & 7, number_of(tag)
        if wire_type == _STOP:
            raise MalformedProtobuf(f"proto: {message.go_name}: wiretype end group for non-group")
        if number <= 0:
            raise MalformedProtobuf(f"proto: {message.go_name}: illegal tag {number} (wire type {tag})")
        if tag >= _LARGEST_TAG:
            # Go looks at the lower half of a number only.
            handler = self.handlers(message.definition).get(number << 3 | wire_type)
            if handler is not None:
                return handler(out, data, i, end)
        for field in message.fields:
            if field.number == number:
                raise MalformedProtobuf(f"proto: wrong wireType = {wire_type} for field {field.go_name}")
        stop = skip_field(data, start, end)
        if stop > end:
            raise MalformedProtobuf(END)
        return stop


def _setting(name: str, value: Value, *, keeps_zero: bool) -> Handler:
    def handle(out: dict[str, Any], data: bytes, i: int, end: int) -> int:
        found, i = value(data, i, end)
        if found is None or not (found or keeps_zero):
            out.pop(name, None)
        else:
            out[name] = found
        return i

    return handle


def _appending(name: str, value: Value) -> Handler:
    def handle(out: dict[str, Any], data: bytes, i: int, end: int) -> int:
        found, i = value(data, i, end)
        out.setdefault(name, []).append(found)
        return i

    return handle


def _packed(name: str, value: Value) -> Handler:
    """A list whose values are in one field."""

    def handle(out: dict[str, Any], data: bytes, i: int, end: int) -> int:
        stop, i = read_size(data, i, end)
        while i < stop:
            found, i = value(data, i, end)
            out.setdefault(name, []).append(found)
        return i

    return handle


def _mapping(name: str, value: Value, zero: Callable[[], Any]) -> Handler:
    """An entry of a map; a key or value in it may reach beyond it, and its wire types do not matter."""

    def handle(out: dict[str, Any], data: bytes, i: int, end: int) -> int:
        stop, i = read_size(data, i, end)
        key, found = "", zero()
        while i < stop:
            start = i
            tag, i = read_varint(data, i, end)
            number = number_of(tag)
            if number == 1:
                key, i = _string(data, i, end)
            elif number == 2:
                found, i = value(data, i, end)
            else:
                i = skip_field(data, start, end)
                if i > stop:
                    raise MalformedProtobuf(END)
        out.setdefault(name, {})[key] = found
        return stop

    return handle
