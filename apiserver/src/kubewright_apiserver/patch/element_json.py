"""Values in the JSON of Go's structured-merge-diff, as path elements have it; it differs from Go's own."""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

from kubewright_apiserver.golang import go_json

__all__ = ["as_json", "as_json_object"]

_RESPELLED: Final = re.compile(r"[<>&\u2028\u2029]|\\[\\bf]")
_SPELLINGS: Final = {r"\b": r"\u0008", r"\f": r"\u000c", "\\\\": "\\\\"}
_PLAIN: Final = frozenset((str, int, bool))


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
