"""Turns a patched object into a Go type the way strategic merge patches do: not through JSON, and more leniently.

Whole numbers may be written with a fraction, too large ones wrap around, and errors have other words.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, Final

from kubewright_apiserver.schema.go_time import InvalidTime, canonical_microtime, canonical_time
from kubewright_apiserver.schema.go_types import GoType
from kubewright_apiserver.schema.go_values import INT32, InvalidBase64, decoded_base64, go_name, tree_of
from kubewright_apiserver.schema.mismatch import Undecodable, read_strictly
from kubewright_apiserver.schema.quantity import InvalidQuantity, canonical_quantity

__all__ = ["convert_leniently"]

_KINDS: Final[dict[type, str]] = {
    str: "string", bool: "bool", int: "int64", float: "float64", dict: "map", list: "slice"
}  # fmt: skip


def convert_leniently(value: dict[str, Any], go_type: GoType) -> tuple[dict[str, Any], list[str]]:
    """The object, without unknown fields and nulls, and a sorted text for each unknown field.

    Raises ``Undecodable``.
    """
    conversion = _Conversion()
    return conversion.struct(value, go_type, ""), sorted(conversion.unknown)


class _Conversion:
    def __init__(self) -> None:
        self.unknown: list[str] = []

    def value(self, value: Any, go_type: GoType, path: str) -> Any:
        kind = go_type.kind
        if kind == "struct":
            return self.struct(value, go_type, path)
        if kind == "slice":
            return self._slice(value, go_type, path)
        if kind == "map":
            return self._map(value, go_type, path)
        return _SCALARS[kind](value, go_type)

    def struct(self, value: Any, go_type: GoType, path: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise Undecodable(f"cannot restore struct from: {_KINDS[type(value)]}")
        converted: dict[str, Any] = {}
        for name, field in go_type.fields.items():
            inner = value.get(name)
            if inner is None:
                continue
            found = self.value(inner, field.type, _below(path, name))
            # Storage does not tell an empty list from none.
            if found is not None and not (not field.omit and field.type.kind in ("slice", "map") and not found):
                converted[name] = found
        self.unknown += [f'unknown field "{_below(path, name)}"' for name in value if name not in go_type.fields]
        return converted

    def _slice(self, value: Any, go_type: GoType, path: str) -> list[Any]:
        if not isinstance(value, list):
            raise Undecodable(f"cannot restore slice from {_KINDS[type(value)]}")
        return [self._item(inner, go_type, f"{path}[{index}]") for index, inner in enumerate(value)]

    def _map(self, value: Any, go_type: GoType, path: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise Undecodable(f"cannot restore map from {_KINDS[type(value)]}")
        return {name: self._item(inner, go_type, path) for name, inner in value.items()}

    def _item(self, value: Any, go_type: GoType, path: str) -> Any:
        item = go_type.item
        assert item is not None
        return _zero(item) if value is None else self.value(value, item, path)


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _zero(go_type: GoType) -> Any:
    return {"struct": {}, "slice": [], "map": {}, "bool": False, "int": 0, "float": 0, "quantity": "0"}.get(
        go_type.kind, ""
    )


def _string(value: Any, go_type: GoType) -> Any:
    if type(value) is str:
        return value
    if type(value) is int:
        raise Undecodable(f"cannot convert int64 to {go_type.name}")
    raise Undecodable("unrecognized type: string")


def _bool(value: Any, go_type: GoType) -> Any:
    if type(value) is bool:
        return value
    raise Undecodable("unrecognized type: bool")


def _int(value: Any, go_type: GoType) -> Any:
    if type(value) is float:
        if not value.is_integer():
            raise Undecodable(f"cannot convert float64 to {go_type.name}")
        value = int(value)
    if type(value) is not int:
        raise Undecodable(f"unrecognized type: {go_type.name}")
    bits = 32 if go_type.name == "int32" else 64
    return (value + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


def _float(value: Any, go_type: GoType) -> Any:
    if type(value) in (int, float):
        return value
    raise Undecodable("unrecognized type: float64")


def _bytes(value: Any, go_type: GoType) -> Any:
    if type(value) is not str:
        raise Undecodable(f"cannot restore slice from {_KINDS[type(value)]}")
    try:
        return base64.b64encode(decoded_base64(value)).decode()
    except InvalidBase64 as error:
        raise Undecodable(f"error decoding from json: {error}") from None


def _as_it_is(value: Any, go_type: GoType) -> Any:
    return value


def _quantity(value: Any, go_type: GoType) -> Any:
    try:
        return canonical_quantity(str(value) if type(value) in (str, int, float) else "{")
    except InvalidQuantity as error:
        raise Undecodable(str(error)) from None


def _time(canonical: Callable[[str], str | None]) -> Callable[[Any, GoType], Any]:
    def read(value: Any, go_type: GoType) -> Any:
        if type(value) is not str:
            raise Undecodable(f"json: cannot unmarshal {go_name(tree_of(value))} into Go value of type string")
        try:
            return canonical(value)
        except InvalidTime as error:
            raise Undecodable(str(error)) from None

    return read


def _int_or_string(value: Any, go_type: GoType) -> Any:
    if type(value) is str or (type(value) is int and value in INT32):
        return value
    tree = tree_of(value)
    what = f"number {tree}" if type(value) in (int, float) else go_name(tree)
    raise Undecodable(f"json: cannot unmarshal {what} into Go value of type int32")


def _schema(value: Any, go_type: GoType) -> Any:
    """A JSON schema is read through JSON here too."""
    if go_type.kind == "schema-or-bool" and type(value) is bool:
        return value
    if isinstance(value, list):
        return value
    return read_strictly(tree_of(value), go_type.schema)[0]


_SCALARS: Final[dict[str, Callable[[Any, GoType], Any]]] = {
    "string": _string,
    "bool": _bool,
    "int": _int,
    "float": _float,
    "bytes": _bytes,
    "interface": _as_it_is,
    "raw": _as_it_is,
    "quantity": _quantity,
    "time": _time(canonical_time),
    "microtime": _time(canonical_microtime),
    "int-or-string": _int_or_string,
    "schema-or-array": _schema,
    "schema-or-bool": _schema,
    "schema-or-strings": _schema,
}
