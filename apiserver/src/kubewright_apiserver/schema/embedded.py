"""Whole resources inside of custom ones: their kind must be told and their metadata be real."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from kubewright_apiserver.schema.objectmeta import MetadataError, coerce_metadata
from kubewright_apiserver.status import FieldError, invalid_field, required

__all__ = ["Coercer", "CoercionError", "EmbeddedChecker", "MetadataRule", "compile_coercer", "compile_embedded_checker"]

Coercer = Callable[[Any, str], list[str]]
"""Drops from a value at a path what the metadata of embedded resources cannot have; gives the paths of that."""

EmbeddedChecker = Callable[[Any, str], list[FieldError]]
"""The errors of the embedded resources in a value at a path."""

MetadataRule = Callable[[dict[str, Any]], list[FieldError]]
"""The errors of an object's metadata, at ``metadata.…``; a name is there, a namespace perhaps."""

_Visit = Callable[[Any, str], list[Any]]
_NOTHING: Final[dict[str, Any]] = {}
_LABEL: Final = re.compile("[a-z]([-a-z0-9]*[a-z0-9])?")
_LABEL_TEXT: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    f"'{_LABEL.pattern}')"
)


class CoercionError(ValueError):
    """An embedded resource that cannot be read: the request is a bad one."""

    def __init__(self, error: FieldError) -> None:
        super().__init__(error.message)
        self.error: FieldError = error


def _visitor(schema: dict[str, Any], here: _Visit) -> _Visit | None:
    """What calls ``here`` for each embedded resource in a value and gathers what it gives; None if none can be."""
    visits = here if schema.get("x-kubernetes-embedded-resource") else None
    properties: dict[str, Any] = schema.get("properties") or _NOTHING
    visitors = {name: _visitor(inner, here) for name, inner in properties.items()}
    fields = {name: visit_field for name, visit_field in visitors.items() if visit_field is not None}
    others, items = schema.get("additionalProperties"), schema.get("items")
    visit_other = _visitor(others, here) if isinstance(others, dict) else None
    visit_item = _visitor(items, here) if isinstance(items, dict) else None
    if visits is None and not fields and visit_other is None and visit_item is None:
        return None

    def visit_object(value: dict[str, Any], path: str) -> list[Any]:
        found = visits(value, path) if visits is not None else []
        for key, inner in value.items():
            if key in fields:
                found += fields[key](inner, _below(path, key))
            elif visit_other is not None and key not in properties:
                found += visit_other(inner, f"{path}[{key}]")
        return found

    def visit(value: Any, path: str) -> list[Any]:
        if type(value) is dict:
            return visit_object(value, path)
        if type(value) is list and visit_item is not None:
            return [one for index, item in enumerate(value) for one in visit_item(item, f"{path}[{index}]")]
        return []

    return visit


def compile_coercer(schema: dict[str, Any], *, is_lenient: bool = False) -> Coercer | None:
    """What reads the metadata of embedded resources as the server does, in place; None if there can be none.

    It raises ``CoercionError`` for a kind that is no text and for metadata that is none. A lenient one drops those.
    """
    return _visitor(schema, _coerce_leniently if is_lenient else _coerce)


def _coerce(resource: dict[str, Any], path: str) -> list[str]:
    for name in ("apiVersion", "kind"):
        if name in resource and not isinstance(resource[name], str):
            raise CoercionError(invalid_field(_below(path, name), resource[name], "must be a string"))
    if "metadata" not in resource:
        return []
    try:
        resource["metadata"], dropped = coerce_metadata(resource["metadata"])
    except MetadataError as error:
        raise CoercionError(invalid_field(_below(path, "metadata"), resource["metadata"], str(error))) from None
    return [f"{_below(path, 'metadata')}.{name}" for name in dropped]


def _coerce_leniently(resource: dict[str, Any], _: str) -> list[str]:
    for name in ("apiVersion", "kind"):
        if name in resource and not isinstance(resource[name], str):
            del resource[name]
    metadata = resource.get("metadata")
    if isinstance(metadata, dict):
        resource["metadata"] = {}
        for name, value in metadata.items():
            with suppress(MetadataError):
                resource["metadata"] |= coerce_metadata({name: value})[0]
    elif metadata is None and "metadata" in resource:
        resource["metadata"] = {}
    return []


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def compile_embedded_checker(schema: dict[str, Any], metadata_rule: MetadataRule) -> EmbeddedChecker | None:
    """What finds what is wrong with embedded resources; None if there can be none."""

    def check(resource: dict[str, Any], path: str) -> list[FieldError]:
        errors = [required(_below(path, name)) for name in ("apiVersion", "kind") if name not in resource]
        for name, value in resource.items():
            if name == "apiVersion":
                errors += _version_errors(value, _below(path, name))
            elif name == "kind":
                errors += _kind_errors(value, _below(path, name))
            elif name == "metadata":
                errors += _metadata_errors(value, path, metadata_rule)
        return errors

    return _visitor(schema, check)


def _version_errors(value: Any, path: str) -> list[FieldError]:
    if not isinstance(value, str):
        return [invalid_field(path, value, "must be a string")]
    if not value:
        return [invalid_field(path, value, "must not be empty")]
    if value.count("/") > 1:
        return [invalid_field(path, value, f"unexpected GroupVersion string: {value}")]
    return []


def _kind_errors(value: Any, path: str) -> list[FieldError]:
    if not isinstance(value, str):
        return [invalid_field(path, value, "must be a string")]
    if not value:
        return [invalid_field(path, value, "must not be empty")]
    wrong = ["must be no more than 63 characters"] if len(value) > 63 else []
    if not _LABEL.fullmatch(value.lower()):
        wrong.append(_LABEL_TEXT)
    detail = f"may have mixed case, but should otherwise match: {','.join(wrong)}"
    return [invalid_field(path, value, detail)] if wrong else []


def _metadata_errors(value: Any, path: str, metadata_rule: MetadataRule) -> list[FieldError]:
    try:
        metadata, _ = coerce_metadata(value)
    except MetadataError as error:
        return [invalid_field(_below(path, "metadata"), value, str(error))]
    # The server insists on a name, embedded resources need none.
    errors = metadata_rule({"name": "fakename", **metadata})
    return [error._replace(field=_below(path, error.field)) for error in errors]
