"""Python's type for a schema, and what a module must import to say it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

from tools.kinds.facts import reference
from tools.kinds.naming import class_name, module_name

__all__ = ["Imports", "annotate", "is_kept_by_api", "target_of"]

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_MACHINERY: Final = "io.k8s.apimachinery.pkg."
_EXTENSIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."

_API: Final = {
    _MACHINERY + "api.resource.Quantity": "Quantity",
    _META + "Condition": "Condition",
    _META + "LabelSelector": "LabelSelector",
    _META + "LabelSelectorRequirement": "LabelSelectorRequirement",
    _META + "ListMeta": "ListMetadata",
    _META + "ManagedFieldsEntry": "ManagedFieldsEntry",
    _META + "MicroTime": "MicroTime",
    _META + "ObjectMeta": "Metadata",
    _META + "OwnerReference": "OwnerReference",
}

_PLAIN: Final = {
    _EXTENSIONS + "JSON": "Any",
    _EXTENSIONS + "JSONSchemaPropsOrArray": "JSONSchemaProps | list[JSONSchemaProps]",
    _EXTENSIONS + "JSONSchemaPropsOrBool": "JSONSchemaProps | bool",
    _EXTENSIONS + "JSONSchemaPropsOrStringArray": "JSONSchemaProps | list[str]",
    _MACHINERY + "runtime.RawExtension": "dict[str, Any]",
    _MACHINERY + "util.intstr.IntOrString": "int | str",
    _META + "FieldsV1": "dict[str, Any]",
    _META + "Patch": "dict[str, Any]",
    _META + "Time": "datetime",
}

_SCALARS: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}

_HOMES: Final = {"Annotated": "typing", "Any": "typing", "datetime": "datetime"}


class Imports:
    """What one module imports, gathered while its classes are written."""

    def __init__(self, module: str) -> None:
        self.module: Final = module
        self.names: Final[defaultdict[str, set[str]]] = defaultdict(set)

    def api(self, name: str) -> str:
        """A name of ``kubewright.api``."""
        self.names["kubewright.api"].add(name)
        return name

    def standard(self, name: str) -> str:
        """A name of Python's library."""
        self.names[_HOMES[name]].add(name)
        return name

    def kind(self, schema: str) -> str:
        """A generated class, of this module or another one."""
        if module_name(schema) != self.module:
            self.names[f"kubewright.kinds.{module_name(schema)}"].add(class_name(schema))
        return class_name(schema)


def is_kept_by_api(schema: str) -> bool:
    """Whether a type is written by hand in ``kubewright.api``, or is a plain Python type."""
    return schema in _API or schema in _PLAIN


def target_of(schema: dict[str, Any]) -> str | None:
    """The generated type that a field holds, or None for scalars, lists, maps and types of ``kubewright.api``."""
    target = reference(schema)
    return None if target is None or is_kept_by_api(target) else target


def annotate(schema: dict[str, Any], imports: Imports) -> str:
    """The annotation of a field or item of this schema."""
    target = reference(schema)
    if target:
        return _named(target, imports)
    if schema["type"] == "array":
        return _list(schema, imports)
    if schema["type"] == "object":
        return f"dict[str, {annotate(schema['additionalProperties'], imports)}]"
    return _SCALARS[schema["type"]]


def _named(target: str, imports: Imports) -> str:
    if target in _API:
        return imports.api(_API[target])
    if target not in _PLAIN:
        return imports.kind(target)
    plain = _PLAIN[target]
    for name in _HOMES:
        if name in plain:
            imports.standard(name)
    return plain


def _list(schema: dict[str, Any], imports: Imports) -> str:
    items = f"list[{annotate(schema['items'], imports)}]"
    match schema.get("x-kubernetes-list-type"):
        case "map":
            keys = ", ".join(f'"{key}"' for key in schema["x-kubernetes-list-map-keys"])
            return f"{imports.standard('Annotated')}[{items}, {imports.api('ListMap')}({keys})]"
        case "set":
            return f"{imports.standard('Annotated')}[{items}, {imports.api('ListSet')}()]"
    return items
