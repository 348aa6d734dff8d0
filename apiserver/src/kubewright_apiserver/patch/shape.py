"""``Shape``: what apply needs to know of a type: what is owned as a whole, what part by part, and by which keys.

Compiled from a ``Node`` on first use. A place without a declared type may hold a scalar, a list or a map; so a shape
has up to three kinds of parts, and the value decides.
"""

from __future__ import annotations

from functools import cache, cached_property, lru_cache
from typing import Any, Final, TypeAlias

import orjson

from kubewright_apiserver.data import go_fields
from kubewright_apiserver.golang import go_quoted
from kubewright_apiserver.patch.element import key_element, value_element
from kubewright_apiserver.schema.node import Node, node_of_builtin

__all__ = ["UNTYPED", "Fields", "Items", "Part", "Scalar", "Shape", "shape_of", "zero_of"]

_OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_RAW_EXTENSION: Final = "io.k8s.apimachinery.pkg.runtime.RawExtension"
_MERGED: Final = frozenset(("merge", "merge,retainKeys"))


class Scalar:
    """A place for one value: ``numeric``, ``string``, ``boolean``, or ``untyped`` for any of them."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name: str = name


class Fields:
    """A place for an object or a map."""

    def __init__(self, *, is_atomic: bool = False, rest: Shape | None = None) -> None:
        self.is_atomic: bool = is_atomic
        """Whether it is owned as a whole."""
        self._rest = rest
        self._node: Node | None = None
        self._preserves = False
        self._is_embedded = False

    @classmethod
    def of(cls, node: Node, *, preserves: bool, is_embedded: bool) -> Fields:
        """The part for the objects of a node."""
        fields = cls(is_atomic=node.schema.get("x-kubernetes-map-type") == "atomic")
        fields._node, fields._preserves, fields._is_embedded = node, preserves, is_embedded
        return fields

    @cached_property
    def named(self) -> dict[str, tuple[str, Shape]]:
        """For each declared field its path element and its shape."""
        if self._node is None:
            return {}
        properties = self._node.schema.get("properties", {})
        shapes = {name: Shape(self._node.fields[name], preserves=self._preserves) for name in properties}
        if self._is_embedded:
            shapes |= {"apiVersion": _STRING, "kind": _STRING, "metadata": shape_of(node_of_builtin(_OBJECT_META))}
        return {name: (f"f:{name}", shape) for name, shape in shapes.items()}

    @cached_property
    def rest(self) -> Shape | None:
        """The shape of fields that are not declared; None if there may be none."""
        if self._node is None:
            return self._rest
        declared = self._node.schema.get("additionalProperties")
        if isinstance(declared, dict):
            return Shape(self._node.item, preserves=self._preserves)
        is_open = declared if declared is not None else self._preserves or not self.named
        return _DEDUCED if is_open else None

    def field(self, name: str) -> tuple[str, Shape]:
        """The path element and the shape of a field, declared or not."""
        return self.named.get(name) or (f"f:{name}", self.rest or UNTYPED)

    @cached_property
    def is_deduced(self) -> bool:
        """Whether nothing at all is declared about the fields."""
        scalar = self.rest.scalar if self.rest else None
        return not self.named and scalar is not None and scalar.name == "untyped"


class Items:
    """A place for a list."""

    def __init__(self, node: Node | None = None, *, preserves: bool = False) -> None:
        self._node = node
        self._preserves = preserves
        self.is_atomic: bool
        self.keys: tuple[str, ...]
        self.is_atomic, self.keys = (True, ()) if node is None else _relation(node.schema)

    @cached_property
    def item(self) -> Shape:
        """The shape of the items."""
        if self._node is None or "items" not in self._node.schema:
            return UNTYPED
        return Shape(self._node.item, preserves=self._preserves)

    @cached_property
    def _defaults(self) -> tuple[tuple[str, Any], ...]:
        properties = self._node.item.fields if self._node is not None and self.item.fields else {}
        return tuple(
            (name, properties[name].schema.get("default") if name in properties else None) for name in sorted(self.keys)
        )

    def element(self, item: Any) -> str:
        """The path element of an item.

        Raises ``ValueError`` if the item has none.
        """
        if not self.keys:
            return _element_of_set(item)
        if type(item) is not dict:
            kind = "a null element" if item is None else "non-map elements"
            raise ValueError(f"associative list with keys may not have {kind}")
        keys = {}
        for name, default in self._defaults:
            value = item.get(name, default)
            if value is not None or name in item:
                keys[name] = value
        if not keys:
            raise ValueError(self._omission())
        return key_element(keys)

    def _omission(self) -> str:
        if self.item.fields is None:
            return f"couldn't find default value for {self.keys[0]}: associative list may not have non-map types"
        names = " ".join(map(go_quoted, self.keys))
        return (
            f"associative list with keys has an element that omits all key fields [{names}] "
            "(and doesn't have default values for any key fields)"
        )


def _relation(schema: dict[str, Any]) -> tuple[bool, tuple[str, ...]]:
    """Whether a list is owned as a whole, and the keys of its items."""
    declared = schema.get("x-kubernetes-list-type")
    if declared is None and schema.get("x-kubernetes-patch-strategy") in _MERGED:
        key = schema.get("x-kubernetes-patch-merge-key")
        return False, (key,) if key else ()
    if declared == "map":
        return False, tuple(schema.get("x-kubernetes-list-map-keys", ()))
    return declared != "set", ()


def _element_of_set(item: Any) -> str:
    if type(item) is dict:
        raise ValueError("associative list without keys has an element that's a map type")
    if type(item) is list:
        raise ValueError("not supported: associative list with lists as elements")
    if item is None:
        raise ValueError("associative list without keys has an element that's an explicit null")
    return value_element(item)


Part: TypeAlias = Scalar | Items | Fields


class Shape:
    """What may be at one place, by the kind of value: ``scalar``, ``items``, ``fields``, each None if not allowed."""

    def __init__(self, node: Node | None = None, *, preserves: bool = False, is_embedded: bool = False) -> None:
        self.scalar: Scalar | None = None
        self.items: Items | None = None
        self.fields: Fields | None = None
        if node is not None:
            self._compile(node, preserves=preserves and not node.definition, is_embedded=is_embedded)

    def _compile(self, node: Node, *, preserves: bool, is_embedded: bool) -> None:
        if node.definition == _QUANTITY:
            self.scalar = _ANY_SCALAR
            return
        if node.definition == _RAW_EXTENSION:
            self.scalar, self.items, self.fields = UNTYPED.scalar, UNTYPED.items, UNTYPED.fields
            return
        declared = node.schema.get("type")
        preserves = preserves or bool(node.schema.get("x-kubernetes-preserve-unknown-fields"))
        if declared in (None, "object"):
            self.fields = Fields.of(node, preserves=preserves, is_embedded=is_embedded or node.is_embedded)
        if declared in (None, "array"):
            self.items = Items(node, preserves=preserves)
        if declared not in ("object", "array"):
            self.scalar = _scalar(declared, node.schema.get("format", ""))

    @cached_property
    def first(self) -> Part:
        """The part for null and for values of a kind that is not allowed here."""
        return self.fields or self.scalar or self.items or _ANY_SCALAR

    @cached_property
    def only(self) -> Part | None:
        """The part for all values, if there is just one."""
        return self.first if (self.fields, self.scalar, self.items).count(None) == 2 else None

    @cached_property
    def takes_text(self) -> bool:
        """Whether any text fits."""
        return self.scalar is not None and self.scalar.name in ("string", "untyped")

    def part(self, value: Any) -> Part:
        """The part that a value belongs to."""
        if type(value) is dict:
            return self.fields or self.first
        if type(value) is list:
            return self.items or self.first
        return self.first if value is None else self.scalar or self.first


def _scalar(declared: str | None, form: str) -> Scalar:
    if declared in ("integer", "number"):
        return _NUMERIC
    if declared == "boolean":
        return _BOOLEAN
    return _TEXT if declared == "string" and form in ("", "byte") else _ANY_SCALAR


_NUMERIC: Final = Scalar("numeric")
_BOOLEAN: Final = Scalar("boolean")
_TEXT: Final = Scalar("string")
_ANY_SCALAR: Final = Scalar("untyped")

UNTYPED: Final = Shape()
"""Anything, owned as a whole."""
UNTYPED.scalar, UNTYPED.items, UNTYPED.fields = _ANY_SCALAR, Items(), Fields(is_atomic=True, rest=UNTYPED)
_DEDUCED: Final = Shape()
_DEDUCED.scalar, _DEDUCED.items, _DEDUCED.fields = _ANY_SCALAR, Items(), Fields(rest=_DEDUCED)
_STRING: Final = Shape()
_STRING.scalar = _TEXT


@lru_cache(maxsize=512)
def shape_of(node: Node) -> Shape:
    """The shape of whole objects of this type; what is not built in gets the metadata that all objects have."""
    return Shape(node, is_embedded=not node.definition)


def zero_of(node: Node) -> dict[str, Any]:
    """An object of this type that nobody has filled in, as Go writes it, fresh; empty for what is not built in."""
    zero: dict[str, Any] = orjson.loads(_zero_text(node.definition)) if node.definition else {}
    return zero


_ZEROS: Final = {"string": "", "int": 0, "float": 0, "bool": False}
_OWN_ZEROS: Final = {_QUANTITY: "0", "io.k8s.apimachinery.pkg.util.intstr.IntOrString": 0}


@cache
def _zero_text(definition: str) -> bytes:
    return orjson.dumps(_zero(definition))


def _zero(definition: str) -> dict[str, Any]:
    return {
        name: _zero_value(field) for name, field in go_fields().get(definition, {}).items() if not _is_omitted(field)
    }


def _is_omitted(field: dict[str, Any]) -> bool:
    omitted = field.get("omit")
    is_struct = field["kind"] == "struct" and not field.get("pointer")
    return omitted == "zero" or (omitted == "empty" and not is_struct)


def _zero_value(field: dict[str, Any]) -> Any:
    if field.get("pointer"):
        return None
    if field["kind"] != "struct":
        return _ZEROS.get(field["kind"])
    of = field.get("of", "")
    return _zero(of) if of in go_fields() else _OWN_ZEROS.get(of)
