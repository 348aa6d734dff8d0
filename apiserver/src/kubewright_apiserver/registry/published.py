"""``published_schema``: the type of a custom resource as the server publishes it, whole objects inside of it too."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.schema.structural import is_int_or_string

__all__ = ["published_schema"]

_METADATA: Final = {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
_TEXT: Final = {"type": "string"}
_RESOURCE: Final[dict[str, Any]] = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": _METADATA}
_INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]


def published_schema(crd: dict[str, Any], version: dict[str, Any]) -> dict[str, Any]:
    """The schema of a version with apiVersion, kind and metadata, and its kind; descriptions of those are left out."""
    spec = crd["spec"]
    schema: dict[str, Any] = (version.get("schema") or {}).get("openAPIV3Schema") or {"type": "object"}
    published = _expanded(schema)
    published["properties"] = {**published.get("properties", {}), **_RESOURCE}
    kind = {"group": spec["group"], "version": version["name"], "kind": spec["names"]["kind"]}
    return {**published, "x-kubernetes-group-version-kind": [kind]}


def _expanded(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with what its extensions mean: the fields of whole objects, the types of integers or texts."""
    expanded = dict(schema)
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            expanded[name] = _expanded(schema[name])
    if schema.get("properties"):
        expanded["properties"] = {name: _expanded(inner) for name, inner in schema["properties"].items()}
    if schema.get("x-kubernetes-embedded-resource"):
        expanded["properties"] = {**expanded.get("properties", {}), **_RESOURCE}
        required = list(schema.get("required") or ())
        expanded["required"] = required + [name for name in ("kind", "apiVersion") if name not in required]
    if schema.get("x-kubernetes-int-or-string") and not _says_types(schema):
        if schema.get("anyOf"):
            expanded["allOf"] = [{"anyOf": _INT_OR_STRING}, *(schema.get("allOf") or ())]
        else:
            expanded["anyOf"] = _INT_OR_STRING
    return expanded


def _says_types(schema: dict[str, Any]) -> bool:
    parts: list[dict[str, Any]] = schema.get("allOf") or []
    return is_int_or_string(schema) or any(map(is_int_or_string, parts[:1]))
