"""What Go prints though nobody said it: zero values of fields without ``omitempty``, and structs that are no pointers.

``fill_printed`` is the last step before an object is stored or answered. Each type is compiled once, from the facts
about Go's fields, into closures that visit only those places where something may be missing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from kubewright_apiserver.data import described_kinds, go_fields

__all__ = ["fill_printed"]

Fill = Callable[[dict[str, Any]], None]
"""Completes one object of a type, in place."""
Visit = Callable[[Any], None]
"""Completes what a field holds: an object, or each of a list or map of them."""

_MARSHALLED: Final[dict[str, Any]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "0",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": None,
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": None,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": None,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": 0,
}
_ZEROS: Final[dict[str, Any]] = {"bool": False, "float": 0, "int": 0, "map": None, "slice": None, "string": ""}
_FEW: Final = 4
"""So many inner fields are quicker asked for than found among those that an object has."""
_Zeros = tuple[tuple[str, Any], ...]
_Structs = tuple[tuple[str, Fill | None], ...]


def fill_printed(group: str, version: str, kind: str, obj: dict[str, Any], *, keeps_empty: bool = False) -> None:
    """Complete an object of a built-in kind in place with every field that kube-apiserver always prints.

    Lists and maps that Go prints even when empty become null, as they do on their way through storage; ``keeps_empty``
    is for objects that were only read, whose writer owns them. Filling twice changes nothing more.
    """
    fill = _of_kind(group, version, kind, keeps_empty)
    if fill is not None:
        fill(obj)


@cache
def _definitions() -> dict[tuple[str, str, str], str]:
    return {
        (kind["group"], kind["version"], kind["kind"]): name
        for name, kinds in described_kinds().items()
        for kind in kinds
    }


@cache
def _of_kind(group: str, version: str, kind: str, keeps_empty: bool) -> Fill | None:
    definition = _definitions().get((group, version, kind))
    return _filler(definition, keeps_empty) if definition else None


class _Type:
    """The places of one type where something may have to be filled in."""

    def __init__(self, definition: str, keeps_empty: bool) -> None:
        self._keeps_empty = keeps_empty
        self.zeros: list[tuple[str, Any]] = []
        """Fields that are printed with this value when they are empty."""
        self.absent: list[tuple[str, Any]] = []
        """Fields that are printed with this value when they are not there, since empty is a value of its own."""
        self.structs: list[tuple[str, Fill | None]] = []
        self.inner: dict[str, Visit] = {}
        for name, field in go_fields()[definition].items():
            self._add(name, field)

    def _add(self, name: str, field: dict[str, Any]) -> None:
        kind, of, is_printed = field["kind"], field.get("of", ""), not field.get("omit")
        is_pointer = field.get("pointer", False)
        if kind == "struct" and not is_pointer:
            self._add_struct(name, of, field.get("omit"))
            return
        self._add_inner(name, kind, of)
        is_kept = self._keeps_empty and kind in ("map", "slice")
        if is_printed and not is_pointer and not is_kept and kind in _ZEROS:
            self.zeros.append((name, _ZEROS[kind]))
        elif is_printed:
            self.absent.append((name, None))

    def _add_struct(self, name: str, of: str, omit: str | None) -> None:
        if omit == "zero":
            return
        # omitempty means nothing for a struct: Go prints it always.
        if of in _MARSHALLED:
            self.absent.append((name, _MARSHALLED[of]))
        else:
            self.structs.append((name, _filler(of, self._keeps_empty)))

    def _add_inner(self, name: str, kind: str, of: str) -> None:
        fill = _filler(of, self._keeps_empty) if of in go_fields() else None
        if fill is not None:
            self.inner[name] = fill if kind == "struct" else _each(fill) if kind == "slice" else _each_value(fill)


_compiled: dict[tuple[str, bool], Fill | None] = {}


def _filler(definition: str, keeps_empty: bool) -> Fill | None:
    key = (definition, keeps_empty)
    if key not in _compiled:
        # A type that contains itself (JSONSchemaProps) finds this on its second visit.
        _compiled[key] = lambda obj: _refill(key, obj)
        _compiled[key] = _compile(_Type(*key))
    return _compiled[key]


def _refill(key: tuple[str, bool], obj: dict[str, Any]) -> None:
    fill = _compiled[key]
    if fill is not None:
        fill(obj)


def _compile(type_: _Type) -> Fill | None:
    zeros, structs, inner = tuple(type_.zeros), tuple(type_.structs), type_.inner
    fill: Fill | None = None
    if len(inner) > _FEW:
        fill = _many(zeros, structs, inner)
    elif structs or inner:
        fill = _few(zeros, structs, tuple(inner.items()))
    elif zeros:
        fill = _flat(zeros)
    return _with_absent(tuple(type_.absent), fill) if type_.absent else fill


def _flat(zeros: _Zeros) -> Fill:
    def fill(obj: dict[str, Any]) -> None:
        for name, zero in zeros:
            if not obj.get(name):
                obj[name] = zero

    return fill


def _few(zeros: _Zeros, structs: _Structs, inner: tuple[tuple[str, Visit], ...]) -> Fill:
    def fill(obj: dict[str, Any]) -> None:
        for name, zero in zeros:
            if not obj.get(name):
                obj[name] = zero
        for name, fill_struct in structs:
            value = obj.get(name)
            if value is None:
                value = obj[name] = {}
            if fill_struct is not None:
                fill_struct(value)
        for name, visit in inner:
            value = obj.get(name)
            if value is not None:
                visit(value)

    return fill


def _many(zeros: _Zeros, structs: _Structs, inner: dict[str, Visit]) -> Fill:
    """For a type of which an object has only some of many fields: what it has is looked up."""
    fill_own = _few(zeros, structs, ())

    def fill(obj: dict[str, Any]) -> None:
        fill_own(obj)
        for name, value in obj.items():
            if name in inner and value is not None:
                inner[name](value)

    return fill


def _with_absent(absent: _Zeros, fill: Fill | None) -> Fill:
    def fill_all(obj: dict[str, Any]) -> None:
        for name, value in absent:
            if obj.get(name) is None:
                obj[name] = value
        if fill is not None:
            fill(obj)

    return fill_all


def _each(fill: Fill) -> Visit:
    def visit(items: list[dict[str, Any]]) -> None:
        for item in items:
            fill(item)

    return visit


def _each_value(fill: Fill) -> Visit:
    def visit(items: dict[str, dict[str, Any]]) -> None:
        for item in items.values():
            fill(item)

    return visit
