"""§1.4 In what kinds differ: generation, updates without a version, creation by an update, what an update keeps."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from conformance.exchange import Api
from conformance.objects import pod

pytestmark = pytest.mark.section("1.4")

LABELS = {"app": "web"}
SELECTOR = {"matchLabels": LABELS}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": pod()["spec"]}
JOB_TEMPLATE = {"spec": {**pod()["spec"], "restartPolicy": "Never"}}
ROLE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}
RULES = [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]
WEBHOOK = {
    "name": "w.example.com",
    "clientConfig": {"url": "https://example.com/x"},
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}
MATCH = {
    "resourceRules": [
        {"apiGroups": ["x.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things"]}
    ]
}
POLICY = {"matchConstraints": MATCH, "validations": [{"expression": "true"}]}
PARAMETERS = {"policyName": "p", "validationActions": ["Warn"]}
LEVEL = {"type": "Limited", "limited": {"nominalConcurrencyShares": 1, "limitResponse": {"type": "Reject"}}}
SCALER = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}, "maxReplicas": 3}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


class Kind(NamedTuple):
    """A kind: where its objects are, what is in one, and a patch that changes more than metadata."""

    path: str
    content: dict[str, Any]
    patch: dict[str, Any]


def namespaced(version: str, plural: str, content: dict[str, Any], patch: dict[str, Any]) -> Kind:
    root = "/api/v1" if version == "v1" else f"/apis/{version}"
    return Kind(f"{root}/namespaces/{{ns}}/{plural}", content, patch)


def clustered(version: str, plural: str, content: dict[str, Any], patch: dict[str, Any]) -> Kind:
    root = "/api/v1" if version == "v1" else f"/apis/{version}"
    return Kind(f"{root}/{plural}", content, patch)


KINDS = {
    kind.path.rpartition("/")[2]: kind
    for kind in (
        namespaced(
            "apps/v1", "deployments", {"spec": {"selector": SELECTOR, "template": TEMPLATE}}, {"spec": {"replicas": 3}}
        ),
        namespaced(
            "apps/v1", "replicasets", {"spec": {"selector": SELECTOR, "template": TEMPLATE}}, {"spec": {"replicas": 3}}
        ),
        namespaced(
            "apps/v1",
            "statefulsets",
            {"spec": {"selector": SELECTOR, "template": TEMPLATE, "serviceName": "s"}},
            {"spec": {"replicas": 3}},
        ),
        namespaced(
            "apps/v1",
            "daemonsets",
            {"spec": {"selector": SELECTOR, "template": TEMPLATE}},
            {"spec": {"minReadySeconds": 3}},
        ),
        namespaced("apps/v1", "controllerrevisions", {"revision": 1, "data": {}}, {"revision": 2}),
        namespaced("batch/v1", "jobs", {"spec": {"template": JOB_TEMPLATE}}, {"spec": {"parallelism": 3}}),
        namespaced(
            "batch/v1",
            "cronjobs",
            {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": JOB_TEMPLATE}}}},
            {"spec": {"suspend": True}},
        ),
        namespaced(
            "v1",
            "replicationcontrollers",
            {"spec": {"selector": LABELS, "template": TEMPLATE}},
            {"spec": {"replicas": 3}},
        ),
        namespaced("v1", "pods", {"spec": pod()["spec"]}, {"spec": {"activeDeadlineSeconds": 100}}),
        namespaced(
            "v1",
            "podtemplates",
            {"template": TEMPLATE},
            {"template": {"metadata": {"labels": {"app": "web", "x": "y"}}}},
        ),
        namespaced("v1", "configmaps", {"data": {"k": "v"}}, {"data": {"k": "w"}}),
        namespaced("v1", "secrets", {"data": {"k": "dg=="}}, {"data": {"k": "dw=="}}),
        namespaced("v1", "services", {"spec": {"ports": [{"port": 80}]}}, {"spec": {"sessionAffinity": "ClientIP"}}),
        namespaced("v1", "serviceaccounts", {}, {"automountServiceAccountToken": False}),
        namespaced("v1", "endpoints", {}, {"subsets": [{"addresses": [{"ip": "1.2.3.4"}], "ports": [{"port": 80}]}]}),
        namespaced(
            "v1",
            "limitranges",
            {"spec": {"limits": [{"type": "Pod", "max": {"cpu": "1"}}]}},
            {"spec": {"limits": [{"type": "Pod", "max": {"cpu": "2"}}]}},
        ),
        namespaced("v1", "resourcequotas", {"spec": {"hard": {"pods": "1"}}}, {"spec": {"hard": {"pods": "2"}}}),
        namespaced("v1", "persistentvolumeclaims", {"spec": CLAIM}, {"spec": {"volumeAttributesClassName": "x"}}),
        namespaced(
            "networking.k8s.io/v1",
            "ingresses",
            {"spec": {"defaultBackend": {"resource": {"apiGroup": "x.example.com", "kind": "X", "name": "x"}}}},
            {"spec": {"ingressClassName": "c"}},
        ),
        namespaced(
            "networking.k8s.io/v1",
            "networkpolicies",
            {"spec": {"podSelector": {}}},
            {"spec": {"policyTypes": ["Egress"]}},
        ),
        clustered(
            "networking.k8s.io/v1",
            "ingressclasses",
            {"spec": {"controller": "example.com/c"}},
            {"spec": {"parameters": {"apiGroup": "x.example.com", "kind": "X", "name": "x"}}},
        ),
        namespaced(
            "discovery.k8s.io/v1",
            "endpointslices",
            {"addressType": "IPv4", "endpoints": []},
            {"endpoints": [{"addresses": ["1.2.3.4"]}]},
        ),
        namespaced("policy/v1", "poddisruptionbudgets", {"spec": {"minAvailable": 1}}, {"spec": {"minAvailable": 2}}),
        namespaced(
            "coordination.k8s.io/v1", "leases", {"spec": {"holderIdentity": "a"}}, {"spec": {"holderIdentity": "b"}}
        ),
        namespaced("rbac.authorization.k8s.io/v1", "roles", {"rules": []}, {"rules": RULES}),
        namespaced(
            "rbac.authorization.k8s.io/v1",
            "rolebindings",
            {"roleRef": ROLE},
            {"subjects": [{"kind": "User", "name": "u"}]},
        ),
        clustered("rbac.authorization.k8s.io/v1", "clusterroles", {"rules": []}, {"rules": RULES}),
        clustered(
            "rbac.authorization.k8s.io/v1",
            "clusterrolebindings",
            {"roleRef": ROLE},
            {"subjects": [{"kind": "User", "name": "u"}]},
        ),
        clustered("scheduling.k8s.io/v1", "priorityclasses", {"value": 5}, {"description": "x"}),
        clustered("node.k8s.io/v1", "runtimeclasses", {"handler": "h"}, {"scheduling": {"nodeSelector": LABELS}}),
        clustered(
            "storage.k8s.io/v1", "storageclasses", {"provisioner": "example.com/p"}, {"allowVolumeExpansion": True}
        ),
        clustered("storage.k8s.io/v1", "csidrivers", {"spec": {}}, {"spec": {"requiresRepublish": True}}),
        namespaced("storage.k8s.io/v1", "csistoragecapacities", {"storageClassName": "s"}, {"capacity": "1Gi"}),
        namespaced("autoscaling/v2", "horizontalpodautoscalers", {"spec": SCALER}, {"spec": {"maxReplicas": 4}}),
        clustered(
            "admissionregistration.k8s.io/v1",
            "validatingwebhookconfigurations",
            {"webhooks": [WEBHOOK]},
            {"webhooks": []},
        ),
        clustered(
            "admissionregistration.k8s.io/v1",
            "mutatingwebhookconfigurations",
            {"webhooks": [WEBHOOK]},
            {"webhooks": []},
        ),
        clustered(
            "admissionregistration.k8s.io/v1",
            "validatingadmissionpolicies",
            {"spec": POLICY},
            {"spec": {"failurePolicy": "Ignore"}},
        ),
        clustered(
            "admissionregistration.k8s.io/v1",
            "validatingadmissionpolicybindings",
            {"spec": PARAMETERS},
            {"spec": {"validationActions": ["Audit"]}},
        ),
        clustered(
            "flowcontrol.apiserver.k8s.io/v1",
            "flowschemas",
            {"spec": {"priorityLevelConfiguration": {"name": "global-default"}}},
            {"spec": {"matchingPrecedence": 77}},
        ),
        clustered(
            "flowcontrol.apiserver.k8s.io/v1",
            "prioritylevelconfigurations",
            {"spec": LEVEL},
            {"spec": {"limited": {"nominalConcurrencyShares": 2}}},
        ),
        clustered("v1", "namespaces", {}, {"spec": {"finalizers": []}}),
        clustered("v1", "nodes", {}, {"spec": {"unschedulable": True}}),
        clustered(
            "v1",
            "persistentvolumes",
            {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}},
            {"spec": {"persistentVolumeReclaimPolicy": "Delete"}},
        ),
    )
}


def name_in(api: Api, kind: Kind) -> str:
    return "x" if "{ns}" in kind.path else f"{api.namespace}-x"


@pytest.mark.parametrize("plural", KINDS)
async def test_generation_of_each_kind(api: Api, plural: str):
    kind = KINDS[plural]
    name = name_in(api, kind)
    with api.unrecorded():
        answers = [
            await api.post(kind.path, {"metadata": {"name": name, "finalizers": ["example.com/f"]}, **kind.content}),
            await api.patch(f"{kind.path}/{name}", {"metadata": {"labels": {"x": "y"}}}),
            await api.patch(f"{kind.path}/{name}", {"metadata": {"annotations": {"x": "y"}}}),
            await api.patch(f"{kind.path}/{name}", kind.patch),
            await api.delete(f"{kind.path}/{name}", query={"propagationPolicy": "Background"}),
            await api.patch(f"{kind.path}/{name}", {"metadata": {"finalizers": None}}),
        ]
    api.note("generations", [(answer.status, answer.body["metadata"].get("generation")) for answer in answers])


@pytest.mark.parametrize("plural", KINDS)
async def test_an_update_of_each_kind_without_a_version(api: Api, plural: str):
    kind = KINDS[plural]
    name = name_in(api, kind)
    with api.unrecorded():
        created = await api.post(kind.path, {"metadata": {"name": name}, **kind.content})
    body = {**created.body, "metadata": {"name": name, "labels": {"x": "y"}}}
    with api.unrecorded():
        answer = await api.put(f"{kind.path}/{name}", body)
    api.note("answer", answer.body if answer.status != 200 else answer.status)
    with api.unrecorded():
        await api.delete(f"{kind.path}/{name}")


@pytest.mark.parametrize("plural", KINDS)
async def test_an_update_of_what_is_not_there_by_kind(api: Api, plural: str):
    kind = KINDS[plural]
    name = name_in(api, kind)
    with api.unrecorded():
        answer = await api.put(f"{kind.path}/{name}", {"metadata": {"name": name}, **kind.content})
    api.note("answer", answer.body if answer.status != 201 else answer.status)
    with api.unrecorded():
        await api.delete(f"{kind.path}/{name}")


async def test_an_event_is_created_by_an_update(api: Api):
    event = {"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": api.namespace}}
    await api.put("/api/v1/namespaces/{ns}/events/e", event)


async def test_creation_by_an_update_passes_over_the_version(api: Api):
    leases = KINDS["leases"].path
    uid = "11111111-1111-4111-8111-111111111111"
    await api.put(leases + "/l", {"metadata": {"name": "l", "resourceVersion": "5"}})
    await api.put(leases + "/m", {"metadata": {"name": "m", "uid": uid}})
    await api.put(leases + "/l", {"metadata": {"name": "l", "uid": uid}})
    await api.get(leases + "/l")


@pytest.mark.parametrize("plural", ["deployments", "configmaps", "pods", "services", "nodes", "roles"])
async def test_a_change_of_nothing_by_kind(api: Api, plural: str):
    kind = KINDS[plural]
    name = name_in(api, kind)
    with api.unrecorded():
        answers = [await api.post(kind.path, {"metadata": {"name": name}, **kind.content})]
        answers.append(await api.put(f"{kind.path}/{name}", answers[0].body))
        answers.append(await api.patch(f"{kind.path}/{name}", kind.content, type="merge"))
        answers.append(await api.patch(f"{kind.path}/{name}", kind.content, type="strategic"))
        await api.delete(f"{kind.path}/{name}")

    assert len({answer.body["metadata"]["resourceVersion"] for answer in answers}) == 1
