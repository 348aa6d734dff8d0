"""§1.10 What the server fills in, kind by kind."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.exchange import Api
from conformance.objects import PODS, pod
from conformance.test_kinds import JOB_TEMPLATE, KINDS, LABELS, SELECTOR, TEMPLATE, name_in

pytestmark = pytest.mark.section("1.10")

SERVICES = "/api/v1/namespaces/{ns}/services"


@pytest.mark.parametrize("plural", KINDS)
async def test_what_each_kind_is_filled_with(api: Api, plural: str):
    kind = KINDS[plural]
    name = name_in(api, kind)
    await api.post(kind.path, {"metadata": {"name": name}, **kind.content})
    with api.unrecorded():
        await api.delete(f"{kind.path}/{name}")


@pytest.mark.parametrize(
    ("plural", "spec"),
    [
        ("deployments", {"selector": SELECTOR, "template": TEMPLATE, "strategy": {"type": "Recreate"}}),
        ("deployments", {"selector": SELECTOR, "template": TEMPLATE, "strategy": {"rollingUpdate": {"maxSurge": 1}}}),
        ("deployments", {"selector": SELECTOR, "template": TEMPLATE, "replicas": 0}),
        (
            "statefulsets",
            {"selector": SELECTOR, "template": TEMPLATE, "serviceName": "s", "updateStrategy": {"type": "OnDelete"}},
        ),
        (
            "statefulsets",
            {
                "selector": SELECTOR,
                "template": TEMPLATE,
                "serviceName": "s",
                "volumeClaimTemplates": [
                    {
                        "metadata": {"name": "v"},
                        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
                    }
                ],
            },
        ),
        ("daemonsets", {"selector": SELECTOR, "template": TEMPLATE, "updateStrategy": {"type": "OnDelete"}}),
        ("jobs", {"template": JOB_TEMPLATE, "completions": 3}),
        ("jobs", {"template": JOB_TEMPLATE, "parallelism": 3}),
        ("jobs", {"template": JOB_TEMPLATE, "completionMode": "Indexed", "completions": 2}),
        ("replicationcontrollers", {"template": TEMPLATE}),
        ("replicasets", {"selector": SELECTOR, "replicas": 0}),
        (
            "horizontalpodautoscalers",
            {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
                "maxReplicas": 3,
                "behavior": {"scaleUp": {}},
            },
        ),
        (
            "ingresses",
            {
                "rules": [
                    {
                        "http": {
                            "paths": [
                                {
                                    "path": "/",
                                    "pathType": "Prefix",
                                    "backend": {"service": {"name": "s", "port": {"number": 80}}},
                                }
                            ]
                        }
                    }
                ]
            },
        ),
        ("networkpolicies", {"podSelector": {}, "ingress": [{"ports": [{"port": 80}]}]}),
        ("networkpolicies", {"podSelector": {}, "egress": [{}]}),
        ("limitranges", {"limits": [{"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "1"}}]}),
        ("poddisruptionbudgets", {"maxUnavailable": "50%", "selector": {"matchLabels": LABELS}}),
    ],
)
async def test_what_a_spec_is_filled_with(api: Api, plural: str, spec: dict[str, Any]):
    await api.post(KINDS[plural].path, {"metadata": {"name": "x"}, "spec": spec})


@pytest.mark.parametrize(
    "spec",
    [
        {"ports": [{"port": 80, "targetPort": "http"}], "selector": LABELS},
        {"type": "NodePort", "ports": [{"port": 80, "nodePort": 31234}]},
        {"type": "LoadBalancer", "ports": [{"port": 80, "nodePort": 31235}]},
        {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False, "ports": [{"port": 80}]},
        {"sessionAffinity": "ClientIP", "ports": [{"port": 53, "protocol": "UDP"}]},
        {"clusterIP": "None", "selector": LABELS},
        {"ipFamilyPolicy": "PreferDualStack", "ports": [{"port": 80}]},
        {"externalTrafficPolicy": "Local", "type": "NodePort", "ports": [{"port": 80, "nodePort": 31236}]},
    ],
)
async def test_what_a_service_is_filled_with(api: Api, spec: dict[str, Any]):
    await api.post(SERVICES, {"metadata": {"name": "s"}, "spec": spec})
    with api.unrecorded():
        await api.delete(SERVICES + "/s")


def container(**more: Any) -> list[dict[str, Any]]:
    return [{"name": "c", "image": "busybox:1", **more}]


SOURCES: list[dict[str, Any]] = [
    {"hostPath": {"path": "/x"}},
    {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
    {"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    {"iscsi": {"targetPortal": "1.2.3.4:3260", "iqn": "iqn.2001-04.com.example:x", "lun": 0}},
    {
        "ephemeral": {
            "volumeClaimTemplate": {
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
            }
        }
    },
]


@pytest.mark.parametrize(
    "spec",
    [
        {"volumes": [{"name": f"v{index}", **source} for index, source in enumerate(SOURCES)]},
        {"containers": container(readinessProbe={"exec": {"command": ["x"]}}, startupProbe={"tcpSocket": {"port": 1}})},
        {"containers": container(livenessProbe={"grpc": {"port": 1}}, lifecycle={"preStop": {"httpGet": {"port": 1}}})},
        {"containers": container(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}])},
        {"containers": container(env=[{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}}])},
        {"containers": container(resources={"requests": {"cpu": "0.1"}, "limits": {"cpu": "1", "memory": "1Gi"}})},
        {"containers": container(securityContext={"privileged": True, "procMount": "Default"})},
        {
            "containers": container(image="host:5000/x"),
            "initContainers": [{"name": "i", "image": "x@sha256:" + "a" * 64}],
        },
        {"tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}]},
        {"tolerations": [{"operator": "Exists"}]},
        {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}]},
        {"hostNetwork": True, "containers": container(ports=[{"containerPort": 80, "hostIP": "1.2.3.4"}])},
        {"serviceAccountName": "robot"},
        {"serviceAccount": "robot"},
        {"priorityClassName": "system-cluster-critical"},
        {"terminationGracePeriodSeconds": 0, "enableServiceLinks": False},
        {"initContainers": [{"name": "i", "image": "x:1", "restartPolicy": "Always"}]},
        {"overhead": {"cpu": "1"}},
        {"os": {"name": "windows"}},
    ],
)
async def test_what_a_pod_of_many_shapes_is_filled_with(api: Api, spec: dict[str, Any]):
    await api.post(PODS, pod(**spec))


CLASS = {
    "handler": "h",
    "overhead": {"podFixed": {"cpu": "100m"}},
    "scheduling": {
        "nodeSelector": {"runtime": "h"},
        "tolerations": [
            {"key": "h", "operator": "Exists"},
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists"},
        ],
    },
}


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"overhead": {"cpu": "100m"}},
        {"overhead": {"cpu": "1"}},
        {"nodeSelector": {"runtime": "other"}},
        {"nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "h", "operator": "Equal", "value": "x"}]},
    ],
)
async def test_what_the_class_of_its_runtime_adds_to_a_pod(api: Api, spec: dict[str, Any]):
    name = f"{api.namespace}-c"
    classes = KINDS["runtimeclasses"].path
    with api.unrecorded():
        await api.post(classes, {"metadata": {"name": name}, **CLASS})
    await api.post(PODS, pod(runtimeClassName=name, **spec))
    await api.post(PODS, pod("other", runtimeClassName="none"))
    with api.unrecorded():
        await api.delete(f"{classes}/{name}")


@pytest.mark.parametrize("amount", ["1000m", "1.50", "1e3", "0.0001", "1024Mi", "1Ei", "+1", "1.", ".5", "100n", "0"])
async def test_how_quantities_are_kept(api: Api, amount: str):
    body = {"metadata": {"name": "q"}, "spec": {"hard": {"requests.cpu": amount}}}
    await api.post("/api/v1/namespaces/{ns}/resourcequotas", body)


async def test_numbers_are_taken_as_quantities(api: Api):
    for name, amount in (("a", 2), ("b", 1.5), ("c", 0)):
        body = {"metadata": {"name": name}, "spec": {"hard": {"requests.cpu": amount}}}
        await api.post("/api/v1/namespaces/{ns}/resourcequotas", body)


async def test_an_update_is_filled_in_like_a_creation(api: Api):
    kind = KINDS["deployments"]
    with api.unrecorded():
        await api.post(kind.path, {"metadata": {"name": "x"}, **kind.content})
    await api.put(kind.path + "/x", {"metadata": {"name": "x"}, **kind.content})
    await api.patch(kind.path + "/x", {"spec": {"strategy": None, "revisionHistoryLimit": None}})
