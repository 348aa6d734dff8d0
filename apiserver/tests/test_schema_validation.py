"""Values of custom resources get the errors that a real kube-apiserver 1.36 has for them, and no others."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright_apiserver.registry.crd import embedded_metadata_errors
from kubewright_apiserver.schema.checking import compile_check, is_valid
from kubewright_apiserver.schema.compiled import CompiledSchema
from kubewright_apiserver.schema.validation import schema_errors
from kubewright_apiserver.status import FieldError

DATA: dict[str, Any] = json.loads((Path(__file__).parent / "data/custom_resources.json").read_text())
VALUES = DATA["values"]
RATCHETING = DATA["ratcheting"]


def causes(errors: list[FieldError]) -> list[list[str]]:
    return sorted([error.cause["reason"], error.field, error.body] for error in errors)


@pytest.mark.parametrize("case", VALUES, ids=[case["case"] for case in VALUES])
def test_a_value_is_refused_for_what_the_server_refuses_it(case):
    spec = {"type": "object", "properties": {"x": case["schema"]}}
    compiled = CompiledSchema({"type": "object", "properties": {"spec": spec}}, metadata_rule=embedded_metadata_errors)
    obj = {"spec": {"x": copy.deepcopy(case["value"])}}

    compiled.prune(obj)
    compiled.default(obj)
    errors = compiled.validate(obj) + compiled.embedded_errors(obj) + compiled.list_errors(obj)

    assert causes(errors) == case["causes"]


@pytest.mark.parametrize("case", RATCHETING["spec"], ids=[case["case"] for case in RATCHETING["spec"]])
def test_an_update_is_not_refused_for_what_was_wrong_before(case):
    compiled = CompiledSchema(RATCHETING["schema"])
    old = copy.deepcopy(RATCHETING["old"])
    new = copy.deepcopy(RATCHETING["old"])
    new["spec"].update(copy.deepcopy(case["changes"]))
    new.pop("status")
    old.pop("status")

    compiled.prune(new)
    errors = compiled.validate(new, old) + compiled.list_errors(new, old)

    assert causes(errors) == case["causes"]


STATUSES = [case for case in RATCHETING["status"] if not any(cause[1].startswith(".") for cause in case["causes"])]


@pytest.mark.parametrize("case", STATUSES, ids=[case["case"] for case in STATUSES])
def test_an_update_of_the_status_is_checked_for_the_status_alone(case):
    compiled = CompiledSchema(RATCHETING["schema"])
    old = RATCHETING["old"]
    new = {**copy.deepcopy(old), "status": copy.deepcopy(case["status"])}

    errors = compiled.validate_status(new, old) + compiled.list_errors(new, old)

    assert causes(errors) == case["causes"]


def test_a_status_that_the_schema_does_not_name_is_not_checked():
    compiled = CompiledSchema({"type": "object", "properties": {"spec": {"type": "object"}}})

    assert compiled.validate_status({"status": 5}, {}) == []


def test_the_same_text_is_told_once():
    schema = {"type": "string", "allOf": [{"minLength": 2}, {"minLength": 2}]}

    texts = [error.detail for error in schema_errors(schema, "a", "p")]

    assert texts == [
        " in body should be at least 2 chars long",
        '"" must validate all the schemas (allOf). None validated',
    ]


def test_an_unchanged_object_passes_unless_it_has_fields_that_no_schema_knows():
    schema = {
        "type": "object",
        "properties": {"o": {"type": "object", "required": ["a"], "x-kubernetes-preserve-unknown-fields": True}},
    }
    known: dict[str, Any] = {"o": {}}
    unknown = {"o": {"z": 1}}
    compiled = CompiledSchema(schema)

    assert compiled.validate(known, copy.deepcopy(known)) == []
    assert [error.field for error in compiled.validate(unknown, copy.deepcopy(unknown))] == ["o.a"]


def test_kind_and_apiversion_of_the_object_are_never_let_pass():
    schema = {"type": "object", "properties": {"kind": {"type": "string", "maxLength": 1}}}
    obj: dict[str, Any] = {"kind": "Long", "metadata": {}}

    assert [error.field for error in CompiledSchema(schema).validate(obj, dict(obj))] == ["kind"]


def test_one_and_one_point_nought_differ_for_an_update():
    schema = {"type": "object", "properties": {"n": {"type": "number", "maximum": 0}}}
    compiled = CompiledSchema(schema)

    assert compiled.validate({"n": 1}, {"n": 1}) == []
    assert [error.field for error in compiled.validate({"n": 1}, {"n": 1.0})] == ["n"]


SCALARS = st.none() | st.booleans() | st.integers(-3, 12) | st.sampled_from([1.0, 1.5, 2.5, 2**63, -(2**31) - 1, 1e20])
TEXTS = st.sampled_from(["", "a", "ab", "äöü", "2024-01-01", "1.2.3.4", "aaa!"])
VALUE = st.recursive(
    SCALARS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3),
    max_leaves=8,
)
LEAF = st.fixed_dictionaries(
    {},
    optional={
        "minimum": st.sampled_from([0, 1, 0.5]),
        "maximum": st.sampled_from([2, 5.5, 1e20]),
        "exclusiveMinimum": st.booleans(),
        "exclusiveMaximum": st.booleans(),
        "multipleOf": st.sampled_from([2, 0.5]),
        "minLength": st.integers(0, 2),
        "maxLength": st.integers(0, 3),
        "pattern": st.sampled_from(["^a", "b$", "^(a+)+$"]),
        "format": st.sampled_from(["date", "ipv4", "int32", "float", "colour"]),
        "enum": st.lists(SCALARS | TEXTS, min_size=1, max_size=3),
        "minItems": st.integers(0, 2),
        "maxItems": st.integers(0, 2),
        "minProperties": st.integers(0, 2),
        "maxProperties": st.integers(0, 2),
        "required": st.lists(st.sampled_from(["a", "b"]), max_size=2),
    },
)


def _typed(leaf: dict[str, Any], kind: str | None, is_nullable: bool) -> dict[str, Any]:
    typed = {"x-kubernetes-int-or-string": True} if kind == "either" else {"type": kind} if kind else {}
    return {**leaf, **typed, "nullable": is_nullable}


KINDS = st.sampled_from(["string", "integer", "number", "boolean", "object", "array", "either", None])
SCHEMA = st.recursive(
    st.builds(_typed, LEAF, KINDS, st.booleans()),
    lambda inner: (
        st.builds(lambda leaf, parts: {**leaf, "anyOf": parts}, LEAF, st.lists(inner, min_size=1, max_size=2))
        | st.builds(lambda leaf, parts: {**leaf, "oneOf": parts}, LEAF, st.lists(inner, min_size=1, max_size=2))
        | st.builds(lambda leaf, parts: {**leaf, "allOf": parts}, LEAF, st.lists(inner, min_size=1, max_size=2))
        | st.builds(lambda part: {"not": part}, inner)
        | st.builds(lambda items: {"type": "array", "items": items}, inner)
        | st.builds(lambda values: {"type": "object", "additionalProperties": values}, inner | st.just(False))
        | st.builds(
            lambda fields: {"type": "object", "properties": fields},
            st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
        )
    ),
    max_leaves=5,
)


@given(schema=SCHEMA, value=VALUE)
@settings(derandomize=True, max_examples=400, deadline=None)
def test_the_quick_check_and_the_thorough_one_agree(schema, value):
    is_wrong = bool(schema_errors(schema, value))

    assert is_valid(compile_check(schema), value) is not is_wrong
