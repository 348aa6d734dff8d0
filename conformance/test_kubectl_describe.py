"""``kubectl describe`` of many kinds: what it gathers from the server is the same on both."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.kubectl import Kubectl
from conformance.objects import config_map, crd, deployment, pod

JOB = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}
WEB = {"selector": {"matchLabels": {"app": "web"}}, "template": deployment()["spec"]["template"]}
RULES = [{"apiGroups": ["", "apps"], "resources": ["pods", "deployments"], "verbs": ["get", "*"]}]
CONTAINER = {
    "name": "c",
    "image": "i:1",
    "command": ["sh", "-c", "true"],
    "ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 53, "protocol": "UDP"}],
    "env": [
        {"name": "A", "value": "b"},
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "K", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}},
    ],
    "envFrom": [{"configMapRef": {"name": "m"}, "prefix": "P_"}],
    "resources": {"limits": {"cpu": "1500m", "memory": "1Gi"}, "requests": {"cpu": "0.1"}},
    "livenessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 7},
    "readinessProbe": {"exec": {"command": ["true"]}},
    "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": True}, {"name": "m", "mountPath": "/m"}],
}
VOLUMES = [
    {"name": "v", "emptyDir": {"medium": "Memory"}},
    {"name": "m", "configMap": {"name": "m", "optional": True}},
    {"name": "h", "hostPath": {"path": "/h"}},
    {"name": "p", "projected": {"sources": [{"secret": {"name": "s"}}, {"downwardAPI": {"items": []}}]}},
]


def of(api_version: str, kind: str, **parts: Any) -> dict[str, Any]:
    """An object whose name is ``a``."""
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "labels": {"l": "1"}}, **parts}


OBJECTS: dict[str, dict[str, Any]] = {
    "pod": pod(
        "a", containers=[CONTAINER], volumes=VOLUMES, nodeName="n", initContainers=[{"name": "i", "image": "i"}]
    ),
    "deployment": deployment("a", replicas=2, minReadySeconds=5),
    "replicaset": of("apps/v1", "ReplicaSet", spec={"replicas": 2, **WEB}),
    "statefulset": of(
        "apps/v1",
        "StatefulSet",
        spec={
            "serviceName": "s",
            **WEB,
            "volumeClaimTemplates": [
                {
                    "metadata": {"name": "data"},
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
                }
            ],
        },
    ),
    "daemonset": of("apps/v1", "DaemonSet", spec=WEB),
    "replicationcontroller": of(
        "v1", "ReplicationController", spec={"selector": {"app": "web"}, "template": WEB["template"]}
    ),
    "job": of("batch/v1", "Job", spec={**JOB, "completions": 3, "parallelism": 2, "backoffLimit": 1}),
    "cronjob": of("batch/v1", "CronJob", spec={"schedule": "*/5 * * * *", "jobTemplate": {"spec": JOB}}),
    "configmap": {**config_map("a", text="one\ntwo\n"), "binaryData": {"bytes": "AP8B"}},
    "secret": of("v1", "Secret", stringData={"k": "v", "longer": "words"}),
    "serviceaccount": of("v1", "ServiceAccount", imagePullSecrets=[{"name": "r"}]),
    "service": of(
        "v1",
        "Service",
        spec={
            "selector": {"app": "web"},
            "ports": [{"port": 80, "targetPort": "http", "name": "web"}, {"port": 53, "name": "d", "protocol": "UDP"}],
        },
    ),
    "endpoints": of("v1", "Endpoints", subsets=[{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 80}]}]),
    "endpointslice": of(
        "discovery.k8s.io/v1",
        "EndpointSlice",
        addressType="IPv4",
        endpoints=[{"addresses": ["192.0.2.1"], "conditions": {"ready": True}, "hostname": "h"}],
        ports=[{"name": "http", "port": 80}],
    ),
    "ingress": of(
        "networking.k8s.io/v1",
        "Ingress",
        spec={
            "ingressClassName": "c",
            "tls": [{"hosts": ["h.example.com"], "secretName": "s"}],
            "rules": [
                {
                    "host": "h.example.com",
                    "http": {
                        "paths": [
                            {
                                "path": "/",
                                "pathType": "Prefix",
                                "backend": {"service": {"name": "s", "port": {"number": 80}}},
                            }
                        ]
                    },
                }
            ],
        },
    ),
    "networkpolicy": of(
        "networking.k8s.io/v1",
        "NetworkPolicy",
        spec={
            "podSelector": {"matchLabels": {"app": "web"}},
            "ingress": [{"from": [{"namespaceSelector": {}}], "ports": [{"port": 80}]}],
            "egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}]}],
            "policyTypes": ["Ingress", "Egress"],
        },
    ),
    "persistentvolumeclaim": of(
        "v1",
        "PersistentVolumeClaim",
        spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "s"},
    ),
    "role": of("rbac.authorization.k8s.io/v1", "Role", rules=RULES),
    "rolebinding": of(
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        subjects=[
            {"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"},
            {"kind": "ServiceAccount", "name": "s", "namespace": "other"},
        ],
    ),
    "resourcequota": of("v1", "ResourceQuota", spec={"hard": {"cpu": "1", "pods": "3"}, "scopes": ["NotTerminating"]}),
    "limitrange": of(
        "v1",
        "LimitRange",
        spec={"limits": [{"type": "Container", "default": {"cpu": "1"}, "max": {"cpu": "2"}}]},
    ),
    "horizontalpodautoscaler": of(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        spec={
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
            "maxReplicas": 4,
            "metrics": [
                {
                    "type": "Resource",
                    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
                }
            ],
        },
    ),
    "poddisruptionbudget": of(
        "policy/v1", "PodDisruptionBudget", spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    ),
    "lease": of("coordination.k8s.io/v1", "Lease", spec={"holderIdentity": "me", "leaseDurationSeconds": 15}),
    "controllerrevision": of("apps/v1", "ControllerRevision", revision=1, data={"spec": {"a": 1}}),
    "podtemplate": of("v1", "PodTemplate", template=WEB["template"]),
}

CLUSTER: dict[str, dict[str, Any]] = {
    "node": of(
        "v1", "Node", spec={"podCIDR": "10.1.0.0/24", "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}
    ),
    "persistentvolume": of(
        "v1",
        "PersistentVolume",
        spec={"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/v"}},
    ),
    "storageclass": of(
        "storage.k8s.io/v1",
        "StorageClass",
        provisioner="example.com/p",
        parameters={"k": "v"},
        allowVolumeExpansion=True,
    ),
    "priorityclass": of("scheduling.k8s.io/v1", "PriorityClass", value=1000, description="for the few"),
    "clusterrole": of(
        "rbac.authorization.k8s.io/v1", "ClusterRole", rules=[*RULES, {"nonResourceURLs": ["/x"], "verbs": ["get"]}]
    ),
    "clusterrolebinding": of(
        "rbac.authorization.k8s.io/v1",
        "ClusterRoleBinding",
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        subjects=[{"kind": "Group", "name": "g", "apiGroup": "rbac.authorization.k8s.io"}],
    ),
    "ingressclass": of("networking.k8s.io/v1", "IngressClass", spec={"controller": "example.com/c"}),
    "csidriver": of("storage.k8s.io/v1", "CSIDriver", spec={"attachRequired": False}),
    "runtimeclass": of("node.k8s.io/v1", "RuntimeClass", handler="h"),
}


@pytest.mark.parametrize("kind", OBJECTS)
async def test_describe_of_a_kind(kubectl: Kubectl, kind: str):
    await kubectl.made(OBJECTS[kind])
    await kubectl(f"describe {kind} a")


@pytest.mark.parametrize("kind", CLUSTER)
async def test_describe_of_a_kind_of_the_cluster(kubectl: Kubectl, kind: str):
    obj = CLUSTER[kind]
    await kubectl.made({**obj, "metadata": {**obj["metadata"], "name": kubectl.namespace}})
    await kubectl(f"describe {kind} {kubectl.namespace}")
    await kubectl.quietly(f"delete {kind} {kubectl.namespace} --wait=false")


def event(namespace: str, name: str, reason: str, seen: str, **parts: Any) -> dict[str, Any]:
    """An Event about the Pod ``a``."""
    return of(
        "v1",
        "Event",
        involvedObject={"kind": "Pod", "name": "a", "namespace": namespace, "apiVersion": "v1"},
        reason=reason,
        message=f"{reason} it is",
        firstTimestamp=seen,
        lastTimestamp=seen,
        source={"component": "me", "host": "h"},
        **parts,
    ) | {"metadata": {"name": name}}


async def test_events_of_what_is_described(kubectl: Kubectl):
    first = event(kubectl.namespace, "a.1", "Pulled", "2020-01-02T03:04:05Z", type="Normal", count=1)
    second = event(kubectl.namespace, "a.2", "Failed", "2020-01-02T03:05:05Z", type="Warning", count=5)
    await kubectl.made(pod("a"), first, second)
    await kubectl("describe pod a --show-events=false")
    for line in ("describe pod/a", "describe event a.2", "events", "events --for pod/a", "events --types=Warning"):
        await kubectl(line)
    await kubectl("events --for pod/b")
    await kubectl("events -o json --types=Normal")
    await kubectl("events --no-headers -o name")
    await kubectl("get events --sort-by=.lastTimestamp -o custom-columns=R:.reason,C:.count")
    await kubectl("get events --field-selector=type=Warning,involvedObject.name=a -o name")


async def test_describe_of_many(kubectl: Kubectl):
    await kubectl.made(config_map("aa", labels={"l": "1"}), config_map("ab", labels={"l": "1"}, k="v"))
    await kubectl("describe configmaps -l l=1")
    await kubectl("describe configmap a")
    await kubectl("describe configmap nope")
    await kubectl("describe configmap/ab cm/aa")
    await kubectl("describe pods")
    await kubectl("describe nothings a")
    await kubectl("describe configmaps aa -l l=1")
    await kubectl("describe --chunk-size=1 configmaps -l l=1")
    await kubectl(f"describe namespace {kubectl.namespace}")


async def test_describe_of_custom_resources(kubectl: Kubectl):
    group = f"{kubectl.namespace}.example.com"
    properties = {"spec": {"type": "object", "properties": {"size": {"type": "integer", "default": 1}}}}
    await kubectl.made(crd("widgets", group, {"type": "object", "properties": properties}, subresources={"status": {}}))
    await kubectl.quietly(f"wait --for=condition=Established crd/widgets.{group}")
    widget = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {}}
    await kubectl.made(widget)
    await kubectl(f"describe widgets.{group} a")
    await kubectl(f"describe crd widgets.{group}")
    await kubectl.quietly(f"delete crd widgets.{group}")
