"""The refusal of a patch whose outcome is no object of its kind, which quotes that outcome."""

from __future__ import annotations

from typing import Any, Final

import orjson

from kubewright_apiserver.golang import go_json
from kubewright_apiserver.status import Refusal, invalid, invalid_field

__all__ = ["ordered_json", "quoted_json", "rejected", "rejected_text", "sorted_json"]

_HTML: Final = str.maketrans({letter: f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"})


def rejected(patched: Any, why: str) -> Refusal:
    """422: what a JSON or merge patch made cannot be decoded, or has unknown fields when that is forbidden."""
    return rejected_text(ordered_json(patched), why)


def rejected_text(shown: str, why: str) -> Refusal:
    """422: the same for what is shown otherwise."""
    return invalid("", "", "", [invalid_field("patch", shown, why)])


def quoted_json(value: Any) -> str:
    """A text, number, boolean or null as Go's JSON has it."""
    return orjson.dumps(value).decode().translate(_HTML) if isinstance(value, str) else go_json(value)


def ordered_json(value: Any) -> str:
    """A value as Go's JSON has it, its fields in their order."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{quoted_json(name)}:{ordered_json(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(ordered_json, value)) + "]"
    return quoted_json(value)


def sorted_json(value: Any) -> str:
    """A value as Go's JSON has it, its fields by name."""
    return ordered_json(_by_name(value))


def _by_name(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _by_name(value[name]) for name in sorted(value)}
    return [_by_name(inner) for inner in value] if isinstance(value, list) else value
