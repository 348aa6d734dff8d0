"""Requests and answers in protobuf, as the real server takes and gives them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright_apiserver import ApiServer
from kubewright_apiserver.protobuf import Decoder, definition_of, open_envelope, sealed, written_object
from kubewright_apiserver.schema.decoding import normalised_as
from kubewright_apiserver.schema.quantity import canonical_quantity

PROTOBUF = "application/vnd.kubernetes.protobuf"
PARTIAL = f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
CONFIG_MAP = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}, "data": {"k": "v"}}
POD = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {"name": "p"},
    "spec": {
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1000m"}}}],
        "terminationGracePeriodSeconds": 0,
    },
}
NOT_ACCEPTABLE = (
    "only the following media types are accepted: application/json, application/yaml, "
    "application/vnd.kubernetes.protobuf"
)
DECODER = Decoder(canonical_quantity)


class Answer:
    def __init__(self, status: int, headers: Any, data: bytes) -> None:
        self.status = status
        self.type = dict(headers)["Content-Type"]
        self.data = data

    @property
    def object(self) -> dict[str, Any]:
        return read(self.data) if self.type == PROTOBUF else json.loads(self.data)


def read(data: bytes) -> dict[str, Any]:
    """An object in protobuf, as it would be in JSON."""
    envelope = open_envelope(data)
    definition = definition_of(envelope.api_version, envelope.kind)
    said = {"kind": envelope.kind, "apiVersion": envelope.api_version}
    return normalised_as(definition, said | DECODER.decode(definition, envelope.message))


def frames(data: bytes) -> list[tuple[str, dict[str, Any]]]:
    """The events in the stream of a watch."""
    events = []
    while data:
        size = int.from_bytes(data[:4])
        event = DECODER.decode(
            "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent", data[4 : 4 + size].partition(b"\x12")[0]
        )
        events.append((event["type"], read(data[data.index(b"k8s\x00") : 4 + size])))
        data = data[4 + size :]
    return events


class Client:
    def __init__(self, server: ApiServer) -> None:
        self.server = server

    async def __call__(
        self, method: str, target: str, body: bytes | dict[str, Any] = b"", accept: str = PROTOBUF, type: str = PROTOBUF
    ) -> Answer:
        data = body if isinstance(body, bytes) else written_object(body)
        headers = [("Accept", accept), *([("Content-Type", type)] if data else [])]
        status, answered, chunks = await self.server.handle(method, target, headers, data)
        return Answer(status, answered, b"".join([chunk async for chunk in chunks]))


@pytest_asyncio.fixture
async def ask() -> AsyncIterator[Client]:
    async with ApiServer(listens=False) as server:
        yield Client(server)


async def make_widgets(ask: Client) -> None:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"plural": "widgets", "kind": "Widget"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    kind = {"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1"}
    await ask("POST", CRDS, kind | {"metadata": {"name": "widgets.example.com"}, "spec": spec})
    widget = {"kind": "Widget", "apiVersion": "example.com/v1", "metadata": {"name": "w"}}
    await ask("POST", WIDGETS, json.dumps(widget).encode(), accept="*/*", type="application/json")


async def test_an_object_is_created_as_by_its_json(ask: Client):
    sent = await ask("POST", PODS, POD, accept="application/json")
    other = json.dumps(POD | {"metadata": {"name": "q"}}).encode()
    said = await ask("POST", PODS, other, accept="application/json", type="application/json")

    assert sent.status == 201
    assert sent.object["spec"] == said.object["spec"]
    assert sent.object["spec"]["terminationGracePeriodSeconds"] == 0


async def test_what_the_envelope_leaves_out_the_address_tells(ask: Client):
    message = open_envelope(written_object(CONFIG_MAP)).message

    answer = await ask("POST", MAPS, sealed("", "", message), accept="application/json")

    assert answer.object["kind"] == "ConfigMap"
    assert answer.object["data"] == {"k": "v"}


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"k8s\x00\x0c", "the object provided is unrecognized (must be of type ConfigMap): "
         "proto: Unknown: wiretype end group for non-group (6b3873000c)"),
        (sealed("v1", "ConfigMap", b"\x08\x03"), 'ConfigMap in version "v1" cannot be handled as a ConfigMap: '
         "proto: wrong wireType = 0 for field ObjectMeta"),
        (sealed("v1", "Secret", b""), 'Secret in version "v1" cannot be handled as a ConfigMap: '
         "converting (v1.Secret) to (core.ConfigMap): unknown conversion"),
        (sealed("v1", "Nope", b""), 'Nope in version "v1" cannot be handled as a ConfigMap: '
         'no kind "Nope" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"'),
    ],
)  # fmt: skip
async def test_what_is_wrong_is_told_in_protobuf(ask: Client, body: bytes, why: str):
    answer = await ask("POST", MAPS, body)

    assert (answer.status, answer.type) == (400, PROTOBUF)
    assert answer.object["message"] == why


@pytest.mark.parametrize("quantity", [b"", b" 1", b"1x"])
async def test_a_bad_quantity_is_refused(ask: Client, quantity: bytes):
    entry = b"\x0a\x04pods\x12" + bytes((len(quantity) + 2,)) + b"\x0a" + bytes((len(quantity),)) + quantity
    message = b"\x0a\x03\x0a\x01q\x12" + bytes((len(entry) + 2,)) + b"\x0a" + bytes((len(entry),)) + entry

    answer = await ask("POST", "/api/v1/namespaces/default/resourcequotas", sealed("v1", "ResourceQuota", message))

    assert answer.object["message"] == (
        'ResourceQuota in version "v1" cannot be handled as a ResourceQuota: quantities must match the regular '
        "expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )


@pytest.mark.parametrize("version", ["v1", "apps/v1", "meta.k8s.io/v1", "nope/v9", ""])
async def test_options_of_a_deletion_come_under_any_version(ask: Client, version: str):
    await ask("POST", MAPS, CONFIG_MAP)

    answer = await ask("DELETE", f"{MAPS}/a", sealed(version, "DeleteOptions", b"\x12\x06\x0a\x04nope"))

    assert answer.status == 409


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"k8s\x00", "empty body"),
        (sealed("v1", "DeleteOptions", b"\x0a\x00"), "proto: wrong wireType = 2 for field GracePeriodSeconds"),
        (
            sealed("v1", "Pod", b""),
            'no kind "Pod" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
        ),
    ],
)
async def test_options_that_are_none_are_refused_in_fewer_words(ask: Client, body: bytes, why: str):
    await ask("POST", MAPS, CONFIG_MAP)

    answer = await ask("DELETE", f"{MAPS}/a", body)

    assert (answer.status, answer.object["message"]) == (400, why)


@pytest.mark.parametrize(
    ("accept", "type"),
    [
        (PROTOBUF, PROTOBUF),
        (f"{PROTOBUF},application/json", PROTOBUF),
        (f"application/json,{PROTOBUF}", "application/json"),
        (f"{PROTOBUF};q=0.5,application/json", "application/json"),
        (f"*/*;q=0.1,{PROTOBUF}", PROTOBUF),
        (f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v2,application/json", "application/json"),
        (PARTIAL, PROTOBUF),
    ],
)
async def test_the_first_that_a_client_takes_is_given(ask: Client, accept: str, type: str):
    await ask("POST", MAPS, CONFIG_MAP)

    answer = await ask("GET", f"{MAPS}/a", accept=accept)

    assert answer.type == type
    assert answer.object["metadata"]["name"] == "a"


async def test_reads_and_writes_answer_the_same_in_both_forms(ask: Client):
    created = await ask("POST", MAPS, CONFIG_MAP)
    got = await ask("GET", f"{MAPS}/a")
    patched = await ask("PATCH", f"{MAPS}/a", b"{}", type="application/merge-patch+json")
    in_json = await ask("GET", f"{MAPS}/a", accept="application/json")

    assert created.data == got.data == patched.data
    assert got.object == in_json.object


@pytest.mark.parametrize("accept", [PROTOBUF, f"{PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"])
async def test_a_list_says_the_same_in_both_forms(ask: Client, accept: str):
    for name in "abc":
        await ask("POST", MAPS, CONFIG_MAP | {"metadata": {"name": name}})

    in_protobuf = await ask("GET", f"{MAPS}?limit=2", accept=accept)
    in_json = await ask("GET", f"{MAPS}?limit=2", accept=accept.replace(PROTOBUF, "application/json"))

    assert in_protobuf.type == PROTOBUF
    assert in_protobuf.data == written_object(in_json.object)


async def test_a_watch_is_frames(ask: Client):
    await ask("POST", MAPS, CONFIG_MAP | {"metadata": {"name": "a", "labels": {"l": "1"}}})
    query = "watch=1&labelSelector=l&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"

    status, headers, chunks = await ask.server.handle("GET", f"{MAPS}?{query}", [("Accept", PROTOBUF)], b"")
    stream = aiter(chunks)
    data = await anext(stream) + await anext(stream)
    await anext(stream)
    await ask("PATCH", f"{MAPS}/a", b'{"metadata":{"labels":{"l":null}}}', type="application/merge-patch+json")
    async with asyncio.timeout(5):
        data += await anext(stream)

    assert (status, dict(headers)["Content-Type"]) == (200, f"{PROTOBUF};stream=watch")
    events = frames(data)
    assert [type for type, _ in events] == ["ADDED", "BOOKMARK", "DELETED"]
    assert events[1][1]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert events[2][1]["metadata"]["labels"] == {"l": "1"}


async def test_a_refusal_has_no_other_representation(ask: Client):
    alone = await ask("GET", f"{MAPS}/nope", accept=PARTIAL)
    beside = await ask("GET", f"{MAPS}/nope", accept=f"{PARTIAL},application/json")

    assert alone.data.startswith(b'{\n  "kind": "Status"')
    assert beside.data.startswith(b'{"kind":"Status"')


async def test_a_watch_is_no_yaml(ask: Client):
    answer = await ask("GET", f"{MAPS}?watch=1", accept="application/yaml")

    assert answer.status == 406
    assert b"application/json;stream=watch" in answer.data


async def test_custom_resources_have_no_protobuf_but_their_metadata_have(ask: Client):
    await make_widgets(ask)

    whole = await ask("GET", f"{WIDGETS}/w")
    other = await ask("GET", f"{WIDGETS}/w", accept=f"{PROTOBUF}, */*")
    partial = await ask("GET", f"{WIDGETS}/w", accept=PARTIAL)
    sent = await ask("POST", WIDGETS, sealed("example.com/v1", "Widget", b""), accept="application/json")
    deleted = await ask(
        "DELETE", f"{WIDGETS}/w", {"kind": "DeleteOptions", "apiVersion": "v1"}, accept="application/json"
    )

    assert (whole.status, whole.object["message"]) == (406, NOT_ACCEPTABLE)
    assert other.type == "application/json"
    assert partial.object["metadata"]["name"] == "w"
    assert sent.status == 415
    assert deleted.status == 200


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/api", "APIVersions"), ("/apis", "APIGroupList"), ("/api/v1", "APIResourceList"), ("/apis/apps", "APIGroup")],
)
async def test_discovery_is_told_in_protobuf(ask: Client, path: str, kind: str):
    answer = await ask("GET", path)
    in_json = await ask("GET", path, accept="application/json")

    assert answer.type == PROTOBUF
    assert answer.data == written_object(in_json.object)
    assert open_envelope(answer.data).kind == kind


async def test_aggregated_discovery_is_told_in_protobuf(ask: Client):
    accept = f"{PROTOBUF};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

    answer = await ask("GET", "/apis", accept=accept)

    assert answer.type == accept
    assert open_envelope(answer.data).kind == "APIGroupDiscoveryList"


async def test_the_version_is_json_only(ask: Client):
    answer = await ask("GET", "/version")

    assert answer.object["message"] == "406: Not Acceptable\n\nAvailable representations: application/json"


@settings(derandomize=True, max_examples=150, deadline=None)
@given(st.data())
def test_no_body_is_worse_than_refused(data: st.DataObject):
    body = bytearray(written_object(data.draw(st.sampled_from((POD, CONFIG_MAP)))))
    for at in data.draw(st.lists(st.integers(4, len(body) - 1), min_size=1, max_size=4)):
        body[at] = data.draw(st.sampled_from((0, 1, 7, 8, 10, 12, 18, 127, 128, 255)))

    async def status() -> int:
        async with ApiServer(listens=False) as server:
            return (await Client(server)("POST", f"{PODS}?dryRun=All", bytes(body))).status

    assert asyncio.run(status()) in (201, 400, 403, 422)
