"""kube-apiserver's own plug-ins fill in priorities, tolerations, classes and finalizers, or refuse in its words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kubewright_apiserver.admission import Attributes, Plugins, UnknownPlugin
from kubewright_apiserver.server import ApiServer
from kubewright_apiserver.status import Refusal

LOW = {"metadata": {"name": "low"}, "value": 5, "globalDefault": True, "preemptionPolicy": "Never"}
HIGH = {"metadata": {"name": "high"}, "value": 9, "globalDefault": True}


class Stored:
    """A cluster of some objects, whichever resource is asked for."""

    def __init__(self, objects: Sequence[dict[str, Any]]) -> None:
        self.objects = objects

    def find(self, table: str, key: str) -> dict[str, Any] | None:
        return next((obj for obj in self.objects if obj["metadata"]["name"] == key.rpartition("/")[2]), None)

    def listed(self, table: str, prefix: str = "") -> Sequence[dict[str, Any]]:
        return self.objects

    def suffix(self) -> str:
        return "abcde"


def admit(
    resource: str,
    obj: dict[str, Any],
    *stored: dict[str, Any],
    old: dict[str, Any] | None = None,
    plugins: Plugins | None = None,
) -> None:
    plugins = plugins or Plugins()
    attributes = Attributes(Stored(stored), "CREATE" if old is None else "UPDATE", resource, obj, old=old)
    plugins.admit(attributes)
    plugins.validate(attributes)


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": spec}


def refused(resource: str, obj: dict[str, Any], *stored: dict[str, Any], plugins: Plugins | None = None) -> str:
    with pytest.raises(Refusal) as refusal:
        admit(resource, obj, *stored, plugins=plugins)
    assert refusal.value.code == 403
    return refusal.value.message


def default_class(name: str, created: str, mark: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "creationTimestamp": created, "annotations": {mark: "true"}}}


def test_a_pod_without_a_class_has_priority_zero():
    obj = pod()

    admit("/pods", obj)

    assert (obj["spec"]["priority"], obj["spec"]["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert "priorityClassName" not in obj["spec"]


def test_a_pod_gets_the_lowest_default_class():
    obj = pod()

    admit("/pods", obj, HIGH, LOW)

    assert obj["spec"]["priorityClassName"] == "low"
    assert (obj["spec"]["priority"], obj["spec"]["preemptionPolicy"]) == (5, "Never")


def test_a_pod_gets_the_priority_of_its_class():
    obj = pod(priorityClassName="high")

    admit("/pods", obj, LOW, HIGH)

    assert obj["spec"]["priority"] == 9
    assert "preemptionPolicy" not in obj["spec"]


def test_an_unknown_class_is_refused():
    message = refused("/pods", pod(priorityClassName="nope"))

    assert message == 'pods "p" is forbidden: no PriorityClass with name nope was found'


def test_a_priority_of_the_users_own_is_refused():
    obj = {"metadata": {"generateName": "p-"}, "spec": {"priority": 5}}

    assert refused("/pods", obj) == (
        'pods "p-" is forbidden: the integer value of priority (5) must not be provided in pod spec; '
        "priority admission controller computed 0 from the given PriorityClass name"
    )


def test_a_preemption_policy_of_the_users_own_is_refused():
    assert refused("/pods", pod(preemptionPolicy="Never")) == (
        'pods "p" is forbidden: the string value of PreemptionPolicy (Never) must not be provided in pod spec; '
        "priority admission controller computed PreemptLowerPriority from the given PriorityClass name"
    )


def test_a_second_default_priority_class_is_refused():
    second = {"metadata": {"name": "second"}, "value": 1, "globalDefault": True}

    assert refused("scheduling.k8s.io/priorityclasses", second, LOW) == (
        'priorityclasses.scheduling.k8s.io "second" is forbidden: '
        "PriorityClass low is already marked as default. Only one default can exist"
    )


def test_the_default_priority_class_may_be_changed():
    admit("scheduling.k8s.io/priorityclasses", {**LOW, "description": "d"}, LOW, old=LOW)


def test_a_changed_pod_keeps_its_priority():
    obj = pod()

    admit("/pods", obj, old=pod(priority=7, preemptionPolicy="Never"))

    assert (obj["spec"]["priority"], obj["spec"]["preemptionPolicy"]) == (7, "Never")


def test_tolerations_are_added_after_those_of_the_pod():
    obj = pod(tolerations=[{"key": "a", "operator": "Exists"}])

    admit("/pods", obj)

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

    admit("/persistentvolumeclaims", claim, *classes)

    assert claim["spec"]["storageClassName"] == "a"


def test_a_claim_that_wants_no_class_gets_none():
    found = default_class("a", "2021-01-01T00:00:00Z", "storageclass.kubernetes.io/is-default-class")
    claim: dict[str, Any] = {"metadata": {"name": "c"}, "spec": {"storageClassName": ""}}

    admit("/persistentvolumeclaims", claim, found)

    assert claim["spec"]["storageClassName"] == ""


def test_a_claim_with_the_old_annotation_gets_no_class():
    found = default_class("a", "2021-01-01T00:00:00Z", "storageclass.beta.kubernetes.io/is-default-class")
    annotations = {"volume.beta.kubernetes.io/storage-class": "b"}
    claim: dict[str, Any] = {"metadata": {"name": "c", "annotations": annotations}, "spec": {}}

    admit("/persistentvolumeclaims", claim, found)

    assert "storageClassName" not in claim["spec"]


@pytest.mark.parametrize(
    ("resource", "finalizer"),
    [
        ("/persistentvolumes", "kubernetes.io/pv-protection"),
        ("/persistentvolumeclaims", "kubernetes.io/pvc-protection"),
        ("storage.k8s.io/volumeattributesclasses", "kubernetes.io/vac-protection"),
    ],
)
def test_storage_is_protected_once(resource, finalizer):
    obj: dict[str, Any] = {"metadata": {"name": "v", "finalizers": ["a/b"]}}

    admit(resource, obj)
    admit(resource, obj)

    assert obj["metadata"]["finalizers"] == ["a/b", finalizer]


def test_an_ingress_gets_the_default_class():
    found = default_class("web", "2021-01-01T00:00:00Z", "ingressclass.kubernetes.io/is-default-class")
    ingress: dict[str, Any] = {"metadata": {"name": "i"}, "spec": {}}

    admit("networking.k8s.io/ingresses", ingress, found)

    assert ingress["spec"]["ingressClassName"] == "web"


def test_an_ingress_with_the_old_annotation_gets_no_class():
    found = default_class("web", "2021-01-01T00:00:00Z", "ingressclass.kubernetes.io/is-default-class")
    ingress: dict[str, Any] = {"metadata": {"annotations": {"kubernetes.io/ingress.class": "x"}}, "spec": {}}

    admit("networking.k8s.io/ingresses", ingress, found)

    assert ingress["spec"] == {}


def test_a_new_node_is_tainted_once():
    node: dict[str, Any] = {"metadata": {"name": "n"}}

    admit("/nodes", node)
    admit("/nodes", node)

    assert node["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]


def test_a_plugin_that_is_off_does_nothing():
    obj = pod(priorityClassName="nope")

    admit("/pods", obj, plugins=Plugins(disabled=["Priority", "DefaultTolerationSeconds"]))

    assert obj == pod(priorityClassName="nope")


def test_accounts_are_looked_for_if_that_is_asked_for():
    plugins = Plugins(enabled=["ServiceAccount"])

    admit("/pods", pod(containers=[]))

    assert "serviceaccount" in refused("/pods", pod(), plugins=plugins)
    assert "ServiceAccount" not in Plugins().names


def test_a_token_is_mounted_where_programs_look_for_it():
    obj = pod(containers=[{"name": "c"}])

    admit("/pods", obj, {"metadata": {"name": "default"}}, plugins=Plugins(enabled=["ServiceAccount"]))

    mount = {
        "name": "kube-api-access-abcde",
        "readOnly": True,
        "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
    }
    assert obj["spec"]["containers"][0]["volumeMounts"] == [mount]
    assert [volume["name"] for volume in obj["spec"]["volumes"]] == ["kube-api-access-abcde"]


def test_plugins_act_in_the_order_of_kube_apiserver():
    names = Plugins(enabled=["ServiceAccount"]).names

    assert names[:3] == ("NamespaceLifecycle", "LimitRanger", "ServiceAccount")
    assert names[-1] == "ResourceQuota"


@pytest.mark.parametrize(
    ("enabled", "disabled", "message"),
    [
        (["Nope"], [], 'enable-admission-plugins plugin "Nope" is unknown'),
        ([], ["priority"], 'disable-admission-plugins plugin "priority" is unknown'),
        (
            ["Priority", "LimitRanger"],
            ["Priority", "LimitRanger"],
            "[LimitRanger Priority] in enable-admission-plugins and disable-admission-plugins overlapped",
        ),
        (
            ["A"],
            ["B"],
            '[enable-admission-plugins plugin "A" is unknown, disable-admission-plugins plugin "B" is unknown]',
        ),
    ],
)
def test_names_that_mean_nothing_are_refused_in_the_words_of_the_flag(enabled, disabled, message):
    with pytest.raises(UnknownPlugin) as refusal:
        Plugins(enabled, disabled)

    assert str(refusal.value) == message


def test_a_server_refuses_a_plugin_that_nobody_knows():
    with pytest.raises(ValueError, match='enable-admission-plugins plugin "Nope" is unknown'):
        ApiServer(enable_admission_plugins=["Nope"])


async def test_a_plugin_that_is_not_there_is_accepted_and_named(caplog: pytest.LogCaptureFixture):
    async with ApiServer(listens=False, enable_admission_plugins=["Priority", "AlwaysPullImages", "AlwaysAdmit"]):
        pass

    assert caplog.messages == ["these admission plug-ins have no effect here: AlwaysPullImages"]


async def test_a_fork_has_the_same_plugins():
    async with ApiServer(listens=False, disable_admission_plugins=["Priority"]) as server, server.fork() as fork:
        assert "Priority" not in fork.app.engine.plugins.names
