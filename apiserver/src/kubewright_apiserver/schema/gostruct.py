"""Parts of a CRD as kube-apiserver's messages print them: its own Go structs, every field named and in order."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.golang import go_json

__all__ = ["items_struct", "schema_struct", "versions_struct"]

_SCHEMA_FIELDS: Final = (
    ("ID", "id", ""),
    ("Schema", "$schema", ""),
    ("Ref", "$ref", None),
    ("Description", "description", ""),
    ("Type", "type", ""),
    ("Nullable", "nullable", False),
    ("Format", "format", ""),
    ("Title", "title", ""),
    ("Default", "default", None),
    ("Maximum", "maximum", None),
    ("ExclusiveMaximum", "exclusiveMaximum", False),
    ("Minimum", "minimum", None),
    ("ExclusiveMinimum", "exclusiveMinimum", False),
    ("MaxLength", "maxLength", None),
    ("MinLength", "minLength", None),
    ("Pattern", "pattern", ""),
    ("MaxItems", "maxItems", None),
    ("MinItems", "minItems", None),
    ("UniqueItems", "uniqueItems", False),
    ("MultipleOf", "multipleOf", None),
    ("Enum", "enum", None),
    ("MaxProperties", "maxProperties", None),
    ("MinProperties", "minProperties", None),
    ("Required", "required", None),
    ("Items", "items", None),
    ("AllOf", "allOf", None),
    ("OneOf", "oneOf", None),
    ("AnyOf", "anyOf", None),
    ("Not", "not", None),
    ("Properties", "properties", None),
    ("AdditionalProperties", "additionalProperties", None),
    ("PatternProperties", "patternProperties", None),
    ("Dependencies", "dependencies", None),
    ("AdditionalItems", "additionalItems", None),
    ("Definitions", "definitions", None),
    ("ExternalDocs", "externalDocs", None),
    ("Example", "example", None),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", None),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", False),
    ("XIntOrString", "x-kubernetes-int-or-string", False),
    ("XListMapKeys", "x-kubernetes-list-map-keys", None),
    ("XListType", "x-kubernetes-list-type", None),
    ("XMapType", "x-kubernetes-map-type", None),
    ("XValidations", "x-kubernetes-validations", None),
)
_RULE_FIELDS: Final = (
    ("Rule", "rule", ""),
    ("Message", "message", ""),
    ("MessageExpression", "messageExpression", ""),
    ("Reason", "reason", None),
    ("FieldPath", "fieldPath", ""),
    ("OptionalOldSelf", "optionalOldSelf", None),
)
_COLUMN_FIELDS: Final = (
    ("Name", "name", ""),
    ("Type", "type", ""),
    ("Format", "format", ""),
    ("Description", "description", ""),
    ("Priority", "priority", 0),
    ("JSONPath", "jsonPath", ""),
)
_SCALE_FIELDS: Final = (
    ("SpecReplicasPath", "specReplicasPath", ""),
    ("StatusReplicasPath", "statusReplicasPath", ""),
    ("LabelSelectorPath", "labelSelectorPath", None),
)
_FLOATS: Final = frozenset(("maximum", "minimum", "multipleOf"))
_Fields = tuple[tuple[str, str, Any], ...]


def _joined(members: list[tuple[str, str]]) -> str:
    return "{" + ",".join(f'"{name}":{text}' for name, text in members) + "}"


def _flat(fields: _Fields, value: dict[str, Any]) -> str:
    return _joined([(name, go_json(value.get(key, zero))) for name, key, zero in fields])


def _list_of(texts: list[str]) -> str:
    return f"[{','.join(texts)}]"


def schema_struct(schema: dict[str, Any]) -> str:
    """A schema."""
    return _joined([(name, _schema_field(key, schema.get(key, zero))) for name, key, zero in _SCHEMA_FIELDS])


def _schema_field(key: str, value: Any) -> str:
    if value is None or isinstance(value, str):
        return go_json(value)
    if key in ("allOf", "oneOf", "anyOf"):
        return _list_of([schema_struct(part) for part in value])
    if key in ("properties", "patternProperties", "definitions"):
        return "{" + ",".join(f"{go_json(name)}:{schema_struct(value[name])}" for name in sorted(value)) + "}"
    if key == "not":
        return schema_struct(value)
    if key == "items":
        return items_struct(value)
    if key in ("additionalProperties", "additionalItems"):
        inner = schema_struct(value) if isinstance(value, dict) else "null"
        return _joined([("Allows", go_json(value is not False)), ("Schema", inner)])
    if key == "dependencies":
        return "{" + ",".join(f"{go_json(name)}:{_dependency(value[name])}" for name in sorted(value)) + "}"
    if key == "externalDocs":
        return _flat((("Description", "description", ""), ("URL", "url", "")), value)
    if key == "x-kubernetes-validations":
        return _list_of([_flat(_RULE_FIELDS, rule) for rule in value])
    return go_json(float(value)) if key in _FLOATS else go_json(value)


def _dependency(value: Any) -> str:
    if isinstance(value, dict):
        return _joined([("Schema", schema_struct(value)), ("Property", "null")])
    return _joined([("Schema", "null"), ("Property", go_json(value))])


def items_struct(items: dict[str, Any] | list[dict[str, Any]]) -> str:
    """What a schema says of the items of a list."""
    if isinstance(items, dict):
        return _joined([("Schema", schema_struct(items)), ("JSONSchemas", "null")])
    return _joined([("Schema", "null"), ("JSONSchemas", _list_of([schema_struct(item) for item in items]))])


def versions_struct(versions: list[dict[str, Any]], hoisted: frozenset[str]) -> str:
    """The versions of a CRD, without the parts that all have in common."""
    return _list_of([_version({k: v for k, v in version.items() if k not in hoisted}) for version in versions])


def _version(version: dict[str, Any]) -> str:
    schema, columns = version.get("schema"), version.get("additionalPrinterColumns")
    selectable = version.get("selectableFields")
    return _joined(
        [
            ("Name", go_json(version.get("name", ""))),
            ("Served", go_json(version.get("served", False))),
            ("Storage", go_json(version.get("storage", False))),
            ("Deprecated", go_json(version.get("deprecated", False))),
            ("DeprecationWarning", go_json(version.get("deprecationWarning"))),
            ("Schema", "null" if schema is None else _joined([("OpenAPIV3Schema", _validation(schema))])),
            ("Subresources", _subresources(version.get("subresources"))),
            (
                "AdditionalPrinterColumns",
                "null" if columns is None else _list_of([_flat(_COLUMN_FIELDS, column) for column in columns]),
            ),
            (
                "SelectableFields",
                "null"
                if selectable is None
                else _list_of([_joined([("JSONPath", go_json(one.get("jsonPath", "")))]) for one in selectable]),
            ),
        ]
    )


def _validation(schema: dict[str, Any]) -> str:
    inner = schema.get("openAPIV3Schema")
    return "null" if inner is None else schema_struct(inner)


def _subresources(value: dict[str, Any] | None) -> str:
    if value is None:
        return "null"
    status, scale = value.get("status"), value.get("scale")
    return _joined(
        [
            ("Status", "null" if status is None else "{}"),
            ("Scale", "null" if scale is None else _flat(_SCALE_FIELDS, scale)),
        ]
    )
