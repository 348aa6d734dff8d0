"""The hash of a pod template, as it stands in names of ReplicaSets and in the label ``pod-template-hash``.

Kubernetes hashes a template as Go prints it, with every type and every field that is not there; so the hash is the same
only if the text is. ``template_types.json`` holds the names and types that it is made of (``make facts`` writes it).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any, Final

from kubewright.controlplane.deployment.printed_quantity import printed_quantity

__all__ = ["print_template", "template_hash"]

_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_NO_TIME: Final = "{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}"
_YEAR_ONE: Final = 62135596800
_Body = Callable[[Any], str]


def template_hash(template: dict[str, Any], collisions: int | None = None) -> str:
    """The hash of a template, as JSON has it, in letters that make no words.

    ``collisions`` is how often the names made of its hashes have turned out to be taken by others.
    """
    data = print_template(template).encode()
    if collisions is not None:
        data += collisions.to_bytes(8, "little")
    number = 0x811C9DC5
    for byte in data:
        number = (number ^ byte) * 0x01000193 & 0xFFFFFFFF
    return "".join(_LETTERS[ord(digit) % len(_LETTERS)] for digit in str(number))


def print_template(template: dict[str, Any]) -> str:
    """A pod template, as JSON has it, in the text that Kubernetes hashes."""
    return f"(v1.PodTemplateSpec){_struct('v1.PodTemplateSpec', template)}"


def _struct(name: str, value: dict[str, Any]) -> str:
    parts = (
        f"{title}:({kind}){_body(kind)(value.get(wire) if wire else value)}" for title, wire, kind in _fields(name)
    )
    return f"{{{' '.join(parts)}}}"


@cache
def _types() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(files(__package__).joinpath("template_types.json").read_bytes())
    return found


@cache
def _fields(name: str) -> tuple[tuple[str, str, str], ...]:
    return tuple((title, wire, kind) for title, wire, kind in (field.split(" ") for field in _types()[name]))


@cache
def _body(kind: str) -> _Body:
    """How a value of a Go type is printed, without its type; None is a value that is not there."""
    if kind in _SCALARS:
        return _SCALARS[kind]
    if kind.startswith("*"):
        inner = _body(kind[1:])
        return lambda value: "<nil>" if value is None else inner(value)
    if kind.startswith("[]"):
        item = _body(kind[2:])
        return lambda value: f"[{' '.join(map(item, value))}]" if value else "<nil>"
    if kind.startswith("map["):
        of = _body(kind.partition("]")[2])
        return lambda value: f"map[{_pairs(value, of)}]" if value else "<nil>"
    described = _types()[kind]
    return _body(described) if isinstance(described, str) else lambda value: _struct(kind, value or {})


def _pairs(value: dict[str, Any], of: _Body) -> str:
    return " ".join(f"{key}:{of(value[key])}" for key in sorted(value, key=str.encode))


def _time(value: str | None) -> str:
    if not value:
        return _NO_TIME
    seconds = int(datetime.fromisoformat(value).timestamp()) + _YEAR_ONE
    return f"{{Time:(time.Time){{wall:(uint64)0 ext:(int64){seconds} loc:(*time.Location)<nil>}}}}"


def _int_or_string(value: int | str | None) -> str:
    if isinstance(value, str):
        return f"{{Type:(intstr.Type)1 IntVal:(int32)0 StrVal:(string){value}}}"
    return f"{{Type:(intstr.Type)0 IntVal:(int32){value or 0} StrVal:(string)}}"


_SCALARS: Final[dict[str, _Body]] = {
    "string": lambda value: value or "",
    "bool": lambda value: "true" if value else "false",
    "int32": lambda value: str(value or 0),
    "int64": lambda value: str(value or 0),
    "resource.Quantity": lambda value: printed_quantity(value or "0"),
    "intstr.IntOrString": _int_or_string,
    "v1.Time": _time,
    "v1.FieldsV1": lambda value: "{Raw:([]uint8)<nil>}",
}
