"""JSON as it was written: objects with every field in its place, numbers with all their digits.

Parsers keep the last of two equal fields silently, and forget how a number was written; kube-apiserver tells of both.
The tree is made only when there is something to tell. ``has_duplicates`` is what every write pays.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

import msgspec
import orjson

from kubewright_apiserver.json_syntax import syntax_error

__all__ = [
    "HugeNumber",
    "MalformedJson",
    "Number",
    "Pairs",
    "has_duplicates",
    "read_json",
    "read_tree",
    "read_untyped",
    "read_whole",
]

# An escaped colon counts where it is written as one; only then equal counts prove nothing.
_COLON: Final = re.compile(rb"\\u003[aA]")
_ESCAPE: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)
# orjson writes no more than 254 levels, and managedFields are four deeper than what they tell of.
_DEEPEST: Final = 250
_TOO_DEEP: Final = "invalid character '{' exceeded max depth"
# Nineteen digits may be more than 64 bits.
_DIGITS: Final = bytes(0x30 if 0x30 <= byte <= 0x39 else 0x20 for byte in range(256))
_MANY_DIGITS: Final = b"0" * 19
_MOST_DIGITS: Final = 20
_UNDECODABLE: Final = str.maketrans(dict.fromkeys(range(0xDC80, 0xDD00), "\ufffd"))


class MalformedJson(ValueError):
    """A text that is no JSON; the message is that of Go's scanner."""


class HugeNumber(ValueError):
    """A number that is too large even for a float; the message is Go's."""


class Pairs(tuple[tuple[str, Any], ...]):
    """The fields of one object, as often as they were written."""

    __slots__ = ()


class Number(str):
    """A number as it was written."""

    __slots__ = ()


def read_json(data: bytes) -> Any:
    """The value of a JSON text as Go reads it: what is no Unicode becomes U+FFFD, and depth has an end.

    A number too large to be one is infinite.

    Raises ``MalformedJson``.
    """
    try:
        return orjson.loads(data)
    except ValueError:
        message = syntax_error(data) or syntax_error(data, deepest=_DEEPEST)
    if message is not None:
        raise MalformedJson(message)
    return json.loads(_unicode(data), parse_int=_typed_integer)


def _typed_integer(text: str) -> float:
    # Python limits the digits of an integer, and 64 bits hold no more than twenty.
    number = int(text) if len(text) <= _MOST_DIGITS else float(text)
    return number if -(2**63) <= number < 2**64 else float(number)


def _unicode(data: bytes) -> str:
    # Go puts one replacement for each undecodable byte, Python's own "replace" one for each broken sequence.
    text = data.decode(errors="surrogateescape").translate(_UNDECODABLE)
    return _ESCAPE.sub(_paired, text)


def _paired(found: re.Match[str]) -> str:
    return "\\ufffd" if found[1] else found[0]


def read_untyped(data: bytes) -> Any:
    """The value of a JSON text as Go keeps it where it knows no type: numbers without a fraction or an exponent are
    integers if 64 bits hold them, and all others floats.

    Raises ``MalformedJson``, or ``HugeNumber``.
    """
    return _read_untyped(data, _UNTYPED)


def read_whole(data: bytes) -> Any:
    """The same, but whole numbers are integers however they are written, as after Go's way from YAML to JSON."""
    return _read_untyped(data, _WHOLE)


def _read_untyped(data: bytes, decoder: msgspec.json.Decoder[Any]) -> Any:
    try:
        value = decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        read_json(data)
        value = json.loads(_unicode(data), parse_float=decoder.float_hook, parse_int=_untyped_integer)
    return _within_64_bits(value) if _MANY_DIGITS in data.translate(_DIGITS) else value


def _untyped_integer(text: str) -> float:
    return int(text) if len(text) <= _MOST_DIGITS else _untyped_float(text)


def _untyped_float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise HugeNumber(f"json: cannot unmarshal number {text} into Go value of type float64")
    return number


def _whole_float(text: str) -> float:
    number = _untyped_float(text)
    return int(number) if number.is_integer() and abs(number) < 2**63 else number


_UNTYPED: Final = msgspec.json.Decoder(float_hook=_untyped_float)
_WHOLE: Final = msgspec.json.Decoder(float_hook=_whole_float)


def _within_64_bits(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _within_64_bits(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_within_64_bits(inner) for inner in value]
    return _untyped_float(str(value)) if type(value) is int and not -(2**63) <= value < 2**63 else value


def read_tree(data: bytes) -> Any:
    """A text that ``read_json`` reads as a tree of ``Pairs``, lists, texts, ``Number``, booleans and None.

    Raises ``MalformedJson`` for one that is too deep for a tree.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = _unicode(data)
    if "\\ud" in text or "\\uD" in text:
        text = _unicode(data)
    try:
        return json.loads(text, object_pairs_hook=Pairs, parse_int=Number, parse_float=Number)
    except RecursionError:
        raise MalformedJson(_TOO_DEEP) from None


def has_duplicates(data: bytes, value: Any) -> bool:
    """Whether some object in a text, whose value is given, has a field twice.

    A field that was lost took its colon with it, so as many colons in the value's own encoding mean none was.

    Raises ``MalformedJson`` for a value that is too deep to be encoded again, and so to be stored.
    """
    try:
        encoded = orjson.dumps(value)
    except TypeError:
        raise MalformedJson(_TOO_DEEP) from None
    if data.count(b":") == encoded.count(b":") and not _COLON.search(data):
        return False
    return _repeats(read_tree(data))


def _repeats(tree: Any) -> bool:
    if isinstance(tree, Pairs):
        names = [name for name, _ in tree]
        return len(names) != len(set(names)) or any(_repeats(inner) for _, inner in tree)
    return isinstance(tree, list) and any(map(_repeats, tree))
