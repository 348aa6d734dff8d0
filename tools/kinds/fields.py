"""The fields of a class: their names, types and defaults.

Absent lists and maps are empty, other absent values are None. A status can always be made without arguments.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tools.kinds.annotation import Imports, annotate, target_of
from tools.kinds.facts import Facts
from tools.kinds.naming import field_name, wire_name

__all__ = ["Field", "fields_of"]

_ZEROS: Final = {"str": '""', "int": "0", "float": "0.0", "bool": "False"}

# Resource has these itself.
_OF_RESOURCE: Final = frozenset({"apiVersion", "kind", "metadata"})
_OF_TEMPLATE: Final = frozenset({"metadata", "spec"})


class Field(NamedTuple):
    """One line of a class."""

    name: str
    annotation: str
    default: str
    factory: str | None = None
    """The schema whose class must stand before this one, because it makes the default."""

    @property
    def line(self) -> str:
        """The field as source text."""
        return f"{self.name}: {self.annotation}" + (f" = {self.default}" if self.default else "")


def fields_of(schema: str, facts: Facts, imports: Imports) -> list[Field]:
    """The fields that the type's class declares, in the order of the wire."""
    owner = _Owner(schema, facts, imports)
    properties = facts.properties(schema)
    return [owner.field(wire, properties[wire]) for wire in properties if not (owner.is_kind and wire in _OF_RESOURCE)]


class _Owner:
    """The type whose fields are written."""

    def __init__(self, schema: str, facts: Facts, imports: Imports) -> None:
        self._schema = schema
        self._facts = facts
        self._imports = imports
        self._required = facts.required(schema)
        self._is_status = schema in facts.status_types
        self.is_kind = schema in facts.places
        self._is_object = self.is_kind or set(facts.properties(schema)) == _OF_TEMPLATE

    def field(self, wire: str, schema: dict[str, Any]) -> Field:
        name = field_name(wire, of_resource=self.is_kind)
        renamed = "" if wire_name(name) == wire else f'name="{wire}"'
        annotation = annotate(schema, self._imports)
        if self._is_object and annotation == "Metadata":
            return Field(name, annotation, self._call("field", "default_factory=Metadata"))
        part = self._part(wire, schema)
        if part and (wire == "status" or (wire not in self._required and self._can_be_made(part))):
            made = self._call("field", f"default_factory={self._imports.kind(part)}", renamed)
            return Field(name, annotation, made, factory=part)
        if part or self._must_be_given(wire, annotation):
            return Field(name, annotation, self._call("field", renamed) if renamed else "")
        empty = self._empty(wire, schema, annotation)
        if empty:
            return Field(name, annotation, self._call("omit_empty", empty, renamed))
        if self._is_zero(wire, annotation):
            return Field(name, annotation, self._default(_ZEROS[annotation], renamed))
        optional = annotation if annotation == "Any" else f"{annotation} | None"
        return Field(name, optional, self._default("None", renamed))

    def _part(self, wire: str, schema: dict[str, Any]) -> str | None:
        """The type of a part that every object has, such as its spec and status: a plain struct in Go.

        A template is an object but for its name.
        """
        is_part = self._is_object and (wire == "status" or not self._go(wire).get("pointer"))
        return target_of(schema) if is_part else None

    def _must_be_given(self, wire: str, annotation: str) -> bool:
        # Go writes unset times and bytes as null also where the schema requires them.
        may_be_null = annotation in ("datetime", "MicroTime") or self._go(wire)["kind"] == "bytes"
        return wire in self._required and not self._is_status and not may_be_null

    def _can_be_made(self, part: str) -> bool:
        """Whether the part's class takes no arguments; a template takes its spec, unless that takes none itself."""
        if part in self._facts.status_types:
            return True
        properties = self._facts.properties(part)
        spec = target_of(properties["spec"]) if set(properties) == _OF_TEMPLATE else None
        return not self._facts.required(part) and (spec is None or self._can_be_made(spec))

    def _empty(self, wire: str, schema: dict[str, Any], annotation: str) -> str | None:
        """The type whose empty value stands for the field's absence."""
        if schema.get("type") in ("array", "object"):
            return "list" if schema["type"] == "array" else "dict"
        return annotation if self._is_zero(wire, annotation) and wire not in self._required else None

    def _is_zero(self, wire: str, annotation: str) -> bool:
        """Whether an unset number, text or truth value of a status is zero; only Go's pointers tell the two apart."""
        return self._is_status and annotation in _ZEROS and not self._go(wire).get("pointer")

    def _default(self, value: str, renamed: str) -> str:
        return self._call("field", f"default={value}", renamed) if renamed else value

    def _go(self, wire: str) -> dict[str, Any]:
        return self._facts.go_fields[self._schema][wire]

    def _call(self, function: str, *arguments: str) -> str:
        return f"{self._imports.api(function)}({', '.join(filter(None, arguments))})"
