"""Reads messages as Go's clients write them: every field at most once, in the order of numbers, texts in UTF-8.

For each type of messages a function is written, in Python, that expects one field after the other; that takes half the
time of looking up what comes. It gives up on whatever is different, which then is for ``exact``.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final

from kubewright_apiserver.protobuf.exact import ExactReader
from kubewright_apiserver.protobuf.messages import Field, message_of
from kubewright_apiserver.protobuf.wire import int32_of, int64_of, read_varint

__all__ = ["CanonicalReader", "Unusual"]

Read = Callable[[dict[str, Any], bytes, int, int], dict[str, Any]]
"""Puts the fields of the message between two places into an object, and gives it back."""

_SHORT_TAG: Final = 0x80
_VARINT, _FIXED64, _BYTES = 0, 1, 2
_WIRE_TYPES: Final = {"bool": _VARINT, "int32": _VARINT, "int64": _VARINT, "float64": _FIXED64}
_CONSTANTS: Final = 4096


class Unusual(ValueError):
    """A message that Go's clients would not write so, or that is malformed."""


def _long_int32(data: bytes, i: int, end: int) -> tuple[int, int]:
    value, i = read_varint(data, i, end)
    return int32_of(value), i


def _long_int64(data: bytes, i: int, end: int) -> tuple[int, int]:
    value, i = read_varint(data, i, end)
    return int64_of(value), i


class CanonicalReader:
    """Reads messages by functions that are written when a type is first read."""

    def __init__(self, exact: ExactReader) -> None:
        self._exact = exact
        self._readers: dict[str, Read] = {}

    def read(self, definition: str, data: bytes) -> dict[str, Any]:
        """The object in a message.

        Raises ``Unusual``, ``IndexError`` or another ``ValueError`` for one that ``ExactReader`` must read.
        """
        return self._reader(definition)({}, data, 0, len(data))

    def _reader(self, definition: str) -> Read:
        found = self._readers.get(definition)
        if found is None:
            found = self._readers[definition] = self._written(definition)
        return found

    def _written(self, definition: str) -> Read:
        names: dict[str, Any] = {
            "Unusual": Unusual,
            "varint": read_varint,
            "long_int32": _long_int32,
            "long_int64": _long_int64,
        }
        lines = ["def read(out, data, i, end):", " if i == end: return out", " tag = data[i]"]
        for field in message_of(definition).fields:
            lines += (f" {line}" for line in self._lines(definition, field, names))
        lines.append(" raise Unusual")
        exec("\n".join(lines), names)
        written: Read = names["read"]
        return written

    def _lines(self, definition: str, field: Field, names: dict[str, Any]) -> Iterator[str]:
        """The statements that read a field if it comes next; ``tag`` and ``i`` are then what comes after it."""
        tag = field.number << 3 | _WIRE_TYPES.get(field.kind, _BYTES)
        test, step = f"tag == {tag}", 1
        if tag >= _SHORT_TAG:
            test, step = f"tag == {tag & 0x7F | 0x80} and data[i + 1] == {tag >> 7}", 2
        if (field.label == "[]" and field.kind in _WIRE_TYPES) or field.kind == "float64":
            names[f"read{field.number}"] = self._exact.handlers(definition)[tag]
            yield f"while {test}:"
            yield f" i = read{field.number}(out, data, i + {step}, end)"
        elif field.kind in _WIRE_TYPES:
            yield f"if {test}:"
            yield from _number(field, step)
        else:
            yield from self._sized(field, names, test, step)
        yield " if i >= end:"
        yield "  if i == end: return out"
        yield "  raise Unusual"
        yield " tag = data[i]"

    def _sized(self, field: Field, names: dict[str, Any], test: str, step: int) -> Iterator[str]:
        name, is_many = repr(field.name), field.label in ("[]", "{}")
        if is_many:
            yield f"if {test}: many = out[{name}] = {field.label}"
        yield f"while {test}:" if is_many else f"if {test}:"
        yield f" size = data[i + {step}]"
        yield f" i += {step + 1}"
        yield " if size > 127: size, i = varint(data, i - 1, end)"
        yield " stop = i + size"
        if field.label == "{}":
            yield from self._entry(field, names)
        else:
            value = self._value(field, names)
            if field.label == "[]":
                yield f" many.append({value})"
            elif not field.name:
                yield f" if size: {value}"
            elif field.kind == "string" and field.label == "":
                yield f" if size: out[{name}] = {value}"
            elif self._is_optional(field):
                yield f" found = {value}"
                yield f" if found is not None: out[{name}] = found"
            else:
                yield f" out[{name}] = {value}"
        yield " i = stop"

    def _entry(self, field: Field, names: dict[str, Any]) -> Iterator[str]:
        """An entry of a map is its key and its value, with short sizes."""
        yield " if data[i] != 10: raise Unusual"
        yield " size = data[i + 1]"
        yield " i += 2"
        yield " if size > 127: size, i = varint(data, i - 1, stop)"
        yield " begin = i"
        yield " i += size"
        yield " if i >= stop or data[i] != 18: raise Unusual"
        yield " key = data[begin:i].decode()"
        yield " size = data[i + 1]"
        yield " i += 2"
        yield " if size > 127: size, i = varint(data, i - 1, stop)"
        yield " if i + size != stop: raise Unusual"
        yield f" many[key] = {self._value(field, names)}"

    def _value(self, field: Field, names: dict[str, Any]) -> str:
        """The expression for what is between ``i`` and ``stop``."""
        if field.kind == "string":
            return "data[i:stop].decode()"
        name = f"read{field.number}"
        if field.kind == "bytes" or self._exact.leaf(field.kind) is not None:
            names[name] = self._part(field)
            return f"{name}(data[i:stop])"
        names[name] = self._later(field.kind, name, names)
        out = "{}" if field.name else "out"
        return f"{name}({out}, data, i, stop)"

    def _part(self, field: Field) -> Callable[[bytes], Any]:
        """The reader of a single value that has its bytes for itself."""
        leaf = self._exact.leaf(field.kind) if field.kind != "bytes" else None
        if leaf is None:
            return lambda data: base64.b64encode(data).decode()
        definition, exact, made = field.kind, self._exact, leaf

        def read(data: bytes) -> Any:
            if not data:
                return made.empty()
            found: dict[str, Any] = {}
            exact.read(definition, found, data, 0, len(data))
            return made.value(found)

        return lru_cache(maxsize=_CONSTANTS)(read) if leaf.is_constant else read

    def _is_optional(self, field: Field) -> bool:
        leaf = self._exact.leaf(field.kind) if field.kind not in ("string", "bytes") else None
        return leaf is not None and leaf.empty() is None

    def _later(self, definition: str, name: str, names: dict[str, Any]) -> Read:
        """A reader that is put in its own place when it is first needed: most messages have few of their fields."""

        def read(out: dict[str, Any], data: bytes, i: int, end: int) -> dict[str, Any]:
            names[name] = self._reader(definition)
            return self._reader(definition)(out, data, i, end)

        return read


def _number(field: Field, step: int) -> Iterator[str]:
    yield f" value = data[i + {step}]"
    yield f" i += {step + 1}"
    if field.kind == "bool":
        yield " if value > 1: raise Unusual"
        yield f" if value: out[{field.name!r}] = True"
        if field.label == "*":
            yield f" else: out[{field.name!r}] = False"
        return
    yield f" if value > 127: value, i = long_{field.kind}(data, i - 1, end)"
    yield f" out[{field.name!r}] = value" if field.label == "*" else f" if value: out[{field.name!r}] = value"
