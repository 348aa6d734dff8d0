"""Values in the spelling of Go's structured-merge-diff: in the texts of its errors and in its path elements."""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

from kubewright_apiserver.golang import go_json, go_number, go_quoted

__all__ = ["as_json", "as_json_object", "as_syntax", "as_text", "go_type"]

_RESPELLED: Final = re.compile(r"[<>&\u2028\u2029]|\\[\\bf]")
_SPELLINGS: Final = {r"\b": r"\u0008", r"\f": r"\u000c", "\\\\": "\\\\"}
_PLAIN: Final = frozenset((str, int, bool))
_TYPES: Final = {bool: "bool", int: "int64", float: "float64", str: "string", list: "[]interface {}"}
_MAP: Final = "map[string]interface {}"


def as_text(value: Any) -> str:
    """A value as ``%v`` prints it."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{as_text(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(as_text, value))}]"
    return value if isinstance(value, str) else _scalar(value, "<nil>")


def as_syntax(value: Any) -> str:
    """A value as ``%#v`` prints it: as Go source would say it."""
    if isinstance(value, dict):
        return f"{_MAP}{{{', '.join(f'{go_quoted(key)}:{as_syntax(value[key])}' for key in sorted(value))}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(as_syntax, value))}}}"
    return go_quoted(value) if isinstance(value, str) else _scalar(value, "interface {}(nil)")


def _scalar(value: bool | float | None, null: str) -> str:
    if value is None:
        return null
    return str(value).lower() if isinstance(value, bool) else go_number(value)


def as_json(value: Any) -> str:
    """A value as path elements have it: compact JSON, keys sorted, signs of HTML escaped."""
    return _respelled(orjson.dumps(value).decode()) if type(value) in _PLAIN else go_json(value)


def as_json_object(pairs: dict[str, Any]) -> str:
    """The pairs as one object of such JSON, in the order given."""
    if all(type(value) in _PLAIN for value in pairs.values()):
        return _respelled(orjson.dumps(pairs).decode())
    return f"{{{','.join(f'{as_json(name)}:{as_json(value)}' for name, value in pairs.items())}}}"


def _respelled(text: str) -> str:
    return _RESPELLED.sub(_respell, text) if _RESPELLED.search(text) else text


def _respell(match: re.Match[str]) -> str:
    return _SPELLINGS.get(match[0]) or f"\\u{ord(match[0]):04x}"


def go_type(value: Any) -> str:
    """The name of the type that Go decodes the value into."""
    return "<nil>" if value is None else _TYPES.get(type(value), _MAP)
