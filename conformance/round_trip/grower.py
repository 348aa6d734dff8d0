"""Grows an accepted object field by field, as far as the server goes along."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from conformance.round_trip.schema import Field, Schemas, Steps, Struct
from conformance.round_trip.server import Answer, Door
from conformance.round_trip.values import Values, lookup, place

__all__ = ["DROPPED", "Grower", "Ledger"]

DROPPED: Final = "taken without complaint, but not in the answer"


@dataclass
class Ledger:
    """What became of each field so far."""

    seen: set[Field] = field(default_factory=set)
    refused: dict[Field, tuple[Steps, str]] = field(default_factory=dict)
    """Where each field was first refused, and why; also of fields that were seen later."""


class _Candidate(NamedTuple):
    steps: Steps
    field: Field
    schema: dict[str, Any]


@dataclass
class Grower:
    """Puts more and more fields into documents of one definition that go through one door."""

    schemas: Schemas
    values: Values
    ledger: Ledger
    door: Door
    owner: str
    scope: tuple[Steps, ...]
    """The places in the object that this door writes."""

    async def grow(self, document: dict[str, Any], *, only_new: bool = False) -> dict[str, Any]:
        """The object with every field that the server takes beside the others, or only those not yet seen anywhere."""
        tried: set[Steps] = set()
        self._see(document)
        while fresh := [found for found in self._candidates(document, only_new) if found.steps not in tried]:
            tried.update(found.steps for found in fresh)
            document = await self._add(document, fresh)
        return document

    async def enrich(self, document: dict[str, Any]) -> dict[str, Any]:
        """The object with what was accepted of the same definitions in objects of other kinds, as far as it goes."""
        for struct in list(self.schemas.structs(self.owner, document)):
            document = await self._enriched(document, struct)
        return document

    async def _enriched(self, document: dict[str, Any], struct: Struct) -> dict[str, Any]:
        known, depth = self.values.largest(struct.owner), len(struct.steps)
        while known.keys() - struct.value.keys():
            answer = await self.door.send(place(document, struct.steps, {**struct.value, **known}))
            if answer.accepted:
                return answer.document
            causes = (cause.steps for cause in answer.causes)
            blamed = known.keys() & {steps[depth] for steps in causes if steps[:depth] == struct.steps != steps}
            known = {name: value for name, value in known.items() if name not in blamed} if blamed else {}
        return document

    def remember(self, document: dict[str, Any]) -> None:
        """Keep the parts of an accepted object for others."""
        for struct in self.schemas.structs(self.owner, document):
            self.values.keep(struct.owner, struct.value)

    async def variants(self, seed: dict[str, Any]) -> list[dict[str, Any]]:
        """Further objects, grown from the seed, for the fields that were refused beside others."""
        found = []
        for refused, (steps, _) in list(self.ledger.refused.items()):
            _, last = self.schemas.at(self._root, steps) or (None, None)
            if refused == last and refused not in self.ledger.seen and self._is_in_scope(steps):
                start = await self._variant(seed, steps, refused)
                if start is not None:
                    found.append(await self.grow(start, only_new=True))
        return found

    @property
    def _root(self) -> dict[str, Any]:
        return {"$ref": self.owner}

    def _is_in_scope(self, steps: Steps) -> bool:
        return any(steps[: len(inner)] == inner for inner in self.scope)

    def _candidates(self, document: dict[str, Any], only_new: bool) -> Iterator[_Candidate]:
        for struct in self.schemas.structs(self.owner, document):
            if struct.steps[:2] == ("metadata", "managedFields"):
                continue
            for name, schema in self.schemas.properties(struct.owner).items():
                steps, found = (*struct.steps, name), Field(struct.owner, name)
                wanted = found not in self.ledger.seen or not (only_new or struct.repeated)
                if struct.value.get(name) is None and wanted and self._is_in_scope(steps):
                    yield _Candidate(steps, found, schema)

    async def _add(self, document: dict[str, Any], candidates: list[_Candidate]) -> dict[str, Any]:
        trial = document
        for candidate in candidates:
            trial = self._with(trial, candidate)
        answer = await self.door.send(trial)
        if answer.accepted:
            return self._accept(answer, candidates)
        if len(candidates) == 1:
            return await self._insist(document, candidates[0], answer)
        blamed = [candidate for candidate in candidates if answer.blames(candidate.steps)]
        innocent = [candidate for candidate in candidates if candidate not in blamed]
        if blamed and innocent:
            parts = [innocent, *([one] for one in blamed)]
        else:
            parts = [candidates[: len(candidates) // 2], candidates[len(candidates) // 2 :]]
        for part in parts:
            document = await self._add(document, part)
        return document

    def _with(self, document: Any, candidate: _Candidate) -> Any:
        for name, sibling in self.values.beside(candidate.field).items():
            if sibling is not None:
                document = place(document, (*candidate.steps[:-1], name), sibling)
        return place(document, candidate.steps, self.values.first(candidate.schema, candidate.field))

    def _accept(self, answer: Answer, candidates: list[_Candidate]) -> dict[str, Any]:
        self._see(answer.document)
        for candidate in candidates:
            value = lookup(answer.document, candidate.steps)
            if value is not None:
                self.values.accept(candidate.field, value)
            elif candidate.field not in self.ledger.seen:
                self.ledger.refused.setdefault(candidate.field, (candidate.steps, DROPPED))
        return answer.document

    def _see(self, document: dict[str, Any]) -> None:
        for struct in self.schemas.structs(self.owner, document):
            self.ledger.seen.update(
                Field(struct.owner, name) for name, value in struct.value.items() if value is not None
            )

    async def _insist(self, document: dict[str, Any], candidate: _Candidate, answer: Answer) -> dict[str, Any]:
        """Try other values in the same place, then a list item of its own."""
        if candidate.field in self.ledger.seen:
            return document
        self.ledger.refused.setdefault(candidate.field, (candidate.steps, answer.message))
        trials = [(candidate.steps, self.values.first(candidate.schema, candidate.field))]
        trials += self._new_item(document, candidate)
        for steps, value in trials:
            found = await self._persuade(document, steps, value, candidate.field)
            if found is not None:
                return self._accept(found, [])
        return document

    def _new_item(self, document: dict[str, Any], candidate: _Candidate) -> list[tuple[Steps, Any]]:
        """One more item, with the field in it, of the innermost list or map that the field is in."""
        for depth in range(len(candidate.steps) - 1, 0, -1):
            above, below = candidate.steps[:depth], candidate.steps[depth + 1 :]
            schema, _ = self.schemas.at(self._root, above) or ({}, None)
            inner = schema.get("items") or schema.get("additionalProperties")
            if inner:
                count = len(lookup(document, above))
                item = _numbered(self._alone(inner, self.values.made(inner), below), schema, count)
                return [((*above, count if "items" in schema else f"a{count}"), item)]
        return []

    def _alone(self, schema: dict[str, Any], document: Any, steps: Steps) -> Any:
        """The document with a field at a place, and with what must or must not be beside everything on the way."""
        for depth in range(1, len(steps) + 1):
            way = steps[:depth]
            found, last = self.schemas.at(schema, way) or ({}, None)
            for name, sibling in self.values.beside(last).items() if last and last.name == way[-1] else ():
                document = place(document, (*way[:-1], name), sibling)
            if depth == len(steps):
                document = place(document, way, self.values.first(found, last))
            elif lookup(document, way) is None:
                document = place(document, way, self.values.made(found))
        return document

    async def _persuade(self, base: dict[str, Any], steps: Steps, value: Any, wanted: Field) -> Answer | None:
        """The first answer with the wanted field in it, while the value is revised as the refusals suggest."""
        schema, last = self.schemas.at(self._root, steps) or (self._root, None)
        answer = await self.door.send(place(base, steps, value))
        revisions = self.values.revised(schema, last or wanted, value, steps, answer)
        try:
            value = next(revisions)
            while not self._shows(answer, wanted):
                answer = await self.door.send(place(base, steps, value))
                value = revisions.send(answer)
        except StopIteration:
            pass
        return answer if self._shows(answer, wanted) else None

    def _shows(self, answer: Answer, wanted: Field) -> bool:
        return answer.accepted and any(
            struct.owner == wanted.owner and struct.value.get(wanted.name) is not None
            for struct in self.schemas.structs(self.owner, answer.document)
        )

    async def _variant(self, seed: dict[str, Any], steps: Steps, wanted: Field) -> dict[str, Any] | None:
        """A small object with the wanted field, if need be without something that the seed has beside it."""
        steps = tuple(0 if isinstance(step, int) else step for step in steps)
        for start in (seed, *self._without_sibling(seed, steps)):
            answer = await self._persuade({}, (), self._alone(self._root, start, steps), wanted)
            if answer is not None:
                return answer.document
        return None

    def _without_sibling(self, seed: dict[str, Any], steps: Steps) -> Iterator[dict[str, Any]]:
        """The seed without one of the fields beside a place, in turn."""
        above = steps[:-1]
        beside: dict[str, Any] = (lookup(seed, above) if above else None) or {}
        for name in beside:
            if name != steps[-1]:
                yield place(seed, above, {key: value for key, value in beside.items() if key != name})


def _numbered(item: Any, schema: dict[str, Any], count: int) -> Any:
    """The item with other keys than those before it."""
    keys = schema.get("x-kubernetes-list-map-keys", ["name"])
    for key in keys:
        value = item.get(key)
        if isinstance(value, str) and key != "protocol":
            item[key] = f"{value}{count}"
        elif isinstance(value, int):
            item[key] = value + count
    return item
