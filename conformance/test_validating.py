"""§1.10 Built-in defaulting and validation."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.exchange import Api
from conformance.objects import DEPLOYMENTS, MAPS, PODS, config_map, deployment, pod
from conformance.test_kinds import KINDS, name_in

pytestmark = pytest.mark.section("1.10")

SERVICES = "/api/v1/namespaces/{ns}/services"
SECRETS = "/api/v1/namespaces/{ns}/secrets"
JOBS = "/apis/batch/v1/namespaces/{ns}/jobs"
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings"


def container(**more: Any) -> list[dict[str, Any]]:
    return [{"name": "c", "image": "busybox", **more}]


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"containers": container(image="nginx:latest", ports=[{"containerPort": 80}])},
        {"containers": container(livenessProbe={"httpGet": {"port": 80}})},
        {"containers": container(resources={"limits": {"cpu": "1000m", "memory": "1024Ki"}})},
        {"volumes": [{"name": "v", "configMap": {"name": "x"}}, {"name": "w", "secret": {"secretName": "y"}}]},
        {"restartPolicy": "Never", "hostNetwork": True, "containers": container(ports=[{"containerPort": 80}])},
        {"initContainers": [{"name": "i", "image": "a:1"}]},
    ],
)
async def test_what_a_pod_is_filled_with(api: Api, spec: dict[str, Any]):
    await api.post(PODS, pod(**spec))


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": []},
        {"containers": container(name="Bad Name")},
        {"containers": container() * 2},
        {"containers": container(image="")},
        {"containers": container(imagePullPolicy="Sometimes")},
        {"containers": container(ports=[{"containerPort": 0}])},
        {"containers": container(env=[{"name": "a b", "value": "x"}])},
        {"containers": container(volumeMounts=[{"name": "none", "mountPath": "/x"}])},
        {"containers": container(resources={"limits": {"cpu": "1"}, "requests": {"cpu": "2"}})},
        {"restartPolicy": "Sometimes"},
        {"dnsPolicy": "Nowhere"},
        {"terminationGracePeriodSeconds": -1},
        {"nodeSelector": {"a b": "c"}},
        {"volumes": [{"name": "v"}, {"name": "v", "emptyDir": {}}]},
        {"tolerations": [{"operator": "Exists", "value": "x"}]},
    ],
)
async def test_a_pod_that_is_refused(api: Api, spec: dict[str, Any]):
    await api.post(PODS, pod(**spec))


async def test_what_a_pod_may_change(api: Api):
    await api.post(PODS, pod())
    await api.patch(PODS + "/p", {"spec": {"containers": [{"name": "c", "image": "other:1"}]}}, type="strategic")
    await api.patch(PODS + "/p", {"spec": {"restartPolicy": "Never"}})


@pytest.mark.parametrize(
    "spec",
    [
        {"replicas": -1},
        {"selector": {"matchLabels": {"app": "other"}}},
        {"selector": {}},
        {"strategy": {"type": "Recreate", "rollingUpdate": {}}},
        {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}},
        {"minReadySeconds": 700},
    ],
)
async def test_a_deployment_that_is_refused(api: Api, spec: dict[str, Any]):
    await api.post(DEPLOYMENTS, deployment(**spec))


async def test_a_selector_is_for_ever(api: Api):
    await api.post(DEPLOYMENTS, deployment())
    changed = deployment()
    changed["spec"]["selector"] = {"matchLabels": {"app": "web", "x": "y"}}
    changed["spec"]["template"]["metadata"]["labels"] = {"app": "web", "x": "y"}
    await api.put(DEPLOYMENTS + "/d", changed)


@pytest.mark.parametrize(
    "spec",
    [
        {"ports": [{"port": 80}]},
        {"clusterIP": "None", "ports": [{"port": 80}]},
        {"type": "ExternalName", "externalName": "example.com"},
        {"ports": []},
        {"ports": [{"port": 80}, {"port": 81}]},
        {"type": "Nonsense", "ports": [{"port": 80}]},
        {"ports": [{"port": 70000}]},
    ],
)
async def test_services(api: Api, spec: dict[str, Any]):
    await api.post(SERVICES, {"metadata": {"name": "s"}, "spec": spec})


async def test_a_secret_is_folded_and_typed(api: Api):
    await api.post(SECRETS, {"metadata": {"name": "s"}, "stringData": {"a": "text"}, "data": {"b": "Yg=="}})
    await api.patch(SECRETS + "/s", {"type": "other"})
    await api.post(SECRETS, {"metadata": {"name": "t"}, "data": {"b": "not base64!"}})
    await api.post(SECRETS, {"metadata": {"name": "t"}, "data": {"bad key": "Yg=="}})


async def test_what_is_immutable_stays(api: Api):
    await api.post(MAPS, config_map(k="v") | {"immutable": True})
    await api.patch(MAPS + "/a", {"data": {"k": "w"}})
    await api.patch(MAPS + "/a", {"immutable": False})


async def test_a_job_selects_its_own_pods(api: Api):
    template = {"spec": {"restartPolicy": "Never", **pod()["spec"]}}
    await api.post(JOBS, {"metadata": {"name": "j"}, "spec": {"template": template}})
    await api.patch(JOBS + "/j", {"spec": {"template": {"spec": {"restartPolicy": "OnFailure"}}}})
    await api.post(JOBS, {"metadata": {"name": "k"}, "spec": {"template": {"spec": pod()["spec"]}}})


async def test_a_role_cannot_be_exchanged(api: Api):
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    await api.post(ROLES, {"metadata": {"name": "b"}, "roleRef": role})
    await api.patch(ROLES + "/b", {"roleRef": {"name": "other"}})


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {"a b": "c"}},
        {"labels": {"a": "b c"}},
        {"annotations": {"a/b/c": "x"}},
        {"finalizers": ["notqualified"]},
        {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": ""}]},
    ],
)
async def test_metadata_that_is_refused(api: Api, metadata: dict[str, Any]):
    await api.post(MAPS, {"metadata": {"name": "a", **metadata}})


IMMUTABLE: dict[str, list[dict[str, Any]]] = {
    "statefulsets": [
        {"spec": {"serviceName": "other"}},
        {"spec": {"podManagementPolicy": "Parallel"}},
        {"spec": {"selector": {"matchLabels": {"x": "y"}}}},
        {"spec": {"replicas": 2}},
        {"spec": {"minReadySeconds": 3}},
    ],
    "daemonsets": [{"spec": {"selector": {"matchLabels": {"x": "y"}}}}, {"spec": {"minReadySeconds": 3}}],
    "replicasets": [{"spec": {"selector": {"matchLabels": {"x": "y"}}}}],
    "jobs": [
        {"spec": {"completions": 5}},
        {"spec": {"backoffLimit": 5}},
        {"spec": {"suspend": True}},
        {"spec": {"completionMode": "Indexed"}},
        {"spec": {"manualSelector": True}},
    ],
    "services": [
        {"spec": {"clusterIP": "10.0.0.77"}},
        {"spec": {"clusterIP": ""}},
        {"spec": {"type": "NodePort"}},
        {"spec": {"ipFamilies": ["IPv6"]}},
    ],
    "persistentvolumeclaims": [
        {"spec": {"accessModes": ["ReadOnlyMany"]}},
        {"spec": {"storageClassName": "x"}},
        {"spec": {"resources": {"requests": {"storage": "1Mi"}}}},
    ],
    "secrets": [{"type": "x"}, {"immutable": True}, {"immutable": None}],
    "roles": [{"rules": [{"verbs": []}]}],
    "storageclasses": [{"provisioner": "x"}, {"parameters": {"a": "b"}}, {"reclaimPolicy": "Retain"}],
    "priorityclasses": [{"value": 6}, {"preemptionPolicy": "Never"}, {"globalDefault": False}],
    "persistentvolumes": [{"spec": {"hostPath": {"path": "/y"}}}, {"spec": {"capacity": {"storage": "2Gi"}}}],
    "endpointslices": [{"addressType": "IPv6"}],
    "runtimeclasses": [{"handler": "other"}],
    "ingressclasses": [{"spec": {"controller": "example.com/other"}}],
    "csidrivers": [{"spec": {"attachRequired": False}}],
    "leases": [{"spec": {"leaseDurationSeconds": 0}}, {"spec": {"leaseTransitions": -1}}],
    "poddisruptionbudgets": [{"spec": {"maxUnavailable": 1}}, {"spec": {"minAvailable": None, "maxUnavailable": 1}}],
    "networkpolicies": [{"spec": {"policyTypes": ["Nonsense"]}}],
    "cronjobs": [
        {"spec": {"schedule": "nonsense"}},
        {"spec": {"timeZone": "Mars/Crater"}},
        {"spec": {"concurrencyPolicy": "X"}},
    ],
    "horizontalpodautoscalers": [{"spec": {"minReplicas": 5}}, {"spec": {"maxReplicas": 0}}],
    "namespaces": [{"metadata": {"labels": {"a b": "c"}}}],
    "pods": [
        {"spec": {"nodeName": "n"}},
        {"spec": {"activeDeadlineSeconds": 5}},
        {"spec": {"hostNetwork": True}},
        {"spec": {"tolerations": []}},
        {"spec": {"terminationGracePeriodSeconds": 1}},
    ],
}


@pytest.mark.parametrize(
    ("plural", "index"), [(plural, i) for plural in IMMUTABLE for i in range(len(IMMUTABLE[plural]))]
)
async def test_what_may_change_in_each_kind(api: Api, plural: str, index: int):
    kind = KINDS[plural]
    name = name_in(api, kind)
    with api.unrecorded():
        await api.post(kind.path, {"metadata": {"name": name}, **kind.content})
        answer = await api.patch(f"{kind.path}/{name}", IMMUTABLE[plural][index])
        await api.delete(f"{kind.path}/{name}")
    api.note("answer", answer.body if answer.status != 200 else answer.status)


@pytest.mark.parametrize(
    "metadata",
    [
        {"name": "a", "labels": {"a" * 64: "b"}},
        {"name": "a", "labels": {"a": "b" * 64}},
        {"name": "a", "labels": {"-a": "b"}},
        {"name": "a", "labels": {"Example.com/a": "b"}},
        {"name": "a", "labels": {"": "b"}},
        {"name": "a", "annotations": {"A/b": "any value: \u2603\n"}},
        {"name": "a", "annotations": {"b c": "x"}},
        {"name": "a", "annotations": {"big": "x" * (256 << 10)}},
        {"name": "a", "finalizers": ["a/b/c", "example.com/ok", "kubernetes"]},
        {"name": "a", "ownerReferences": [{"apiVersion": "", "kind": "", "name": "", "uid": ""}]},
        {"name": "a", "ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "u"}]},
        {"name": "a", "managedFields": [{"operation": "X"}]},
        {"name": "a", "generation": -1},
        {"name": "a", "deletionGracePeriodSeconds": -1},
    ],
    ids=range(14),
)
async def test_metadata_of_many_shapes(api: Api, metadata: dict[str, Any]):
    await api.post(MAPS, {"metadata": metadata})


@pytest.mark.parametrize(
    ("plural", "name"),
    [
        ("pods", "a.b"),
        ("services", "1a"),
        ("services", "a.b"),
        ("services", "a" * 64),
        ("configmaps", "a" * 253),
        ("serviceaccounts", "a.b"),
        ("deployments", "a_b"),
        ("statefulsets", "a.b"),
        ("statefulsets", "a" * 64),
        ("jobs", "a" * 64),
        ("cronjobs", "a" * 53),
        ("roles", "any:thing.Goes_here"),
        ("rolebindings", "a/b"),
        ("leases", "a.b.c"),
        ("networkpolicies", "-"),
        ("endpointslices", "A"),
        ("limitranges", "a b"),
    ],
)
async def test_names_of_each_kind(api: Api, plural: str, name: str):
    kind = KINDS[plural]
    with api.unrecorded():
        answer = await api.post(kind.path, {"metadata": {"name": name}, **kind.content})
    api.note("answer", answer.body if answer.status != 201 else answer.status)


@pytest.mark.parametrize("name", ["Upper", "a.b", "a" * 64, "-a", "1", "a_b"])
async def test_names_of_namespaces(api: Api, name: str):
    await api.post("/api/v1/namespaces", {"metadata": {"name": name}}, query={"dryRun": "All"})


@pytest.mark.parametrize(
    "content",
    [
        {"data": {"a b": "x"}},
        {"data": {"..": "x"}},
        {"data": {"": "x"}},
        {"data": {"k": "x"}, "binaryData": {"k": "eA=="}},
        {"data": {"a" * 254: "x"}},
        {"binaryData": {"ok": "//79"}},
        {"immutable": True},
    ],
)
async def test_the_content_of_a_config_map(api: Api, content: dict[str, Any]):
    await api.post(MAPS, {"metadata": {"name": "a"}, **content})


@pytest.mark.parametrize(
    "content",
    [
        {"type": "kubernetes.io/tls"},
        {"type": "kubernetes.io/tls", "data": {"tls.crt": "eA==", "tls.key": "eA=="}},
        {"type": "kubernetes.io/basic-auth"},
        {"type": "kubernetes.io/ssh-auth", "data": {"ssh-privatekey": ""}},
        {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "eA=="}},
        {"type": "kubernetes.io/dockercfg", "data": {".dockercfg": "e30="}},
        {"type": "kubernetes.io/service-account-token"},
        {"stringData": {"a": "\u2603"}},
        {"stringData": {"a b": "x"}},
    ],
)
async def test_secrets_of_each_type(api: Api, content: dict[str, Any]):
    await api.post(SECRETS, {"metadata": {"name": "s"}, **content})
