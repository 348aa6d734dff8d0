"""What holds for the versions of a CRD: schema, subresources, columns, selectable fields.

The server keeps what all versions have in common once, in ``spec`` itself, and its messages say so: a schema that all
versions share is wrong at ``spec.validation``, and only one of several is wrong at ``spec.versions[0].schema``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from kubewright_apiserver.schema.defaults import default_errors
from kubewright_apiserver.schema.dialect import dialect_errors
from kubewright_apiserver.schema.embedded import MetadataRule
from kubewright_apiserver.schema.fieldpath import FieldPathError, find_field
from kubewright_apiserver.schema.gostruct import schema_struct
from kubewright_apiserver.schema.structural import structure_errors, unsupported
from kubewright_apiserver.status import (
    FieldError,
    Printed,
    duplicate,
    forbidden_field,
    invalid_field,
    required,
    too_many,
)

__all__ = ["Parts", "column_errors", "parts_of", "selectable_errors", "subresource_errors", "version_schema_errors"]

_COMMON: Final = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")
_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_MOST_SELECTABLE: Final = 8
# What may not stand at the root of the schema of a version that has a status.
_NOT_AT_ROOT: Final = (
    "id", "$schema", "$ref", "nullable", "default", "enum", "maxProperties", "minProperties", "allOf", "oneOf", "anyOf",
    "not", "additionalProperties", "patternProperties", "dependencies", "additionalItems", "definitions",
    "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string", "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type", "x-kubernetes-map-type",
)  # fmt: skip
_SAID_IF_FALSE: Final = frozenset(
    ("default", "maxProperties", "minProperties", "not", "additionalProperties", "additionalItems", "$ref")
)
_AT_ROOT: Final = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern "
    "MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields "
    "XValidations"
)


class Parts(NamedTuple):
    """A CRD's spec as the server sees it: what all versions have in common, and the versions without that."""

    common: dict[str, Any]
    versions: list[dict[str, Any]]

    @property
    def hoisted(self) -> frozenset[str]:
        """The keys of what all versions have in common, be it nothing."""
        return frozenset(self.common)

    def subresources_of(self, name: str) -> dict[str, Any]:
        """The subresources of the first version of that name."""
        if "subresources" in self.common:
            return self.common["subresources"] or {}
        found = (version for version in self.versions if version.get("name", "") == name)
        return next(found, {}).get("subresources") or {}


def parts_of(spec: dict[str, Any]) -> Parts:
    """The common and the separate parts of the versions."""
    versions: list[dict[str, Any]] = spec.get("versions") or []
    common = {
        key: versions[0].get(key)
        for key in _COMMON
        if versions and all(_part(version, key) == _part(versions[0], key) for version in versions)
    }
    separate = [{key: value for key, value in version.items() if key not in common} for version in versions]
    return Parts(common, separate)


def _part(version: dict[str, Any], key: str) -> Any:
    value = version.get(key)
    return None if value == [] else value


def version_schema_errors(
    schema: dict[str, Any] | None, path: str, metadata_rule: MetadataRule, *, has_status: bool
) -> list[FieldError]:
    """The errors of the schema of a version; with a status there is less that it may say at its root."""
    if schema is None:
        return []
    path = f"{path}.openAPIV3Schema"
    errors = [*_root_errors(schema, path)] if has_status else []
    if schema.get("nullable"):
        errors.append(forbidden_field(f"{path}.nullable", "nullable cannot be true at the root"))
    problem = unsupported(schema)
    if not problem:
        errors += structure_errors(schema, path) or default_errors(schema, path, metadata_rule)
    errors += dialect_errors(schema, path)
    return errors or ([invalid_field(path, "", problem)] if problem else [])


def _root_errors(schema: dict[str, Any], path: str) -> Iterator[FieldError]:
    early = any(schema.get(key) for key in ("id", "$schema", "$ref"))
    declared = schema.get("type", "")
    if declared and declared != "object" and not early:
        detail = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        yield invalid_field(f"{path}.type", declared, detail)
    elif any(schema.get(key) or (key in _SAID_IF_FALSE and schema.get(key) is not None) for key in _NOT_AT_ROOT):
        detail = f"only [{_AT_ROOT}] fields are allowed at the root of the schema if the status subresource is enabled"
        yield invalid_field(path, Printed(schema_struct(schema)), detail)


def subresource_errors(subresources: dict[str, Any] | None, path: str) -> Iterator[FieldError]:
    """The errors of the paths by which a version is scaled."""
    scale = (subresources or {}).get("scale")
    if scale is None:
        return
    for name, root in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        if not scale.get(name):
            yield required(f"{path}.scale.{name}")
        else:
            yield from _scale_path_errors(scale[name], f"{path}.scale.{name}", f"{root}.", root)
    if selector := scale.get("labelSelectorPath"):
        place, roots = f"{path}.scale.labelSelectorPath", (".spec.", ".status.")
        yield from _scale_path_errors(selector, place, roots, "either .spec or .status")


def _scale_path_errors(json_path: str, path: str, roots: str | tuple[str, ...], told: str) -> Iterator[FieldError]:
    if json_path[0] != ".":
        yield invalid_field(path, json_path, "must be a simple json path starting with .")
    elif not json_path.startswith(roots):
        yield invalid_field(path, json_path, f"should be a json path under {told}")


def column_errors(columns: list[dict[str, Any]] | None, path: str) -> Iterator[FieldError]:
    """The errors of printer columns."""
    for index, column in enumerate(columns or ()):
        place = f"{path}[{index}]"
        if not column.get("name"):
            yield required(f"{place}.name")
        kind, told = column.get("type", ""), f"must be one of {','.join(_COLUMN_TYPES)}"
        if kind not in _COLUMN_TYPES:
            yield invalid_field(f"{place}.type", kind, told) if kind else required(f"{place}.type", told)
        if column.get("format") and column["format"] not in _COLUMN_FORMATS:
            yield invalid_field(f"{place}.format", column["format"], f"must be one of {','.join(_COLUMN_FORMATS)}")
        if not column.get("jsonPath"):
            yield required(f"{place}.JSONPath")
        elif column["jsonPath"][0] != ".":
            detail = "must be a simple json path starting with ."
            yield invalid_field(f"{place}.JSONPath", column["jsonPath"], detail)


def selectable_errors(fields: list[dict[str, Any]], schema: dict[str, Any], path: str) -> Iterator[FieldError]:
    """The errors of the fields that objects can be selected by."""
    if problem := unsupported(schema):
        yield invalid_field(f"{path.removesuffix('selectableFields')}schema.openAPIV3Schema", "", problem)
        schema = {}
    seen: set[str] = set()
    for index, field in enumerate(fields):
        place, json_path = f"{path}[{index}].jsonPath", field.get("jsonPath", "")
        if not json_path:
            yield required(place)
            continue
        try:
            found = find_field(json_path, schema, allows_brackets=False)
        except FieldPathError as error:
            yield invalid_field(place, json_path, f"is an invalid path: {error}")
            continue
        if found.root == "metadata":
            yield invalid_field(place, json_path, "must not point to fields in metadata")
        if found.schema.get("type") not in ("string", "boolean", "integer"):
            detail = "must point to a field of type string, boolean or integer. Enum string fields and strings with"
            yield invalid_field(place, json_path, f"{detail} formats are allowed.")
        if found.path in seen:
            yield duplicate(place, json_path)
        seen.add(found.path)
    if len(seen) > _MOST_SELECTABLE:
        yield too_many(path, len(seen), _MOST_SELECTABLE)
