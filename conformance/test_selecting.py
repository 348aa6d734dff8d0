"""§1.7 Selectors."""

from __future__ import annotations

import pytest

from conformance.exchange import Api
from conformance.objects import MAPS, PODS, config_map, pod

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
        ("/api/v1/nodes", "spec.unschedulable=false"),
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
