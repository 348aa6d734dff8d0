"""Schemas of CRDs get the errors that a real kube-apiserver 1.36 has for them, and no others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubewright_apiserver.registry.crd import embedded_metadata_errors
from kubewright_apiserver.registry.crd_versions import version_schema_errors
from kubewright_apiserver.schema.fieldpath import FieldPathError, find_field
from kubewright_apiserver.schema.gostruct import schema_struct
from kubewright_apiserver.schema.rules import has_rules
from kubewright_apiserver.schema.structural import structure_errors, unsupported

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data/custom_resources.json").read_text())["schemas"]
TEXT = {"type": "string"}


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_a_schema_is_refused_for_what_the_server_refuses_it(case):
    errors = version_schema_errors(case["schema"], "spec.validation", embedded_metadata_errors, has_status=False)

    assert sorted([error.cause["reason"], error.field, error.body] for error in errors) == case["causes"]


def test_errors_of_structure_come_in_the_order_of_their_texts():
    schema = {"type": "object", "properties": {"b": {}, "a": {"type": "array"}}}

    fields = [error.field for error in structure_errors(schema, "$")]

    assert fields == ["$.properties[a].items", "$.properties[b].type"]


def test_defaults_are_not_looked_at_when_the_structure_is_wrong():
    schema = {"type": "object", "properties": {"a": {}, "b": {"type": "integer", "default": "x"}}}

    errors = version_schema_errors(schema, "p", embedded_metadata_errors, has_status=False)

    assert [error.field for error in errors] == ["p.openAPIV3Schema.properties[a].type"]


def test_what_is_unsupported_is_told_only_if_nothing_else_is():
    hidden = version_schema_errors({"type": "object", "$schema": "x"}, "p", embedded_metadata_errors, has_status=False)
    told = version_schema_errors({"type": "object", "id": "x"}, "p", embedded_metadata_errors, has_status=False)

    assert [error.message for error in hidden] == [
        "p.openAPIV3Schema: Invalid value: \"\": OpenAPIV3Schema 'schema' is not supported"
    ]
    assert [error.message for error in told] == ["p.openAPIV3Schema.id: Forbidden: id is not supported"]


@pytest.mark.parametrize(
    "inner", ["not", "additionalProperties", "items"], ids=["in not", "in additionalProperties", "in items"]
)
def test_what_is_unsupported_is_found_at_any_depth(inner):
    assert unsupported({"type": "object", inner: {"$ref": "#/x"}}) == "OpenAPIV3Schema '$ref' is not supported"


def test_a_schema_is_printed_as_the_struct_that_the_server_holds():
    printed = schema_struct({"type": "object", "maxProperties": 0, "not": {"maximum": 1}})

    assert printed.startswith('{"ID":"","Schema":"","Ref":null,"Description":"","Type":"object","Nullable":false,')
    assert '"MaxProperties":0,"MinProperties":null,"Required":null,' in printed
    assert '"Not":{"ID":"",' in printed
    assert '"Maximum":1,"ExclusiveMaximum":false,' in printed
    assert printed.endswith('"XListMapKeys":null,"XListType":null,"XMapType":null,"XValidations":null}')
    assert len(json.loads(printed)) == 44


def test_a_field_is_found_by_its_path():
    schema = {"properties": {"spec": {"properties": {"a.b": TEXT, "m": {"additionalProperties": {"type": "integer"}}}}}}

    assert find_field(".spec['a.b']", schema) == ("spec.a.b", "spec", TEXT)
    assert find_field(".spec.m.k", schema).path == "spec.m[k]"
    assert find_field(".spec.m['it\\'s']", schema).path == "spec.m[it's]"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("spec", "expected [ or . but got: spec"),
        (".", "unexpected end of JSON path"),
        (".x", "does not refer to a valid field"),
        (".spec[a]", "expected single quoted string but got a"),
        (".spec['a'", "unexpected end of JSON path"),
        (".spec['a'.", "expected ] but got ."),
        (r".spec['\q']", r"invalid string literal: invalid escape char \q"),
    ],
)
def test_a_path_that_names_no_field_is_refused_with_the_reason(path, message):
    schema = {"properties": {"spec": {"properties": {"a": TEXT}}}}

    with pytest.raises(FieldPathError) as caught:
        find_field(path, schema)

    assert str(caught.value) == message


def test_rules_are_found_at_any_depth_but_not_in_anyof():
    rule = {"type": "string", "x-kubernetes-validations": [{"rule": "true"}]}

    assert has_rules({"properties": {"a": {"items": {"additionalProperties": rule}}}})
    assert not has_rules({"properties": {"a": {"anyOf": [rule]}}})
