"""Makes documents from the schemas: with every field set, to something that is not its default, or with few fields."""

from __future__ import annotations

from typing import Any, Final

from tools.kinds.facts import Facts, reference

__all__ = ["full_document", "small_document"]

_SCALARS: Final = {"string": "text", "integer": 7, "number": 1.5, "boolean": True}

_OPAQUE: Final = {
    "FieldsV1": {"f:spec": {}},
    "IntOrString": "25%",
    "JSON": {"any": [1, None]},
    "JSONSchemaPropsOrArray": [{"type": "string"}],
    "JSONSchemaPropsOrBool": False,
    "JSONSchemaPropsOrStringArray": ["text"],
    "MicroTime": "2026-01-02T03:04:05.678901Z",
    "Quantity": "250m",
    "RawExtension": {"any": "thing"},
    "Time": "2026-01-02T03:04:05Z",
}


def full_document(name: str, facts: Facts) -> dict[str, Any]:
    """An object with all its fields; a type inside itself (JSONSchemaProps) has only those that it needs."""
    document: dict[str, Any] = _Writer(facts, only_required=False).named(name, frozenset())
    return document


def small_document(name: str, facts: Facts) -> dict[str, Any]:
    """An object with the fields that its schema requires, and the spec or template that a kind cannot be without."""
    writer = _Writer(facts, only_required=True)
    document: dict[str, Any] = writer.named(name, frozenset())
    parts = {wire: reference(facts.properties(name).get(wire, {})) for wire in ("spec", "template")}
    return document | {wire: writer.named(part, frozenset()) for wire, part in parts.items() if part}


class _Writer:
    def __init__(self, facts: Facts, *, only_required: bool) -> None:
        self._facts = facts
        self._only_required = only_required

    def named(self, name: str, inside: frozenset[str]) -> Any:
        short = name.rpartition(".")[2]
        if short in _OPAQUE:
            return _OPAQUE[short]
        is_template = set(self._facts.properties(name)) == {"metadata", "spec"}
        required = self._facts.required(name) | ({"spec"} if is_template else set())
        few = self._only_required or name in inside
        properties = self._facts.properties(name).items()
        return {
            wire: self._value(schema, inside | {name}) for wire, schema in properties if not few or wire in required
        }

    def _value(self, schema: dict[str, Any], inside: frozenset[str]) -> Any:
        target = reference(schema)
        if target:
            return self.named(target, inside)
        if schema["type"] == "array":
            return [self._value(schema["items"], inside)]
        if schema["type"] == "object":
            return {"key": self._value(schema["additionalProperties"], inside)}
        return _SCALARS[schema["type"]]
