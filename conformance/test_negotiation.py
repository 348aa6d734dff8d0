"""§1.2 Content negotiation."""

from __future__ import annotations

import pytest

from conformance.exchange import Api
from conformance.objects import DEPLOYMENTS, MAPS, PODS, config_map, deployment, pod
from conformance.widgets import Widgets

pytestmark = pytest.mark.section("1.2")

PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIALS = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
YAML = b"""
apiVersion: v1
kind: ConfigMap
metadata:
  name: yaml
  labels: {a: "1"}
data:
  text: |
    two
    lines
  number: "012"
"""


async def test_a_yaml_body(api: Api):
    await api.post(MAPS, YAML, content_type="application/yaml")


async def test_a_yaml_body_for_an_update(api: Api):
    await api.post(MAPS, YAML, content_type="application/yaml")
    await api.put(MAPS + "/yaml", YAML.replace(b"two", b"three"), content_type="application/yaml")


async def test_yaml_that_is_malformed(api: Api):
    await api.post(MAPS, b"a: [", content_type="application/yaml")


@pytest.mark.parametrize("content", ["application/json; charset=utf-8", "application/json;charset=UTF-8"])
async def test_a_charset_is_passed_over(api: Api, content: str):
    await api.post(MAPS, config_map(), content_type=content)


@pytest.mark.parametrize(
    "accept", ["*/*", "application/*", "application/json, text/html;q=0.5", "text/html, */*;q=0.1"]
)
async def test_json_is_given_to_who_takes_it(api: Api, accept: str):
    await api.post(MAPS, config_map())
    await api.get(MAPS + "/a", headers={"Accept": accept})


async def test_metadata_alone_of_one_object(api: Api):
    await api.post(MAPS, config_map(k="v", labels={"l": "1"}))
    await api.get(MAPS + "/a", headers={"Accept": PARTIAL})


async def test_metadata_alone_of_a_list(api: Api):
    await api.post(MAPS, config_map("a", k="v"))
    await api.post(MAPS, config_map("b"))
    await api.get(MAPS, headers={"Accept": PARTIALS})


async def test_metadata_alone_of_a_watch(api: Api):
    await api.post(MAPS, config_map("a", k="v"))
    with api.unrecorded():
        events = await api.watch(MAPS)
        answer = await api.glance(MAPS, query={"watch": "1", "timeoutSeconds": 1}, headers={"Accept": PARTIAL})

    assert events[0]["object"]["kind"] == "ConfigMap"
    assert '"kind":"PartialObjectMetadata"' in answer.text
    assert '"k":"v"' not in answer.text


async def test_metadata_alone_after_a_patch(api: Api):
    await api.post(MAPS, config_map(k="v"))
    await api.patch(MAPS + "/a", {"metadata": {"labels": {"x": "y"}}}, headers={"Accept": PARTIAL})


async def test_metadata_alone_of_what_is_deleted(api: Api):
    await api.post(MAPS, config_map(k="v") | {"metadata": {"name": "a", "finalizers": ["example.com/f"]}})
    await api.delete(MAPS + "/a", headers={"Accept": PARTIAL})


async def test_the_wrong_partial_kind(api: Api):
    await api.get(MAPS, headers={"Accept": PARTIAL})


async def test_list_items_of_built_in_kinds_do_not_repeat_their_kind(api: Api):
    await api.post(MAPS, config_map())
    await api.get(MAPS)


@pytest.mark.parametrize("query", [{"pretty": "true"}, {"pretty": "false"}])
async def test_pretty_is_no_matter_of_content(api: Api, query: dict[str, str]):
    await api.post(MAPS, config_map())
    await api.get(MAPS + "/a", query=query)


async def test_a_body_without_a_type_is_json(api: Api):
    await api.call("POST", MAPS, config_map(), headers={"Content-Type": ""})


async def test_a_yaml_answer(api: Api):
    await api.post(MAPS, config_map(k="v"))
    with api.unrecorded():
        answer = await api.get(MAPS + "/a", headers={"Accept": "application/yaml"})

    assert answer.headers["content-type"] == "application/yaml"
    assert "kind: ConfigMap\n" in answer.text


async def test_strategic_patches_are_not_for_custom_resources(api: Api, widgets: Widgets):
    await widgets.install()
    await widgets.create()
    await api.patch(widgets.path + "/w", {}, type="strategic")
    await api.patch(widgets.path + "/w", {}, type="application/json")


async def test_a_yaml_intent_is_applied(api: Api):
    await api.patch(MAPS + "/yaml", YAML, type="apply", query={"fieldManager": "m"})


@pytest.mark.parametrize(
    "text",
    [
        b"metadata: {name: a}\ndata: {k: yes}",
        b"metadata: {name: a}\ndata: {k: 12:30, l: 2020-01-01}",
        b"metadata: {name: a}\ndata: {k: 017}",
        b"metadata: {name: y}",
        b"metadata: {name: a}\ndata: {k: ~}",
        b"metadata: {name: a}\ndata: {k: v, k: w}",
        b"metadata: {name: a}\n---\nmetadata: {name: b}",
        b"- a\n- b",
        b"metadata: &m {name: a}\ndata: {k: v}",
        b"metadata: {name: a}\ndata: {1: v}",
        b'{"metadata": {"name": "a"}}',
    ],
)
async def test_what_yaml_says(api: Api, text: bytes):
    await api.post(MAPS, text, content_type="application/yaml")


async def test_json_is_not_read_as_yaml(api: Api):
    await api.post(MAPS, b"metadata: {name: a}", content_type="application/json")


async def test_metadata_alone_of_what_is_created_or_put(api: Api):
    await api.post(MAPS, config_map(k="v"), headers={"Accept": PARTIAL})
    await api.put(MAPS + "/a", config_map(k="w"), headers={"Accept": PARTIAL})


async def test_metadata_alone_of_a_deleted_collection(api: Api):
    await api.post(MAPS, config_map(k="v"))
    await api.delete(MAPS, headers={"Accept": PARTIALS})


async def test_metadata_alone_of_what_is_gone_is_a_status(api: Api):
    await api.post(MAPS, config_map(k="v"))
    await api.delete(MAPS + "/a", headers={"Accept": f"{PARTIAL},application/json"})


async def test_the_list_of_partial_kinds_for_one_object(api: Api):
    await api.post(MAPS, config_map(k="v"))
    await api.get(MAPS + "/a", headers={"Accept": PARTIALS})


async def test_metadata_alone_in_the_older_version(api: Api):
    await api.post(MAPS, config_map(k="v"))
    await api.get(MAPS + "/a", headers={"Accept": PARTIAL.replace("v=v1", "v=v1beta1")})
    await api.get(MAPS, headers={"Accept": PARTIALS.replace("v=v1", "v=v1beta1")})


async def test_metadata_alone_of_custom_resources(api: Api, widgets: Widgets):
    await widgets.install()
    await widgets.create(spec={"a": 1})
    await api.get(widgets.path + "/w", headers={"Accept": PARTIAL})
    await api.get(widgets.path, headers={"Accept": PARTIALS})


async def test_metadata_alone_of_a_status(api: Api):
    with api.unrecorded():
        await api.post(DEPLOYMENTS, deployment())
    await api.get(DEPLOYMENTS + "/d/status", headers={"Accept": PARTIAL})
    await api.patch(DEPLOYMENTS + "/d/status", {"status": {"replicas": 1}}, headers={"Accept": PARTIAL})


async def test_metadata_alone_of_errors_is_a_status(api: Api):
    await api.get(MAPS + "/nope", headers={"Accept": PARTIAL})


@pytest.mark.parametrize(
    "accept",
    [
        "application/json;as=Nonsense;g=meta.k8s.io;v=v1",
        "application/json;as=Nonsense;g=meta.k8s.io;v=v1,application/json",
        f"{PARTIAL},application/json",
        f"application/json,{PARTIAL}",
        "application/cbor",
        "application/cbor,application/json",
        "application/json;stream=watch",
        "application/json;nonsense=1",
        "application/json;v=v1",
        "",
        "json",
        "*",
        "application/vnd.kubernetes.nonsense, */*",
    ],
)
async def test_what_is_given_for_an_accept_header(api: Api, accept: str):
    await api.post(MAPS, config_map(k="v"))
    await api.get(MAPS + "/a", headers={"Accept": accept})


async def test_a_list_and_a_watch_that_cannot_be_given(api: Api):
    await api.get(MAPS, headers={"Accept": "image/png"})
    await api.get(MAPS, query={"watch": "true", "timeoutSeconds": 1}, headers={"Accept": "image/png"})
    await api.post(MAPS, config_map(), headers={"Accept": "image/png"})
    await api.get(MAPS + "/a")


@pytest.mark.parametrize(
    ("agent", "query"),
    [
        ("curl/8", {}),
        ("Wget/1.21", {}),
        ("Mozilla/5.0 (X11)", {}),
        ("Mozilla/4.0", {}),
        ("client/1", {"pretty": "true"}),
        ("client/1", {"pretty": "1"}),
        ("client/1", {"pretty": "x"}),
        ("curl/8", {"pretty": "false"}),
        ("curl/8", {"pretty": ""}),
        ("client/1", {}),
    ],
)
async def test_people_get_it_pretty(api: Api, agent: str, query: dict[str, str]):
    with api.unrecorded():
        await api.post(MAPS, config_map(k="v"))
        found = await api.get(MAPS + "/a", query=query, headers={"User-Agent": agent})
        refused = await api.get(MAPS + "/nope", query=query, headers={"User-Agent": agent})
    for answer in (found, refused):
        api.note("beginning", answer.text[:20])
        api.note("ending", answer.text[-3:])


async def test_lists_and_discovery_are_pretty_too(api: Api):
    headers = {"User-Agent": "curl/8"}
    with api.unrecorded():
        await api.post(MAPS, config_map(k="v"))
        answers = [await api.get(path, headers=headers) for path in (MAPS, "/api", "/apis/apps", "/apis/apps/v1")]
    for answer in answers:
        api.note("beginning", answer.text[:20])


async def test_events_of_a_watch_are_never_pretty(api: Api):
    with api.unrecorded():
        await api.post(MAPS, config_map(k="v"))
        answer = await api.glance(MAPS, query={"watch": "1", "timeoutSeconds": 1, "pretty": "true"})

    assert len(answer.text.splitlines()) == 1


async def test_a_refusal_in_yaml(api: Api):
    with api.unrecorded():
        answer = await api.get(MAPS + "/nope", headers={"Accept": "application/yaml"})
    api.note("head", [answer.status, answer.headers["content-type"]])

    assert "reason: NotFound" in answer.text


@pytest.mark.parametrize("content", ["Application/JSON", "application/json;", "application/json; charset=latin1", ";"])
async def test_a_content_type_that_is_written_otherwise(api: Api, content: str):
    await api.post(MAPS, config_map(), content_type=content)


async def test_a_body_where_none_belongs_is_passed_over(api: Api):
    await api.post(MAPS, config_map(k="v"))
    await api.call("GET", MAPS + "/a", {"nonsense": True})


async def test_nulls_that_conditions_and_events_have(api: Api):
    await api.post(PODS, pod())
    conditions = [{"type": "Ready", "status": "False"}]
    await api.patch(PODS + "/p/status", {"status": {"conditions": conditions}})
    await api.post(
        "/api/v1/namespaces/{ns}/events",
        {"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": api.namespace}},
    )


async def test_nulls_that_clients_send_are_absent(api: Api):
    await api.post(MAPS, {"metadata": {"name": "a", "labels": None, "creationTimestamp": None}, "data": None})


async def test_a_secret_that_is_too_large(api: Api):
    data = {"k": "eHh4" * (1 << 19)}
    await api.post("/api/v1/namespaces/{ns}/secrets", {"metadata": {"name": "s"}, "data": data})


async def test_many_warnings_are_many_headers(api: Api):
    body = {"metadata": {"name": "a", "one": 1}, "two": 2, "data": {"k": "v"}, 'th"ree': 3}
    await api.post(MAPS, body)


async def test_every_answer_may_not_be_kept(api: Api):
    await api.post(MAPS, config_map())
    await api.get(MAPS + "/a")
    await api.get(MAPS + "/nope")
    await api.delete(MAPS + "/a")


@pytest.mark.usefixtures("listening")
async def test_every_answer_over_http_has_an_identity(api: Api):
    with api.unrecorded():
        answers = [await api.get(path) for path in (MAPS, MAPS + "/nope", "/apis", "/version")]

    assert len({answer.headers["audit-id"] for answer in answers}) == 4


@pytest.mark.usefixtures("listening")
async def test_large_answers_are_compressed_for_who_takes_it_and_watches_never(api: Api):
    with api.unrecorded():
        await api.post(MAPS, config_map("small", k="v"))
        await api.post(MAPS, config_map("large", k="x" * (130 << 10)))
        for path, query in (
            (MAPS + "/small", {}),
            (MAPS + "/large", {}),
            (MAPS, {"watch": "1", "timeoutSeconds": "1"}),
        ):
            for accepts in ("gzip", "identity"):
                answer = await api.glance(path, query=query, headers={"Accept-Encoding": accepts})
                told = {name: answer.headers.get(name) for name in ("content-encoding", "vary")}
                api.note(f"{path} {accepts}", [answer.status, told])
