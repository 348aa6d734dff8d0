"""Custom resources get the defaults of their schema, as with a real kube-apiserver 1.36."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from kubewright_apiserver.schema.compiled import CompiledSchema
from kubewright_apiserver.schema.defaulting import compile_defaulter

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data/custom_resources.json").read_text())["pruned"]


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_a_value_becomes_what_the_server_makes_of_it(case):
    spec = {"type": "object", "properties": {"x": case["schema"]}}
    compiled = CompiledSchema({"type": "object", "properties": {"spec": spec}})
    obj = {"spec": {"x": copy.deepcopy(case["value"])}}

    compiled.prune(obj)
    compiled.default(obj)

    assert json.dumps(obj["spec"].get("x", "gone"), sort_keys=True) == json.dumps(
        case.get("result", "gone"), sort_keys=True
    )


def test_a_schema_without_defaults_costs_nothing():
    assert compile_defaulter({"type": "object", "properties": {"a": {"type": "array", "items": {}}}}) is None


def test_objects_do_not_share_their_defaults():
    compiled = CompiledSchema({"type": "object", "properties": {"a": {"type": "object", "default": {"b": []}}}})
    first: dict[str, Any] = {}
    second: dict[str, Any] = {}

    compiled.default(first)
    compiled.default(second)
    first["a"]["b"].append(1)

    assert second == {"a": {"b": []}}
    assert compiled.schema["properties"]["a"]["default"] == {"b": []}


def test_a_default_in_items_fills_objects_in_lists_of_lists():
    schema = {"type": "object", "properties": {"b": {"type": "integer", "default": 5}}}
    compiled = CompiledSchema(
        {
            "type": "object",
            "properties": {"l": {"type": "array", "items": {"type": "array", "items": schema}}},
        }
    )
    obj: dict[str, Any] = {"l": [[{}, {"b": 1}], []]}

    compiled.default(obj)

    assert obj == {"l": [[{"b": 5}, {"b": 1}], []]}


def test_a_default_beside_named_fields_fills_the_other_values_only():
    values = {"type": "object", "properties": {"b": {"type": "integer", "default": 5}}}
    compiled = CompiledSchema(
        {"type": "object", "properties": {"m": {"properties": {"known": {}}, "additionalProperties": values}}}
    )
    obj: dict[str, Any] = {"m": {"known": {}, "other": {}}}

    compiled.default(obj)

    assert obj == {"m": {"known": {}, "other": {"b": 5}}}
