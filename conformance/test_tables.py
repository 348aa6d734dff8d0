"""§1.2 Tables: what people see of objects."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from conformance.exchange import Answer, Api
from conformance.objects import DEPLOYMENTS, MAPS, PODS, config_map, crd, deployment, pod
from conformance.widgets import Widgets

pytestmark = pytest.mark.section("1.2")

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"
AGE = re.compile(r"\d+s")


def row_told(row: dict[str, Any]) -> dict[str, Any]:
    """A row without its age, and with only some of the object beside it."""
    cells = ["<age>" if isinstance(cell, str) and AGE.fullmatch(cell) else cell for cell in row["cells"]]
    beside = row["object"]
    if beside:
        kept = {key: value for key, value in beside["metadata"].items() if key in ("annotations", "labels", "name")}
        beside = {**beside, "metadata": kept}
    return {**row, "cells": cells, "object": beside}


def table_told(table: Any) -> Any:
    """A table with its columns in short, or what came instead."""
    if not isinstance(table, dict) or table.get("kind") != "Table":
        return table
    columns, rows = table["columnDefinitions"], table["rows"]
    told = {**table, "metadata": sorted(table["metadata"])}
    told["columnDefinitions"] = columns and [{**one, "description": one["description"][:60]} for one in columns]
    return {**told, "rows": rows and [row_told(row) for row in rows]}


def note(api: Api, answer: Answer) -> None:
    """Make a table part of the case."""
    body = answer.body
    if isinstance(body, str):
        lines = [json.loads(line) for line in body.splitlines()]
        body = [{**event, "object": table_told(event["object"])} for event in lines]
    api.note("table", {"status": answer.status, "type": answer.headers["content-type"], "body": table_told(body)})


async def shown(api: Api, path: str, accept: str = TABLE, **query: Any) -> None:
    with api.unrecorded():
        answer = await api.get(path, query=query, headers={"Accept": accept})
    note(api, answer)


async def watched(api: Api, path: str, **query: Any) -> None:
    with api.unrecorded():
        query = {"watch": "true", "timeoutSeconds": 1, **query}
        answer = await api.glance(path, query=query, headers={"Accept": TABLE})
    note(api, answer)


async def created(api: Api, path: str, *objects: dict[str, Any]) -> None:
    with api.unrecorded():
        for obj in objects:
            answer = await api.post(path, obj)
            assert answer.status == 201, answer.text


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_one_object_as_a_table(api: Api, version: str):
    await created(api, MAPS, config_map(k="v", labels={"l": "1"}))
    await shown(api, MAPS + "/a", TABLE.replace("v1", version))


async def test_a_list_as_a_table_in_pages(api: Api):
    await created(api, MAPS, config_map("a", k="v"), config_map("b"), config_map("c"))
    await shown(api, MAPS, limit=2)
    await shown(api, MAPS)
    await shown(api, MAPS, labelSelector="nothing=here")


@pytest.mark.parametrize("included", ["", "Metadata", "None", "Object", "object", "Bad"])
async def test_what_of_the_object_is_in_its_row(api: Api, included: str):
    await created(api, MAPS, config_map(k="v"))
    await shown(api, MAPS, includeObject=included)
    await shown(api, MAPS + "/a", includeObject=included)
    await shown(api, MAPS + "/nope", includeObject=included)


async def test_tables_without_rows(api: Api):
    await shown(api, PODS)
    await shown(api, ROLES)


@pytest.mark.parametrize(
    "accept",
    [
        "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io",
        "application/json;as=Table;v=v1",
        "application/json;as=Table;g=meta.k8s.io",
        "application/json;as=Table;v=v2;g=meta.k8s.io",
        "application/json;as=Tables;v=v1;g=meta.k8s.io",
        "*/*;as=Table;v=v1;g=meta.k8s.io",
        "application/json;as=Table;v=v2;g=meta.k8s.io,application/json",
        "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
    ],
)
async def test_who_gets_a_table(api: Api, accept: str):
    await shown(api, LEASES, accept)


async def test_a_table_in_yaml(api: Api):
    await created(api, MAPS, config_map())
    with api.unrecorded():
        answer = await api.get(MAPS + "/a", headers={"Accept": TABLE.replace("json", "yaml")})

    assert answer.headers["content-type"] == "application/yaml"
    assert "kind: Table\n" in answer.text


async def test_a_watch_has_its_header_once(api: Api):
    await created(api, MAPS, config_map("a", k="v"), config_map("b"))
    await watched(api, MAPS)
    await watched(api, MAPS, includeObject="None")


async def test_a_watch_of_nothing_and_one_that_is_wrong(api: Api):
    await watched(api, MAPS, includeObject="Bad")
    await watched(api, MAPS, resourceVersion="x")


async def test_the_changes_of_a_watch(api: Api):
    await created(api, MAPS, config_map("a", labels={"in": "yes"}))
    with api.unrecorded():
        version = (await api.get(MAPS)).body["metadata"]["resourceVersion"]
        await api.patch(MAPS + "/a", {"data": {"k": "v"}})
        await api.patch(MAPS + "/a", {"metadata": {"labels": {"in": "no"}}, "data": {"l": "w"}})
        await api.delete(MAPS + "/a")
    await watched(api, MAPS, resourceVersion=version)
    await watched(api, MAPS, resourceVersion=version, labelSelector="in=yes")


@pytest.mark.parametrize("included", ["None", "Metadata"])
@pytest.mark.parametrize("path", [MAPS, PODS, DEPLOYMENTS, ROLES])
async def test_the_bookmark_after_what_is_there(api: Api, path: str, included: str):
    first = {"allowWatchBookmarks": "true", "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    await watched(api, path, **first, includeObject=included)


async def test_what_is_written_comes_back_as_a_table(api: Api):
    with api.unrecorded():
        answers = [
            await api.post(MAPS, config_map(k="v"), headers={"Accept": TABLE}),
            await api.patch(MAPS + "/a", {"data": {"l": "w"}}, headers={"Accept": TABLE}),
            await api.put(MAPS + "/a", config_map(), headers={"Accept": TABLE}),
            await api.post(MAPS, config_map("b"), query={"includeObject": "Bad"}, headers={"Accept": TABLE}),
            await api.get(MAPS + "/b", query={"includeObject": "Object"}, headers={"Accept": TABLE}),
            await api.delete(MAPS, query={"labelSelector": "no=thing"}, headers={"Accept": TABLE}),
            await api.delete(MAPS, query={"fieldSelector": "metadata.name=b"}, headers={"Accept": TABLE}),
            await api.post(MAPS, config_map("c"), query={"dryRun": "All"}, headers={"Accept": TABLE}),
        ]
    for answer in answers:
        note(api, answer)


async def test_a_deletion_that_is_done_is_told_as_such(api: Api):
    await created(api, MAPS, config_map())
    await api.delete(MAPS + "/a", headers={"Accept": TABLE})


async def test_what_has_no_table(api: Api):
    await api.post(
        REVIEWS, {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}, headers={"Accept": TABLE}
    )
    await api.get(PODS + "/p/ephemeralcontainers", headers={"Accept": TABLE})
    await api.post(PODS + "/p/eviction", {"metadata": {"name": "p"}}, headers={"Accept": TABLE})
    await api.get("/api", headers={"Accept": TABLE})


async def test_the_table_of_a_subresource(api: Api):
    await created(api, PODS, pod())
    await created(api, DEPLOYMENTS, deployment(replicas=2))
    await shown(api, PODS + "/p/status")
    await shown(api, PODS + "/nope/status")
    await shown(api, DEPLOYMENTS + "/d/status")
    await shown(api, DEPLOYMENTS + "/d/scale")
    await shown(api, DEPLOYMENTS + "/d/scale", includeObject="Object")


async def test_a_pod_that_has_ended(api: Api):
    await created(api, PODS, pod())
    with api.unrecorded():
        await api.patch(PODS + "/p/status", {"status": {"phase": "Succeeded"}})
    await shown(api, PODS + "/p")


async def test_kinds_of_which_the_version_is_another(api: Api):
    target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
    spec = {"scaleTargetRef": target, "maxReplicas": 3, "targetCPUUtilizationPercentage": 60}
    scalers = "/apis/autoscaling/{}/namespaces/{{ns}}/horizontalpodautoscalers"
    await created(api, scalers.format("v1"), {"metadata": {"name": "a"}, "spec": spec})
    await shown(api, scalers.format("v1"), includeObject="None")
    await shown(api, scalers.format("v2"), includeObject="None")


async def test_definitions_are_shown_by_time_of_creation(api: Api, widgets: Widgets):
    await widgets.install()
    with api.unrecorded():
        answer = await api.get(widgets.definition, headers={"Accept": TABLE})
    columns = [column["name"] for column in answer.body["columnDefinitions"]]
    api.note("columns", [columns, answer.body["rows"][0]["cells"][1:]])


async def test_flow_schemas_come_in_their_own_order(api: Api):
    with api.unrecorded():
        answer = await api.get("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", headers={"Accept": TABLE})
    api.note("cells", [row["cells"][:4] for row in answer.body["rows"]])


async def test_custom_resources_have_an_age(api: Api, widgets: Widgets):
    await widgets.install()
    await widgets.create()
    await shown(api, widgets.path)
    await shown(api, widgets.path + "/w", includeObject="Object")
    await watched(api, widgets.path)


COLUMNS: list[tuple[str, str]] = [
    ("string", ".spec.text"),
    ("string", ".spec.number"),
    ("string", ".spec.float"),
    ("string", ".spec.flag"),
    ("string", ".spec.list"),
    ("string", ".spec.map"),
    ("string", ".spec.none"),
    ("string", ".spec.missing"),
    ("integer", ".spec.number"),
    ("integer", ".spec.float"),
    ("integer", ".spec.text"),
    ("integer", ".spec.flag"),
    ("number", ".spec.number"),
    ("number", ".spec.float"),
    ("number", ".spec.none"),
    ("boolean", ".spec.flag"),
    ("boolean", ".spec.text"),
    ("date", ".spec.old"),
    ("date", ".spec.soon"),
    ("date", ".spec.text"),
    ("date", ".spec.empty"),
    ("date", ".spec.number"),
    ("date", ".metadata.creationTimestamp"),
    ("string", ".spec.list[0]"),
    ("string", ".spec.list[-1]"),
    ("string", ".spec.list[1:]"),
    ("string", ".spec.list[9]"),
    ("string", ".spec.list[*]"),
    ("string", ".spec.list[0,1]"),
    ("string", ".spec.text[0]"),
    ("string", ".spec.items[*].name"),
    ("string", ".spec.items[?(@.name=='b')].value"),
    ("string", '.spec.items[?(@.name=="b")].value'),
    ("string", ".spec.items[?(@.value>1)].name"),
    ("string", ".spec.items[?(@.value<=1)].name"),
    ("string", ".spec.items[?(@.value!=1)].name"),
    ("string", ".spec.items[?(@.value==1.0)].name"),
    ("string", ".spec.items[?(@.value=='1')].name"),
    ("string", ".spec.items[?(@.extra)].name"),
    ("string", ".spec.items[?(@.on==true)].name"),
    ("string", ".spec.map[?(@.a)].name"),
    ("string", ".spec.map['a']"),
    ("string", ".spec.map.dotted\\.key"),
    ("string", ".spec.map['dotted\\.key']"),
    ("string", ".spec..value"),
    ("string", ".spec.items..extra"),
    ("string", ".spec.one.*"),
    ("integer", ".spec.items[?(@.name=='b')].value"),
    ("string", ".metadata.labels.x\\/y"),
    ("string", "."),
    ("string", ".spec.list[0:4:2]"),
    ("string", ".spec.list[-2:]"),
    ("string", ".spec.list[:0]"),
    ("string", ".spec. text"),
]
SPEC: dict[str, Any] = {
    "text": "some <text>",
    "number": 3,
    "float": 2.5,
    "flag": True,
    "list": ["a", 2, None, {"k": "<v>"}],
    "map": {"b": 1, "a": [1, 2], "dotted.key": "d"},
    "none": None,
    "old": "2020-01-02T03:04:05Z",
    "soon": "2199-01-02T03:04:05Z",
    "empty": "",
    "items": [{"name": "a", "value": 1}, {"name": "b", "value": 2, "on": True}, {"name": "c", "extra": None}],
    "one": {"only": "this"},
}


@pytest.mark.parametrize(("type", "path"), COLUMNS)
async def test_a_column_of_a_custom_resource(api: Api, widgets: Widgets, type: str, path: str):
    columns = [{"name": "Seen", "type": type, "jsonPath": path}]
    await widgets.install(additionalPrinterColumns=columns)
    await widgets.create(spec=SPEC)
    await shown(api, widgets.path, includeObject="None")


async def test_columns_are_told_as_they_are_defined(api: Api, widgets: Widgets):
    columns = [
        {"name": "Wide", "type": "string", "jsonPath": ".spec.text", "priority": 1},
        {"name": "Said", "type": "integer", "format": "int32", "jsonPath": ".spec.number", "description": "a number"},
    ]
    await widgets.install(additionalPrinterColumns=columns)
    await widgets.create(spec=SPEC)
    await shown(api, widgets.path)


@pytest.mark.parametrize("path", [".spec[", '.spec.items[?(@.name=="b)]', ".spec.list[x]", ".a....b", ".spec.x}{.y"])
async def test_a_path_that_is_none_ends_the_columns(api: Api, widgets: Widgets, path: str):
    columns = [
        {"name": "First", "type": "string", "jsonPath": ".spec.text"},
        {"name": "Bad", "type": "string", "jsonPath": path},
        {"name": "Last", "type": "string", "jsonPath": ".spec.text"},
    ]
    await widgets.install(additionalPrinterColumns=columns)
    await widgets.create(spec=SPEC)
    await shown(api, widgets.path, includeObject="None")


async def test_the_scale_of_a_custom_resource(api: Api, widgets: Widgets):
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    await widgets.install(subresources={"scale": scale, "status": {}})
    await widgets.create(spec={"replicas": 3})
    await shown(api, widgets.path + "/w/scale")
    await shown(api, widgets.path + "/w/status", includeObject="None")


async def test_a_table_of_another_version(api: Api, widgets: Widgets):
    definition = crd("widgets", widgets.group)
    (first,) = definition["spec"]["versions"]
    column = {"name": "Version", "type": "string", "jsonPath": ".apiVersion"}
    second = {**first, "name": "v2", "storage": False, "additionalPrinterColumns": [column]}
    definition["spec"]["versions"].append(second)
    await widgets.install_definition(definition)
    await widgets.create()
    await shown(api, widgets.path.replace("/v1/", "/v2/"), includeObject="None")
    await shown(api, widgets.path, includeObject="None")
