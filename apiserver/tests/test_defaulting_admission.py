"""kube-apiserver's own plug-ins fill in priorities, tolerations, classes and finalizers, or refuse in its words."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright_apiserver.defaulting import admit
from kubewright_apiserver.status import Refusal

LOW = {"metadata": {"name": "low"}, "value": 5, "globalDefault": True, "preemptionPolicy": "Never"}
HIGH = {"metadata": {"name": "high"}, "value": 9, "globalDefault": True}


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": spec}


def storing(*objects: dict[str, Any]) -> Any:
    return lambda group, plural: objects


def refused(group: str, kind: str, obj: dict[str, Any], *stored: dict[str, Any]) -> str:
    with pytest.raises(Refusal) as refusal:
        admit(group, kind, obj, None, storing(*stored))
    assert refusal.value.code == 403
    return refusal.value.message


def default_class(name: str, created: str, mark: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "creationTimestamp": created, "annotations": {mark: "true"}}}


def test_a_pod_without_a_class_has_priority_zero():
    obj = pod()

    admit("", "Pod", obj, None)

    assert (obj["spec"]["priority"], obj["spec"]["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert "priorityClassName" not in obj["spec"]


def test_a_pod_gets_the_lowest_default_class():
    obj = pod()

    admit("", "Pod", obj, None, storing(HIGH, LOW))

    assert obj["spec"]["priorityClassName"] == "low"
    assert (obj["spec"]["priority"], obj["spec"]["preemptionPolicy"]) == (5, "Never")


def test_a_pod_gets_the_priority_of_its_class():
    obj = pod(priorityClassName="high")

    admit("", "Pod", obj, None, storing(LOW, HIGH))

    assert obj["spec"]["priority"] == 9
    assert "preemptionPolicy" not in obj["spec"]


def test_an_unknown_class_is_refused():
    message = refused("", "Pod", pod(priorityClassName="nope"))

    assert message == 'pods "p" is forbidden: no PriorityClass with name nope was found'


def test_a_priority_of_the_users_own_is_refused():
    obj = {"metadata": {"generateName": "p-"}, "spec": {"priority": 5}}

    assert refused("", "Pod", obj) == (
        'pods "p-" is forbidden: the integer value of priority (5) must not be provided in pod spec; '
        "priority admission controller computed 0 from the given PriorityClass name"
    )


def test_a_preemption_policy_of_the_users_own_is_refused():
    assert refused("", "Pod", pod(preemptionPolicy="Never")) == (
        'pods "p" is forbidden: the string value of PreemptionPolicy (Never) must not be provided in pod spec; '
        "priority admission controller computed PreemptLowerPriority from the given PriorityClass name"
    )


def test_a_second_default_priority_class_is_refused():
    second = {"metadata": {"name": "second"}, "value": 1, "globalDefault": True}

    assert refused("scheduling.k8s.io", "PriorityClass", second, LOW) == (
        'priorityclasses.scheduling.k8s.io "second" is forbidden: '
        "PriorityClass low is already marked as default. Only one default can exist"
    )


def test_the_default_priority_class_may_be_changed():
    admit("scheduling.k8s.io", "PriorityClass", {**LOW, "description": "d"}, LOW, storing(LOW))


def test_a_changed_pod_keeps_its_priority():
    obj = pod()

    admit("", "Pod", obj, pod(priority=7, preemptionPolicy="Never"))

    assert (obj["spec"]["priority"], obj["spec"]["preemptionPolicy"]) == (7, "Never")


def test_tolerations_are_added_after_those_of_the_pod():
    obj = pod(tolerations=[{"key": "a", "operator": "Exists"}])

    admit("", "Pod", obj, None)

    assert [toleration["key"] for toleration in obj["spec"]["tolerations"]] == [
        "a",
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ]
    assert obj["spec"]["tolerations"][1]["tolerationSeconds"] == 300


def test_a_claim_gets_the_newest_default_storage_class():
    mark = "storageclass.kubernetes.io/is-default-class"
    classes = [
        default_class("old", "2020-01-01T00:00:00Z", mark),
        default_class("b", "2021-01-01T00:00:00Z", mark),
        default_class("a", "2021-01-01T00:00:00Z", mark),
        {"metadata": {"name": "other", "creationTimestamp": "2022-01-01T00:00:00Z"}},
    ]
    claim: dict[str, Any] = {"metadata": {"name": "c"}, "spec": {}}

    admit("", "PersistentVolumeClaim", claim, None, storing(*classes))

    assert claim["spec"]["storageClassName"] == "a"


def test_a_claim_that_wants_no_class_gets_none():
    found = default_class("a", "2021-01-01T00:00:00Z", "storageclass.kubernetes.io/is-default-class")
    claim: dict[str, Any] = {"metadata": {"name": "c"}, "spec": {"storageClassName": ""}}

    admit("", "PersistentVolumeClaim", claim, None, storing(found))

    assert claim["spec"]["storageClassName"] == ""


def test_a_claim_with_the_old_annotation_gets_no_class():
    found = default_class("a", "2021-01-01T00:00:00Z", "storageclass.beta.kubernetes.io/is-default-class")
    annotations = {"volume.beta.kubernetes.io/storage-class": "b"}
    claim: dict[str, Any] = {"metadata": {"name": "c", "annotations": annotations}, "spec": {}}

    admit("", "PersistentVolumeClaim", claim, None, storing(found))

    assert "storageClassName" not in claim["spec"]


@pytest.mark.parametrize(
    ("group", "kind", "finalizer"),
    [
        ("", "PersistentVolume", "kubernetes.io/pv-protection"),
        ("", "PersistentVolumeClaim", "kubernetes.io/pvc-protection"),
        ("storage.k8s.io", "VolumeAttributesClass", "kubernetes.io/vac-protection"),
    ],
)
def test_storage_is_protected_once(group, kind, finalizer):
    obj: dict[str, Any] = {"metadata": {"name": "v", "finalizers": ["a/b"]}}

    admit(group, kind, obj, None)
    admit(group, kind, obj, None)

    assert obj["metadata"]["finalizers"] == ["a/b", finalizer]


def test_an_ingress_gets_the_default_class():
    found = default_class("web", "2021-01-01T00:00:00Z", "ingressclass.kubernetes.io/is-default-class")
    ingress: dict[str, Any] = {"metadata": {"name": "i"}, "spec": {}}

    admit("networking.k8s.io", "Ingress", ingress, None, storing(found))

    assert ingress["spec"]["ingressClassName"] == "web"


def test_an_ingress_with_the_old_annotation_gets_no_class():
    found = default_class("web", "2021-01-01T00:00:00Z", "ingressclass.kubernetes.io/is-default-class")
    ingress: dict[str, Any] = {"metadata": {"annotations": {"kubernetes.io/ingress.class": "x"}}, "spec": {}}

    admit("networking.k8s.io", "Ingress", ingress, None, storing(found))

    assert ingress["spec"] == {}


def test_a_new_node_is_tainted_once():
    node: dict[str, Any] = {"metadata": {"name": "n"}}

    admit("", "Node", node, None)
    admit("", "Node", node, None)

    assert node["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
