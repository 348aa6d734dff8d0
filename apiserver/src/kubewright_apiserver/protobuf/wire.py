"""The wire format: numbers, sizes and fields that nobody knows, with the limits and the words of Go's decoder."""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "END",
    "MalformedProtobuf",
    "int32_of",
    "int64_of",
    "number_of",
    "read_size",
    "read_text",
    "read_varint",
    "skip_field",
    "varint",
]

END: Final = "unexpected EOF"
_OVERFLOW: Final = "proto: integer overflow"
_NEGATIVE: Final = "proto: negative length found during unmarshaling"
_LARGEST: Final = 2**63 - 1
_ALL: Final = 2**64 - 1
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_VARINT, _FIXED64, _BYTES, _START, _STOP, _FIXED32 = range(6)


class MalformedProtobuf(ValueError):
    """Bytes that are not what they should be; the message is Go's."""


def read_varint(data: bytes, i: int, end: int) -> tuple[int, int]:
    """The number at a place before ``end``, as 64 bits without a sign, and where the next thing begins."""
    value = shift = 0
    while shift < 64:
        if i >= end:
            raise MalformedProtobuf(END)
        byte = data[i]
        i += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _ALL, i
        shift += 7
    raise MalformedProtobuf(_OVERFLOW)


def read_size(data: bytes, i: int, end: int) -> tuple[int, int]:
    """Where the bytes that begin with their size end, and where they begin."""
    size, i = read_varint(data, i, end)
    if size > _LARGEST - i:
        raise MalformedProtobuf(_NEGATIVE)
    if i + size > end:
        raise MalformedProtobuf(END)
    return i + size, i


def read_text(data: bytes) -> str:
    """Bytes as text; each that is no UTF-8 becomes the character for that, as in Go's JSON."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _SURROGATE.sub("\ufffd", data.decode(errors="surrogateescape"))


def int32_of(value: int) -> int:
    """The lower half of a number, with its sign."""
    return (value + 2**31) % 2**32 - 2**31


def int64_of(value: int) -> int:
    """A number with its sign."""
    return value - 2**64 if value > _LARGEST else value


def number_of(tag: int) -> int:
    """The number of the field that a tag announces."""
    return int32_of(tag >> 3)


def skip_field(data: bytes, i: int, end: int) -> int:
    """Where the field ends whose tag is at a place; it may be a group of fields."""
    depth = 0
    while i < end:
        tag, i = read_varint(data, i, end)
        wire_type = tag & 7
        if wire_type == _VARINT:
            _, i = read_varint(data, i, end)
        elif wire_type == _BYTES:
            size, i = read_varint(data, i, end)
            if size > _LARGEST - i:
                raise MalformedProtobuf(_NEGATIVE)
            i += size
        elif wire_type in (_START, _STOP):
            depth += 1 if wire_type == _START else -1
            if depth < 0:
                raise MalformedProtobuf("proto: unexpected end of group")
        elif wire_type in (_FIXED32, _FIXED64):
            i += 8 if wire_type == _FIXED64 else 4
        else:
            raise MalformedProtobuf(f"proto: illegal wireType {wire_type}")
        if depth == 0:
            return i
    raise MalformedProtobuf(END)


def varint(value: int) -> bytes:
    """A number as it is written; a negative one has 64 bits."""
    if 0 <= value < 0x80:
        return _SHORT[value]
    value &= _ALL
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


_SHORT: Final = tuple(bytes((value,)) for value in range(0x80))
