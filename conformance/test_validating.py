"""§1.10 Built-in defaulting and validation."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.exchange import Api
from conformance.objects import DEPLOYMENTS, MAPS, PODS, config_map, deployment, pod

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
