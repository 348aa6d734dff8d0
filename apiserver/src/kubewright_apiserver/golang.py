"""How Go writes values: quoted texts, numbers, JSON; for messages that show a value."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any, Final

__all__ = ["go_json", "go_number", "go_quoted"]

_ESCAPES: Final = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}
_UNSAFE_IN_HTML: Final = re.compile("[<>&\u2028\u2029]")


def go_quoted(text: str) -> str:
    """The text as a Go literal (``%q``)."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    code = ord(character)
    if code in _ESCAPES:
        return _ESCAPES[code]
    if character.isprintable():
        return character
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def go_number(value: float) -> str:
    """The number as Go prints it (``%v``): beyond six digits before the point it turns to an exponent."""
    return str(value) if _is_int64(value) else _written(float(value), least=-4, beyond=6, width=2)


def _is_int64(value: Any) -> bool:
    """Whether Go holds it as an integer; what does not fit becomes a float."""
    return isinstance(value, int) and -(2**63) <= value < 2**63


def go_json(value: Any) -> str:
    """The value as Go's ``encoding/json`` writes it: keys sorted, ``<`` as ``\\u003c``, 1.0 as ``1``."""
    if isinstance(value, dict):
        members = (f"{_json_text(str(key))}:{go_json(value[key])}" for key in sorted(value))
        return f"{{{','.join(members)}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(go_json, value))}]"
    if isinstance(value, str):
        return _json_text(value)
    if isinstance(value, int | float) and not _is_int64(value):
        return _written(float(value), least=-6, beyond=21, width=1)
    return json.dumps(value)


def _json_text(text: str) -> str:
    written = json.dumps(text, ensure_ascii=False)
    return _UNSAFE_IN_HTML.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


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
