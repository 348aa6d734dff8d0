"""Reads an object into a Go type field by field, in the order it was written, as Go's decoder does.

This is the slow way, gone only when the fast one (``typed``) refuses or a field comes twice: it finds the error that Go
would tell, or collects what strict clients want to hear, and leaves an object that the fast way takes.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from typing import Any, Final

from kubewright_apiserver.golang import go_quoted
from kubewright_apiserver.json_tree import Number, Pairs
from kubewright_apiserver.schema.go_time import InvalidTime, canonical_microtime, canonical_time
from kubewright_apiserver.schema.go_types import GoField, GoType
from kubewright_apiserver.schema.go_values import (
    INT32,
    INT64,
    InvalidBase64,
    decoded_base64,
    go_name,
    integer_of,
    plain_value,
)
from kubewright_apiserver.schema.quantity import InvalidQuantity, canonical_quantity

__all__ = ["Undecodable", "read_strictly"]

_MOST_ERRORS: Final = 100


class Undecodable(ValueError):
    """An object that Go cannot decode; the message is Go's."""


class _Place:
    """Where the walk is: for paths of strict errors, and for Go's own way to name a field in a type error."""

    __slots__ = ("names", "path", "struct")

    def __init__(self, path: str = "", struct: str = "", names: tuple[str, ...] = ()) -> None:
        self.path: str = path
        self.struct: str = struct
        self.names: tuple[str, ...] = names

    def field(self, struct: GoType, name: str, field: GoField) -> _Place:
        return _Place(self.below(name), struct.struct_name, (*self.names, *field.inline, name))

    def key(self, name: str) -> _Place:
        return _Place(self.below(name), self.struct, self.names)

    def index(self, index: int) -> _Place:
        return _Place(f"{self.path}[{index}]", self.struct, self.names)

    def below(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def unmarshal_error(self, what: str, type_name: str) -> str:
        where = f"Go struct field {self.struct}.{'.'.join(self.names)}" if self.names else "Go value"
        return f"json: cannot unmarshal {what} into {where} of type {type_name}"


def read_strictly(tree: Any, go_type: GoType) -> tuple[Any, list[str]]:
    """The object, without unknown fields and nulls, and a text for each unknown or repeated field in it.

    Raises ``Undecodable``.
    """
    walk = _Walk()
    value = walk.value(tree, go_type, _Place(), None)
    if walk.first_error is not None:
        raise Undecodable(walk.first_error)
    return value, list(walk.strict)


class _Walk:
    """One decoding. Go remembers its first type error and goes on, but an error of a type's own reader ends it."""

    def __init__(self) -> None:
        self.first_error: str | None = None
        self.strict: dict[str, None] = {}
        self._is_silent = False

    def value(self, tree: Any, go_type: GoType, place: _Place, before: Any) -> Any:
        """The value of a place; ``before`` is what an earlier field of the same name left there."""
        return _READERS[go_type.kind](self, tree, go_type, place, before)

    def mismatch(self, tree: Any, type_name: str, place: _Place, *, is_exact: bool = False) -> None:
        what = f"number {tree}" if is_exact and isinstance(tree, Number) else go_name(tree)
        self._fail(place.unmarshal_error(what, type_name))

    def _fail(self, message: str) -> None:
        if self.first_error is None:
            self.first_error = message

    def complain(self, message: str) -> None:
        if not self._is_silent and len(self.strict) < _MOST_ERRORS:
            self.strict[message] = None

    def read_struct(self, tree: Any, go_type: GoType, place: _Place, before: Any) -> Any:
        if not isinstance(tree, Pairs):
            if tree is not None:
                self.mismatch(tree, go_type.name, place)
            return before if before is not None else {}
        values: dict[str, Any] = dict(before or {})
        seen: set[str] = set()
        for name, inner in tree:
            field = go_type.fields.get(name)
            if field is None:
                self.complain(f"unknown field {go_quoted(place.below(name))}")
                continue
            if name in seen:
                self.complain(f"duplicate field {go_quoted(place.below(name))}")
            seen.add(name)
            self._set(values, name, inner, field, place.field(go_type, name, field))
        return values

    def _set(self, values: dict[str, Any], name: str, inner: Any, field: GoField, place: _Place) -> None:
        is_nullable = field.is_pointer or field.type.kind in ("slice", "map", "bytes", "interface")
        if inner is None and is_nullable:
            values.pop(name, None)
            return
        value = self.value(inner, field.type, place, values.get(name))
        is_lost_empty = not field.omit and field.type.kind in ("slice", "map") and not value
        if value is None or is_lost_empty:
            values.pop(name, None)
        else:
            values[name] = value

    def read_map(self, tree: Any, go_type: GoType, place: _Place, before: Any) -> Any:
        if not isinstance(tree, Pairs):
            return self._no_collection(tree, go_type, place)
        values: dict[str, Any] = dict(before or {})
        seen: set[str] = set()
        for name, inner in tree:
            if name in seen:
                self.complain(f"duplicate field {go_quoted(place.below(name))}")
            seen.add(name)
            values[name] = self._item(inner, go_type, place.key(name))
        return values

    def read_slice(self, tree: Any, go_type: GoType, place: _Place, before: Any) -> Any:
        if not isinstance(tree, list):
            return self._no_collection(tree, go_type, place)
        return [self._item(inner, go_type, place.index(index)) for index, inner in enumerate(tree)]

    def _no_collection(self, tree: Any, go_type: GoType, place: _Place) -> Any:
        if tree is not None:
            self.mismatch(tree, go_type.name, place)
        return None

    def _item(self, tree: Any, go_type: GoType, place: _Place) -> Any:
        item = go_type.item
        assert item is not None
        value = self.value(tree, item, place, None)
        return _ZEROS[item.kind]() if value is None and item.kind in _ZEROS else value

    def read_string(self, tree: Any, go_type: GoType, place: _Place, before: Any) -> Any:
        return self._scalar(tree, go_type, place, before, is_right=type(tree) is str)

    def read_bool(self, tree: Any, go_type: GoType, place: _Place, before: Any) -> Any:
        return self._scalar(tree, go_type, place, before, is_right=type(tree) is bool)

    def _scalar(self, tree: Any, go_type: GoType, place: _Place, before: Any, *, is_right: bool) -> Any:
        if is_right:
            return tree
        if tree is not None:
            self.mismatch(tree, go_type.name, place)
        return before

    def read_int(self, tree: Any, go_type: GoType, place: _Place, before: Any) -> Any:
        if tree is None:
            return before
        number = integer_of(tree, INT32 if go_type.name == "int32" else INT64)
        if number is None:
            self.mismatch(tree, go_type.name, place, is_exact=True)
        return number

    def read_float(self, tree: Any, go_type: GoType, place: _Place, before: Any) -> Any:
        if tree is None:
            return before
        if isinstance(tree, Number) and math.isfinite(float(tree)):
            return float(tree)
        self.mismatch(tree, go_type.name, place, is_exact=True)
        return None

    def read_bytes(self, tree: Any, go_type: GoType, place: _Place, before: Any) -> Any:
        if tree is None:
            return None
        if type(tree) is not str:
            self.mismatch(tree, go_type.name, place)
            return None
        try:
            return base64.b64encode(decoded_base64(tree)).decode()
        except InvalidBase64 as error:
            self._fail(str(error))
            return None

    def read_interface(self, tree: Any, go_type: GoType, place: _Place, before: Any) -> Any:
        self._look_inside(tree, place)
        return plain_value(tree)

    def _look_inside(self, tree: Any, place: _Place) -> None:
        if isinstance(tree, Number) and math.isinf(float(tree)):
            self.mismatch(tree, "float64", place, is_exact=True)
        elif isinstance(tree, list):
            for index, inner in enumerate(tree):
                self._look_inside(inner, place.index(index))
        elif isinstance(tree, Pairs):
            seen: set[str] = set()
            for name, inner in tree:
                if name in seen:
                    self.complain(f"duplicate field {go_quoted(place.below(name))}")
                seen.add(name)
                self._look_inside(inner, place.key(name))

    def read_raw(self, tree: Any, go_type: GoType, place: _Place, before: Any) -> Any:
        return before if tree is None else plain_value(tree)

    def read_quantity(self, tree: Any, go_type: GoType, place: _Place, before: Any) -> Any:
        if tree is None:
            return "0"
        try:
            return canonical_quantity(_text_of(tree))
        except InvalidQuantity as error:
            raise Undecodable(str(error)) from None

    def read_time(self, tree: Any, go_type: GoType, place: _Place, before: Any) -> Any:
        return self._time(tree, place, canonical_time)

    def read_microtime(self, tree: Any, go_type: GoType, place: _Place, before: Any) -> Any:
        return self._time(tree, place, canonical_microtime)

    def _time(self, tree: Any, place: _Place, canonical: Callable[[str], str | None]) -> Any:
        if tree is None:
            return None
        if type(tree) is not str:
            raise Undecodable(place.unmarshal_error(go_name(tree), "string"))
        try:
            return canonical(tree)
        except InvalidTime as error:
            raise Undecodable(str(error)) from None

    def read_int_or_string(self, tree: Any, go_type: GoType, place: _Place, before: Any) -> Any:
        if type(tree) is str or tree is None:
            return 0 if tree is None else tree
        number = integer_of(tree, INT32)
        if number is None:
            what = f"number {tree}" if isinstance(tree, Number) else go_name(tree)
            raise Undecodable(place.unmarshal_error(what, "int32"))
        return number

    def read_schema_or_bool(self, tree: Any, go_type: GoType, place: _Place, before: Any) -> Any:
        if isinstance(tree, Pairs):
            return self._schema(tree, go_type, place)
        if type(tree) is bool:
            return tree
        raise Undecodable("boolean or JSON schema expected")

    def read_schema_or_array(self, tree: Any, go_type: GoType, place: _Place, before: Any) -> Any:
        if isinstance(tree, list):
            return [self._schema(inner, go_type, place) for inner in tree] or None
        return self._schema(tree, go_type, place) if isinstance(tree, Pairs) else None

    def read_schema_or_strings(self, tree: Any, go_type: GoType, place: _Place, before: Any) -> Any:
        if isinstance(tree, list):
            for inner in tree:
                if type(inner) is not str:
                    raise Undecodable(place.unmarshal_error(go_name(inner), "string"))
            return tree or None
        return self._schema(tree, go_type, place) if isinstance(tree, Pairs) else None

    def _schema(self, tree: Any, go_type: GoType, place: _Place) -> Any:
        """A schema read by a decoder of its own: it tells of no unknown fields, and its first error is the last."""
        inner = _Walk()
        inner._is_silent = True
        value = inner.value(tree, go_type.schema, place, None)
        if inner.first_error is not None:
            raise Undecodable(inner.first_error)
        return value


_Reader = Callable[[_Walk, Any, GoType, _Place, Any], Any]
_READERS: Final[dict[str, _Reader]] = {
    "struct": _Walk.read_struct,
    "map": _Walk.read_map,
    "slice": _Walk.read_slice,
    "string": _Walk.read_string,
    "bool": _Walk.read_bool,
    "int": _Walk.read_int,
    "float": _Walk.read_float,
    "bytes": _Walk.read_bytes,
    "interface": _Walk.read_interface,
    "raw": _Walk.read_raw,
    "quantity": _Walk.read_quantity,
    "time": _Walk.read_time,
    "microtime": _Walk.read_microtime,
    "int-or-string": _Walk.read_int_or_string,
    "schema-or-bool": _Walk.read_schema_or_bool,
    "schema-or-array": _Walk.read_schema_or_array,
    "schema-or-strings": _Walk.read_schema_or_strings,
}
_ZEROS: Final[dict[str, Callable[[], Any]]] = {
    "string": str, "bool": bool, "int": int, "float": int, "bytes": str, "struct": dict, "slice": list, "map": dict
}  # fmt: skip


def _text_of(tree: Any) -> str:
    """What stands between the quotes, or the value as it is written; of objects and lists only that they are none."""
    return tree if isinstance(tree, str) else "true" if tree is True else "false" if tree is False else "{"
