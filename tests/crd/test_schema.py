"""Schemas of Python types."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Literal

import msgspec
import pytest

from kubewright.api import ListMap, Model
from kubewright.crd import schema_of
from kubewright.kinds.core_v1 import Container, PodSpec, PodTemplateSpec
from tests.crd.sample import Component, Everything, Tree

ANYTHING = {"x-kubernetes-preserve-unknown-fields": True}
INT_OR_STRING = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
PROPERTIES = schema_of(Everything)["properties"]


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("text", {"type": "string"}),
        ("number", {"type": "integer", "format": "int64"}),
        ("ratio", {"type": "number", "format": "double"}),
        ("flag", {"type": "boolean"}),
        ("secret", {"type": "string", "format": "byte"}),
        ("when", {"type": "string", "format": "date-time"}),
        ("precisely", {"type": "string", "format": "date-time"}),
        ("day", {"type": "string", "format": "date"}),
        ("pause", {"type": "string"}),
        ("price", {"type": "string"}),
        ("token", {"type": "string", "format": "uuid"}),
        ("port", INT_OR_STRING),
        ("amount", {"type": "number", "format": "double"}),
        ("colour", {"type": "string", "enum": ["Red", "Green"]}),
        ("level", {"type": "integer", "enum": [1, 2]}),
        ("policy", {"type": "string", "enum": ["Always", "Never"]}),
        ("choice", {"type": "string", "nullable": True}),
        ("maybe", {"type": "string", "nullable": True}),
        ("slug", {"type": "string", "pattern": "^[a-z-]+$", "minLength": 2, "maxLength": 20}),
        ("tags", {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}),
        ("pair", {"type": "array", "items": ANYTHING, "minItems": 2, "maxItems": 2}),
        ("row", {"type": "array", "items": {"type": "integer", "format": "int64"}}),
        ("labels", {"type": "object", "additionalProperties": {"type": "string"}}),
        ("anything", ANYTHING),
        ("raw", ANYTHING),
        ("free", {"type": "object", **ANYTHING}),
        ("mixed", ANYTHING),
        ("either", {"type": "object", **ANYTHING}),
        ("clusterIP", {"type": "string"}),
        ("defaulted", {"type": "integer", "format": "int64", "default": 3}),
    ],
)
def test_a_field_has_the_schema_of_its_type(name: str, schema: dict[str, Any]):
    assert PROPERTIES[name] == schema


def test_constraints_are_those_of_the_annotation():
    assert PROPERTIES["share"] == {
        "type": "number",
        "format": "double",
        "minimum": 0,
        "exclusiveMinimum": True,
        "maximum": 1,
        "exclusiveMaximum": True,
        "multipleOf": 0.25,
    }
    assert PROPERTIES["names"] == {
        "type": "array",
        "items": {"type": "string"},
        "x-kubernetes-list-type": "set",
        "maxItems": 10,
    }
    assert schema_of(Component)["properties"]["replicas"] == {
        "type": "integer",
        "format": "int32",
        "minimum": 0,
        "maximum": 100,
    }


def test_a_quantity_is_a_number_or_a_text_of_its_pattern():
    schema = PROPERTIES["memory"]

    assert schema["x-kubernetes-int-or-string"] is True
    assert "pattern" in schema


def test_fields_without_a_default_are_required():
    assert schema_of(Everything)["required"] == ["text", "number", "choice"]
    assert "required" not in schema_of(PodSpec)["properties"]["securityContext"]


def test_items_told_apart_by_keys_are_a_map():
    schema = PROPERTIES["components"]

    assert schema["x-kubernetes-list-type"] == "map"
    assert schema["x-kubernetes-list-map-keys"] == ["name"]


def test_an_optional_key_of_a_map_gets_the_default_that_kubernetes_wants():
    ports = schema_of(Container)["properties"]["ports"]["items"]["properties"]
    secrets = schema_of(PodSpec)["properties"]["imagePullSecrets"]["items"]["properties"]

    assert ports["protocol"]["default"] == "TCP"
    assert secrets["name"]["default"] == ""


def test_a_type_that_contains_itself_lets_anything_pass_inside():
    schema = schema_of(Tree)

    assert schema["properties"]["children"] == {"type": "array", "items": {"type": "object", **ANYTHING}}


def test_generic_and_tagged_models_have_their_fields():
    assert PROPERTIES["box"]["properties"] == {"content": {"type": "integer", "format": "int64"}}
    assert PROPERTIES["cat"]["properties"]["type"] == {"type": "string", "enum": ["cat"]}
    assert PROPERTIES["cat"]["required"] == ["type", "lives"]


def test_metadata_inside_keeps_labels():
    schema = schema_of(PodTemplateSpec)

    assert schema["properties"]["metadata"]["properties"]["labels"] == {
        "type": "object",
        "additionalProperties": {"type": "string"},
    }


def test_a_resource_inside_has_its_kind():
    assert {"apiVersion", "kind", "metadata", "spec"} <= set(PROPERTIES["claim"]["properties"])


def test_descriptions_come_from_docstrings_and_the_text_below_a_field():
    class Described(Model):
        told: Annotated[int, msgspec.Meta(description="By Meta.")] = 0
        """Not this."""

    assert schema_of(Component)["properties"]["name"]["description"] == "How it is called."
    assert schema_of(Tree)["description"] == "A tree of trees."
    assert "description" not in schema_of(Component)
    assert schema_of(Described)["properties"]["told"]["description"] == "By Meta."


@dataclasses.dataclass
class Foreign:
    x: int


class WithForeign(Model):
    inner: list[Foreign]


class WithChoices(Model):
    choice: Literal["a", 1]


class WithoutKey(Model):
    components: Annotated[list[Component], ListMap("id")]


class WithExtra(Model):
    number: Annotated[int, msgspec.Meta(extra_json_schema={"contentEncoding": "x"})]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (WithForeign, r"WithForeign\.inner\[\]: .*Foreign.* cannot be written"),
        (WithChoices, r"WithChoices\.choice: the choices \['a', 1\]"),
        (WithoutKey, r"WithoutKey\.components: ListMap names 'id'"),
        (WithExtra, r"WithExtra\.number: extra_json_schema has 'contentEncoding'"),
    ],
)
def test_what_no_schema_can_say_is_refused_with_its_place(model: type, message: str):
    with pytest.raises(TypeError, match=message):
        schema_of(model)
