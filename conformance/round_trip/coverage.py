"""How much of the API's description the made objects show, and why the rest is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from conformance.round_trip.golden import normal
from conformance.round_trip.grower import Ledger
from conformance.round_trip.maker import listable, served
from conformance.round_trip.schema import Field, Schemas

__all__ = ["all_fields", "missing", "seen_fields"]

_WITHIN: Final = "its definition is used only in fields that are missing themselves"
_SERVERS: Final = "only the server sets it, and had no reason to"
_LONGEST: Final = 240


def all_fields(schemas: Schemas) -> set[Field]:
    """The fields of every definition that objects of the served kinds are made of."""
    kinds = set(served()) | {(kind.api_version, kind.kind) for kind in listable()}
    return {field for api_version, kind in kinds for field in schemas.reachable(schemas.of_kind(api_version, kind))}


def seen_fields(schemas: Schemas, objects: Iterable[dict[str, Any]]) -> set[Field]:
    """The fields that have a value in one of the objects."""
    return set(_seen(schemas, objects))


def missing(schemas: Schemas, objects: Iterable[dict[str, Any]], ledger: Ledger) -> dict[str, str]:
    """Every field without a value in any of the objects, and the reason."""
    fields, seen = all_fields(schemas), seen_fields(schemas, objects)
    used = {schemas.innermost(field) for field in seen}
    return {str(field): _reason(field, field.owner in used, ledger) for field in sorted(fields - seen)}


def _seen(schemas: Schemas, objects: Iterable[dict[str, Any]]) -> Iterator[Field]:
    for document in objects:
        for struct in schemas.structs(schemas.of_kind(document["apiVersion"], document["kind"]), document):
            yield from (Field(struct.owner, name) for name, value in struct.value.items() if value is not None)


def _reason(field: Field, used: bool, ledger: Ledger) -> str:
    if field in ledger.refused:
        reason: str = normal(ledger.refused[field][1].partition(" is invalid: ")[2] or ledger.refused[field][1])
        return reason if len(reason) <= _LONGEST else f"{reason[:_LONGEST]}…"
    return _SERVERS if used else _WITHIN
