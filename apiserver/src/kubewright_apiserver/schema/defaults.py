"""``default_errors``: whether the defaults in a CRD's schema are values that the schema itself would let pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from kubewright_apiserver.schema.copying import copied
from kubewright_apiserver.schema.embedded import (
    CoercionError,
    MetadataRule,
    compile_coercer,
    compile_embedded_checker,
)
from kubewright_apiserver.schema.numbers import same
from kubewright_apiserver.schema.pruning import compile_pruner
from kubewright_apiserver.schema.validation import schema_errors
from kubewright_apiserver.status import FieldError, invalid_field

__all__ = ["default_errors"]

_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_META: Final = frozenset(("metadata", "kind", "apiVersion"))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in a resource a default stands: the schema of the resource, and the steps to here; a list is ``[]``."""

    resource: dict[str, Any]
    steps: tuple[str, ...] = ()
    is_metadata: bool = False

    def below(self, step: str, *, is_metadata: bool = False) -> _Place:
        return replace(self, steps=(*self.steps, step), is_metadata=self.is_metadata or is_metadata)

    def around(self, value: Any) -> dict[str, Any]:
        """A resource that has the value at this place and nothing else but a kind."""
        for step in reversed(self.steps):
            value = [value] if step == "[]" else {step: value}
        return {"kind": "Validation", "apiVersion": "validation/v1", **value}


def default_errors(schema: dict[str, Any], path: str, metadata_rule: MetadataRule) -> list[FieldError]:
    """The errors of all defaults in the schema of a resource. The schema must be structural."""
    root = {**schema, _EMBEDDED: True}
    return list(_Walk(metadata_rule).errors(root, path, _Place(root)))


def _has_unknown_fields(schema: dict[str, Any]) -> bool:
    default = schema["default"]
    if not isinstance(default, dict | list):
        return False
    pruned = copied(default)
    compile_pruner(schema)(pruned)
    return not same(pruned, default)


@dataclass(frozen=True, slots=True)
class _Walk:
    metadata_rule: MetadataRule

    def errors(self, schema: dict[str, Any], path: str, place: _Place) -> Iterator[FieldError]:
        if schema.get(_EMBEDDED):
            place = _Place(schema)
        if schema.get("default") is not None:
            check = self._metadata_errors if place.is_metadata else self._errors
            yield from check(schema, f"{path}.default", place)
        items = schema.get("items")
        if isinstance(items, dict):
            yield from self.errors(items, f"{path}.items", place.below("[]"))
        for name, inner in (schema.get("properties") or {}).items():
            is_metadata = bool(schema.get(_EMBEDDED)) and name in _META
            yield from self.errors(inner, f"{path}.properties[{name}]", place.below(name, is_metadata=is_metadata))

    def _errors(self, schema: dict[str, Any], path: str, _: _Place) -> Iterator[FieldError]:
        default = schema["default"]
        if _has_unknown_fields(schema):
            yield invalid_field(path, default, "must not have unknown fields")
        coerce, check = compile_coercer(schema), compile_embedded_checker(schema, self.metadata_rule)
        value = copied(default)
        try:
            if coerce is not None:
                coerce(value, path)
        except CoercionError as error:
            yield error.error
            return
        errors = check(value, path) if check is not None else []
        yield from errors or schema_errors(_loosened(schema), value, path)

    def _metadata_errors(self, schema: dict[str, Any], path: str, place: _Place) -> Iterator[FieldError]:
        default = schema["default"]
        resource = {**place.resource, _EMBEDDED: True}
        coerce, check = compile_coercer(resource), compile_embedded_checker(resource, self.metadata_rule)
        obj = place.around(copied(default))
        try:
            if coerce is not None:
                coerce(obj, "")
            errors = [error.message for error in (check(obj, "") if check is not None else ())]
        except CoercionError as error:
            errors = [str(error)]
        if errors:
            told = errors[0] if len(errors) == 1 else f"[{', '.join(dict.fromkeys(errors))}]"
            yield invalid_field(path, default, f"must result in valid metadata: {told}")
            return
        yield from schema_errors(_loosened(schema), default, path)


def _loosened(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without the type of values that are integers or texts, which the server forgets in defaults."""
    loose = {key: value for key, value in schema.items() if key != "x-kubernetes-int-or-string"}
    if schema.get("properties"):
        loose["properties"] = {name: _loosened(inner) for name, inner in schema["properties"].items()}
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            loose[name] = _loosened(schema[name])
    return loose
