"""§1.11 What a structural schema makes of an object, keyword by keyword."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.exchange import Api
from conformance.objects import CRDS, crd
from conformance.widgets import Widgets

pytestmark = pytest.mark.section("1.11")


async def tried(api: Api, widgets: Widgets, value_schema: dict[str, Any], *values: Any) -> None:
    """Note what becomes of a field that has this schema, with these values."""
    spec = {"type": "object", "properties": {"f": value_schema}}
    await widgets.install({"type": "object", "properties": {"spec": spec}})
    for index, value in enumerate(values):
        with api.unrecorded():
            answer = await api.post(widgets.path, widgets.widget(f"w{index}", spec={"f": value}))
        causes = [
            (cause["reason"], cause["field"], cause["message"])
            for cause in answer.body.get("details", {}).get("causes", ())
        ]
        message = answer.body.get("message") if len(causes) < 2 else "[…]"
        told = answer.body["spec"] if answer.status == 201 else [message, sorted(causes)]
        api.note(repr(value)[:60], [answer.status, answer.warnings, told])


@pytest.mark.parametrize(
    ("schema", "values"),
    [
        ({"type": "string", "minLength": 2, "maxLength": 3}, ["a", "ab", "abcd", "ää", "ä", "😀😀😀", "😀😀😀😀"]),
        ({"type": "string", "pattern": "^a+$"}, ["aa", "b", ""]),
        ({"type": "string", "enum": ["a", "b"]}, ["a", "c", "", 1]),
        ({"type": "integer", "minimum": 1, "maximum": 3}, [0, 1, 3, 4, 1.0, 2.5, "1", True]),
        (
            {"type": "integer", "minimum": 1, "exclusiveMinimum": True, "maximum": 3, "exclusiveMaximum": True},
            [1, 2, 3],
        ),
        ({"type": "integer", "multipleOf": 3}, [3, 4, 0]),
        ({"type": "number", "minimum": 0.5, "multipleOf": 0.5}, [0.4, 0.5, 1, 0.7, 1e300]),
        ({"type": "integer", "format": "int32"}, [1, 2147483648, -2147483649]),
        ({"type": "integer", "format": "int64"}, [9223372036854775807]),
        ({"type": "integer", "enum": [1, 2]}, [1, 2.0, 3]),
        ({"type": "boolean"}, [True, False, 0, "true", None]),
        (
            {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "integer"}},
            [[], [1], [1, 2, 3], ["a"], {}],
        ),
        (
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            [["a", "b"], ["a", "a", "a"]],
        ),
        ({"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "set"}, [[1, 2], [1, 1.0], [1, 1]]),
        (
            {"type": "object", "minProperties": 1, "maxProperties": 2, "additionalProperties": {"type": "string"}},
            [{}, {"a": "b"}, {"a": "1", "b": "2", "c": "3"}, {"a": 1}],
        ),
        ({"type": "object", "additionalProperties": True}, [{"any": {"thing": 1}}]),
        (
            {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
            [{}, {"b": "x"}, {"a": ""}, {"a": None}],
        ),
        ({"x-kubernetes-int-or-string": True}, [1, "1", 1.5, True, None]),
        ({"x-kubernetes-int-or-string": True, "pattern": "^[0-9]+%$", "maximum": 5}, [1, "50%", "x", 6]),
        ({"type": "string", "nullable": True, "default": "d"}, [None, "x"]),
        ({"type": "string", "default": "d"}, [None, "x"]),
        ({"type": "integer", "anyOf": [{"minimum": 10}, {"maximum": 3}]}, [1, 5, 11]),
        ({"type": "integer", "oneOf": [{"minimum": 1}, {"minimum": 10}]}, [0, 5, 11]),
        ({"type": "integer", "allOf": [{"minimum": 1}, {"maximum": 10}]}, [0, 5, 11]),
        ({"type": "integer", "not": {"minimum": 5}}, [1, 5]),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
            },
            [{}, {"a": "1"}, {"a": "1", "b": "2"}],
        ),
    ],
    ids=range(26),
)
async def test_a_keyword(api: Api, widgets: Widgets, schema: dict[str, Any], values: list[Any]):
    await tried(api, widgets, schema, *values)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        (
            "date-time",
            ["2020-01-01T00:00:00Z", "2020-01-01 00:00:00Z", "2020-01-01", "2020-01-01T00:00:00.123+02:00", "x"],
        ),
        ("date", ["2020-01-01", "2020-13-01", "x"]),
        ("duration", ["1h", "1 day", "5x", "90s"]),
        ("email", ["a@example.com", "a"]),
        ("hostname", ["a.example.com", "-a", "a_b"]),
        ("ipv4", ["1.2.3.4", "1.2.3", "::1"]),
        ("ipv6", ["::1", "1.2.3.4"]),
        ("cidr", ["10.0.0.0/8", "10.0.0.0"]),
        ("mac", ["00:00:5e:00:53:01", "x"]),
        ("uri", ["https://example.com/x", "x"]),
        ("uuid", ["11111111-1111-4111-8111-111111111111", "x"]),
        ("byte", ["eA==", "!"]),
        ("password", ["anything"]),
        ("nonsense", ["anything"]),
        ("k8s-short-name", ["a", "A", "a.b"]),
    ],
)
async def test_a_format(api: Api, widgets: Widgets, name: str, values: list[Any]):
    await tried(api, widgets, {"type": "string", "format": name}, *values)


EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.parametrize(
    "child",
    [
        {"apiVersion": "v1", "kind": "Pod"},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "nonsense": 1, "labels": {"a": "b"}}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "Bad Name"}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a b": "c"}}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": 1}}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": "x"},
        {"kind": "Pod"},
        {"apiVersion": "v1"},
        {"apiVersion": "", "kind": ""},
        {"apiVersion": 1, "kind": "Pod"},
        {"apiVersion": "a/b/c", "kind": "pod"},
        {},
    ],
)
async def test_an_embedded_resource(api: Api, widgets: Widgets, child: dict[str, Any]):
    await tried(api, widgets, EMBEDDED, child)


async def test_an_embedded_resource_with_its_own_schema_is_pruned_around_its_metadata(api: Api, widgets: Widgets):
    schema = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "properties": {"spec": {"type": "object", "properties": {"a": {"type": "integer"}}}},
    }
    child = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "spec": {"a": 1, "b": 2}, "extra": 1}
    await tried(api, widgets, schema, child)


async def test_unknown_fields_are_kept_where_the_schema_says_so_and_pruned_below_again(api: Api, widgets: Widgets):
    inner = {"type": "object", "properties": {"known": {"type": "integer"}}}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"inner": inner}}
    await tried(api, widgets, schema, {"any": {"thing": 1}, "inner": {"known": 1, "unknown": 2}})


async def test_defaults_fill_defaults(api: Api, widgets: Widgets):
    inner = {"type": "object", "default": {}, "properties": {"a": {"type": "integer", "default": 1}}}
    items = {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer", "default": 7}}}}
    free = {
        "type": "object",
        "additionalProperties": {"type": "object", "properties": {"d": {"type": "string", "default": "x"}}},
    }
    schema = {"type": "object", "default": {}, "properties": {"inner": inner, "items": items, "free": free}}
    await widgets.install({"type": "object", "properties": {"spec": schema}})
    await api.post(widgets.path, widgets.widget("a"))
    await api.post(widgets.path, widgets.widget("b", spec={"items": [{}, {"n": 1}], "free": {"x": {}}}))
    await api.post(widgets.path, widgets.widget("c", spec={"inner": None}))


async def test_items_told_apart_by_two_keys(api: Api, widgets: Widgets):
    item = {
        "type": "object",
        "required": ["port"],
        "properties": {"port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}},
    }
    schema = {
        "type": "array",
        "items": item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port", "protocol"],
    }
    twice = [{"port": 1}, {"port": 1, "protocol": "TCP"}]
    await tried(api, widgets, schema, [{"port": 1}, {"port": 1, "protocol": "UDP"}], twice)


async def test_a_status_is_checked_through_its_door_alone(api: Api, widgets: Widgets):
    part = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 5}}}
    await widgets.install({"type": "object", "properties": {"spec": part, "status": part}}, subresources={"status": {}})
    await api.post(widgets.path, widgets.widget(spec={"n": 1}, status={"n": 99}))
    await api.patch(widgets.path + "/w/status", {"status": {"n": 99}})
    await api.patch(widgets.path + "/w/status", {"status": {"n": 1, "unknown": 1}})
    await api.patch(widgets.path + "/w/status", {"status": "x"})


async def test_names_and_labels_of_custom_resources_are_checked(api: Api, widgets: Widgets):
    await widgets.install()
    for name in ("Bad", "a.b", "a" * 254, "a/b"):
        await api.post(widgets.path, widgets.widget(name))
    await api.post(widgets.path, {**widgets.widget(), "metadata": {"name": "x", "labels": {"a b": "c"}}})
    await api.post(widgets.path, {**widgets.widget(), "metadata": {"generateName": "g-"}})


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "Gadget"},
        {"kind": ""},
        {"apiVersion": "v1"},
        {"apiVersion": ""},
        {"metadata": 5},
        {"metadata": {"name": "x", "labels": {"a": 5}}},
        {"metadata": {"name": "x", "generation": "y"}},
        {"metadata": {"name": "x", "nonsense": "y"}},
        {"metadata": None},
    ],
)
async def test_the_frame_of_a_custom_resource(api: Api, widgets: Widgets, change: dict[str, Any]):
    await widgets.install()
    await api.post(widgets.path, widgets.widget() | change)


def with_property(value: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"f": value}}


@pytest.mark.parametrize(
    "schema",
    [
        with_property({"type": "array"}),
        with_property(
            {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}
        ),
        with_property({"type": "string", "x-kubernetes-list-type": "set"}),
        with_property({"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "set"}),
        with_property({"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "nonsense"}),
        with_property(
            {
                "type": "array",
                "items": {"type": "object", "properties": {"a": {"type": "string"}}},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["a"],
            }
        ),
        with_property(
            {
                "type": "array",
                "items": {"type": "object", "properties": {"a": {"type": "string"}}},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["b"],
            }
        ),
        with_property({"type": "string", "default": 5}),
        with_property({"type": "string", "maxLength": 2, "default": "long"}),
        with_property({"type": "string", "enum": ["a"], "default": "b"}),
        with_property({"type": "object", "properties": {"a": {"type": "string"}}, "default": {"b": "x"}}),
        with_property({"type": "string", "nullable": True, "default": None}),
        with_property({"type": "nonsense"}),
        with_property({"type": ["string", "null"]}),
        with_property({"$ref": "#/definitions/x"}),
        with_property({"type": "object", "uniqueItems": True}),
        with_property({"type": "array", "uniqueItems": True, "items": {"type": "string"}}),
        with_property({"type": "integer", "anyOf": [{"type": "integer"}]}),
        with_property({"type": "integer", "allOf": [{"default": 1}]}),
        with_property({"type": "integer", "not": {"properties": {"a": {}}}}),
        with_property({"type": "string", "x-kubernetes-int-or-string": True}),
        with_property({"type": "string", "x-kubernetes-embedded-resource": True}),
        with_property({"type": "string", "x-kubernetes-preserve-unknown-fields": True}),
        with_property({"type": "string", "x-kubernetes-preserve-unknown-fields": False}),
        with_property({"type": "object", "x-kubernetes-map-type": "nonsense"}),
        with_property({"type": "string", "x-kubernetes-map-type": "atomic"}),
        {
            "type": "object",
            "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}}},
        },
        {
            "type": "object",
            "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}},
        },
        {"type": "object", "properties": {"metadata": {"type": "string"}}},
        {"type": "object", "properties": {"apiVersion": {"type": "integer"}}},
        {"type": "object", "nullable": True},
        {"type": "object", "additionalProperties": False},
    ],
    ids=range(32),
)
async def test_a_schema(api: Api, widgets: Widgets, schema: dict[str, Any]):
    with api.unrecorded():
        answer = await api.post(CRDS, crd("widgets", widgets.group, schema))
    api.note("answer", answer.body if answer.status != 201 else answer.body["spec"]["versions"][0]["schema"])
