"""Every object that a real server gave is the same after decode and encode, and what no type knows survives changes.

The objects are committed; ``make golden`` asks a real server for them again.
"""

from __future__ import annotations

import json
import types
import typing
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeAlias

import msgspec
import pytest

from conformance.round_trip.coverage import all_fields, seen_fields
from conformance.round_trip.golden import MISSING, read_objects
from conformance.round_trip.maker import listable, served
from conformance.round_trip.schema import Steps, Struct, schemas
from conformance.round_trip.typed import essence, read, typed_alone
from conformance.round_trip.values import lookup, place
from kubewright.api import Resource, apply_merge_patch, changes, encode, same

Kind: TypeAlias = tuple[str, str]
Document: TypeAlias = dict[str, Any]

PLANTED = {"x-planted": {"deep": [1, None]}}
PLAIN: dict[Any, Any] = {str: "changed", int: 7, bool: True, list[str]: ["changed"], dict[str, str]: {"a": "changed"}}


@cache
def objects() -> dict[Kind, list[Document]]:
    found = defaultdict(list)
    for document in read_objects():
        found[document["apiVersion"], document["kind"]].append(document)
    return dict(found)


def definition(document: Document) -> str:
    return schemas().of_kind(document["apiVersion"], document["kind"])


def structs(document: Document) -> list[Struct]:
    return list(schemas().structs(definition(document), document))


@cache
def samples() -> dict[Kind, list[tuple[Document, Struct]]]:
    """One place for each definition of the API, by the kind in which it is found first."""
    found, met = defaultdict(list), set()
    for kind, documents in objects().items():
        for document in documents:
            for struct in structs(document):
                if struct.owner not in met:
                    met.add(struct.owner)
                    found[kind].append((document, struct))
    return dict(found)


each_kind = pytest.mark.parametrize("kind", sorted(objects()), ids="/".join)


def test_there_is_an_object_of_every_served_kind():
    wanted = set(served()) | {(kind.api_version, kind.kind) for kind in listable()}

    assert set(objects()) == wanted


def test_objects_have_every_field_but_those_listed_as_missing():
    fields = all_fields(schemas())
    unseen = fields - seen_fields(schemas(), read_objects())

    assert sorted(map(str, unseen)) == sorted(json.loads(MISSING.read_text()))
    assert len(unseen) < len(fields) * 0.02


@each_kind
def test_object_is_the_same_after_decode_and_encode(kind: Kind):
    for document in objects()[kind]:
        assert same(msgspec.json.decode(encode(read(document))), document)


@each_kind
def test_type_alone_loses_nothing(kind: Kind):
    for document in objects()[kind]:
        assert same(essence(typed_alone(read(document))), essence(document))


@each_kind
def test_unknown_field_at_each_depth_survives_a_change_beside_it(kind: Kind):
    for document in objects()[kind]:
        planted = plant(document)
        obj, expected = read(planted), planted
        for struct in structs(document):
            for steps, value in change(obj, document, struct):
                expected = place(expected, steps, value)

        assert expected != planted
        assert same(msgspec.json.decode(encode(obj)), expected)
        assert same(apply_merge_patch(planted, changes(obj)), expected)


@pytest.mark.parametrize("kind", sorted(samples()), ids="/".join)
def test_a_change_touches_nothing_else(kind: Kind):
    for document, struct in samples()[kind]:
        planted = plant(document)
        obj = read(planted)
        for steps, value in change(obj, document, struct):
            expected = place(planted, steps, value)

            assert same(msgspec.json.decode(encode(obj)), expected)
            assert same(apply_merge_patch(planted, changes(obj)), expected)


def plant(document: Document) -> Document:
    """The document with an unknown field in everything in it that has fields, also inside lists and maps."""
    for struct in structs(document):
        document = place(document, struct.steps, {**lookup(document, struct.steps), **PLANTED})
    return document


def change(obj: Resource, document: Document, struct: Struct) -> Iterator[tuple[Steps, Any]]:
    """Change a plain field of one part of the object, if it has any; gives where that is, and the new value."""
    part = typed_part(obj, struct.steps)
    if not isinstance(part, msgspec.Struct):
        return
    hints = typing.get_type_hints(type(part))
    for name, wire in zip(part.__struct_fields__, part.__struct_encode_fields__, strict=True):
        value = other(getattr(part, name), hints[name])
        if value is not None and wire not in identity(document, struct.steps):
            setattr(part, name, value)
            yield (*struct.steps, wire), value
            return


def typed_part(obj: Any, steps: Steps) -> Any:
    """What a typed object has at a place of its document."""
    for step in steps:
        if isinstance(obj, msgspec.Struct):
            obj = getattr(obj, obj.__struct_fields__[obj.__struct_encode_fields__.index(str(step))])
        else:
            obj = obj[step]
    return obj


def identity(document: Document, steps: Steps) -> list[str]:
    """The fields by which an item of a list is known: with another value it would be another item."""
    found = schemas().at({"$ref": definition(document)}, steps[:-1]) if steps else None
    keys: list[str] = found[0].get("x-kubernetes-list-map-keys", []) if found else []
    return keys


def other(value: object, hint: Any) -> Any:
    """Another value for a plain field; None for all others."""
    choices = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    found = next((PLAIN[kind] for kind in choices if kind in PLAIN), None)
    return found if value != found else None
