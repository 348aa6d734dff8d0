"""How Go writes values: as text, as source, quoted, as JSON; for messages that show a value."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final

__all__ = [
    "duration_problem",
    "escaped_for_html",
    "go_duration",
    "go_json",
    "go_number",
    "go_quoted",
    "go_syntax",
    "go_text",
    "go_type",
]

_ESCAPES: Final = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}
# How Python keeps bytes that are no Unicode.
_UNDECODABLE: Final = range(0xDC80, 0xDD00)
_UNSAFE_IN_HTML: Final = re.compile("[<>&\u2028\u2029]")
_TYPES: Final = {bool: "bool", int: "int64", float: "float64", str: "string", list: "[]interface {}"}
_MAP: Final = "map[string]interface {}"
_DURATION_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([^0-9.]*)")
_UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_LONGEST: Final = 2**63


def go_text(value: Any) -> str:
    """The value as ``%v`` prints it."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_text, value))}]"
    return value if isinstance(value, str) else _scalar(value, "<nil>")


def go_syntax(value: Any) -> str:
    """The value as ``%#v`` prints it: as Go source would say it."""
    if isinstance(value, dict):
        return f"{_MAP}{{{', '.join(f'{go_quoted(key)}:{go_syntax(value[key])}' for key in sorted(value))}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(go_syntax, value))}}}"
    return go_quoted(value) if isinstance(value, str) else _scalar(value, "interface {}(nil)")


def _scalar(value: bool | float | None, null: str) -> str:
    if value is None:
        return null
    return str(value).lower() if isinstance(value, bool) else go_number(value)


def go_type(value: Any) -> str:
    """The name of the type that Go decodes the value into (``%T``)."""
    return "<nil>" if value is None else _TYPES.get(type(value), _MAP)


def go_quoted(text: str) -> str:
    """The text as a Go literal (``%q``)."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    code = ord(character)
    if code in _ESCAPES:
        return _ESCAPES[code]
    if character.isprintable():
        return character
    if code < 0x80:
        return f"\\x{code:02x}"
    if code in _UNDECODABLE:
        return f"\\x{code - _UNDECODABLE.start + 0x80:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def go_number(value: float) -> str:
    """The number as Go prints it (``%v``): beyond six digits before the point it turns to an exponent."""
    return str(value) if _is_int64(value) else _written(float(value), least=-4, beyond=6, width=2)


def _is_int64(value: Any) -> bool:
    """Whether Go holds it as an integer; what does not fit becomes a float."""
    return isinstance(value, int) and -(2**63) <= value < 2**63


def go_json(value: Any, *, is_struct: bool = False) -> str:
    """The value as Go's ``encoding/json`` writes it: ``<`` as ``\\u003c``, 1.0 as ``1``, keys sorted.

    Those of a struct are as they come, here and further in.
    """
    if isinstance(value, dict):
        keys = value if is_struct else sorted(value)
        members = (f"{_json_text(str(key))}:{go_json(value[key], is_struct=is_struct)}" for key in keys)
        return f"{{{','.join(members)}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(go_json(item, is_struct=is_struct) for item in value)}]"
    if isinstance(value, str):
        return _json_text(value)
    if isinstance(value, int | float) and not _is_int64(value):
        return _written(float(value), least=-6, beyond=21, width=1)
    return json.dumps(value)


def _json_text(text: str) -> str:
    return escaped_for_html(json.dumps(text, ensure_ascii=False))


def escaped_for_html(text: str) -> str:
    """JSON without the signs that mean something in HTML, as Go writes it."""
    return _UNSAFE_IN_HTML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _written(value: float, *, least: int, beyond: int, width: int) -> str:
    """The shortest digits of a number, with an exponent if that is below ``least`` or not below ``beyond``."""
    exact = Decimal(repr(value))
    sign, digits, scale = exact.normalize().as_tuple()
    if not isinstance(scale, int):
        return {"inf": "+Inf", "-inf": "-Inf"}.get(repr(value), "NaN")
    text = "".join(map(str, digits))
    minus = "-" if sign else ""
    power = len(text) - 1 + scale
    if value and not least <= power < beyond:
        fraction = f".{text[1:]}" if len(text) > 1 else ""
        return f"{minus}{text[0]}{fraction}e{'-' if power < 0 else '+'}{abs(power):0{width}d}"
    return minus + format(abs(exact).normalize(), "f")


def duration_problem(duration: str) -> str:
    """What is wrong with a duration such as ``1h30m``, in Go's words; empty if nothing is."""
    rest, total = duration[1:] if duration[:1] in ("-", "+") else duration, 0.0
    if rest == "0":
        return ""
    while match := _DURATION_PART.match(rest):
        number, unit = match.groups()
        if unit not in _UNITS:
            return f'unknown unit "{unit}" in duration' if unit else "missing unit in duration"
        total += float(number) * _UNITS[unit]
        rest = rest[match.end() :]
        if not rest:
            return "" if total < _LONGEST else "invalid duration"
    return "invalid duration"


def go_duration(duration: str) -> timedelta:
    """How long a duration such as ``1h30m`` is, which has no problem."""
    parts = _DURATION_PART.findall(duration)
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts if unit) / 10**9
    return timedelta(seconds=-seconds if duration.startswith("-") else seconds)
