"""§6 Abuse: addresses, names, methods and parameters that no decent client sends."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest

from conformance.exchange import Api
from conformance.objects import CRDS, DEPLOYMENTS, MAPS, PODS, config_map, crd, deployment, pod
from conformance.widgets import Widgets

pytestmark = pytest.mark.section("6")

ADDRESSES = {
    "two slashes first": "//api/v1/namespaces/{ns}/configmaps/a",
    "two slashes after the root": "/api//v1/namespaces/{ns}/configmaps/a",
    "two slashes after the version": "/api/v1//namespaces/{ns}/configmaps/a",
    "two slashes after the namespace": "/api/v1/namespaces/{ns}//configmaps/a",
    "two slashes before the name": "/api/v1/namespaces/{ns}/configmaps//a",
    "two slashes last": "/api/v1/namespaces/{ns}/configmaps/a//",
    "one slash last": "/api/v1/namespaces/{ns}/",
    "no group": "/apis//v1/deployments",
    "an escaped slash after the root": "/apis%2F/apps/v1/deployments",
    "an escaped slash in the root": "/api%2Fv1/namespaces/{ns}/configmaps/a",
    "a way up": "/api/v1/namespaces/{ns}/configmaps/a/..",
    "a way up and down": "/api/v1/namespaces/{ns}/configmaps/../configmaps/a",
    "an escaped way up": "/api/v1/namespaces/{ns}/configmaps/%2e%2e/configmaps/a",
    "a namespace that leads up": "/api/v1/namespaces/%2e%2e/configmaps",
    "a namespace that is a dot": "/api/v1/namespaces/./configmaps",
    "an escaped letter in the root": "/%61pi/v1/namespaces/{ns}/configmaps/a",
    "an escaped letter in the group": "/apis/%61pps/v1/namespaces/{ns}/deployments/d",
    "a NUL": "/api/v1/namespaces/{ns}/configmaps/a%00",
    "a line end": "/api/v1/namespaces/{ns}/configmaps/a%0Ab",
    "a tab": "/api/v1/namespaces/{ns}/configmaps/%09",
    "half a letter": "/api/v1/namespaces/{ns}/configmaps/%FF",
    "a surrogate": "/api/v1/namespaces/{ns}/configmaps/%ED%A0%80",
    "an overlong slash": "/api/v1/namespaces/{ns}/configmaps/%C0%AFa",
    "a letter that turns the text": "/api/v1/namespaces/{ns}/configmaps/%E2%80%AEa",
    "a semicolon": "/api/v1/namespaces/{ns}/configmaps;x=y",
    "a semicolon in the name": "/api/v1/namespaces/{ns}/configmaps/a;x=y",
    "an escaped semicolon": "/api/v1/namespaces/{ns}/configmaps/a%3Bx",
    "an escaped question mark": "/api/v1/namespaces/{ns}/configmaps/a%3Fwatch=1",
    "an escaped hash": "/api/v1/namespaces/{ns}/configmaps/a%23b",
    "a plus": "/api/v1/namespaces/{ns}/configmaps/a+b",
    "a long name": "/api/v1/namespaces/{ns}/configmaps/" + "a" * 1500,
    "a long escaped name": "/api/v1/namespaces/{ns}/configmaps/" + "%61" * 300,
    "a long namespace": "/api/v1/namespaces/" + "n" * 300 + "/configmaps",
    "a namespace in capitals": "/api/v1/namespaces/A_B/configmaps/a",
    "a star": "/api/v1/namespaces/*/configmaps",
    "the root in capitals": "/API/v1/namespaces/{ns}/configmaps/a",
    "the version in capitals": "/api/V1/namespaces/{ns}/configmaps/a",
    "the resource in capitals": "/api/v1/namespaces/{ns}/ConfigMaps/a",
    "the singular": "/api/v1/namespaces/{ns}/configmap/a",
    "the short name": "/api/v1/namespaces/{ns}/cm/a",
    "a part that is not there": "/api/v1/namespaces/{ns}/configmaps/a/status",
    "a part of a part": "/apis/apps/v1/namespaces/{ns}/deployments/d/scale/x",
    "another group": "/apis/batch/v1/namespaces/{ns}/deployments/d",
    "the core group as a group": "/apis/core/v1/namespaces/{ns}/configmaps/a",
    "a version that is none": "/apis/apps/v1x/namespaces/{ns}/deployments",
    "a group that is a way up": "/apis/../v1/x",
}


@pytest.mark.parametrize("name", ADDRESSES)
async def test_an_odd_address(api: Api, name: str):
    with api.unrecorded():
        await api.post(MAPS, config_map())
    await api.get(ADDRESSES[name])
    await api.delete(ADDRESSES[name], query={"dryRun": "All"})


@pytest.mark.parametrize(
    "path", [MAPS, MAPS + "/a", "/api", "/apis/apps/v1", "/healthz", "/version", "/nowhere"], ids=str
)
async def test_odd_methods(api: Api, path: str):
    for method in ("TRACE", "PROPFIND", "LOCK", "OPTIONS"):
        await api.call(method, path)


@pytest.mark.parametrize(
    "path",
    [
        "/apis/apps",
        "/openapi/v3",
        "/openapi/v2",
        "/healthz",
        "/livez/ping",
        "/readyz",
        "/nowhere",
        "/api/v1/watch/namespaces/{ns}/configmaps",
        PODS + "/p/log",
        "/api/v1/bindings",
        "/api/v1/namespaces/{ns}/bindings/b",
        "/apis/authorization.k8s.io/v1/subjectaccessreviews/a",
        "/apis/authentication.k8s.io/v1/tokenreviews/a",
        "/apis/authorization.k8s.io/v1/localsubjectaccessreviews",
        "/api/v1/componentstatuses/a",
        "/api/v1/namespaces/{ns}/serviceaccounts/a/token",
    ],
    ids=str,
)
async def test_writing_where_nobody_writes(api: Api, path: str):
    # Whether a method is known at an address comes before what is in the body.
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        with api.unrecorded():
            answer = await api.call(method, path, b"", headers={"Content-Type": "application/json"})
        message = answer.body.get("message", "") if isinstance(answer.body, dict) else ""
        api.note(method, [answer.status, answer.headers.get("content-type"), message])


@pytest.mark.parametrize("path", [MAPS, MAPS + "/a", "/api/v1", "/nowhere", "/apis/nope/v1/x", PODS + "/p/log"])
async def test_an_odd_time_limit(api: Api, path: str):
    for value in ("x", "1", "9999999h", "1ns1", ""):
        with api.unrecorded():
            answer = await api.get(path, query={"timeout": value})
        message = answer.body.get("message", "") if isinstance(answer.body, dict) else ""
        api.note(value, [answer.status, message])


WRITES: list[dict[str, Any]] = [
    {"dryRun": "x", "fieldManager": "\n", "fieldValidation": "x"},
    {"dryRun": ""},
    {"dryRun": ["All", "x"]},
    {"dryRun": ["All", "All"]},
    {"fieldManager": "x" * 129, "dryRun": "x"},
    {"fieldValidation": "strict"},
    {"fieldValidation": ["Strict", "x"]},
    {"force": "false"},
    {"force": ""},
    {"force": "x"},
    {"pretty": "x", "unknown": "x"},
]


def encoded(query: dict[str, Any]) -> list[tuple[str, str]]:
    return [(name, item) for name, value in query.items() for item in (value if isinstance(value, list) else [value])]


@pytest.mark.parametrize("query", WRITES, ids=json.dumps)
async def test_odd_options_of_writes(api: Api, query: dict[str, Any]):
    parameters = encoded(query)
    await api.post(MAPS, config_map(k="v"), query=parameters)
    await api.put(MAPS + "/a", config_map(k="w"), query=parameters)
    await api.patch(MAPS + "/a", {"data": {"k": "x"}}, query=parameters)
    await api.patch(MAPS + "/a", config_map(k="y"), type="apply", query=parameters)


DELETES: list[dict[str, Any]] = [
    {"propagationPolicy": ""},
    {"propagationPolicy": "x"},
    {"propagationPolicy": "Orphan", "orphanDependents": "true"},
    {"orphanDependents": "x"},
    {"orphanDependents": ""},
    {"gracePeriodSeconds": ""},
    {"gracePeriodSeconds": "x"},
    {"gracePeriodSeconds": "-5"},
    {"resourceVersion": "x"},
    {"ignoreStoreReadErrorWithClusterBreakingPotential": "true"},
    {"preconditions": "x", "dryRun": "All"},
]


@pytest.mark.parametrize("query", DELETES, ids=json.dumps)
async def test_odd_options_of_deletes(api: Api, query: dict[str, Any]):
    await api.post(MAPS, config_map())
    await api.delete(MAPS + "/a", query=encoded({**query, "dryRun": "All"}))
    await api.delete(MAPS + "/nope", query=encoded(query))


LISTS: list[dict[str, Any]] = [
    {"resourceVersionMatch": "Exact", "fieldSelector": "status.phase=x"},
    {"resourceVersionMatch": "x", "labelSelector": "a in ("},
    {"timeoutSeconds": "x", "limit": "y"},
    {"limit": "y", "labelSelector": "a in ("},
    {"limit": "1.5", "watch": "1"},
    {"sendInitialEvents": ""},
    {"sendInitialEvents": "false"},
    {"watch": "x", "resourceVersionMatch": "Exact", "timeoutSeconds": "1?"},
    {"watch": "1", "resourceVersionMatch": "NotOlderThan", "labelSelector": ","},
    {"watch": "1", "sendInitialEvents": "true"},
    {"watch": "1", "continue": "x"},
    {"continue": "x", "limit": "y"},
    {"continue": "x", "resourceVersion": "5"},
    {"resourceVersion": "x", "fieldSelector": "a=b"},
    {"labelSelector": "a=b", "fieldSelector": "a=b=c"},
    {"fieldSelector": "metadata.name=a\\"},
    {"fieldSelector": "metadata.name=\\x"},
    {"labelSelector": "a in (" + "b," * 3000 + "b)", "fieldSelector": "x=1"},
    {"labelSelector": "(" * 1000},
    {"labelSelector": "!" * 1000},
    {"labelSelector": "a" + ",a" * 2000 + ","},
]


@pytest.mark.parametrize("query", LISTS, ids=[json.dumps(query)[:80] for query in LISTS])
async def test_odd_options_of_reads(api: Api, query: dict[str, Any]):
    await api.get(MAPS, query=encoded(query))


NAMES = [
    "a\0b",
    "a\nb",
    "ü",
    "a\u202eb",
    "a\ufeff",
    "a/../b",
    "a;b",
    "a%2fb",
    "💥",
    "a" * 100_000,
    "\ud800",
    " ",
    "...",
]


@pytest.mark.parametrize("name", NAMES, ids=[quote(name[:10], errors="replace") for name in NAMES])
async def test_a_name_that_is_an_attack(api: Api, name: str):
    with api.unrecorded():
        generated = await api.post(MAPS, {"metadata": {"generateName": name}}, query={"dryRun": "All"})
        named = await api.post(MAPS, config_map(name))
    api.note("causes", [cause["field"] for answer in (generated, named) for cause in answer.body["details"]["causes"]])
    if len(name) < 1000:
        await api.post(MAPS, config_map(name))
        await api.post(MAPS, config_map("b", {name: name}))
        await api.post(MAPS, config_map("c", None, **{name: name}))


@pytest.mark.parametrize(
    "kind", ["a\0b", "\u2028", 'a"b', "a\\b", "😀", "\ufeff", "\x01"], ids=lambda kind: quote(kind)
)
async def test_a_kind_that_is_an_attack(api: Api, widgets: Widgets, kind: str):
    await widgets.install()
    await api.post(MAPS, {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}})
    await api.post(MAPS, {"apiVersion": kind, "kind": "ConfigMap", "metadata": {"name": "a"}})
    apply = {"fieldManager": "m"}
    await api.patch(MAPS + "/a", {"apiVersion": "v1", "kind": kind}, type="apply", query=apply)
    await api.patch(MAPS + "/a", {"apiVersion": kind, "kind": "ConfigMap"}, type="apply", query=apply)


ODD: list[Any] = [None, True, 5, 1.5, [], {}, [None], "a/b/c", "/", "/v1", "v1/", ""]


@pytest.mark.parametrize("value", ODD, ids=repr)
async def test_an_intent_of_no_kind(api: Api, widgets: Widgets, value: Any):
    await widgets.install()
    for path, good in ((MAPS, config_map()), (widgets.path, widgets.widget("a"))):
        for field in ("apiVersion", "kind"):
            await api.patch(path + "/a", {**good, field: value}, type="apply", query={"fieldManager": "m"})


@pytest.mark.parametrize("value", ODD[:7], ids=repr)
async def test_an_intent_whose_metadata_is_odd(api: Api, widgets: Widgets, value: Any):
    await widgets.install()
    for path, good in ((MAPS, config_map()), (widgets.path, widgets.widget("a"))):
        for metadata in (value, {"name": value}, {"name": "a", "labels": value}, {"name": "a", "namespace": value}):
            intent = {**good, "metadata": metadata}
            await api.patch(path + "/a", intent, type="apply", query={"fieldManager": "m", "dryRun": "All"})


async def test_an_intent_for_a_part_of_what_is_not_there(api: Api):
    for part in ("status", "scale"):
        for body in ({}, b"{", {"apiVersion": 5}, deployment()):
            await api.patch(f"{DEPLOYMENTS}/d/{part}", body, type="apply", query={"fieldManager": "m"})


async def test_numbers_in_an_intent_wrap_around(api: Api):
    for replicas in (1 << 31, 1 << 40, 1.0, -1):
        intent = deployment(replicas=replicas)
        await api.patch(DEPLOYMENTS + "/d", intent, type="apply", query={"fieldManager": "m", "dryRun": "All"})


@pytest.mark.parametrize("when", ["2026-13-01T00:00:00Z", "yesterday", 5, "2026-01-01T00:00:00+25:00"], ids=str)
async def test_an_intent_with_a_time_that_is_none(api: Api, when: Any):
    intent = config_map() | {"metadata": {"name": "a", "creationTimestamp": when}}
    await api.patch(MAPS + "/a", intent, type="apply", query={"fieldManager": "m"})


async def test_a_name_beside_the_prefix_of_one(api: Api, widgets: Widgets):
    await widgets.install()
    for path, body in ((MAPS, config_map()), (widgets.path, widgets.widget("a"))):
        body["metadata"] |= {"generateName": "a-"}
        await api.post(path, body)
        await api.post(path, body)


async def test_a_list_whose_key_is_missing(api: Api):
    limited = {"nominalConcurrencyShares": 1, "limitResponse": {"type": "Reject"}}
    level = {"metadata": {"name": api.namespace}, "spec": {"type": "Limited", "limited": limited}}
    levels = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"
    await api.post(levels, {**level, "status": {"conditions": [{"status": "True"}]}}, query={"dryRun": "All"})
    ports = [{"protocol": "TCP"}, {"containerPort": None}]
    containers = [{"name": "c", "image": "i", "ports": ports}, {"image": "j"}]
    await api.post(PODS, pod(containers=containers), query={"dryRun": "All"})


@pytest.mark.parametrize("body", [{}, {"metadata": {}}, {"metadata": {"labels": {"a": "b"}}}, {"spec": {}}], ids=str)
async def test_a_namespace_without_a_name(api: Api, body: Any):
    await api.post("/api/v1/namespaces", body)


DIRECTIVES: list[Any] = [None, 5, 1.5, True, [], [5], ["a", None], [{"a": "b"}], {}, {"b": 1, "a": "x"}, "x", ""]


@pytest.mark.parametrize("directive", DIRECTIVES, ids=repr)
async def test_a_directive_that_is_none(api: Api, directive: Any):
    await api.post(DEPLOYMENTS, deployment())
    await api.patch(DEPLOYMENTS + "/d", {"$patch": directive}, type="strategic")
    await api.patch(DEPLOYMENTS + "/d", {"metadata": {"$patch": directive, "labels": {}}}, type="strategic")
    containers = [{"name": "c", "$patch": directive}]
    patch = {"spec": {"template": {"spec": {"containers": containers}}}}
    await api.patch(DEPLOYMENTS + "/d", patch, type="strategic")


EXPLOSIVE = ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(.*)*x", "^([a-z]+)*[0-9]$", "(x+x+)+y", "^(?:a?){30}a{30}$"]


@pytest.mark.parametrize("pattern", EXPLOSIVE)
async def test_a_pattern_that_would_take_for_ever(api: Api, widgets: Widgets, pattern: str):
    field = {"type": "string", "pattern": pattern}
    await widgets.install({"type": "object", "properties": {"x": field}})
    await api.post(widgets.path, widgets.widget(x="a" * 400 + "!"), query={"dryRun": "All"})
    await api.post(widgets.path, widgets.widget(x="x" * 400), query={"dryRun": "All"})


PATTERNS = ["(", "[", "a{2,1}", "a{1001}", "(?=a)", "\\1", "(?P<a>b)", "a**", "\\p{Foo}", "((a{100}){100}){100}", "\\C"]


@pytest.mark.parametrize("pattern", PATTERNS)
async def test_a_pattern_that_go_does_not_take(api: Api, pattern: str):
    group = f"{api.namespace}.example.com"
    schema = {"type": "object", "properties": {"x": {"type": "string", "pattern": pattern}}}
    await api.post(CRDS, crd("widgets", group, schema), query={"dryRun": "All"})


def nested_schema(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


async def test_a_definition_that_is_deep(api: Api):
    await api.post(CRDS, crd("widgets", f"{api.namespace}.example.com", nested_schema(60)), query={"dryRun": "All"})


async def test_a_definition_that_is_wide(api: Api):
    properties = {f"field{number}": {"type": "string", "default": "x"} for number in range(3000)}
    definition = crd("widgets", f"{api.namespace}.example.com", {"type": "object", "properties": properties})
    with api.unrecorded():
        answer = await api.post(CRDS, definition, query={"dryRun": "All"})

    assert answer.status == 201


async def test_metadata_of_nothing(api: Api, widgets: Widgets):
    await widgets.install()
    accept = {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
    for path in (MAPS, widgets.path):
        await api.get(path, headers=accept)
        await api.delete(path, headers=accept)


async def test_a_watch_that_goes_on_from_a_page(api: Api):
    for query in ({"sendInitialEvents": "1"}, {"resourceVersionMatch": "NotOlderThan"}, {"resourceVersion": "0"}):
        await api.get(MAPS, query={"watch": "1", "continue": "x", **query})


async def test_a_condition_of_a_delete_in_its_address(api: Api):
    await api.post(MAPS, config_map())
    for query in ({"uid": "x"}, {"resourceVersion": "1"}, {"uid": ""}):
        await api.delete(MAPS + "/a", query=query)


@pytest.mark.parametrize("version", ["0", "1", "x", "1e3", "18446744073709551616", "٣"])
async def test_a_new_object_that_has_a_version_already(api: Api, widgets: Widgets, version: str):
    await widgets.install()
    for path, body in ((MAPS, config_map()), (widgets.path, widgets.widget("a"))):
        body["metadata"]["resourceVersion"] = version
        with api.unrecorded():
            dry = await api.post(path, body, query={"dryRun": "All"})
            nameless = await api.post(path, {**body, "metadata": {"resourceVersion": version}})
            created = await api.post(path, body)
        answers = (dry, nameless, created)
        api.note(path[:6], [[answer.status, answer.body.get("message", "")] for answer in answers])


async def test_field_selectors_of_nothing(api: Api):
    await api.post(MAPS, config_map())
    with api.unrecorded():
        for selector in ("=", "==", "!=", "=,metadata.name=b", "=x", ",=,"):
            answer = await api.get(MAPS, query={"fieldSelector": selector})
            api.note(selector, [answer.status, len(answer.body.get("items", []))])


async def test_a_uid_in_an_intent_for_what_is_not_there(api: Api):
    for metadata in ({"uid": "x"}, {"uid": "x", "name": "a"}, {"uid": "x", "name": "b"}):
        intent = config_map() | {"metadata": metadata}
        await api.patch(MAPS + "/a", intent, type="apply", query={"fieldManager": "m"})


async def test_a_deletion_of_many_with_odd_options(api: Api):
    for query in ({"gracePeriodSeconds": "x", "fieldSelector": "x"}, {"propagationPolicy": "x", "limit": "x"}):
        await api.delete(MAPS, query=query)
