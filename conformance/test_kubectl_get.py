"""``kubectl get`` prints the tables of both servers alike."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.conftest import Chosen
from conformance.kubectl import Kubectl
from conformance.objects import config_map, crd, deployment, pod

OBJECTS: dict[str, dict[str, Any]] = {
    "configmap": config_map("a", k="v"),
    "pod": pod("a", initContainers=[{"name": "i", "image": "i"}], nodeName="n"),
    "deployment": deployment("a", replicas=2),
    "service": {"apiVersion": "v1", "kind": "Service", "spec": {"clusterIP": "None", "ports": [{"port": 80}]}},
    "secret": {"apiVersion": "v1", "kind": "Secret", "stringData": {"k": "v"}},
    "serviceaccount": {"apiVersion": "v1", "kind": "ServiceAccount"},
    "persistentvolumeclaim": {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    },
    "job": {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}},
    },
    "cronjob": {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "spec": {
            "schedule": "@daily",
            "jobTemplate": {
                "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}
            },
        },
    },
    "ingress": {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}},
    },
    "networkpolicy": {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "spec": {"podSelector": {"matchLabels": {"a": "b"}}},
    },
    "role": {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "rules": []},
    "lease": {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {"holderIdentity": "me"}},
    "event": {
        "apiVersion": "v1",
        "kind": "Event",
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "{ns}"},
        "reason": "Said",
        "message": "a word",
        "type": "Normal",
        "firstTimestamp": "2020-01-02T03:04:05Z",
        "lastTimestamp": "2020-01-02T03:04:05Z",
    },
}


async def made(kubectl: Kubectl, obj: dict[str, Any]) -> None:
    metadata = {"name": "a", "labels": {"l": "1"}, **obj.get("metadata", {})}
    document = {**obj, "metadata": metadata}
    if "involvedObject" in obj:
        document["involvedObject"] = {**obj["involvedObject"], "namespace": kubectl.namespace}
    await kubectl.made(document)


@pytest.mark.parametrize("kind", OBJECTS)
async def test_get_prints_a_table(kubectl: Kubectl, kind: str):
    await made(kubectl, OBJECTS[kind])
    await kubectl("get", kind, "a")
    await kubectl("get", kind, "a", "-o", "wide")
    await kubectl("get", kind, "-l", "l=1", "--show-labels")


@pytest.mark.parametrize("kind", ["configmaps", "pods", "roles", "deployments.apps,services"])
async def test_get_says_that_there_is_nothing(kubectl: Kubectl, kind: str):
    await kubectl("get", kind, "-l", "nothing=here")


async def test_get_of_several_kinds_and_names(kubectl: Kubectl):
    for kind in ("service", "deployment"):
        await made(kubectl, OBJECTS[kind])
    await kubectl("get", "deployment,service", "-l", "l=1")
    await kubectl("get", "deployment/a", "service/a", "service/nope")
    await kubectl("get", "deployment", "a", "--show-kind")
    await kubectl("get", "deployment", "-L", "l", "-l", "l=1")
    await kubectl("get", "deployment", "-l", "l=1", "--sort-by=.metadata.name")
    await kubectl("get", "all", "-l", "l=1")
    await kubectl("get", "deployment", "a", "-o", "custom-columns=N:.metadata.name,R:.spec.replicas")


async def test_get_in_pages(kubectl: Kubectl):
    for name in "abc":
        await made(kubectl, config_map(name))
    await kubectl("get", "configmap", "-l", "l=1", "--chunk-size=1")


async def test_get_watches_and_prints_rows(kubectl: Kubectl):
    await made(kubectl, config_map("a"))
    await kubectl("get", "configmap", "-l", "l=1", "-w", "--request-timeout=1s")


async def test_get_of_custom_resources(kubectl: Kubectl, server: Chosen):
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Old", "type": "date", "jsonPath": ".spec.old"},
        {"name": "Extra", "type": "string", "jsonPath": ".spec.extra", "priority": 1},
    ]
    group = f"{kubectl.namespace}.example.com"
    definition = crd("widgets", group, additionalPrinterColumns=columns)
    await kubectl("create", "-f", "-", given=definition, is_told=False)
    await kubectl("wait", "--for=condition=Established", f"crd/widgets.{group}", is_told=False)
    spec = {"size": 3, "old": "2000-01-01T00:00:00Z", "extra": "more"}
    widget = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": spec}
    while not (await kubectl("get", f"widgets.{group}", "-o", "name", is_told=False)):
        await kubectl("create", "-f", "-", given=widget, is_told=False)
    await kubectl("get", f"widgets.{group}")
    await kubectl("get", f"widgets.{group}", "a", "-o", "wide")
    await kubectl("delete", "crd", f"widgets.{group}", is_told=False)
