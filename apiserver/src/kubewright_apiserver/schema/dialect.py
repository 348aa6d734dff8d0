"""``dialect_errors``: what the schema of a CRD says that OpenAPI allows and Kubernetes does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from kubewright_apiserver.golang import go_json
from kubewright_apiserver.schema.gostruct import items_struct
from kubewright_apiserver.schema.rules import rule_errors
from kubewright_apiserver.status import FieldError, Printed, forbidden_field, invalid_field, not_supported, required

__all__ = ["dialect_errors"]

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_META: Final = frozenset(("metadata", "kind", "apiVersion"))
_NOTHING: Final[dict[str, Any]] = {}
_LIST_TYPE: Final = "x-kubernetes-list-type"
_MAP_TYPE: Final = "x-kubernetes-map-type"
_KEYS: Final = "x-kubernetes-list-map-keys"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a schema stands."""

    path: str
    is_root: bool = False
    is_metadata: bool = False
    """Whether it is the schema of metadata, apiVersion or kind, or inside of it."""
    no_defaults: str = ""
    """Why there may be no default here; empty if there may."""

    def below(self, step: str, **changes: Any) -> _Place:
        return replace(self, path=self.path + step, is_root=False, **changes)


def dialect_errors(schema: dict[str, Any], path: str) -> list[FieldError]:
    """The errors of the schema of a resource, and of all schemas inside of it."""
    return _errors(schema, _Place(path, is_root=True))


def _errors(schema: dict[str, Any], place: _Place) -> list[FieldError]:
    return [
        *_keyword_errors(schema, place),
        *_object_errors(schema, place),
        *_part_errors(schema, place),
        *_extension_errors(schema, place.path),
        *_set_errors(schema, place.path),
        *_map_errors(schema, place.path),
        *_key_errors(schema, place.path),
        *rule_errors(schema, place.path),
    ]


def _keyword_errors(schema: dict[str, Any], place: _Place) -> Iterator[FieldError]:
    path, declared = place.path, schema.get("type")
    if declared and declared not in _TYPES:
        yield not_supported(f"{path}.type", declared, _TYPES)
    if place.no_defaults and schema.get("default") is not None:
        yield forbidden_field(f"{path}.default", f"must not be set {place.no_defaults}")
    for name in ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"):
        said = schema.get(name)
        if said or (said is not None and name in ("additionalItems", "dependencies", "$ref")):
            yield forbidden_field(f"{path}.{name}", f"{name} is not supported")
    if declared == "null":
        yield forbidden_field(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list) and schema["items"]:
        yield forbidden_field(f"{path}.items", "items must be a schema object and not an array")
    if place.is_metadata and schema.get("x-kubernetes-embedded-resource"):
        yield forbidden_field(f"{path}.x-kubernetes-embedded-resource", "must not be used inside of resource meta")
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden_field(f"{path}.uniqueItems", detail)


def _object_errors(schema: dict[str, Any], place: _Place) -> Iterator[FieldError]:
    properties, others = schema.get("properties") or _NOTHING, schema.get("additionalProperties")
    if properties and others is not None and others is not True:
        detail = "additionalProperties and properties are mutual exclusive"
        yield forbidden_field(f"{place.path}.additionalProperties", detail)
    if isinstance(others, dict):
        reason = "inside additionalProperties applying to object metadata"
        inner = place.below(".additionalProperties", no_defaults=reason if place.is_metadata else place.no_defaults)
        yield from _errors(others, inner)
    is_resource = place.is_root or bool(schema.get("x-kubernetes-embedded-resource"))
    for name, property_schema in properties.items():
        inner = place.below(f".properties[{name}]")
        if is_resource and name in _META:
            reason = f"in top-level {name}" if place.is_root else place.no_defaults
            inner = replace(inner, is_metadata=True, no_defaults=reason)
        yield from _errors(property_schema, inner)


def _part_errors(schema: dict[str, Any], place: _Place) -> Iterator[FieldError]:
    if isinstance(schema.get("not"), dict):
        yield from _errors(schema["not"], place.below(".not"))
    for name in ("allOf", "oneOf", "anyOf"):
        for index, part in enumerate(schema.get(name) or ()):
            yield from _errors(part, place.below(f".{name}[{index}]"))
    items = schema.get("items")
    if isinstance(items, dict):
        yield from _errors(items, place.below(".items"))
    elif isinstance(items, list):
        for index, part in enumerate(items):
            yield from _errors(part, place.below(f".items[{index}]"))
    for name in ("definitions", "dependencies"):
        for key, part in (schema.get(name) or _NOTHING).items():
            if isinstance(part, dict):
                yield from _errors(part, place.below(f".{name}[{key}]"))


def _extension_errors(schema: dict[str, Any], path: str) -> Iterator[FieldError]:
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        yield invalid_field(f"{path}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined")
    kind = schema.get(_MAP_TYPE)
    if kind is not None:
        yield from _needed_type(schema, path, "object", _MAP_TYPE)
        if kind not in ("atomic", "granular"):
            yield not_supported(f"{path}.{_MAP_TYPE}", kind, ("atomic", "granular"))


def _needed_type(schema: dict[str, Any], path: str, wanted: str, because: str) -> Iterator[FieldError]:
    declared = schema.get("type", "")
    if declared != wanted:
        detail = f"must be {wanted} if {because} is specified"
        yield invalid_field(f"{path}.type", declared, detail) if declared else required(f"{path}.type", detail)


def _set_errors(schema: dict[str, Any], path: str) -> Iterator[FieldError]:
    kind = schema.get(_LIST_TYPE)
    if kind is None:
        return
    if schema.get("type") != "array":
        yield from _needed_type(schema, path, "array", _LIST_TYPE)
    elif _is_open_set(schema):
        name = _LIST_TYPE if schema["items"].get("type") == "array" else _MAP_TYPE
        shown = Printed(go_json(schema["items"].get(_LIST_TYPE)))
        detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
        yield invalid_field(f"{path}.items.{name}", shown, detail)
    if kind not in ("atomic", "set", "map"):
        yield not_supported(f"{path}.{_LIST_TYPE}", kind, ("atomic", "set", "map"))


def _is_open_set(schema: dict[str, Any]) -> bool:
    """Whether it is a set of lists or objects that are not atomic."""
    items = schema.get("items")
    if schema.get(_LIST_TYPE) != "set" or not isinstance(items, dict):
        return False
    if items.get("type") == "array":
        return bool(items.get(_LIST_TYPE, "atomic") != "atomic")
    return bool(items.get("type") == "object" and items.get(_MAP_TYPE) != "atomic")


def _map_errors(schema: dict[str, Any], path: str) -> Iterator[FieldError]:
    kind, keys, items = schema.get(_LIST_TYPE), schema.get(_KEYS) or [], schema.get("items")
    if keys and kind != "map":
        detail = f"must be map if {_KEYS} is non-empty"
        place = f"{path}.{_LIST_TYPE}"
        yield required(place, detail) if kind is None else invalid_field(place, kind, detail)
    if kind != "map":
        return
    if not keys:
        yield required(f"{path}.{_KEYS}", f"must not be empty if {_LIST_TYPE} is map")
    if items is None:
        yield required(f"{path}.items", f"must have a schema if {_LIST_TYPE} is map")
    elif not isinstance(items, dict):
        detail = f"must only have a single schema if {_LIST_TYPE} is map"
        yield invalid_field(f"{path}.items", Printed(items_struct(items)), detail)
    elif items.get("type") != "object":
        detail = f"must be object if parent array's {_LIST_TYPE} is map"
        yield invalid_field(f"{path}.items.type", items.get("type", ""), detail)
    else:
        yield from _listed_key_errors(keys, items.get("properties") or _NOTHING, path)


def _listed_key_errors(keys: list[str], properties: dict[str, Any], path: str) -> Iterator[FieldError]:
    for index, key in enumerate(keys):
        if key not in properties:
            yield invalid_field(f"{path}.{_KEYS}", keys, "entries must all be names of item properties")
        elif properties[key].get("type") in ("array", "object"):
            detail = f"must be a scalar type if parent array's {_LIST_TYPE} is map"
            yield invalid_field(f"{path}.items.properties[{key}].type", "object", detail)
        if key in keys[:index]:
            yield invalid_field(f"{path}.{_KEYS}", keys, "must not contain duplicate entries")


def _key_errors(schema: dict[str, Any], path: str) -> Iterator[FieldError]:
    kind, items = schema.get(_LIST_TYPE), schema.get("items")
    if kind not in ("set", "map") or not isinstance(items, dict):
        return
    if items.get("nullable"):
        yield forbidden_field(f"{path}.items.nullable", f"cannot be nullable when {_LIST_TYPE} is {kind}")
    properties = items.get("properties") or _NOTHING
    for key in (schema.get(_KEYS) or ()) if kind == "map" else ():
        if key not in properties:
            continue
        place, because = f"{path}.items.properties[{key}]", f"this property is in {_KEYS}, so it"
        if key not in (items.get("required") or ()) and properties[key].get("default") is None:
            yield required(f"{place}.default", f"{because} must have a default or be a required property")
        if properties[key].get("nullable"):
            yield forbidden_field(f"{place}.nullable", f"{because} cannot be nullable")
