"""Values: such as a type asks for, at its borders, and such as no type asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

from kubewright_apiserver.schema.node import Node

__all__ = ["ODD", "TEXTS", "grown", "odd"]

TEXTS: Final = (
    "",
    "a",
    "b",
    "A",
    "a-b",
    "a.b",
    "-a",
    "a_b",
    "a/b",
    "example.com/a",
    "a" * 63,
    "a" * 64,
    "a" * 253,
    "a" * 254,
    "*",
    "..",
    ".",
    "ü",
    "😀",
    "a\nb",
    "a\x00b",
    "\u2028",
    " a ",
    "10.0.0.5",
    "10.0.0.0/8",
    "::1",
    "0.0.0.0",
    "http://a:80/",
    "80",
    "50%",
    "-1",
    "1Gi",
    "100m",
    "1e3",
    "1e400",
    "2026-01-02T03:04:05Z",
    "2026-13-02T03:04:05Z",
    "2026-01-02T03:04:05.000001Z",
    "0001-01-01T00:00:00Z",
    "None",
    "Always",
    "ClusterIP",
    "YWJj",
    "null",
    "true",
    "$(A)",
    "{}",
    "^(a+)+$",
    "(",
)
"""Texts that mean something somewhere."""

_INTEGERS: Final = (0, 1, -1, 2, 80, 255, 256, 65535, 65536, 1 << 31, (1 << 31) - 1, -(1 << 31), 1 << 53, (1 << 63) - 1)
_NUMBERS: Final = (0.0, 0.5, -0.0, 1.0, 1e21, -1e300, 1e-7, 5e-324)
ODD: Final[tuple[Any, ...]] = (
    None,
    True,
    False,
    0,
    -1,
    1.5,
    1.0,
    1 << 63,
    -(1 << 63),
    1 << 64,
    1e300,
    "",
    "x",
    "x" * 300,
    [],
    {},
    [None],
    [[]],
    [{}],
    ["a", "a"],
    {"a": None},
    {"a": {}},
    {"": ""},
    {"a": [1, {"b": 2.5}]},
)
"""Values of every type."""

_DEEPEST: Final = 5
_SPECIAL: Final[dict[str, Sequence[Any]]] = {
    "boolean": (True, False),
    "integer": _INTEGERS,
    "number": _NUMBERS,
    "quantity": ("1", "0", "-1", "1Gi", "100m", "1.5", "1e3", "1e400", "0.0000000001", "99999999999999E", "", "1 ", 5),
    "int-or-string": (0, 1, -1, 80, 65536, 1 << 31, "http", "50%", "101%", "a%", "", "-1"),
    "time": TEXTS[35:39],
    "microtime": TEXTS[35:39],
    "any": ODD,
}


def odd(dice: Random) -> Any:
    """A value of any type; a list or an object is a new one."""
    return _copied(dice.choice(ODD))


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copied(inner) for name, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value


def grown(node: Node, dice: Random, depth: int = 0) -> Any:
    """A value of the type of a node, seldom a sensible one."""
    if node.schema.get("enum") and dice.random() < 0.8:
        return dice.choice(node.schema["enum"])
    make = _MAKERS.get(node.type)
    if make is not None:
        return make(node, dice, depth) if depth < _DEEPEST else ([] if node.type == "array" else {})
    if node.type in _SPECIAL:
        return _copied(dice.choice(_SPECIAL[node.type]))
    return dice.choice(TEXTS)


def _object(node: Node, dice: Random, depth: int) -> dict[str, Any]:
    fields = node.fields
    wanted = set(node.schema.get("required", ())) if dice.random() < 0.8 else set()
    share = min(1.0, 2.5 / (len(fields) or 1))
    return {
        name: grown(inner, dice, depth + 1) for name, inner in fields.items() if name in wanted or dice.random() < share
    }


def _map(node: Node, dice: Random, depth: int) -> dict[str, Any]:
    return {dice.choice(TEXTS): grown(node.item, dice, depth + 1) for _ in range(dice.choice((0, 1, 1, 2, 3)))}


def _array(node: Node, dice: Random, depth: int) -> list[Any]:
    return [grown(node.item, dice, depth + 1) for _ in range(dice.choice((0, 1, 1, 2, 3)))]


_MAKERS: Final[dict[str, Callable[[Node, Random, int], Any]]] = {"object": _object, "map": _map, "array": _array}
