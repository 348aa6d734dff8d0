"""The scale of what can be scaled: put, patched and applied, and who owns the replicas then."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.exchange import Api
from conformance.objects import DEPLOYMENTS, deployment, pod
from conformance.widgets import Widgets

pytestmark = pytest.mark.section("1.9")

SCALE = DEPLOYMENTS + "/d/scale"
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": pod()["spec"]}
SELECTOR = {"matchLabels": {"app": "web"}}
OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "replicasets": ("/apis/apps/v1", {"selector": SELECTOR, "template": TEMPLATE}),
    "statefulsets": ("/apis/apps/v1", {"selector": SELECTOR, "template": TEMPLATE, "serviceName": "s"}),
    "replicationcontrollers": ("/api/v1", {"template": TEMPLATE}),
}


def scale(replicas: int | None = None, **more: Any) -> dict[str, Any]:
    """A Scale of d."""
    spec = {} if replicas is None else {"replicas": replicas}
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"}, "spec": spec, **more}


async def applied(api: Api, intent: dict[str, Any], manager: str = "one", path: str = SCALE, **query: Any) -> None:
    await api.patch(path, intent, type="apply", query={"fieldManager": manager, **query})


async def test_applying_replicas_that_are_another_s(api: Api):
    await api.post(DEPLOYMENTS, deployment(replicas=2), query={"fieldManager": "creator"})
    await applied(api, scale(3))
    await applied(api, scale(3), force="true")
    await applied(api, scale(3))
    await applied(api, scale(3), "two")
    await applied(api, scale(4), "two")
    await applied(api, scale(4), "two", force="true")
    await api.get(DEPLOYMENTS + "/d")


async def test_applying_the_replicas_that_are_there(api: Api):
    await api.post(DEPLOYMENTS, deployment(replicas=2), query={"fieldManager": "creator"})
    await applied(api, scale(2))
    await api.get(DEPLOYMENTS + "/d")
    await api.patch(DEPLOYMENTS + "/d", {"spec": {"replicas": 5}}, query={"fieldManager": "updater"})
    await applied(api, scale(2))
    await api.get(DEPLOYMENTS + "/d")


async def test_applying_no_replicas(api: Api):
    await api.post(DEPLOYMENTS, deployment(replicas=2), query={"fieldManager": "creator"})
    await applied(api, scale(2))
    await applied(api, scale())
    await api.get(DEPLOYMENTS + "/d")
    await applied(api, scale(2), "two")
    await applied(api, scale(2), "three")
    await applied(api, scale(), "two")
    await api.get(DEPLOYMENTS + "/d")


async def test_applying_a_scale_to_an_applied_object(api: Api):
    await applied(api, deployment(replicas=2), "creator", DEPLOYMENTS + "/d")
    await applied(api, scale(3))
    await applied(api, scale(3), force="true")
    await applied(api, deployment(), "creator", DEPLOYMENTS + "/d")
    await applied(api, deployment(replicas=1), "creator", DEPLOYMENTS + "/d")
    await applied(api, deployment(replicas=1), "creator", DEPLOYMENTS + "/d", force="true")


@pytest.mark.parametrize(
    "intent",
    [
        scale(3, apiVersion="v1"),
        scale(3, kind="Deployment"),
        scale(3, metadata={"name": "other"}),
        scale(3, metadata={}),
        scale(3, metadata={"name": "d", "namespace": "elsewhere"}),
        scale(3, metadata={"name": "d", "managedFields": []}),
        scale(3, metadata={"name": "d", "resourceVersion": "1"}),
        scale(3, metadata={"name": "d", "uid": "other"}),
        scale(3, metadata={"name": "d", "labels": {"a": "b"}}),
        scale(3, status={"replicas": 7}),
        scale(3, nonsense=1),
        scale(-1),
        {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": "three"}},
    ],
)
async def test_applying_an_odd_scale(api: Api, intent: dict[str, Any]):
    await api.post(DEPLOYMENTS, deployment(replicas=2), query={"fieldManager": "creator"})
    await applied(api, intent, force="true")


async def test_applying_a_scale_with_options(api: Api):
    await applied(api, scale(3))
    await api.post(DEPLOYMENTS, deployment(replicas=2), query={"fieldManager": "creator"})
    await api.patch(SCALE, scale(3), type="apply")
    await applied(api, scale(3), force="true", dryRun="All")
    await api.get(DEPLOYMENTS + "/d")
    await applied(api, scale(3, nonsense=1), force="true", fieldValidation="Strict")


@pytest.mark.parametrize("kind", OTHERS)
async def test_applying_a_scale_of_another_kind(api: Api, kind: str):
    root, spec = OTHERS[kind]
    path = f"{root}/namespaces/{{ns}}/{kind}"
    await api.post(
        path, {"metadata": {"name": "d"}, "spec": {"replicas": 2, **spec}}, query={"fieldManager": "creator"}
    )
    await applied(api, scale(3), path=path + "/d/scale")
    await applied(api, scale(3), path=path + "/d/scale", force="true")
    await api.get(path + "/d")


@pytest.mark.parametrize(
    "body",
    [
        scale(3),
        scale(3, metadata={}),
        scale(3, metadata={"name": "other"}),
        scale(3, metadata={"name": "d", "resourceVersion": "1"}),
        scale(3, metadata={"name": "d", "uid": "other"}),
        scale(3, metadata={"name": "d", "namespace": "elsewhere"}),
        scale(-1),
        scale(),
        {"kind": "Deployment", "apiVersion": "apps/v1"},
        {"spec": {"replicas": "three"}},
    ],
)
async def test_putting_a_scale(api: Api, body: dict[str, Any]):
    await api.post(DEPLOYMENTS, deployment(replicas=2), query={"fieldManager": "creator"})
    await api.put(SCALE, body, query={"fieldManager": "scaler"})
    await api.patch(SCALE, {name: body[name] for name in body if name != "apiVersion"}, query={"fieldManager": "m"})
    await api.get(DEPLOYMENTS + "/d")


async def test_a_scale_of_nothing(api: Api):
    await api.get(SCALE)
    await api.put(SCALE, scale(1))
    await api.patch(SCALE, {"spec": {"replicas": 1}})
    await api.delete(SCALE)


async def test_applying_the_scale_of_a_custom_object(api: Api, widgets: Widgets):
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.ready"}
    await widgets.install(schema, subresources={"status": {}, "scale": paths})
    await widgets.create("d", spec={"size": 2})
    await applied(api, scale(3), path=widgets.path + "/d/scale", force="true")
    await applied(api, scale(2), path=widgets.path + "/d/scale")
    await api.put(widgets.path + "/d/scale", scale(-1))
    await api.put(widgets.path + "/d/scale", scale(5), query={"fieldManager": "scaler"})
    await api.get(widgets.path + "/d")
