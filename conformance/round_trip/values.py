"""Values for fields: from hints, from what was accepted before, or guessed from type and format."""

from __future__ import annotations

import copy
import re
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import yaml

from conformance.round_trip.schema import Field, Schemas, Steps
from conformance.round_trip.server import Answer, Cause

__all__ = ["Values", "lookup", "place"]

_HINTS: Final = Path(__file__).parent / "hints.yaml"
_TEXTS: Final = (
    "a",
    "/a",
    "a.example.com",
    "10.0.0.1",
    "10.0.0.0/8",
    "a.example.com/a",
    "https://a.example.com",
    "1",
    "YQ==",
    "2026-01-02T03:04:05Z",
    "11111111-2222-4333-8444-555555555555",
)
_LADDERS: Final[dict[str, tuple[Any, ...]]] = {
    "string": _TEXTS,
    "byte": ("YQ==",),
    "integer": (1, 2, 10, 60, 600, 3600, 8000, 0),
    "number": (1.5, 1.0),
    "boolean": (True, False),
}
_QUOTED: Final = re.compile(r'"([^"]*)"')
_BACKQUOTED: Final = re.compile(r"`(\w+)`")


class Values:
    """What to try in a field, and what next when the server refuses it."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        hints = yaml.safe_load(_HINTS.read_text())
        self._definitions: dict[str, Any] = hints["definitions"]
        self._fields: dict[str, Any] = hints["fields"]
        self._names: dict[str, Any] = hints["names"]
        self._beside: dict[str, dict[str, Any]] = hints["beside"]
        self._unions: dict[str, list[str]] = hints["unions"]
        self._accepted: dict[Field, Any] = {}
        self._learnt: dict[str, str] = {}
        self._largest: dict[str, dict[str, Any]] = {}

    def learn(self, name: str, value: str) -> None:
        """Remember what ``$name`` means in hints and seeds."""
        self._learnt[name] = value

    def filled(self, document: Any) -> Any:
        """A copy of the document with each ``$name`` replaced by what it means."""
        if isinstance(document, dict):
            return {key: self.filled(value) for key, value in document.items()}
        if isinstance(document, list):
            return [self.filled(value) for value in document]
        return self._learnt[document[1:]] if isinstance(document, str) and document[:1] == "$" else document

    def accept(self, field: Field, value: Any) -> None:
        """Remember a value that the server took, to be tried first wherever the same field comes again."""
        self._accepted.setdefault(field, copy.deepcopy(value))

    def keep(self, owner: str, value: dict[str, Any]) -> None:
        """Remember a value of a definition if none with more in it is known."""
        if len(str(value)) > len(str(self._largest.get(owner, ""))):
            self._largest[owner] = value

    def largest(self, owner: str) -> dict[str, Any]:
        """The value of a definition with most in it; metadata is everybody's own."""
        return {} if owner == "meta.v1.ObjectMeta" else self._largest.get(owner, {})

    def beside(self, field: Field) -> dict[str, Any]:
        """What the fields beside it must be so that this one makes sense; None for those that must be absent."""
        union = _hint(self._unions, field.owner) or ()
        excluded = dict.fromkeys(name for name in union if name != field.name) if field.name in union else {}
        return {**excluded, **self.filled(_hint(self._beside, field.owner, f".{field.name}") or {})}

    def first(self, schema: dict[str, Any], field: Field | None) -> Any:
        """The smallest value of a schema that stands a chance."""
        if field and field in self._accepted:
            return copy.deepcopy(self._accepted[field])
        hint = _hint(self._fields, field.owner, f".{field.name}") if field else None
        return self.filled(hint) if hint is not None else self.made(schema, field)

    def made(self, schema: dict[str, Any], field: Field | None = None) -> Any:
        """The smallest value of a schema that its hints and required fields give."""
        owner = self._schemas.definition(schema)
        if owner:
            return self._made_of_definition(owner)
        if schema.get("type") == "array":
            return [self.made(schema["items"], field)]
        value = self._guess(schema)
        named = self._names.get(field.name) if field else None
        return copy.deepcopy(named) if type(named) is type(value) else value

    def _guess(self, schema: dict[str, Any]) -> Any:
        if "additionalProperties" in schema:
            return {"a": self.made(schema["additionalProperties"])}
        return next(filter(None, schema.get("enum", ())), None) or _ladder(schema)[0]

    def _made_of_definition(self, owner: str) -> Any:
        hint = _hint(self._definitions, owner)
        if hint is not None:
            return self.filled(hint)
        properties = self._schemas.properties(owner)
        return {name: self.first(properties[name], Field(owner, name)) for name in self._schemas.required(owner)}

    def revised(
        self, schema: dict[str, Any], field: Field, value: Any, steps: Steps, answer: Answer
    ) -> Generator[Any, Answer, None]:
        """Other values for a field that was refused at ``steps``, as its refusals suggest; send the refusals in."""
        tries: dict[Steps, int] = {}
        for _ in range(16):
            value, before = copy.deepcopy(value), value
            causes = [cause for cause in answer.causes if cause.steps[: len(steps)] == steps]
            for cause in causes or [Cause(steps, "", "")]:
                inner = cause.steps[len(steps) :]
                value = self._mended(schema, field, value, inner, cause, tries)
            if value == before:
                return
            answer = yield value

    def _mended(
        self, schema: dict[str, Any], field: Field, value: Any, inner: Steps, cause: Cause, tries: dict[Steps, int]
    ) -> Any:
        found = self._schemas.at(schema, inner)
        if found is None:
            return value
        there, last = found
        if cause.reason == "FieldValueNotSupported":
            supported = _QUOTED.findall(cause.message.rpartition("supported values: ")[2])
            return place(value, inner, next(filter(None, supported), "")) if supported else value
        if cause.reason == "FieldValueRequired" and lookup(value, inner) is None:
            return place(value, inner, self.first(there, last or field))
        owner = self._schemas.definition(there)
        named = [
            name for name in _BACKQUOTED.findall(cause.message) if owner and name in self._schemas.properties(owner)
        ]
        if owner and named:
            name = named[0]
            return place(value, (*inner, name), self.first(self._schemas.properties(owner)[name], Field(owner, name)))
        tries[inner] = tries.get(inner, 0) + 1
        ladder = _ladder(there)
        return place(value, inner, ladder[tries[inner]]) if tries[inner] < len(ladder) else value


def _ladder(schema: dict[str, Any]) -> tuple[Any, ...]:
    if schema.get("type") == "array":
        return tuple([value] for value in _ladder(schema["items"]))
    return _LADDERS.get(schema.get("format", "")) or _LADDERS.get(schema.get("type", ""), ())


def _hint(hints: dict[str, Any], owner: str, suffix: str = "") -> Any:
    """The hint for one version's definition, or for all definitions of that name."""
    found = hints.get(owner + suffix)
    return found if found is not None else hints.get(owner.rpartition(".")[2] + suffix)


def lookup(document: Any, steps: Steps) -> Any:
    """The value at a place, None where there is none."""
    for step in steps:
        if isinstance(document, list):
            document = document[step] if isinstance(step, int) and step < len(document) else None
        else:
            document = document.get(step) if isinstance(document, dict) else None
    return document


def place(document: Any, steps: Steps, value: Any) -> Any:
    """The document with a value at a place, which may be new; what is not on the way is shared."""
    if not steps:
        return value
    first, rest = steps[0], steps[1:]
    if isinstance(first, int):
        items = list(document or ())
        items[first : first + 1] = [place(items[first] if first < len(items) else None, rest, value)]
        return items
    known = dict(document or {})
    known[first] = place(known.get(first), rest, value)
    return known
