"""The OpenAPI description as the maker reads it: definitions, their fields, and where an object uses them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

__all__ = ["DATA", "Field", "Schemas", "Steps", "Struct", "schemas", "short_name"]

DATA: Final = Path(__file__).parents[2] / "apiserver/src/kubewright_apiserver/data"

Steps: TypeAlias = tuple[str | int, ...]
"""The way into a JSON document: keys and indexes."""


class Field(NamedTuple):
    """A property of a definition, wherever the definition is used."""

    owner: str
    name: str

    def __str__(self) -> str:
        return f"{self.owner}.{self.name}"


class Struct(NamedTuple):
    """A place in a document that a definition describes."""

    steps: Steps
    owner: str
    value: dict[str, Any]
    repeated: bool
    """Whether the definition also describes a place above, or the place is in a list behind the first item."""


class Schemas:
    """All definitions by their short names, like ``core.v1.Pod``."""

    def __init__(self, definitions: dict[str, dict[str, Any]]) -> None:
        self._definitions = {short_name(name): schema for name, schema in definitions.items()}
        if len(self._definitions) != len(definitions):
            raise ValueError("two definitions have the same short name")

    def of_kind(self, api_version: str, kind: str) -> str:
        """The definition of a kind."""
        group, _, version = api_version.rpartition("/")
        wanted = {"group": group, "version": version, "kind": kind}
        found = [
            name
            for name, schema in self._definitions.items()
            if wanted in schema.get("x-kubernetes-group-version-kind", ())
        ]
        return found[0]

    def definition(self, schema: dict[str, Any]) -> str | None:
        """The definition that a schema refers to."""
        target = schema.get("$ref") or next((part["$ref"] for part in schema.get("allOf", ())), None)
        return short_name(target) if target else None

    def properties(self, owner: str) -> dict[str, dict[str, Any]]:
        """The schemas of a definition's fields; none for one that is written as a scalar, or as anything."""
        found: dict[str, dict[str, Any]] = self._definitions[owner].get("properties", {})
        return found

    def required(self, owner: str) -> list[str]:
        """The fields without which an object of the definition is not accepted."""
        found: list[str] = self._definitions[owner].get("required", [])
        return found

    def reachable(self, owner: str) -> Iterator[Field]:
        """Every field of a definition and of those that it uses, in a fixed order."""
        waiting, met = [owner], {owner}
        while waiting:
            owner = waiting.pop()
            for name, schema in self.properties(owner).items():
                yield Field(owner, name)
                inner = self._innermost(schema)
                if inner and inner not in met:
                    met.add(inner)
                    waiting.append(inner)

    def innermost(self, field: Field) -> str | None:
        """The definition that a field's values are made of, through lists and maps."""
        return self._innermost(self.properties(field.owner)[field.name])

    def structs(self, owner: str, value: Any) -> Iterator[Struct]:
        """Every place in a document of the definition that has fields, from the outside in."""
        yield from self._structs({"$ref": owner}, value, (), (), False)

    def _structs(
        self, schema: dict[str, Any], value: Any, steps: Steps, above: tuple[str, ...], later: bool
    ) -> Iterator[Struct]:
        owner = self.definition(schema)
        if owner and isinstance(value, dict) and (properties := self.properties(owner)):
            yield Struct(steps, owner, value, later or owner in above)
            for name, inner in value.items():
                if name in properties:
                    yield from self._structs(properties[name], inner, (*steps, name), (*above, owner), later)
        elif isinstance(value, list) and "items" in schema:
            for index, inner in enumerate(value):
                yield from self._structs(schema["items"], inner, (*steps, index), above, later or index > 0)
        elif isinstance(value, dict) and isinstance(schema.get("additionalProperties"), dict):
            for name, inner in value.items():
                yield from self._structs(schema["additionalProperties"], inner, (*steps, name), above, later)

    def at(self, schema: dict[str, Any], steps: Steps) -> tuple[dict[str, Any], Field | None] | None:
        """The schema some steps below another one and the last field on the way; None where the steps lead nowhere."""
        last: Field | None = None
        for step in steps:
            owner = self.definition(schema)
            if owner:
                last, found = Field(owner, str(step)), self.properties(owner).get(str(step))
            else:
                found = schema.get("items") if isinstance(step, int) else schema.get("additionalProperties")
            if not isinstance(found, dict):
                return None
            schema = found
        return schema, last

    def _innermost(self, schema: dict[str, Any]) -> str | None:
        inner = schema.get("items") or schema.get("additionalProperties")
        return self._innermost(inner) if isinstance(inner, dict) else self.definition(schema)


def short_name(name: str) -> str:
    """The last three words of a definition's name: its group, version and type."""
    return ".".join(name.rpartition("/")[2].split(".")[-3:])


@cache
def schemas() -> Schemas:
    """The committed description of the server's API."""
    return Schemas(json.loads((DATA / "schemas.json").read_text()))
