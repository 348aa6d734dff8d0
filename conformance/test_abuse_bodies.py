"""§6 Abuse: bodies that are bombs, traps or no bodies at all, on every way in."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from conformance.exchange import Answer, Api
from conformance.objects import DEPLOYMENTS, MAPS, config_map, deployment
from conformance.widgets import Widgets

pytestmark = pytest.mark.section("6")

DRY = {"dryRun": "All"}
YAML = "application/yaml"
APPLY = {"fieldManager": "m", "dryRun": "All"}


def told(api: Api, what: str, answer: Answer) -> None:
    """Keep what is short of an answer that may be long."""
    message = answer.body.get("message", "") if isinstance(answer.body, dict) else answer.text
    api.note(what, [answer.status, message if len(message) < 300 else message[:40], answer.warnings[:5]])


def with_field(obj: dict[str, Any], text: str) -> bytes:
    """The object with one more field, written so."""
    return json.dumps(obj)[:-1].encode() + b', "x": ' + text.encode("utf-8", "surrogatepass") + b"}"


TEXTS = {
    "a lone surrogate": b'"\\ud800"',
    "surrogates in the wrong order": b'"\\udc00\\ud800"',
    "an escaped pair": b'"\\ud83d\\ude00"',
    "half an escaped pair": b'"\\ud83d\\u0041"',
    "an encoded surrogate": b'"\xed\xa0\x80"',
    "a byte that begins nothing": b'"\xff"',
    "a byte that ends nothing": b'"\x80"',
    "an overlong letter": b'"\xc0\xaf"',
    "a letter beyond the last": b'"\xf4\x90\x80\x80"',
    "a cut letter": b'"\xe2\x82"',
    "a NUL": b'"\\u0000"',
    "a raw NUL": b'"\x00"',
    "a raw line end": b'"\n"',
    "a delete": b'"\x7f"',
    "a mark": b'"\xef\xbb\xbf"',
    "no character": b'"\xef\xbf\xbf"',
    "an unknown escape": b'"\\x41"',
    "half an escape": b'"\\u00"',
}


@pytest.mark.parametrize("name", TEXTS)
async def test_a_text_that_is_none(api: Api, widgets: Widgets, name: str):
    await widgets.install()
    body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":%s}}' % TEXTS[name]
    await api.post(MAPS, body, query=DRY)
    await api.post(MAPS, body, query=DRY, content_type=YAML)
    await api.patch(MAPS + "/a", body, type="apply", query=APPLY)
    widget = json.dumps(widgets.widget("a"))[:-1].encode() + b', "x": %s}' % TEXTS[name]
    await api.post(widgets.path, widget, query=DRY)


async def test_a_mark_before_the_body(api: Api):
    for content_type in ("application/json", YAML):
        body = b"\xef\xbb\xbf" + json.dumps(config_map()).encode()
        await api.post(MAPS, body, query=DRY, content_type=content_type)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
async def test_a_body_of_another_encoding(api: Api, encoding: str):
    body = json.dumps(config_map()).encode(encoding)
    for content_type in ("application/json", YAML):
        told(api, content_type, await _unrecorded(api, body, content_type))


async def _unrecorded(api: Api, body: bytes, content_type: str) -> Answer:
    with api.unrecorded():
        return await api.post(MAPS, body, query=DRY, content_type=content_type)


REPEATED = {
    "kinds": b'{"kind":"Secret","kind":"ConfigMap","metadata":{"name":"a"}}',
    "a kind of a wrong type first": b'{"kind":0,"kind":"ConfigMap","metadata":{"name":"a"}}',
    "a kind of a wrong type last": b'{"kind":"ConfigMap","kind":0,"metadata":{"name":"a"}}',
    "a version of a wrong type first": b'{"apiVersion":[],"apiVersion":"v1","metadata":{"name":"a"}}',
    "names": b'{"metadata":{"name":"a","name":"b"}}',
    "metadata": b'{"metadata":{"name":"a"},"metadata":{"labels":{"a":"b"}}}',
    "nulls": b'{"metadata":{"name":"a"},"data":{"k":"v"},"data":null}',
    "escaped names": b'{"metadata":{"name":"a"},"data":{"k":"1","\\u006b":"2"}}',
    "another case": b'{"metadata":{"name":"a"},"data":{"k":"1"},"DATA":{"k":"2"}}',
}


@pytest.mark.parametrize("name", REPEATED)
@pytest.mark.parametrize("validation", ["Strict", "Warn"])
async def test_a_field_that_is_there_twice(api: Api, name: str, validation: str):
    query = {**DRY, "fieldValidation": validation}
    await api.post(MAPS, REPEATED[name], query=query)
    await api.post(MAPS, REPEATED[name], query=query, content_type=YAML)


NUMBERS = ["9223372036854775807", "9223372036854775808", "-9223372036854775809", "1e400", "-0", "1.0", "1e2", "1E+2"]


@pytest.mark.parametrize("number", [*NUMBERS, "01", "+1", ".5", "1.", "0x10", "NaN", "Infinity", "1_000", "2147483648"])
async def test_a_number_where_an_integer_is_wanted(api: Api, widgets: Widgets, number: str):
    await widgets.install({"type": "object", "properties": {"x": {"type": "integer", "format": "int32"}}})
    body = json.dumps(deployment(replicas=7)).replace('"replicas": 7', f'"replicas": {number}').encode()
    await api.post(DEPLOYMENTS, body, query=DRY)
    if len(number) < 19:
        # Beyond 64 bits only the words for the number would differ.
        await api.post(DEPLOYMENTS, body, query=DRY, content_type=YAML)
    await api.patch(DEPLOYMENTS + "/d", body, type="apply", query=APPLY)
    await api.post(widgets.path, with_field(widgets.widget("a"), number), query=DRY)


TYPES = [
    "",
    "application/json;charset=utf-16",
    'application/json; charset="',
    "application/json, application/yaml",
    "APPLICATION/JSON",
    "application/*",
    "*/*",
    "text/json",
    "application/yaml; x=y",
    "application/x-yaml",
    "application/apply-patch+yaml",
    "application/vnd.kubernetes.protobuf;type=x",
    "application/vnd.kubernetes.protobuf;stream=watch",
    "application/" + "j" * 5000,
]


@pytest.mark.parametrize("content_type", TYPES[1:], ids=[name[:60] for name in TYPES[1:]])
async def test_an_odd_type_of_body(api: Api, content_type: str):
    for send in (api.post, api.put, api.patch):
        path = MAPS if send == api.post else MAPS + "/a"
        headers = {"Content-Type": content_type}
        await send(path, json.dumps(config_map()).encode(), query={**DRY, "fieldManager": "m"}, headers=headers)


async def test_bodies_where_none_is_wanted(api: Api):
    await api.post(MAPS, config_map())
    for body in (b"{", b"\0" * 1000, json.dumps({"kind": "Secret"}).encode()):
        await api.call("GET", MAPS + "/a", body)
        with api.unrecorded():
            answer = await api.call("GET", MAPS, body, query={"labelSelector": "none"})
        told(api, "list", answer)


@pytest.mark.parametrize("size", [100, 20 << 20])
async def test_a_body_that_is_compressed(api: Api, size: int):
    packed = gzip.compress(json.dumps(config_map(k="x" * size)).encode(), 1, mtime=0)
    headers = {"Content-Encoding": "gzip"}
    with api.unrecorded():
        answer = await api.post(MAPS, packed, query=DRY, headers=headers)
    told(api, "compressed", answer)


DOCUMENTS = {
    "two documents": "metadata: {name: a}\n---\nmetadata: {name: b}\n",
    "a document and an end": "metadata: {name: a}\n...\nnonsense: [\n",
    "no document": "---\n",
    "comments": "# nothing\n",
    "a directive": "%YAML 1.1\n---\nmetadata: {name: a}\n",
    "another directive": "%YAML 2.0\n---\nmetadata: {name: a}\n",
    "an unknown directive": "%FOO bar\n---\nmetadata: {name: a}\n",
    "a tag of Python": "metadata: {name: !!python/object/apply:os.system [id]}\n",
    "a tag of its own": "metadata: !foo {name: a}\n",
    "a text as a number": "metadata: {name: !!str 5}\n",
    "a number as a text": "metadata: {name: !!int a}\n",
    "a date": "metadata: {name: 2026-01-02}\n",
    "a merge": "x: &x {name: a}\nmetadata: {<<: *x}\n",
    "a merge of no map": "metadata: {<<: 5, name: a}\n",
    "a merge of itself": "metadata: &m {<<: *m, name: a}\n",
    "an alias that is none": "metadata: *nope\n",
    "an alias of a key": "metadata: {&a name: b}\n",
    "a list as a key": "? [a]\n: b\n",
    "a null as a key": "~: b\nmetadata: {name: a}\n",
    "a boolean as a key": "yes: b\nmetadata: {name: a}\n",
    "tabs": "metadata:\n\tname: a\n",
    "no indent": "metadata:\nname: a\n",
    "a set": "metadata: !!set {name}\n",
    "bytes": "metadata: {name: !!binary YQ==}\n",
    "no bytes": "metadata: {name: !!binary '*'}\n",
    "a long text": f"metadata: {{name: a}}\ndata: {{k: {'x' * 100_000}}}\n",
    "a folded text": "metadata: {name: a}\ndata:\n  k: >-\n    a\n    b\n",
    "a colon": "a:b\n",
    "a percent": "%\n",
    "a reserved letter": "metadata: {name: @a}\n",
}


@pytest.mark.parametrize("name", DOCUMENTS)
async def test_odd_yaml(api: Api, name: str):
    text = DOCUMENTS[name].encode()
    with api.unrecorded():
        created = await api.post(MAPS, text, query=DRY, content_type=YAML)
        applied = await api.patch(MAPS + "/a", b"apiVersion: v1\nkind: ConfigMap\n" + text, type="apply", query=APPLY)
    told(api, "created", created)
    told(api, "applied", applied)


@pytest.mark.parametrize("depth", [50, 150])
async def test_yaml_that_is_nested_deeply(api: Api, depth: int):
    inner = "[" * depth + "]" * depth
    with api.unrecorded():
        answer = await api.post(MAPS, f"metadata: {{name: a}}\nx: {inner}\n".encode(), query=DRY, content_type=YAML)
    told(api, "created", answer)


PATCHES: dict[str, Any] = {
    "a way out": [{"op": "add", "path": "/../x", "value": 1}],
    "no slash": [{"op": "add", "path": "data", "value": {}}],
    "a tilde": [{"op": "add", "path": "/data/~2", "value": "x"}],
    "a lone tilde": [{"op": "add", "path": "/data/~", "value": "x"}],
    "a huge index": [{"op": "add", "path": "/metadata/finalizers/99999999999999999999", "value": "a.b/c"}],
    "a negative index": [{"op": "add", "path": "/metadata/finalizers/-1", "value": "a.b/c"}],
    "an index with a zero": [{"op": "replace", "path": "/metadata/finalizers/00", "value": "a.b/d"}],
    "the end of a list": [{"op": "remove", "path": "/metadata/finalizers/-"}],
    "the whole": [{"op": "replace", "path": "", "value": {}}],
    "nothing": [{"op": "remove", "path": ""}],
    "into itself": [{"op": "move", "from": "/data", "path": "/data/k"}],
    "a copy of all": [{"op": "copy", "from": "", "path": "/data/all"}],
    "from nowhere": [{"op": "copy", "from": "/nope", "path": "/data/k"}],
    "no value": [{"op": "add", "path": "/data/k"}],
    "a null": [{"op": "add", "path": "/data/k", "value": None}],
    "no operation": [{"path": "/data/k"}],
    "an unknown operation": [{"op": "explode", "path": "/data/k"}],
    "an operation of a wrong type": [{"op": 5, "path": "/data/k"}],
    "no path": [{"op": "remove"}],
    "a text": ["remove"],
    "a null operation": [None],
    "an object": {"op": "remove", "path": "/data"},
    "nested copies": [{"op": "add", "path": "/data/a", "value": "x"}]
    + [{"op": "copy", "from": "/metadata", "path": "/metadata/annotations"}] * 20,
}


@pytest.mark.parametrize("name", PATCHES)
async def test_an_odd_json_patch(api: Api, name: str):
    live = config_map(k="v")
    live["metadata"]["finalizers"] = ["a.b/c"]
    with api.unrecorded():
        await api.post(MAPS, live)
        answer = await api.patch(MAPS + "/a", PATCHES[name], type="json", query=DRY)
    told(api, "patched", answer)


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"5", b'"x"', b"{", b"true", b"{}{}", b" ", b"[[]]"], ids=repr)
async def test_a_patch_that_is_no_object(api: Api, body: bytes):
    await api.post(MAPS, config_map(k="v"))
    for type in ("json", "merge", "strategic", "apply"):
        await api.patch(MAPS + "/a", body, type=type, query=APPLY)


@pytest.mark.parametrize("manager", ["", " ", "a" * 128, "a/b", "💥", "a\u200bb", "\0", "a\r\nb"], ids=repr)
async def test_an_odd_manager_applies(api: Api, manager: str):
    await api.patch(MAPS + "/a", config_map(k="v"), type="apply", query={"fieldManager": manager})
    await api.post(MAPS, config_map("b", k="v"), query={"fieldManager": manager})


async def test_a_time_in_a_map_that_is_null(api: Api):
    budgets = "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets"
    budget = {"metadata": {"name": "a"}, "status": {"disruptedPods": {"a": None, "b": "2026-01-02T03:04:05Z"}}}
    created = await api.post(budgets, budget)
    budget["metadata"] = created.body["metadata"]
    await api.put(budgets + "/a/status", budget)
    await api.patch(budgets + "/a/status", {"status": {"disruptedPods": {"c": ""}}})


async def test_a_job_and_a_service_without_names(api: Api):
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    with api.unrecorded():
        job = await api.post("/apis/batch/v1/namespaces/{ns}/jobs", {"spec": {"template": template}}, query=DRY)
        service = await api.post("/api/v1/namespaces/{ns}/services", {"spec": {"ports": [{"port": 1}]}}, query=DRY)
    told(api, "job", job)
    told(api, "service", service)
