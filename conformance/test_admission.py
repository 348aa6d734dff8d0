"""§1.12 What kube-apiserver's own admission plug-ins fill in, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.admission import (
    ATTRIBUTES_CLASSES,
    CLAIMS,
    DEFAULT_INGRESS,
    DEFAULT_STORAGE,
    INGRESS_CLASSES,
    INGRESSES,
    NODES,
    NOT_READY,
    PRIORITY_CLASSES,
    RUNTIME_CLASSES,
    STORAGE_CLASSES,
    UNREACHABLE,
    VOLUMES,
    claim,
    existing,
    ingress,
    seen,
    storage_class,
)
from conformance.exchange import Api
from conformance.objects import PODS, deployment, pod

pytestmark = pytest.mark.section("1.12")


# DefaultTolerationSeconds


@pytest.mark.parametrize(
    "tolerations",
    [
        [],
        [{"key": NOT_READY, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
        [{"key": UNREACHABLE, "operator": "Exists"}],
        [{"key": NOT_READY, "operator": "Exists", "effect": "NoSchedule"}],
        [{"operator": "Exists"}],
        [{"operator": "Exists", "effect": "NoSchedule"}],
        [{"key": "a", "value": "b"}],
    ],
    ids=["none", "not ready", "unreachable", "not scheduled", "all", "all not scheduled", "other"],
)
async def test_a_pod_stays_five_minutes_on_a_lost_node(api: Api, tolerations: list[dict[str, Any]]):
    await api.post(PODS, pod(tolerations=tolerations))


async def test_a_pod_that_loses_its_tolerations_gets_them_back(api: Api):
    with api.unrecorded():
        await api.post(PODS, pod())
    await api.patch(PODS + "/p", {"spec": {"tolerations": None}})


async def test_templates_of_pods_get_no_tolerations(api: Api):
    await api.post("/apis/apps/v1/namespaces/{ns}/deployments", deployment())


# Priority


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"priority": 0},
        {"priority": 7},
        {"preemptionPolicy": "PreemptLowerPriority"},
        {"preemptionPolicy": "Never"},
        {"priorityClassName": "nowhere"},
        {"priorityClassName": "system-node-critical"},
        {"priorityClassName": "system-cluster-critical", "priority": 2000000000},
        {"priorityClassName": "system-cluster-critical", "priority": 5},
        {"priorityClassName": "system-cluster-critical", "preemptionPolicy": "Never"},
    ],
    ids=str,
)
async def test_the_priority_of_a_pod_is_that_of_its_class(api: Api, spec: dict[str, Any]):
    await api.post(PODS, pod(**spec))


async def test_a_pod_whose_name_is_yet_to_be_made_has_an_unknown_class(api: Api):
    named = pod(priorityClassName="nowhere")
    await api.post(PODS, {**named, "metadata": {"generateName": "g-"}})
    await api.post(PODS, {**named, "metadata": {}})


async def test_a_class_that_preempts_nobody(api: Api):
    body = {"metadata": {"name": "low"}, "value": 7, "preemptionPolicy": "Never"}
    async with existing(api, PRIORITY_CLASSES, body) as name:
        await seen(api, PODS, pod(priorityClassName=name), lambda found: found["kind"] == "Pod")
        await api.post(PODS, pod(priorityClassName=name))
        await api.post(PODS, pod("q", priorityClassName=name, preemptionPolicy="PreemptLowerPriority"))


async def test_the_default_class_is_that_of_pods_without_one(api: Api):
    body = {"metadata": {"name": "all"}, "value": 11, "globalDefault": True}
    async with existing(api, PRIORITY_CLASSES, body) as name:
        await seen(api, PODS, pod(), lambda found: found["spec"]["priority"] == 11)
        await api.post(PODS, pod())
        await api.post(PODS, pod("q", priority=0))
        await api.post(PODS, pod("r", priorityClassName="system-node-critical"))
        second = {"metadata": {"name": f"{api.namespace}-two"}, "value": 12, "globalDefault": True}
        await api.post(PRIORITY_CLASSES, second)
        await api.post(PRIORITY_CLASSES, {**second, "globalDefault": False})
        await api.patch(f"{PRIORITY_CLASSES}/{api.namespace}-two", {"globalDefault": True})
        await api.patch(f"{PRIORITY_CLASSES}/{name}", {"description": "d"})
        with api.unrecorded():
            await api.delete(f"{PRIORITY_CLASSES}/{api.namespace}-two")


async def test_a_second_default_class_is_refused_after_its_other_faults(api: Api):
    body = {"metadata": {"name": "all"}, "value": 11, "globalDefault": True}
    async with existing(api, PRIORITY_CLASSES, body):
        await seen(api, PODS, pod(), lambda found: found["spec"]["priority"] == 11)
        wrong = {"metadata": {"name": f"{api.namespace}-two"}, "value": 2000000001, "globalDefault": True}
        await api.post(PRIORITY_CLASSES, wrong)


async def test_a_pod_keeps_its_priority(api: Api):
    with api.unrecorded():
        await api.post(PODS, pod(priorityClassName="system-node-critical"))
    await api.patch(PODS + "/p", {"spec": {"priority": None, "preemptionPolicy": None}})
    await api.patch(PODS + "/p", {"spec": {"priority": 1}})
    await api.patch(PODS + "/p", {"spec": {"priorityClassName": "nowhere"}})


# DefaultStorageClass, StorageObjectInUseProtection, PersistentVolumeClaimResize


async def test_a_claim_without_any_default_class(api: Api):
    await api.post(CLAIMS, claim())


@pytest.mark.parametrize("mark", [DEFAULT_STORAGE, "storageclass.beta.kubernetes.io/is-default-class"])
async def test_a_claim_gets_the_default_class(api: Api, mark: str):
    async with existing(api, STORAGE_CLASSES, storage_class("s", {mark: "true"})):
        await seen(api, CLAIMS, claim(), lambda found: "storageClassName" in found["spec"])
        await api.post(CLAIMS, claim())
        await api.post(CLAIMS, claim("d", storageClassName=""))
        await api.post(CLAIMS, claim("e", storageClassName="other"))
        await api.post(CLAIMS, claim("f", annotations={"volume.beta.kubernetes.io/storage-class": "old"}))


async def test_a_class_that_is_marked_otherwise_is_no_default(api: Api):
    async with existing(api, STORAGE_CLASSES, storage_class("s", {DEFAULT_STORAGE: "True"})):
        await api.post(CLAIMS, claim())


async def test_of_two_default_classes_of_one_second_the_first_by_name(api: Api):
    async with (
        existing(api, STORAGE_CLASSES, storage_class("b", {DEFAULT_STORAGE: "true"})) as second,
        existing(api, STORAGE_CLASSES, storage_class("a", {DEFAULT_STORAGE: "true"})) as first,
    ):
        with api.unrecorded():
            created = [
                (await api.get(f"{STORAGE_CLASSES}/{name}")).body["metadata"]["creationTimestamp"]
                for name in (first, second)
            ]
            # In two seconds the newer one is the default, which is the first by name too.
            assert created[0] >= created[1]
        await seen(api, CLAIMS, claim(), lambda found: found["spec"].get("storageClassName") == first)
        await api.post(CLAIMS, claim())


@pytest.mark.parametrize("finalizers", [None, ["kubernetes.io/pvc-protection"], ["example.com/f"]], ids=str)
async def test_a_claim_is_protected(api: Api, finalizers: list[str] | None):
    body = claim()
    if finalizers:
        body["metadata"]["finalizers"] = finalizers
    await api.post(CLAIMS, body)
    await api.delete(CLAIMS + "/c")


async def test_a_volume_is_protected(api: Api):
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    name = f"{api.namespace}-v"
    await api.post(VOLUMES, {"metadata": {"name": name}, "spec": spec})
    await api.delete(f"{VOLUMES}/{name}")
    await api.patch(f"{VOLUMES}/{name}", {"metadata": {"finalizers": None}})


async def test_a_class_of_volume_attributes_is_protected(api: Api):
    name = f"{api.namespace}-v"
    await api.post(ATTRIBUTES_CLASSES, {"metadata": {"name": name}, "driverName": "d", "parameters": {"a": "b"}})
    await api.delete(f"{ATTRIBUTES_CLASSES}/{name}")
    await api.patch(f"{ATTRIBUTES_CLASSES}/{name}", {"metadata": {"finalizers": None}})


async def test_a_claim_that_is_not_bound_cannot_grow(api: Api):
    with api.unrecorded():
        await api.post(CLAIMS, claim())
    await api.patch(CLAIMS + "/c", {"spec": {"resources": {"requests": {"storage": "2Gi"}}}})
    await api.patch(CLAIMS + "/c", {"spec": {"resources": {"requests": {"storage": "1024Mi"}}}})
    await api.patch(CLAIMS + "/c", {"metadata": {"labels": {"a": "b"}}})


@pytest.mark.parametrize("expands", [True, False, None], ids=["expands", "does not", "does not say"])
async def test_a_bound_claim_grows_if_its_class_lets_it(api: Api, expands: bool | None):
    body = storage_class("s") | ({} if expands is None else {"allowVolumeExpansion": expands})
    larger = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    async with existing(api, STORAGE_CLASSES, body) as name:
        with api.unrecorded():
            await api.post(CLAIMS, claim(storageClassName=name, volumeName="v"))
            bound = {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
            await api.patch(CLAIMS + "/c/status", {"status": bound})
            for _ in range(200 if expands else 0):
                if (await api.patch(CLAIMS + "/c", larger, query={"dryRun": "All"})).status == 200:
                    break
        await api.patch(CLAIMS + "/c", larger)
        await api.patch(CLAIMS + "/c", {"spec": {"resources": {"requests": {"storage": "512Mi"}}}})


async def test_a_bound_claim_without_a_class_cannot_grow(api: Api):
    with api.unrecorded():
        await api.post(CLAIMS, claim(storageClassName="", volumeName="v"))
        await api.patch(CLAIMS + "/c/status", {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}})
    await api.patch(CLAIMS + "/c", {"spec": {"resources": {"requests": {"storage": "2Gi"}}}})


# DefaultIngressClass


async def test_an_ingress_gets_the_default_class(api: Api):
    body = {"metadata": {"name": "i", "annotations": {DEFAULT_INGRESS: "true"}}, "spec": {"controller": "a.example/b"}}
    async with existing(api, INGRESS_CLASSES, body):
        await seen(api, INGRESSES, ingress(), lambda found: "ingressClassName" in found["spec"])
        await api.post(INGRESSES, ingress())
        await api.post(INGRESSES, ingress("j", ingressClassName="other"))
        await api.post(INGRESSES, ingress("k", annotations={"kubernetes.io/ingress.class": "old"}))


async def test_an_ingress_without_any_default_class(api: Api):
    await api.post(INGRESSES, ingress())


# TaintNodesByCondition, PodTopologyLabels


@pytest.mark.parametrize(
    "taints",
    [
        None,
        [{"key": NOT_READY, "effect": "NoSchedule"}],
        [{"key": NOT_READY, "effect": "NoExecute"}],
        [{"key": "a", "value": "b", "effect": "NoSchedule"}],
    ],
    ids=["none", "the same", "another effect", "another"],
)
async def test_a_new_node_is_tainted(api: Api, taints: list[dict[str, str]] | None):
    name = f"{api.namespace}-n"
    await api.post(NODES, {"metadata": {"name": name}, "spec": {"taints": taints} if taints else {}})
    await api.patch(f"{NODES}/{name}", {"spec": {"taints": None}})
    with api.unrecorded():
        await api.delete(f"{NODES}/{name}")


async def test_a_pod_learns_where_its_node_is(api: Api):
    labels = {"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r", "other": "o"}
    async with existing(api, NODES, {"metadata": {"name": "n", "labels": labels}}) as name:
        await seen(api, PODS, pod(nodeName=name), lambda found: len(found["metadata"]["labels"]) == 3)
        own = pod(nodeName=name)
        own["metadata"]["labels"] = {"topology.kubernetes.io/zone": "mine"}
        await api.post(PODS, own)
        await api.post(PODS, pod("q"))
        await api.post(PODS + "/q/binding", {"metadata": {"name": "q"}, "target": {"kind": "Node", "name": name}})
        await api.get(PODS + "/q")
        await api.post(PODS, pod("r"))
        await api.post(PODS + "/r/binding", {"metadata": {"name": "r"}, "target": {"name": name}})
        await api.get(PODS + "/r")


# RuntimeClass


async def test_a_pod_of_a_runtime_that_is_not_there(api: Api):
    await api.post(PODS, pod(runtimeClassName="nowhere"))


async def test_an_overhead_without_a_runtime(api: Api):
    await api.post(PODS, pod(overhead={"cpu": "1"}))


async def test_a_pod_gets_the_overhead_of_its_runtime(api: Api):
    body = {"metadata": {"name": "r"}, "handler": "h", "overhead": {"podFixed": {"cpu": "250m", "memory": "64Mi"}}}
    async with existing(api, RUNTIME_CLASSES, body) as name:
        await api.post(PODS, pod(runtimeClassName=name))
        await api.post(PODS, pod("q", runtimeClassName=name, overhead={"cpu": "0.25", "memory": "64Mi"}))
        await api.post(PODS, pod("r", runtimeClassName=name, overhead={"cpu": "1"}))


async def test_a_pod_goes_where_its_runtime_is(api: Api):
    toleration = {"key": "k", "operator": "Exists", "effect": "NoSchedule"}
    scheduling = {"nodeSelector": {"a": "b"}, "tolerations": [toleration]}
    body = {"metadata": {"name": "r"}, "handler": "h", "scheduling": scheduling}
    async with existing(api, RUNTIME_CLASSES, body) as name:
        await api.post(PODS, pod(runtimeClassName=name, nodeSelector={"c": "d"}, tolerations=[toleration]))
        await api.post(PODS, pod("q", runtimeClassName=name, nodeSelector={"a": "c"}))
        await api.post(PODS, pod("s", runtimeClassName=name, overhead={"cpu": "1"}))


async def test_a_runtime_is_looked_for_after_a_priority(api: Api):
    await api.post(PODS, pod(runtimeClassName="nowhere", priorityClassName="nowhere"))


# PodResizeValidator


async def resized(api: Api, **requests: str) -> None:
    wanted = {"spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]}}
    with api.unrecorded():
        answer = await api.patch(PODS + "/p/resize", wanted, type="strategic")
    api.note(str(answer.status), [answer.body.get("message"), answer.body.get("details")])


def needing(**spec: Any) -> dict[str, Any]:
    resources = {"requests": {"cpu": "100m", "memory": "64Mi"}}
    return pod(containers=[{"name": "c", "image": "busybox:1.36", "resources": resources}], **spec)


async def test_a_pod_without_a_node_may_grow(api: Api):
    with api.unrecorded():
        await api.post(PODS, needing())
    await resized(api, cpu="100")


async def test_a_pod_on_a_node_that_is_not_there_may_not_grow(api: Api):
    with api.unrecorded():
        await api.post(PODS, needing(nodeName="nowhere"))
    await resized(api, cpu="100m")
    await resized(api, cpu="200m")


@pytest.mark.parametrize("system", ["linux", "windows"])
async def test_a_pod_does_not_grow_beyond_its_node(api: Api, system: str):
    body = {"metadata": {"name": "n", "labels": {"kubernetes.io/os": system}}}
    async with existing(api, NODES, body) as name:
        with api.unrecorded():
            room = {"cpu": "1", "memory": "1Gi", "pods": "10"}
            await api.patch(f"{NODES}/{name}/status", {"status": {"allocatable": room, "capacity": room}})
            await api.post(PODS, needing(nodeName=name))
            for _ in range(200 if system == "linux" else 0):
                wanted = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}}
                answer = await api.patch(PODS + "/p/resize", wanted, type="strategic", query={"dryRun": "All"})
                if "allocatable: 1000" in answer.text:
                    break
        await resized(api, cpu="900m")
        await resized(api, cpu="1001m")
        await resized(api, cpu="2", memory="2Gi")
