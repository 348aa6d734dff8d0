"""§1.7 Selectors."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.exchange import Api
from conformance.objects import MAPS, PODS, config_map, pod
from conformance.widgets import Widgets

pytestmark = pytest.mark.section("1.7")

LABELS = {"a": {"tier": "web"}, "b": {"tier": "db", "canary": ""}, "c": {}, "d": {"tier": "web", "n": "7"}}


async def names(api: Api, path: str, **query: str) -> list[str]:
    answer = await api.get(path, query=query)
    return [item["metadata"]["name"] for item in answer.body["items"]] if answer.status == 200 else []


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("tier=web", "ad"),
        ("tier==web", "ad"),
        ("tier!=web", "bc"),
        ("tier in (web,db)", "abd"),
        ("tier in (web)", "ad"),
        ("tier notin (web)", "bc"),
        ("tier", "abd"),
        ("!tier", "c"),
        ("canary=", "b"),
        ("tier=web,n=7", "d"),
        ("n>5", "d"),
        ("n<5", ""),
        ("", "abcd"),
        (" tier = web ", "ad"),
        ("tier in ()", ""),
        ("tier in (,web)", "ad"),
    ],
)
async def test_labels_that_match(api: Api, selector: str, expected: str):
    with api.unrecorded():
        for name, labels in LABELS.items():
            await api.post(MAPS, config_map(name, labels=labels))

    assert "".join(await names(api, MAPS, labelSelector=selector)) == expected


@pytest.mark.parametrize(
    "selector",
    [
        "a b",
        "a=b=c",
        "=a",
        "a in b",
        "a in (b",
        "!",
        "a,,b",
        "a notin",
        "-a=b",
        "a=-b",
        "a" * 64,
        "a=" + "b" * 64,
        "a>x",
        "(",
        "a/b/c",
    ],
)
async def test_labels_that_are_malformed(api: Api, selector: str):
    await api.get(MAPS, query={"labelSelector": selector})


@pytest.mark.parametrize(
    "selector",
    [
        "metadata.name=a",
        "metadata.name!=a",
        "metadata.namespace=nowhere",
        "metadata.name=a,metadata.name=b",
        "metadata.name==b",
    ],
)
async def test_fields_of_metadata(api: Api, selector: str):
    with api.unrecorded():
        for name in "abc":
            await api.post(MAPS, config_map(name))

    await api.get(MAPS, query={"fieldSelector": selector})


@pytest.mark.parametrize("selector", ["spec.x=1", "data.k=v", "metadata.uid=x", "nonsense", "a=b\\", "metadata.name"])
async def test_fields_that_cannot_be_selected(api: Api, selector: str):
    await api.get(MAPS, query={"fieldSelector": selector})


@pytest.mark.parametrize(
    "selector",
    [
        "spec.nodeName=",
        "spec.nodeName=n",
        "spec.restartPolicy=Always",
        "spec.schedulerName=default-scheduler",
        "spec.serviceAccountName=",
        "spec.hostNetwork=false",
        "status.phase=Pending",
        "status.phase!=Pending",
        "status.podIP=",
        "status.nominatedNodeName=",
    ],
)
async def test_fields_of_pods(api: Api, selector: str):
    with api.unrecorded():
        await api.post(PODS, pod())

    await names(api, PODS, fieldSelector=selector)


@pytest.mark.parametrize(
    ("path", "selector"),
    [
        ("/api/v1/nodes", "spec.unschedulable=false,metadata.name=none"),
        ("/api/v1/nodes", "spec.x=1"),
        ("/api/v1/namespaces/{ns}/secrets", "type=Opaque"),
        ("/api/v1/namespaces/{ns}/services", "spec.type=ClusterIP"),
        ("/api/v1/namespaces/{ns}/services", "spec.clusterIP=None"),
        ("/api/v1/namespaces/{ns}/events", "involvedObject.kind=Pod,reason=X"),
        ("/apis/events.k8s.io/v1/namespaces/{ns}/events", "regarding.kind=Pod"),
        ("/apis/batch/v1/namespaces/{ns}/jobs", "status.successful=1"),
        ("/apis/apps/v1/namespaces/{ns}/deployments", "status.replicas=1"),
        ("/api/v1/namespaces/{ns}/replicationcontrollers", "status.replicas=0"),
    ],
)
async def test_fields_of_other_kinds(api: Api, path: str, selector: str):
    await names(api, path, fieldSelector=selector)


EVENTS = "/api/v1/namespaces/{ns}/events"
NEW_EVENTS = "/apis/events.k8s.io/v1/namespaces/{ns}/events"


def event(api: Api, called: str, **about: str) -> dict[str, Any]:
    involved = {
        "kind": "Pod",
        "namespace": api.namespace,
        "name": "p",
        "uid": "u-1",
        "apiVersion": "v1",
        "resourceVersion": "7",
        "fieldPath": "spec.containers{c}",
        **about,
    }
    return {
        "metadata": {"name": called},
        "involvedObject": involved,
        "reason": "Tested",
        "type": "Normal",
        "source": {"component": "tester"},
        "reportingComponent": "example.com/r",
    }


@pytest.mark.parametrize(
    "selector",
    [
        "involvedObject.kind=Pod",
        "involvedObject.kind!=Pod",
        "involvedObject.name=q",
        "involvedObject.uid=u-1",
        "involvedObject.apiVersion=v1",
        "involvedObject.resourceVersion=7",
        "involvedObject.fieldPath=spec.containers{c}",
        "reason=Tested",
        "type=Normal",
        "source=tester",
        "reportingComponent=example.com/r",
        "involvedObject.namespace=nowhere",
        "message=x",
    ],
)
async def test_fields_of_events(api: Api, selector: str):
    with api.unrecorded():
        await api.post(EVENTS, event(api, "a"))
        await api.post(EVENTS, event(api, "b", kind="Node", name="q"))
        answer = await api.get(EVENTS, query={"fieldSelector": selector})
        newer = await api.get(NEW_EVENTS, query={"fieldSelector": selector.replace("involvedObject", "regarding")})
    for found in (answer, newer):
        names = [item["metadata"]["name"] for item in found.body.get("items", ())]
        api.note("found", names if found.status == 200 else found.body)


@pytest.mark.parametrize(
    ("plural", "content", "selectors"),
    [
        ("secrets", {"type": "example.com/t"}, ["type=example.com/t", "type=Opaque", "type!=Opaque"]),
        (
            "services",
            {"spec": {"clusterIP": "None", "ports": [{"port": 1}]}},
            ["spec.clusterIP=None", "spec.type!=ClusterIP"],
        ),
        (
            "replicationcontrollers",
            {"spec": {"selector": {"a": "b"}, "replicas": 0}},
            ["status.replicas=0", "status.replicas=1"],
        ),
    ],
    ids=["secrets", "services", "replicationcontrollers"],
)
async def test_fields_that_objects_have(api: Api, plural: str, content: dict[str, Any], selectors: list[str]):
    path = f"/api/v1/namespaces/{{ns}}/{plural}"
    with api.unrecorded():
        await api.post(path, {"metadata": {"name": "x"}, **content})
        for selector in selectors:
            answer = await api.get(path, query={"fieldSelector": selector})
            api.note(selector, [item["metadata"]["name"] for item in answer.body["items"]])


async def test_fields_of_nodes(api: Api):
    name = f"{api.namespace}-n"
    with api.unrecorded():
        await api.post("/api/v1/nodes", {"metadata": {"name": name}, "spec": {"unschedulable": True}})
        for value in ("true", "false", "yes"):
            selector = f"metadata.name={name},spec.unschedulable={value}"
            answer = await api.get("/api/v1/nodes", query={"fieldSelector": selector})
            api.note(value, [item["metadata"]["name"] for item in answer.body["items"]])
        await api.delete(f"/api/v1/nodes/{name}")


async def test_fields_of_namespaces(api: Api):
    for phase in ("Active", "Terminating"):
        with api.unrecorded():
            selector = f"status.phase={phase},metadata.name={api.namespace}"
            answer = await api.get("/api/v1/namespaces", query={"fieldSelector": selector})
        api.note(phase, len(answer.body["items"]))
    await api.get("/api/v1/namespaces", query={"fieldSelector": "spec.finalizers=x"})


@pytest.mark.parametrize(
    ("path", "selector"),
    [
        ("/apis/certificates.k8s.io/v1/certificatesigningrequests", "spec.signerName=example.com/none"),
        ("/apis/certificates.k8s.io/v1/certificatesigningrequests", "spec.username=x"),
        ("/apis/batch/v1/namespaces/{ns}/jobs", "status.active=1"),
        ("/apis/batch/v1/namespaces/{ns}/cronjobs", "spec.suspend=true"),
        ("/apis/apps/v1/namespaces/{ns}/replicasets", "status.replicas=0"),
        ("/apis/coordination.k8s.io/v1/namespaces/{ns}/leases", "spec.holderIdentity=x"),
        ("/api/v1/persistentvolumes", "status.phase=Bound"),
        ("/apis/rbac.authorization.k8s.io/v1/clusterroles", "rules=x"),
        ("/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses", "spec.ingressClassName=x"),
        ("/api/v1/namespaces/{ns}/pods", "spec.containers=x"),
        ("/api/v1/namespaces/{ns}/pods", "status.podIPs=1.2.3.4"),
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "spec.group=x"),
    ],
)
async def test_fields_of_still_other_kinds(api: Api, path: str, selector: str):
    await names(api, path, fieldSelector=selector)


async def test_a_pod_is_selected_by_the_node_that_it_is_bound_to(api: Api):
    with api.unrecorded():
        await api.post(PODS, pod())
        await api.post(PODS, pod("q"))
        binding = {"kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
        await api.post(PODS + "/p/binding", binding)

    assert await names(api, PODS, fieldSelector="spec.nodeName=n") == ["p"]
    assert await names(api, PODS, fieldSelector="spec.nodeName=") == ["q"]
    assert await names(api, PODS, fieldSelector="spec.nodeName!=n") == ["q"]


async def test_labels_and_fields_together(api: Api):
    with api.unrecorded():
        for name, labels in LABELS.items():
            await api.post(MAPS, config_map(name, labels=labels))

    assert await names(api, MAPS, labelSelector="tier=web", fieldSelector="metadata.name!=a") == ["d"]


@pytest.mark.parametrize(
    "selector",
    [
        "metadata.name=a\\,b",
        "metadata.name=a\\\\b",
        "metadata.name=a\\xb",
        "metadata.name in (a,b)",
        "=a",
        "metadata.name=",
        "metadata.name=a,",
        ",metadata.name=a",
        " metadata.name=a",
        "metadata.name=a ",
        "metadata.name===a",
        "metadata.name!==a",
    ],
)
async def test_how_fields_are_written(api: Api, selector: str):
    with api.unrecorded():
        await api.post(MAPS, config_map("a"))
    await api.get(MAPS, query={"fieldSelector": selector})


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("tier in (web),n", "d"),
        ("tier,!canary", "ad"),
        ("tier notin (web,db)", "c"),
        ("n!=7", "abc"),
        ("n in (7),tier!=db", "d"),
        ("! tier", "c"),
        ("canary in ()", "b"),
        ("n>=5", None),
        ("in=x", ""),
        ("in in (in)", ""),
        ("tier=web,,n", None),
        ("tier=web,", None),
        ("tier==web,n==7", "d"),
        ("n>6,n<8", "d"),
    ],
)
async def test_labels_in_combination(api: Api, selector: str, expected: str | None):
    with api.unrecorded():
        for name, labels in LABELS.items():
            await api.post(MAPS, config_map(name, labels=labels))

    found = await names(api, MAPS, labelSelector=selector)
    assert expected is None or "".join(found) == expected


async def test_custom_resources_are_selected_by_labels_and_names(api: Api, widgets: Widgets):
    await widgets.install()
    with api.unrecorded():
        for name in "ab":
            body = widgets.widget(name)
            body["metadata"]["labels"] = {"n": name}
            await api.post(widgets.path, body)
    await api.get(widgets.path, query={"labelSelector": "n=a"})
    await api.get(widgets.path, query={"fieldSelector": "metadata.name=b"})
    await api.get(widgets.path, query={"fieldSelector": "spec.size=1"})
    await api.get(widgets.path, query={"labelSelector": "n="})


@pytest.mark.parametrize("operator", ["=", "!="])
async def test_selectable_fields_of_every_type(api: Api, widgets: Widgets, operator: str):
    spec = {"size": {"type": "integer"}, "on": {"type": "boolean"}, "color": {"type": "string"}}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}
    await widgets.install(schema, selectableFields=[{"jsonPath": f".spec.{name}"} for name in spec])
    await widgets.create("a", spec={"size": 1, "on": True, "color": "red"})
    await widgets.create("b", spec={"size": 2, "on": False})
    await widgets.create("c")
    for field, value in (("size", "1"), ("on", "true"), ("color", "red"), ("color", ""), ("on", "false")):
        with api.unrecorded():
            answer = await api.get(widgets.path, query={"fieldSelector": f"spec.{field}{operator}{value}"})
        api.note(f"{field} {value}", [item["metadata"]["name"] for item in answer.body["items"]])
