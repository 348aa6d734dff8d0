"""``find_field``: the schema of the field that a simple JSON path names, for selectable fields and rules."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

__all__ = ["FieldPathError", "Found", "find_field"]

_TOKENS: Final = re.compile(r"[.\[\]]|'(?:[^'\\]|\\.)*'|'[^']*|[^.\[\]]+", re.DOTALL)
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class FieldPathError(ValueError):
    """Why a path names no field."""


class Found(NamedTuple):
    """A field: its path as messages print it, the first step of it, and its schema."""

    path: str
    root: str
    schema: dict[str, Any]


def find_field(json_path: str, schema: dict[str, Any], *, allows_brackets: bool = True) -> Found:
    """The field that a path such as ``.spec.replicas`` or ``.spec['a.b']`` names.

    Raises:
        FieldPathError: it names none.
    """
    tokens = _TOKENS.findall(json_path)
    found = Found("", "", schema)
    while tokens:
        token = tokens.pop(0)
        if token == "[":
            if not allows_brackets:
                raise FieldPathError("array notation is not allowed")
            found = _step(found, _quoted_name(_next(tokens)))
            closing = _next(tokens)
            if closing != "]":
                raise FieldPathError(f"expected ] but got {closing}")
        elif token == ".":
            found = _step(found, _next(tokens))
        else:
            raise FieldPathError(f"expected [ or . but got: {token}")
    return found


def _next(tokens: list[str]) -> str:
    if not tokens:
        raise FieldPathError("unexpected end of JSON path")
    return tokens.pop(0)


def _quoted_name(token: str) -> str:
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        raise FieldPathError(f"expected single quoted string but got {token}")
    return re.sub(r"\\.", _unescaped, token[1:-1], flags=re.DOTALL)


def _unescaped(found: re.Match[str]) -> str:
    if found[0][1] not in _ESCAPES:
        raise FieldPathError(f"invalid string literal: invalid escape char {found[0]}")
    return _ESCAPES[found[0][1]]


def _step(found: Found, name: str) -> Found:
    properties, others = found.schema.get("properties"), found.schema.get("additionalProperties")
    if properties and name in properties:
        path = f"{found.path}.{name}" if found.path else name
        return Found(path, found.root or name, properties[name])
    if properties or others is None:
        raise FieldPathError("does not refer to a valid field")
    return Found(f"{found.path}[{name}]", found.root or f"[{name}]", others if isinstance(others, dict) else {})
