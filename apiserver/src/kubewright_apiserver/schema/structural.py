"""``structure_errors``: whether a schema is structural: every field's type is told once, outside of anyOf and its kin.

``unsupported`` finds what cannot even be asked that question.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kubewright_apiserver.schema.regexp import RegexpError, compile_regexp
from kubewright_apiserver.status import FieldError, forbidden_field, invalid_field, required

__all__ = ["inner_schemas", "is_int_or_string", "structure_errors", "unsupported"]

_INT_OR_STRING: Final = ({"type": "integer"}, {"type": "string"})
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_NOTHING: Final[dict[str, Any]] = {}
_SAID_IF_EMPTY: Final = (
    "additionalProperties",
    "externalDocs",
    "items",
    "not",
    "required",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-validations",
)
_NOT_SUPPORTED: Final = (
    ("id", "id"),
    ("$schema", "schema"),
    ("$ref", "$ref"),
    ("patternProperties", "patternProperties"),
    ("dependencies", "dependencies"),
    ("additionalItems", "additionalItems"),
    ("definitions", "definitions"),
)
# What may stand in a schema only outside of anyOf and its kin, and what it must be inside.
_OUTSIDE_ONLY: Final = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    (_PRESERVE, "must be false to be structural"),
    (_EMBEDDED, "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)


def inner_schemas(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schemas directly inside of a schema, wherever they may stand."""
    items = schema.get("items")
    yield from items if isinstance(items, list) else [items] if isinstance(items, dict) else []
    for name in ("allOf", "anyOf", "oneOf"):
        yield from schema.get(name) or ()
    for name in ("not", "additionalProperties", "additionalItems"):
        if isinstance(schema.get(name), dict):
            yield schema[name]
    for name in ("properties", "patternProperties", "definitions"):
        yield from (schema.get(name) or _NOTHING).values()
    yield from (inner for inner in (schema.get("dependencies") or _NOTHING).values() if isinstance(inner, dict))


def unsupported(schema: dict[str, Any]) -> str:
    """What the schema says that no CRD may say; empty if nothing."""
    for key, name in _NOT_SUPPORTED:
        if schema.get(key):
            return f"OpenAPIV3Schema '{name}' is not supported"
    if schema.get(_PRESERVE) is False:
        return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
    if isinstance(schema.get("items"), list) and schema["items"]:
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    return next(filter(None, map(unsupported, inner_schemas(schema))), "")


def structure_errors(schema: dict[str, Any], path: str) -> list[FieldError]:
    """The errors of a schema's structure, in the order of their texts."""
    errors = [*_node_errors(schema, path, "root"), *_incomplete_parts(schema, schema, path, path)]
    return sorted(errors, key=lambda error: error.message)


def _node_errors(schema: dict[str, Any], path: str, level: str) -> Iterator[FieldError]:
    yield from _inner_errors(schema, path, level)
    if schema.get("x-kubernetes-int-or-string"):
        for name in (_PRESERVE, _EMBEDDED):
            if schema.get(name):
                yield invalid_field(f"{path}.{name}", True, "must be false if x-kubernetes-int-or-string is true")
    skips_first = any(map(is_int_or_string, (schema.get("allOf") or [])[:1]))
    yield from _value_errors(schema, path, skips_any=is_int_or_string(schema), skips_first=skips_first)
    yield from _type_errors(schema, path, level)
    yield from _meta_errors(schema, path, level)


def _inner_errors(schema: dict[str, Any], path: str, level: str) -> Iterator[FieldError]:
    items, others = schema.get("items"), schema.get("additionalProperties")
    if schema.get("type") == "array" and not isinstance(items, dict):
        yield required(f"{path}.items", "must be specified")
    if isinstance(items, dict):
        yield from _node_errors(items, f"{path}.items", "item")
    for name, inner in (schema.get("properties") or _NOTHING).items():
        yield from _node_errors(inner, f"{path}.properties[{name}]", "field")
    if others is not None and level == "root":
        yield forbidden_field(f"{path}.additionalProperties", "must not be used at the root")
    if isinstance(others, dict):
        yield from _node_errors(others, f"{path}.additionalProperties", "field")


def _type_errors(schema: dict[str, Any], path: str, level: str) -> Iterator[FieldError]:
    declared, is_embedded = schema.get("type", ""), bool(schema.get(_EMBEDDED))
    if is_embedded and declared != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        yield invalid_field(f"{path}.type", declared, detail) if declared else required(f"{path}.type", detail)
    elif not declared and not schema.get("x-kubernetes-int-or-string") and not schema.get(_PRESERVE):
        place = {"root": "at the root", "item": "for specified array items", "field": "for specified object fields"}
        yield required(f"{path}.type", f"must not be empty {place[level]}")
    if is_embedded and schema.get("additionalProperties") is not None:
        detail = "must not be used if x-kubernetes-embedded-resource is set"
        yield forbidden_field(f"{path}.additionalProperties", detail)
    if level == "root" and declared and declared != "object":
        yield invalid_field(f"{path}.type", declared, "must be object at the root")


def _meta_errors(schema: dict[str, Any], path: str, level: str) -> Iterator[FieldError]:
    properties = schema.get("properties") or _NOTHING
    is_resource = level == "root" or bool(schema.get(_EMBEDDED))
    for name, wanted in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        declared = properties.get(name, _NOTHING).get("type", "")
        if name in properties and is_resource and declared != wanted:
            yield invalid_field(f"{path}.properties[{name}].type", declared, f"must be {wanted}")
    if level == "root" and not _is_plain_metadata(properties.get("metadata", _NOTHING)):
        detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        yield forbidden_field(f"{path}.properties[metadata]", detail)
    if schema.get(_EMBEDDED) and not schema.get(_PRESERVE) and not properties:
        detail = "must not be empty if x-kubernetes-embedded-resource is true without " + _PRESERVE
        yield required(f"{path}.properties", detail)


def _is_plain_metadata(schema: dict[str, Any]) -> bool:
    said = {key for key, value in schema.items() if value or (value == 0 and value is not False)}
    said |= {key for key in _SAID_IF_EMPTY if schema.get(key) is not None}
    restricted = (schema.get("properties") or _NOTHING).keys()
    return said <= {"type", "default", "properties"} and restricted <= {"name", "generateName"}


def is_int_or_string(schema: dict[str, Any]) -> bool:
    """Whether anyOf says only that the value is an integer or a text, which alone may be said of types there."""
    return tuple(schema.get("anyOf") or ()) == _INT_OR_STRING


def _value_errors(
    schema: dict[str, Any], path: str, *, skips_any: bool = False, skips_first: bool = False
) -> Iterator[FieldError]:
    if not skips_any:
        for index, part in enumerate(schema.get("anyOf") or ()):
            yield from _nested_errors(part, f"{path}.anyOf[{index}]")
    for index, part in enumerate(schema.get("allOf") or ()):
        yield from _nested_errors(part, f"{path}.allOf[{index}]", skips_any=skips_first and index == 0)
    for index, part in enumerate(schema.get("oneOf") or ()):
        yield from _nested_errors(part, f"{path}.oneOf[{index}]")
    if isinstance(schema.get("not"), dict):
        yield from _nested_errors(schema["not"], f"{path}.not")
    if pattern := schema.get("pattern"):
        try:
            compile_regexp(pattern)
        except RegexpError as error:
            detail = f"must be a valid regular expression, but isn't: {error}"
            yield invalid_field(f"{path}.pattern", pattern, detail)


def _nested_errors(schema: dict[str, Any], path: str, *, skips_any: bool = False) -> Iterator[FieldError]:
    yield from _value_errors(schema, path, skips_any=skips_any)
    if isinstance(schema.get("items"), dict):
        yield from _nested_errors(schema["items"], f"{path}.items")
    properties = schema.get("properties") or _NOTHING
    for name, inner in properties.items():
        yield from _nested_errors(inner, f"{path}.properties[{name}]")
    for name, detail in _OUTSIDE_ONLY:
        value = schema.get(name)
        if value or (value is not None and name == "default") or value == {}:
            yield forbidden_field(f"{path}.{name}", detail)
    if "metadata" in properties:
        yield forbidden_field(f"{path}.properties[metadata]", "must not be specified in a nested context")


def _incomplete_parts(
    parts: dict[str, Any], schema: dict[str, Any] | None, path: str, part_path: str
) -> Iterator[FieldError]:
    if isinstance(parts.get("not"), dict):
        yield from _incomplete(parts["not"], schema, path, f"{part_path}.not")
    for name in ("allOf", "anyOf", "oneOf"):
        for index, part in enumerate(parts.get(name) or ()):
            yield from _incomplete(part, schema, path, f"{part_path}.{name}[{index}]")


def _incomplete(part: dict[str, Any], schema: dict[str, Any] | None, path: str, part_path: str) -> Iterator[FieldError]:
    """What a part of anyOf and its kin talks of that the schema itself does not have."""
    if schema is None:
        yield required(path, f"because it is defined in {part_path}")
        return
    yield from _incomplete_parts(part, schema, path, part_path)
    if isinstance(part.get("items"), dict):
        items = schema.get("items")
        yield from _incomplete(
            part["items"], items if isinstance(items, dict) else None, f"{path}.items", f"{part_path}.items"
        )
    known = schema.get("properties") or _NOTHING
    for name, inner in (part.get("properties") or _NOTHING).items():
        place, inner_path = f"{path}.properties[{name}]", f"{part_path}.properties[{name}]"
        yield from _incomplete(inner, known.get(name), place, inner_path)
