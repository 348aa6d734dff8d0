"""Changes: of objects at a place of their type, and of the texts that they are written in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any, Final, NamedTuple

from fuzz.growth import TEXTS, grown, odd
from kubewright_apiserver.schema.node import ANY, Node

__all__ = ["copied", "pointer_in", "scratched", "twisted"]

_STOP: Final = 0.3
_NUMBER: Final = re.compile(rb"(?<=[:\[, ])-?\d+(?:\.\d+)?")
_NUMBERS: Final = (b"1e400", b"-0", b"1.0", b"1e3", b"9223372036854775808", b"1" * 400, b"01", b"+1", b"NaN", b"1e-400")
_SCRAPS: Final = (
    b"\xff",
    b"\xc3\x28",
    b"\xed\xa0\x80",
    b"\x00",
    b"\\ud800",
    b"\\udc00\\ud800",
    b"\\u0000",
    b"\xef\xbb\xbf",
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"/*",
    b"\\",
    b"\n---\n",
    b"&a ",
    b"*a ",
    b"!!binary ",
    b"<<: ",
    b"\xf4\x90\x80\x80",
)


class _Spot(NamedTuple):
    holder: Any
    key: Any
    node: Node


def copied(value: Any) -> Any:
    """A copy that may be changed."""
    if isinstance(value, dict):
        return {name: copied(inner) for name, inner in value.items()}
    return [copied(inner) for inner in value] if isinstance(value, list) else value


def twisted(value: dict[str, Any], node: Node, dice: Random, times: int) -> dict[str, Any]:
    """The object with so many changes, in place."""
    for _ in range(times):
        spot = _spot_in(value, node, dice)
        if spot is not None:
            dice.choice(_CHANGES)(spot, dice)
    return value


def _inner(node: Node, key: Any) -> Node:
    if isinstance(key, int):
        return node.item if node.type == "array" else ANY
    return node.field(key)


def _spot_in(value: Any, node: Node, dice: Random) -> _Spot | None:
    """A place inside: deeper ones are as likely as their branch is."""
    spot = None
    while isinstance(value, dict | list) and value:
        if spot is not None and dice.random() < _STOP:
            break
        key = dice.choice(list(value)) if isinstance(value, dict) else dice.randrange(len(value))
        spot = _Spot(value, key, _inner(node, key))
        value, node = value[key], spot.node
    return spot


def pointer_in(value: Any, dice: Random) -> str:
    """A JSON pointer to some place inside, sometimes just beside one."""
    steps: list[str] = []
    while isinstance(value, dict | list) and value and dice.random() > 0.15:
        key = dice.choice(list(value)) if isinstance(value, dict) else dice.randrange(len(value))
        steps.append(str(key).replace("~", "~0").replace("/", "~1"))
        value = value[key]
    if dice.random() < 0.2:
        steps.append(dice.choice(("-", "0", "-1", "01", "99", "a", "", "~", "~2", "ü", "1e0", "x" * 300)))
    return "".join(f"/{step}" for step in steps)


def _drop(spot: _Spot, dice: Random) -> None:
    del spot.holder[spot.key]


def _swap(spot: _Spot, dice: Random) -> None:
    spot.holder[spot.key] = odd(dice)


def _regrow(spot: _Spot, dice: Random) -> None:
    spot.holder[spot.key] = grown(spot.node, dice)


def _add(spot: _Spot, dice: Random) -> None:
    """A field that the type knows, if the place is an object; else a neighbour."""
    value, node = spot.holder[spot.key], spot.node
    if isinstance(value, dict) and node.type == "object" and node.fields:
        name = dice.choice(list(node.fields))
        value[name] = grown(node.fields[name], dice)
    elif isinstance(value, dict):
        value[dice.choice(TEXTS)] = grown(node.item, dice) if node.type == "map" else odd(dice)
    elif isinstance(value, list):
        value.insert(dice.randint(0, len(value)), grown(node.item, dice))
    else:
        _regrow(spot, dice)


def _add_unknown(spot: _Spot, dice: Random) -> None:
    value = spot.holder[spot.key]
    holder = value if isinstance(value, dict) else spot.holder
    if isinstance(holder, dict):
        holder[dice.choice(("unknown", "Name", "$patch", "a/b", "", "ü", "x" * 200))] = odd(dice)


def _repeat(spot: _Spot, dice: Random) -> None:
    if isinstance(spot.holder, list):
        spot.holder.insert(spot.key, copied(spot.holder[spot.key]))
    elif isinstance(spot.holder[spot.key], list):
        spot.holder[spot.key] += copied(spot.holder[spot.key])


def _rename(spot: _Spot, dice: Random) -> None:
    if isinstance(spot.holder, dict):
        spot.holder[dice.choice(TEXTS)] = spot.holder.pop(spot.key)


_CHANGES: Final[tuple[Callable[[_Spot, Random], None], ...]] = (
    _drop,
    _swap,
    _swap,
    _regrow,
    _regrow,
    _regrow,
    _add,
    _add,
    _add,
    _add_unknown,
    _repeat,
    _rename,
)


def scratched(data: bytes, dice: Random) -> bytes:
    """A text with one or two changes that its author did not mean."""
    for _ in range(dice.choice((1, 1, 2))):
        data = dice.choice(_SCRATCHES)(data, dice)
    return data


def _cut(data: bytes, dice: Random) -> bytes:
    return data[: dice.randint(0, len(data))]


def _flip(data: bytes, dice: Random) -> bytes:
    if not data:
        return data
    at = dice.randrange(len(data))
    return data[:at] + bytes((dice.randrange(256),)) + data[at + 1 :]


def _insert(data: bytes, dice: Random) -> bytes:
    at = dice.randint(0, len(data))
    return data[:at] + dice.choice(_SCRAPS) + data[at:]


def _number(data: bytes, dice: Random) -> bytes:
    found = list(_NUMBER.finditer(data))
    if not found:
        return _insert(data, dice)
    one = dice.choice(found)
    return data[: one.start()] + dice.choice(_NUMBERS) + data[one.end() :]


def _twice(data: bytes, dice: Random) -> bytes:
    """A field, or the whole, again."""
    if dice.random() < 0.2 or not data.startswith(b"{"):
        return data + data
    name = dice.choice((b"metadata", b"spec", b"kind", b"apiVersion", b"data", b"status"))
    return b'{"%s":%s,%s' % (name, json.dumps(odd(dice)).encode(), data[1:])


def _nest(data: bytes, dice: Random) -> bytes:
    depth = dice.choice((10, 100, 240, 300, 1000, 9_990, 10_010, 20_000))
    inner = dice.choice((b'{"a":%s}', b"[%s]"))
    opening, closing = inner.split(b"%s")
    whole = b'"deep":' + opening * depth + b"1" + closing * depth
    return b"{" + whole + (b"," + data[1:] if data.startswith(b"{") and len(data) > 2 else b"}")


_SCRATCHES: Final[tuple[Callable[[bytes, Random], bytes], ...]] = (
    *(_cut, _flip, _insert, _number, _twice) * 8,
    _nest,
)
