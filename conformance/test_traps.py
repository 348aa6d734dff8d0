"""§6 Traps of a server in Python: truths that are numbers, numbers that are not, keys twice, texts that are none."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from conformance.exchange import Api
from conformance.objects import DEPLOYMENTS, MAPS, config_map, deployment
from conformance.widgets import Widgets

pytestmark = pytest.mark.section("6")

FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
PAIRS = [(1, True), (True, 1), (0, False), (1, 1.5), ("1", 1), (None, False), ([1], [True]), ({"a": 0}, {"a": False})]


async def test_a_truth_is_no_number_when_changes_are_looked_for(api: Api, widgets: Widgets):
    await widgets.install(FREE)
    for index, (before, after) in enumerate(PAIRS):
        await widgets.create(f"w{index}", spec={"f": before})
        operations = [{"op": "add", "path": "/spec/f", "value": after}]
        with api.unrecorded():
            changed = await api.patch(f"{widgets.path}/w{index}", operations, type="json")
            found = await api.get(f"{widgets.path}/w{index}")
        api.note(f"{before} {after}", [changed.body["metadata"]["generation"], found.body["spec"]])


async def test_a_truth_is_no_number_when_changes_of_a_status_are_looked_for(api: Api, widgets: Widgets):
    part = {"type": "object", "properties": {"spec": FREE, "status": FREE}}
    await widgets.install(part, subresources={"status": {}})
    for index, (before, after) in enumerate(PAIRS):
        await widgets.create(f"w{index}")
        path = f"{widgets.path}/w{index}/status"
        with api.unrecorded():
            first = await api.patch(path, [{"op": "add", "path": "/status", "value": {"f": before}}], type="json")
            second = await api.patch(path, [{"op": "add", "path": "/status/f", "value": after}], type="json")
        is_changed = first.body["metadata"]["resourceVersion"] != second.body["metadata"]["resourceVersion"]
        api.note(f"{before} {after}", [is_changed, second.body["status"]])


async def test_a_truth_is_no_number_when_owners_are_looked_for(api: Api, widgets: Widgets):
    await widgets.install(FREE)
    for index, (before, after) in enumerate(PAIRS):
        for manager, value in (("one", before), ("two", after)):
            body = widgets.widget(f"w{index}", spec={"f": value})
            with api.unrecorded():
                query = {"fieldManager": manager}
                answer = await api.patch(f"{widgets.path}/w{index}", body, type="apply", query=query)
        api.note(f"{before} {after}", [answer.status, answer.body.get("message"), answer.body.get("spec")])


async def test_a_truth_is_no_number_when_a_patch_tests(api: Api, widgets: Widgets):
    await widgets.install(FREE)
    for index, (before, after) in enumerate(PAIRS):
        await widgets.create(f"w{index}", spec={"f": before})
        operations = [{"op": "test", "path": "/spec/f", "value": after}]
        with api.unrecorded():
            answer = await api.patch(f"{widgets.path}/w{index}", operations, type="json")
        api.note(f"{before} {after}", answer.status)


@pytest.mark.parametrize(
    ("keyword", "value"),
    [
        ({"type": "integer", "enum": [0, 1]}, True),
        ({"type": "boolean"}, 1),
        ({"type": "array", "items": {"type": "boolean"}, "x-kubernetes-list-type": "set"}, [True, False]),
        (
            {"type": "array", "items": FREE | {"type": "object"}, "x-kubernetes-list-type": "atomic"},
            [{"a": 1}, {"a": True}],
        ),
        ({"type": "array", "items": {"x-kubernetes-int-or-string": True}, "x-kubernetes-list-type": "set"}, [1, "1"]),
        ({"type": "number"}, True),
        ({"x-kubernetes-int-or-string": True}, False),
    ],
)
async def test_a_truth_is_no_number_to_a_schema(api: Api, widgets: Widgets, keyword: Any, value: Any):
    await widgets.install({"type": "object", "properties": {"f": keyword}})
    await api.post(widgets.path, widgets.widget(f=value))


FIELD = re.compile(r'"f":("(?:[^"\\]|\\.)*"|[^,}]+)')
NUMBERS = [
    b"1.0",
    b"1e2",
    b"1.5e1",
    b"-0",
    b"-0.0",
    b"0.1",
    b"1E400",
    b"1e-400",
    b"123456789012345678",
    b"9223372036854775807",
    b"9223372036854775808",
    b"-9223372036854775808",
    b"-9223372036854775809",
    b"18446744073709551616",
    b"1.0000000000000001",
    b"100000000000000000000.0",
    b"1e21",
    b"1e20",
    b"1e-7",
    b"123456789.123456789",
]


def written(widgets: Widgets, value: bytes) -> bytes:
    body = f'{{"apiVersion":"{widgets.group}/v1","kind":"Widget","metadata":{{"name":"w"}},"f":'
    return body.encode() + value + b"}"


def written_value(text: str) -> Any:
    """The value of a field; one beyond 64 bits may be written in more than one way."""
    value = json.loads(text)
    return float(value) if isinstance(value, int) and not -(2**63) <= value < 2**63 else value


async def kept(api: Api, widgets: Widgets, value: bytes) -> None:
    """Note what becomes of a field with that value."""
    with api.unrecorded():
        answer = await api.post(widgets.path, written(widgets, value))
        found = await api.get(widgets.path + "/w")
        await api.delete(widgets.path + "/w")
    message = str(answer.body.get("message", "")).replace(widgets.group, "<group>")
    text = FIELD.search(found.text)
    api.note(repr(value), [answer.status, message[:160], written_value(text.group(1)) if text else None])


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        {"type": "object", "properties": {"f": {"type": "integer"}}},
        {"type": "object", "properties": {"f": {"type": "number"}}},
        {"type": "object", "properties": {"f": {"type": "integer", "format": "int32"}}},
        {"type": "object", "properties": {"f": {"x-kubernetes-int-or-string": True}}},
    ],
    ids=["free", "integer", "number", "int32", "int-or-string"],
)
async def test_how_numbers_are_kept(api: Api, widgets: Widgets, schema: dict[str, Any]):
    await widgets.install(schema)
    for number in NUMBERS:
        await kept(api, widgets, number)


@pytest.mark.parametrize(
    "number",
    [
        "2.0",
        "2e0",
        "2.5",
        "2147483647",
        "2147483648",
        "-1",
        "1e400",
        "true",
        '"2"',
        "null",
        "9223372036854775808",
        "02",
        "+2",
        "0x2",
        "NaN",
        "Infinity",
        ".5",
        "2.",
    ],
)
async def test_which_numbers_a_built_in_field_takes(api: Api, number: str):
    text = json.dumps(deployment(replicas=77777)).replace("77777", number)
    await api.post(DEPLOYMENTS, text.encode())


async def test_numbers_that_json_does_not_have(api: Api, widgets: Widgets):
    await widgets.install({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    for text in (b"NaN", b"Infinity", b"-Infinity", b"01", b"+1", b"0x1", b"1.", b".1", b"1e", b"- 1", b"1_000"):
        await kept(api, widgets, text)


@pytest.mark.parametrize("level", ["Strict", "Warn", "Ignore"])
@pytest.mark.parametrize(
    "body",
    [
        b'{"metadata":{"name":"a"},"data":{"k":"1","k":"2"}}',
        b'{"metadata":{"name":"a","name":"b"}}',
        b'{"metadata":{"name":"a"},"metadata":{"labels":{"x":"y"}}}',
        b'{"metadata":{"name":"a"},"data":{"k":"1"},"data":{"l":"2"}}',
        b'{"metadata":{"name":"a"},"data":{"k":"1","\\u006b":"2"}}',
        b'{"metadata":{"name":"a"},"immutable":true,"immutable":null}',
        b'{"kind":"ConfigMap","kind":"Secret","metadata":{"name":"a"}}',
    ],
)
async def test_a_key_that_comes_twice(api: Api, body: bytes, level: str):
    await api.post(MAPS, body, query={"fieldValidation": level})


TEXTS = [
    b'"\\ud800"',
    b'"\\udc00\\ud800"',
    b'"\\ud83d\\ude00"',
    b'"\\ud83dx"',
    b'"\xff\xfe"',
    b'"\xed\xa0\x80"',
    b'"\xc0\x80"',
    b'"\xf0\x9f\x98\x80"',
    b'"\\u0000"',
    b'"\x00"',
    b'"\x01"',
    b'"\t"',
    b'"\\x"',
    b'"\\u12"',
    b'"\xef\xbf\xbd"',
]


@pytest.mark.parametrize("text", TEXTS, ids=repr)
async def test_texts_of_built_in_fields(api: Api, text: bytes):
    await api.post(MAPS, b'{"metadata":{"name":"a"},"data":{"k":' + text + b"}}")
    await api.get(MAPS + "/a")


async def test_texts_of_custom_fields(api: Api, widgets: Widgets):
    await widgets.install({"type": "object", "properties": {"f": {"type": "string", "maxLength": 5}}})
    for text in TEXTS:
        await kept(api, widgets, text)


@pytest.mark.parametrize("text", TEXTS, ids=repr)
async def test_texts_in_patches(api: Api, text: bytes):
    with api.unrecorded():
        await api.post(MAPS, config_map())
        answers = [
            await api.patch(MAPS + "/a", b'{"data":{"k":' + text + b"}}"),
            await api.patch(MAPS + "/a", b'{"data":{"k":' + text + b"}}", type="strategic"),
            await api.patch(MAPS + "/a", b'[{"op":"add","path":"/data","value":{"k":' + text + b"}}]", type="json"),
        ]
    for answer in answers:
        api.note("status", answer.status)
        api.note("data", answer.body.get("data"))


@pytest.mark.parametrize(
    "body",
    [
        b"\xef\xbb\xbf{}",
        b" \n{} \t",
        b"{}\x00",
        b"\x0c{}",
        b"{,}",
        b'{"a":1,}',
        b"// x\n{}",
        b"{'a':1}",
        b"tru",
        b"[" * 5000,
    ],
)
async def test_bodies_that_are_nearly_json(api: Api, body: bytes):
    await api.post(MAPS, body)


async def test_a_body_that_is_nested_deeply(api: Api, widgets: Widgets):
    await widgets.install({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    with api.unrecorded():
        for depth in (100, 20_000):
            await api.delete(widgets.path + "/w")
            answer = await api.post(widgets.path, written(widgets, b'{"a":' * depth + b"1" + b"}" * depth))
            api.note(str(depth), answer.status)
