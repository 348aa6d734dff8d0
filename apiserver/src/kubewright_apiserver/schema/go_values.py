"""Single values of a JSON tree as Go's decoder takes them."""

from __future__ import annotations

import base64
import re
from typing import Any, Final

from kubewright_apiserver.golang import go_json
from kubewright_apiserver.json_tree import Number, Pairs

__all__ = ["INT32", "INT64", "InvalidBase64", "decoded_base64", "go_name", "integer_of", "plain_value", "tree_of"]

INT32: Final = range(-(2**31), 2**31)
INT64: Final = range(-(2**63), 2**63)

_MOST_DIGITS: Final = 1000
_INTEGER: Final = re.compile(r"-?[0-9]+")
_DIGITS: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_LINE_ENDS: Final = b"\r\n"
_PAD: Final = 0x3D


class InvalidBase64(ValueError):
    """A text that is no base64; the message is Go's."""


def go_name(tree: Any) -> str:
    """What Go calls a JSON value of this sort."""
    if isinstance(tree, Pairs):
        return "object"
    if isinstance(tree, list):
        return "array"
    if isinstance(tree, bool):
        return "bool"
    return "number" if isinstance(tree, Number) else "string"


def integer_of(tree: Any, allowed: range) -> int | None:
    """The integer that is written without fraction and exponent and is in range; None for everything else."""
    if not (isinstance(tree, Number) and _INTEGER.fullmatch(tree)):
        return None
    # Python limits the digits of an integer; no range here is that wide.
    number = int(tree) if len(tree) < _MOST_DIGITS else None
    return number if number is not None and number in allowed else None


def plain_value(tree: Any) -> Any:
    """A tree as ordinary JSON; of repeated fields the last stays."""
    if isinstance(tree, Pairs):
        return {name: plain_value(inner) for name, inner in tree}
    if isinstance(tree, list):
        return [plain_value(inner) for inner in tree]
    if isinstance(tree, Number):
        integer = integer_of(tree, INT64)
        return float(tree) if integer is None else integer
    return tree


def tree_of(value: Any) -> Any:
    """Ordinary JSON as a tree, its numbers as Go would write them."""
    if isinstance(value, dict):
        return Pairs((name, tree_of(inner)) for name, inner in value.items())
    if isinstance(value, list):
        return [tree_of(inner) for inner in value]
    return value if value is None or isinstance(value, bool | str) else Number(go_json(value))


def decoded_base64(text: str) -> bytes:
    """What base64 stands for; line ends in it are nothing.

    Raises ``InvalidBase64``.
    """
    data = text.encode()
    wrong = _wrong_byte(data)
    if wrong is not None:
        raise InvalidBase64(f"illegal base64 data at input byte {wrong}")
    return base64.b64decode(data.translate(None, _LINE_ENDS))


def _wrong_byte(data: bytes) -> int | None:
    """Where Go's decoder stops, which takes four digits at a time."""
    taken = 0
    for at, byte in enumerate(data):
        if byte in _DIGITS:
            taken = (taken + 1) % 4
        elif byte == _PAD and taken >= 2:
            return _wrong_padding(data, at + 1, taken)
        elif byte not in _LINE_ENDS:
            return at
    return len(data) - taken if taken else None


def _wrong_padding(data: bytes, at: int, taken: int) -> int | None:
    if taken == 2:
        at = _after_line_ends(data, at)
        if at == len(data):
            return at
        if data[at] != _PAD:
            return at - 1
        at += 1
    at = _after_line_ends(data, at)
    return at if at < len(data) else None


def _after_line_ends(data: bytes, at: int) -> int:
    while at < len(data) and data[at] in _LINE_ENDS:
        at += 1
    return at
