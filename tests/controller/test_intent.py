"""Whether an intent is fulfilled, told from managedFields as the API server keeps them."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright import Client, InProcessTransport, LabelSelector, Metadata
from kubewright.api import to_dict
from kubewright.controller.intent import is_fulfilled
from kubewright.kinds.apps_v1 import Deployment, DeploymentSpec, DeploymentStatus
from kubewright.kinds.core_v1 import ConfigMap, Container, Pod, PodSpec, PodTemplateSpec, Service
from kubewright.testing import virtual_time
from kubewright.testing.embedded import embedded_server

MANAGER = "op/ctl"


def of(kind: type[Any], document: dict[str, Any]) -> Any:
    from kubewright.api import Unstructured

    return Unstructured.from_dict({"apiVersion": kind.api_version, "kind": kind.kind, **document})


CARD: dict[str, Any] = {"metadata": {"name": "a"}, "data": {"x": "1", "y": "2"}}
SERVICE: dict[str, Any] = {
    "metadata": {"name": "a", "labels": {"app": "a"}},
    "spec": {"selector": {"app": "a"}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]},
}
POD: dict[str, Any] = {
    "metadata": {"name": "a", "finalizers": ["demo.example.com/hold"]},
    "spec": {
        "containers": [
            {"name": "main", "image": "busybox", "args": ["sleep", "3600"], "env": [{"name": "A", "value": "b"}]},
            {"name": "side", "image": "busybox", "ports": [{"containerPort": 80}, {"containerPort": 81}]},
        ],
        "nodeSelector": {"disk": "fast"},
    },
}
DEPLOYMENT: dict[str, Any] = {
    "metadata": {"name": "a"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "a"}},
        "template": {
            "metadata": {"labels": {"app": "a"}},
            "spec": {"containers": [{"name": "main", "image": "nginx", "resources": {"limits": {"cpu": "500m"}}}]},
        },
    },
}
INTENTS = [(ConfigMap, CARD), (Service, SERVICE), (Pod, POD), (Deployment, DEPLOYMENT)]


async def applied(kind: type[Any], document: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The intent and the object that applying it makes."""
    async with embedded_server() as server, Client(transport=InProcessTransport(server.handle)) as client:
        intent = of(kind, document)
        live = await client.using(field_manager=MANAGER).apply(intent)
        return to_dict(intent), to_dict(live)


@pytest.mark.parametrize(("kind", "document"), INTENTS, ids=lambda value: getattr(value, "__name__", ""))
def test_what_was_just_applied_is_fulfilled(kind: type[Any], document: dict[str, Any]) -> None:
    @virtual_time()
    async def run() -> None:
        intent, live = await applied(kind, document)

        assert is_fulfilled(intent, live, MANAGER)

    run()


@virtual_time()
async def test_the_empty_status_of_a_typed_object_states_nothing() -> None:
    """Found with an operand from a file: it was applied again at each start of its operator."""
    spec = PodSpec(containers=[Container(name="main", image="busybox")])
    template = PodTemplateSpec(metadata=Metadata(labels={"app": "a"}), spec=spec)
    selector = LabelSelector(match_labels={"app": "a"})
    made = Deployment(metadata=Metadata(name="a"), spec=DeploymentSpec(selector=selector, template=template))
    made.status = DeploymentStatus()
    async with embedded_server() as server, Client(transport=InProcessTransport(server.handle)) as client:
        live = await client.using(field_manager=MANAGER).apply(made)

    assert is_fulfilled(to_dict(made) | {"status": {}}, to_dict(live), MANAGER)
    assert not is_fulfilled(to_dict(made) | {"status": {"replicas": 1}}, to_dict(live), MANAGER)


@virtual_time()
async def test_a_changed_value_is_not_fulfilled() -> None:
    intent, live = await applied(ConfigMap, CARD)
    live["data"]["x"] = "other"

    assert not is_fulfilled(intent, live, MANAGER)


@virtual_time()
async def test_a_field_dropped_from_the_intent_is_not_fulfilled() -> None:
    intent, live = await applied(ConfigMap, CARD)
    del intent["data"]["y"]

    assert not is_fulfilled(intent, live, MANAGER)


@virtual_time()
async def test_a_new_field_is_not_fulfilled_even_if_the_object_has_it_from_others() -> None:
    intent, live = await applied(ConfigMap, CARD)
    intent["data"]["z"] = live["data"]["z"] = "3"

    assert not is_fulfilled(intent, live, MANAGER)


@virtual_time()
async def test_what_others_added_does_not_matter() -> None:
    intent, live = await applied(Service, SERVICE)
    live["metadata"]["labels"]["other"] = "b"
    live["spec"]["ports"].append({"name": "more", "port": 90, "protocol": "TCP", "targetPort": 90})

    assert is_fulfilled(intent, live, MANAGER)


@virtual_time()
async def test_an_item_dropped_from_a_keyed_list_is_not_fulfilled() -> None:
    intent, live = await applied(Pod, POD)
    intent["spec"]["containers"].pop()

    assert not is_fulfilled(intent, live, MANAGER)


@virtual_time()
async def test_an_atomic_list_must_be_equal() -> None:
    intent, live = await applied(Pod, POD)
    intent["spec"]["containers"][0]["args"] = ["sleep", "1"]

    assert not is_fulfilled(intent, live, MANAGER)


@virtual_time()
async def test_an_object_of_another_manager_is_not_fulfilled() -> None:
    intent, live = await applied(ConfigMap, CARD)

    assert not is_fulfilled(intent, live, "somebody/else")


@virtual_time()
async def test_an_intent_without_fields_leaves_no_trace_to_be_recognised_by() -> None:
    intent, live = await applied(ConfigMap, {"metadata": {"name": "a"}})

    assert not is_fulfilled(intent, live, MANAGER)


def test_metadata_alone_names_nothing_that_is_owned() -> None:
    intent = to_dict(ConfigMap(metadata=Metadata(name="a", namespace="default")))
    live = {
        "metadata": {"managedFields": [{"manager": MANAGER, "operation": "Apply", "fieldsV1": {"f:data": {"f:x": {}}}}]}
    }

    assert not is_fulfilled(intent, live, MANAGER)
