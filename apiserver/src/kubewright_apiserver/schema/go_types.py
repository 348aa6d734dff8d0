"""``GoType``: what kube-apiserver decodes a built-in object into, as far as that can be seen from outside.

The OpenAPI schemas do not tell it: which fields are pointers, which are left out when empty, what Go calls a type in
its errors, and in which order fields are written.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from kubewright_apiserver.data import go_fields

__all__ = ["GoField", "GoType", "go_type_of"]

# Types that read and write their own JSON; the kinds are ours.
_OPAQUE: Final = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "microtime",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "raw",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "raw",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON": "raw",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray": "schema-or-array",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool": "schema-or-bool",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray": "schema-or-strings",
}
_PROPS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
_SCALARS: Final = {"string": "string", "bool": "bool", "int": "int64", "float": "float64", "bytes": "[]uint8"}


class GoField(NamedTuple):
    """How a struct declares one field."""

    type: GoType
    is_pointer: bool
    omit: str
    """``empty`` or ``zero`` if it is left out then, else empty: it is always written."""
    inline: tuple[str, ...]
    """The embedded structs that it is found through, as paths in errors name them."""


class GoType:
    """One type.

    ``kind`` is ``struct``, ``slice``, ``map``, ``string``, ``int``, ``float``, ``bool``, ``bytes``, ``interface``, or
    for what reads its own JSON ``quantity``, ``int-or-string``, ``time``, ``microtime``, ``raw``, ``schema-or-array``,
    ``schema-or-bool``, ``schema-or-strings``. Types are shared; what is inside is made when first asked for.
    """

    __slots__ = ("_fields", "definition", "item", "kind", "name")

    def __init__(self, kind: str, name: str, definition: str = "", item: GoType | None = None) -> None:
        self.kind: str = kind
        self.name: str = name
        """What Go calls it: ``int32``, ``v1.PullPolicy``, ``[]v1.Container``."""
        self.definition: str = definition
        """The name of the schema of a struct."""
        self.item: GoType | None = item
        """What a slice or the values of a map are."""
        self._fields: dict[str, GoField] | None = None

    @property
    def fields(self) -> dict[str, GoField]:
        """The fields of a struct by wire name, in the order in which Go writes them."""
        if self._fields is None:
            self._fields = {name: _field(facts) for name, facts in go_fields().get(self.definition, {}).items()}
        return self._fields

    def declare(self, fields: dict[str, GoField]) -> None:
        """Say which fields a struct has that no fact tells of."""
        self._fields = fields

    @property
    def struct_name(self) -> str:
        """The name of a struct without its package."""
        return self.definition.rpartition(".")[2]

    @property
    def schema(self) -> GoType:
        """The schema inside a ``schema-or-…``."""
        return go_type_of(_PROPS)

    def __repr__(self) -> str:
        return f"<GoType {self.name}>"


@cache
def go_type_of(definition: str) -> GoType:
    """The type of a built-in definition."""
    name = ".".join(definition.split(".")[-2:])
    return GoType(_OPAQUE.get(definition, "struct"), name, definition)


def _field(facts: dict[str, str]) -> GoField:
    pointer, inline = bool(facts.get("pointer")), tuple(facts.get("inline", ()))
    return GoField(
        _type(facts["kind"], facts.get("of", ""), facts.get("type", "")), pointer, facts.get("omit", ""), inline
    )


def _type(kind: str, of: str, name: str) -> GoType:
    if kind == "struct":
        return go_type_of(of)
    if kind in ("slice", "map"):
        item = _item(of, name.removeprefix("[]") if kind == "slice" else name.partition("]")[2])
        implied = f"[]{item.name}" if kind == "slice" else f"map[string]{item.name}"
        return _scalar(kind, name or implied, item)
    return _scalar(kind, name or _SCALARS.get(kind, kind))


def _item(of: str, name: str) -> GoType:
    if of.startswith("[]"):
        return _scalar("slice", name or of, _item(of[2:], ""))
    if "." in of:
        return go_type_of(of)
    return _scalar(of, name or _SCALARS.get(of, "interface {}"))


@cache
def _scalar(kind: str, name: str, item: GoType | None = None) -> GoType:
    return GoType(kind, name, "", item)
