"""``Node``: one place in the type of an object, compiled from OpenAPI; what patches, apply and validation walk along.

Built-in kinds come from the extracted schemas, custom resources from their CRD; both look the same from here on.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from kubewright_apiserver.data import schemas

__all__ = ["ANY", "Node", "node_of_builtin", "node_of_schema"]

_REFERENCE: Final = "#/components/schemas/"
_TYPES: Final = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "microtime",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "any",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "any",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON": "any",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray": "any",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool": "any",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray": "any",
}


class Node:
    """One place in a type.

    ``type`` is one of ``object`` (with ``fields``), ``map`` (with ``item``), ``array`` (with ``item``), ``string``,
    ``integer``, ``number``, ``boolean``, ``quantity``, ``int-or-string``, ``time``, ``microtime``, ``any``.
    Nodes are shared and never changed; inner ones are made when first asked for, so types may contain themselves.
    """

    __slots__ = ("_fields", "_item", "definition", "schema", "type")

    def __init__(self, schema: dict[str, Any], definition: str = "") -> None:
        self.schema: dict[str, Any] = schema
        """The schema itself, references at its top resolved."""
        self.definition: str = definition
        """The name of the built-in type, empty for what has none."""
        self.type: str = _TYPES.get(definition) or _type_of(schema)
        self._fields: dict[str, Node] | None = None
        self._item: Node | None = None

    @property
    def fields(self) -> dict[str, Node]:
        """The fields of an object, by wire name."""
        if self._fields is None:
            properties = self.schema.get("properties", {})
            self._fields = {name: node_of_schema(schema) for name, schema in properties.items()}
        return self._fields

    @property
    def item(self) -> Node:
        """What the items of a list or the values of a map are."""
        if self._item is None:
            inner = self.schema.get("items") if self.type == "array" else self.schema.get("additionalProperties")
            self._item = node_of_schema(inner) if isinstance(inner, dict) else ANY
        return self._item

    def field(self, name: str) -> Node:
        """The node of a field of an object or of a value of a map; ``ANY`` where the type says nothing."""
        if self.type == "object":
            return self.fields.get(name, ANY)
        return self.item if self.type == "map" else ANY

    @property
    def preserves_unknown(self) -> bool:
        """Whether fields that the type does not name are kept."""
        return bool(self.schema.get("x-kubernetes-preserve-unknown-fields")) or self.type == "any"

    @property
    def is_embedded(self) -> bool:
        """Whether a whole object with apiVersion, kind and metadata is here."""
        return bool(self.schema.get("x-kubernetes-embedded-resource"))

    @property
    def list_type(self) -> str:
        """``atomic``, ``set`` or ``map``."""
        declared: str = self.schema.get("x-kubernetes-list-type", "atomic")
        return declared

    @property
    def keys(self) -> tuple[str, ...]:
        """The fields that tell items of a list of type map apart."""
        return tuple(self.schema.get("x-kubernetes-list-map-keys", ()))

    @property
    def is_atomic(self) -> bool:
        """Whether server-side apply owns the list or map here as a whole."""
        if self.type == "array":
            return self.list_type == "atomic"
        return self.schema.get("x-kubernetes-map-type") == "atomic"

    @property
    def merge_key(self) -> str:
        """The key by which a strategic merge patch merges the items of this list; empty if it replaces the list."""
        key: str = self.schema.get("x-kubernetes-patch-merge-key", "")
        return key

    @property
    def strategies(self) -> frozenset[str]:
        """How a strategic merge patch treats this field: ``merge``, ``replace``, ``retainKeys``."""
        return frozenset(filter(None, self.schema.get("x-kubernetes-patch-strategy", "").split(",")))

    def __repr__(self) -> str:
        return f"<Node {self.definition or self.type}>"


def _type_of(schema: dict[str, Any]) -> str:
    if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
        return "int-or-string"
    declared = schema.get("type")
    if declared == "object" or (declared is None and "properties" in schema):
        if "properties" in schema:
            return "object"
        return "map" if "additionalProperties" in schema else "any"
    if declared == "string" and schema.get("format") == "date-time":
        return "string"
    return declared or "any"


def node_of_schema(schema: dict[str, Any]) -> Node:
    """The node of a schema, which may be a reference to a built-in type with marks of the field beside it."""
    reference = schema.get("$ref") or next((part["$ref"] for part in schema.get("allOf", ()) if "$ref" in part), None)
    if reference is None:
        return Node(schema)
    name = reference.removeprefix(_REFERENCE)
    beside = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
    return Node({**schemas()[name], **beside}, name) if beside else node_of_builtin(name)


@cache
def node_of_builtin(name: str) -> Node:
    """The node of a built-in type, by the name of its schema."""
    return Node(schemas()[name], name)


ANY: Final = Node({"x-kubernetes-preserve-unknown-fields": True})
