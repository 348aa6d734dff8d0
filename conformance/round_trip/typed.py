"""Documents as typed objects: which class reads them, and what their types alone say of them."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any, Final

import msgspec

from conformance.round_trip.values import lookup, place
from kubewright.api import Resource, decode, to_dict
from kubewright.kinds import modules

__all__ = ["class_of", "essence", "read", "typed_alone"]

_CLAIMS: Final = ("spec", "volumeClaimTemplates")


def class_of(api_version: str, kind: str) -> type[Resource]:
    """The class of a kind."""
    return _classes()[api_version, kind]


@cache
def _classes() -> dict[tuple[str, str], type[Resource]]:
    found = [value for name in modules() for value in vars(importlib.import_module(name)).values()]
    kinds = [kind for kind in found if isinstance(kind, type) and issubclass(kind, Resource) and kind is not Resource]
    return {(kind.api_version, kind.kind): kind for kind in kinds}


def read(document: dict[str, Any]) -> Resource:
    """The document as a typed object that was read from a server."""
    return decode(class_of(document["apiVersion"], document["kind"]), msgspec.json.encode(document))


def typed_alone(obj: Resource) -> dict[str, Any]:
    """What an object's fields say, as if it had been made in Python and never read."""
    return to_dict(type(obj)(**{name: getattr(obj, name) for name in obj.__struct_fields__}))


def essence(document: dict[str, Any]) -> Any:
    """The document without what means the same when it is absent or written otherwise.

    A null is an absent field, and 2.0 is 2. A zero in a status is what stands there before anybody sets it. A claim
    template inside a StatefulSet need not say its kind, which is always the same.
    """
    if "status" in document:
        document = {**document, "status": _without_zeros(document["status"])}
    if document["kind"] == "StatefulSet":
        claims = lookup(document, _CLAIMS) or ()
        bare = [{key: value for key, value in claim.items() if key not in ("apiVersion", "kind")} for claim in claims]
        document = place(document, _CLAIMS, bare or None)
    return _without_nulls(document)


def _without_zeros(status: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in status.items() if isinstance(value, bool) or value != 0}


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_nulls(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
