"""Path elements: one step from a container to a part of it, as the key that ``fieldsV1`` has for it.

``f:name`` is a field, ``k:{"name":"c"}`` the item of a list with these keys, ``v:"x"`` the item of a set,
``i:0`` a place in a list. Elements are kept as these texts, spelled in one way, so equal elements are equal strings.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

import orjson

from kubewright_apiserver.golang import go_quoted, go_text
from kubewright_apiserver.patch.element_json import as_json, as_json_object

__all__ = ["MEMBER", "by_order", "canonical", "in_order", "key_element", "printed_element", "value_element"]

MEMBER: Final = "."
"""What stands in a field set beside the parts of something that is itself in the set."""
_REMEMBERED: Final = frozenset((str, int, bool))
_RANKS: Final = {".": 0, "f": 1, "k": 2, "v": 3, "i": 4}


def value_element(value: Any) -> str:
    """The element of an item of a set."""
    return f"v:{as_json(value)}"


def key_element(keys: dict[str, Any]) -> str:
    """The element of an item of a list of type map, from its keys in alphabetical order."""
    if all(type(value) in _REMEMBERED for value in keys.values()):
        return _spelled(tuple(keys), *keys.values())
    return f"k:{as_json_object(keys)}"


@lru_cache(maxsize=4096, typed=True)
def _spelled(names: tuple[str, ...], *values: Any) -> str:
    return f"k:{as_json_object(dict(zip(names, values, strict=True)))}"


@lru_cache(maxsize=4096)
def canonical(element: str) -> str | None:
    """The element in the one spelling that compares equal, or None for a kind of element that nobody knows.

    Raises ``ValueError`` for what is not an element.
    """
    if element[1:2] != ":":
        raise ValueError(f"missing colon: {element}" if len(element) > 1 else "key must be 2 characters long:")
    kind, rest = element[0], element[2:]
    if kind == "f":
        return element
    if kind == "v":
        return value_element(_rounded(orjson.loads(rest)))
    if kind == "k":
        keys = orjson.loads(rest)
        if not isinstance(keys, dict):
            raise ValueError(f"expected an object of keys: {element}")
        return key_element({name: _rounded(keys[name]) for name in sorted(keys)})
    return f"i:{int(rest)}" if kind == "i" else None


def _rounded(value: Any) -> Any:
    # Numbers in elements are read as floating-point numbers, so whole ones lose digits past 2^53.
    return float(value) if type(value) is int else value


def in_order(elements: Iterable[str]) -> list[str]:
    """The elements in the order in which a field set lists them: fields, keys, values, places, each by value."""
    ordered = sorted(elements)
    if ordered and ordered[-1][0] > "f":
        ordered.sort(key=by_order)
    return ordered


@lru_cache(maxsize=4096)
def by_order(element: str) -> tuple[Any, ...]:
    """What an element sorts by."""
    kind, rest = element[0], element[2:]
    if kind == "k":
        return (_RANKS[kind], tuple((name, _by_value(value)) for name, value in orjson.loads(rest).items()))
    if kind == "v":
        return (_RANKS[kind], _by_value(orjson.loads(rest)))
    return (_RANKS[kind], int(rest) if kind == "i" else rest)


def _by_value(value: Any) -> tuple[Any, ...]:
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, int | float):
        return (0, value)
    if isinstance(value, str):
        return (1, value)
    if isinstance(value, list):
        return (3, *map(_by_value, value))
    if isinstance(value, dict):
        return (4, *((name, _by_value(value[name])) for name in sorted(value)))
    return (5,)


def printed_element(element: str, *, is_read: bool = True) -> str:
    """The element as Kubernetes shows it in a path: ``.image``, ``[name="c"]``, ``[="x"]``, ``[0]``.

    ``is_read`` says that it comes from ``fieldsV1``, where whole numbers are read as floating-point numbers.
    """
    kind, rest = element[0], element[2:]
    if kind == "f":
        return f".{rest}"
    if kind == "i":
        return f"[{rest}]"
    decode = _rounded if is_read else _as_it_is
    if kind == "v":
        return f"[={_printed_value(decode(orjson.loads(rest)))}]"
    pairs = orjson.loads(rest).items()
    return f"[{','.join(f'{name}={_printed_value(decode(value))}' for name, value in pairs)}]"


def _as_it_is(value: Any) -> Any:
    return value


def _printed_value(value: Any) -> str:
    if isinstance(value, str):
        return go_quoted(value)
    if isinstance(value, list):
        return f"[{','.join(map(_printed_value, value))}]"
    if isinstance(value, dict):
        return "".join(f"{name}={_printed_value(inner)}" for name, inner in value.items())
    return "null" if value is None else go_text(value)
