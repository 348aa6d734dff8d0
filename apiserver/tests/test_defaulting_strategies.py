"""What strategies do beyond the recorded cases: fields behind closed gates, and what an update may not touch."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright_apiserver.defaulting import Context, default, prepare_create, prepare_update
from kubewright_apiserver.status import Refusal

CONTEXT = Context(now="<now>", new_uid=lambda: "<new uid>")
TRUST = {"projected": {"sources": [{"clusterTrustBundle": {"path": "p"}}, {"podCertificate": {"path": "q"}}]}}


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}], **spec}}


def updated(kind: str, obj: dict[str, Any], old: dict[str, Any], group: str = "", subresource: str = "") -> None:
    prepare_update(group, "v1", kind, obj, old, CONTEXT, subresource=subresource)


def test_projections_behind_closed_gates_are_dropped():
    obj = pod(volumes=[{"name": "v", "projected": {"sources": [dict(one) for one in TRUST["projected"]["sources"]]}}])

    prepare_create("", "v1", "Pod", obj, CONTEXT)

    assert obj["spec"]["volumes"][0]["projected"]["sources"] == [{}, {}]


def test_projections_in_use_already_are_kept():
    obj, old = pod(volumes=[{"name": "v", **TRUST}]), pod(volumes=[{"name": "v", **TRUST}])

    updated("Pod", obj, old)

    assert obj["spec"]["volumes"][0]["projected"] == TRUST["projected"]


def test_a_scheduling_group_is_dropped_from_templates_too():
    template = {"spec": {"containers": [], "schedulingGroup": {"podGroupName": "g"}}}
    job = {"metadata": {"name": "j"}, "spec": {"jobTemplate": {"spec": {"template": template}}}}

    prepare_create("batch", "v1", "CronJob", job, CONTEXT)

    assert template["spec"] == {"containers": []}


def test_the_status_of_image_volumes_is_dropped_unless_in_use():
    mount = {"name": "v", "volumeStatus": {"image": {}}}
    obj = {**pod(), "status": {"containerStatuses": [{"volumeMounts": [dict(mount)]}]}}
    old = {**pod(), "status": {"containerStatuses": [{"volumeMounts": [dict(mount)]}]}}

    updated("Pod", obj, old, subresource="status")
    assert obj["status"]["containerStatuses"][0]["volumeMounts"] == [mount]

    old["status"] = {}
    updated("Pod", obj, old, subresource="status")
    assert obj["status"]["containerStatuses"][0]["volumeMounts"] == [{"name": "v"}]


def test_lists_of_attributes_are_dropped_from_devices():
    devices = [{"name": "a", "attributes": {"x": {"ints": [1]}, "y": {"int": 1}}}]
    obj = {"metadata": {"name": "s"}, "spec": {"devices": devices}}

    prepare_create("resource.k8s.io", "v1", "ResourceSlice", obj, CONTEXT)

    assert devices[0]["attributes"] == {"x": {}, "y": {"int": 1}}


def test_a_lease_keeps_a_strategy_that_it_has():
    lease = {"metadata": {}, "spec": {"strategy": "a", "preferredHolder": "h"}}

    updated("Lease", lease, {"metadata": {}, "spec": {"strategy": "a"}}, "coordination.k8s.io")

    assert lease["spec"] == {"strategy": "a"}


def test_resizing_leaves_renamed_containers_to_validation():
    obj, old = pod(), pod()
    obj["spec"]["containers"] = [{"name": "other", "resources": {}}]

    updated("Pod", obj, old, subresource="resize")

    assert obj["spec"]["containers"] == [{"name": "other", "resources": {}}]


def test_resizing_leaves_added_containers_to_validation():
    obj, old = pod(restartPolicy="Never"), pod()
    obj["spec"]["containers"] = [{"name": "c"}, {"name": "d"}]

    updated("Pod", obj, old, subresource="resize")

    assert obj["spec"] == {"containers": [{"name": "c"}, {"name": "d"}], "restartPolicy": "Never"}


def test_resizing_takes_the_resources_of_the_pod_as_a_whole():
    obj, old = pod(resources={"limits": {"cpu": "2"}}, hostname="no"), pod(resources={"limits": {"cpu": "1"}})

    updated("Pod", obj, old, subresource="resize")

    assert obj["spec"]["resources"] == {"limits": {"cpu": "2"}}
    assert "hostname" not in obj["spec"]


def test_a_second_approval_does_not_change_the_first():
    approved: dict[str, Any] = {
        "type": "Approved",
        "status": "True",
        "lastUpdateTime": "<then>",
        "lastTransitionTime": "<then>",
    }
    request: dict[str, Any] = {
        "metadata": {},
        "status": {"conditions": [{"type": "Approved", "status": "True", "reason": "new"}]},
    }
    old = {"metadata": {}, "spec": {"signerName": "s"}, "status": {"conditions": [approved]}}

    updated("CertificateSigningRequest", request, old, "certificates.k8s.io", "status")

    assert request["status"]["conditions"] == [approved]
    assert request["spec"] == {"signerName": "s"}


def test_a_condition_that_stays_keeps_the_time_of_its_transition():
    failed = {"type": "Failed", "status": "True", "lastTransitionTime": "<then>"}
    request: dict[str, Any] = {"metadata": {}, "status": {"conditions": [{"type": "Failed", "status": "True"}]}}
    old = {"metadata": {}, "spec": {}, "status": {"certificate": "c", "conditions": [failed]}}

    updated("CertificateSigningRequest", request, old, "certificates.k8s.io", "approval")

    assert request["status"]["certificate"] == "c"
    assert request["status"]["conditions"] == [
        {"type": "Failed", "status": "True", "lastUpdateTime": "<now>", "lastTransitionTime": "<then>"}
    ]


def test_devices_that_are_no_longer_allocated_lose_their_status():
    def claim(*allocated: str, devices: list[str]) -> dict[str, Any]:
        results = [{"driver": "d", "pool": "p", "device": name} for name in allocated]
        told = [{"driver": "d", "pool": "p", "device": name} for name in devices]
        return {
            "metadata": {},
            "spec": {},
            "status": {"allocation": {"devices": {"results": results}}, "devices": told},
        }

    obj = claim("a", devices=["a", "b"])

    updated("ResourceClaim", obj, claim("a", "b", devices=["a", "b"]), "resource.k8s.io", "status")

    assert [device["device"] for device in obj["status"]["devices"]] == ["a"]


def test_an_endpoint_takes_its_node_from_the_old_topology():
    topology = {"deprecatedTopology": {"kubernetes.io/hostname": "n"}}
    old = {"metadata": {}, "endpoints": [{"addresses": ["1.2.3.4"], **topology}]}
    obj = {"metadata": {}, "endpoints": [{"addresses": ["1.2.3.5"], **topology}]}

    updated("EndpointSlice", obj, old, "discovery.k8s.io")

    assert obj["endpoints"] == [{"addresses": ["1.2.3.5"], "nodeName": "n"}]


def test_endpoints_that_stay_keep_their_topology():
    endpoints = [{"addresses": ["1.2.3.4"], "deprecatedTopology": {"a": "b"}}]
    obj = {"metadata": {}, "endpoints": [dict(endpoints[0])]}

    updated("EndpointSlice", obj, {"metadata": {}, "endpoints": endpoints}, "discovery.k8s.io")

    assert obj["endpoints"] == endpoints


def test_a_node_keeps_a_configuration_that_it_has():
    node: dict[str, Any] = {"metadata": {}, "spec": {"configSource": {}}, "status": {"config": {}}}

    updated("Node", node, {"metadata": {}, "spec": {}, "status": {}})

    assert node == {"metadata": {}, "spec": {}, "status": {}}


def test_labels_of_a_job_and_of_its_template_are_not_the_same_map():
    job: dict[str, Any] = {
        "metadata": {"name": "j", "uid": "u"},
        "spec": {"template": {"metadata": {"labels": {"a": "b"}}}},
    }
    default("batch", "v1", "Job", job)

    prepare_create("batch", "v1", "Job", job, CONTEXT)

    template = job["spec"]["template"]
    assert job["metadata"]["labels"] == template["metadata"]["labels"]
    assert job["metadata"]["labels"] is not template["metadata"]["labels"]


@pytest.mark.parametrize(
    ("kind", "annotation", "message"),
    [
        (
            "DaemonSet",
            "deprecated.daemonset.template.generation",
            'DaemonSet in version "v1" cannot be handled as a DaemonSet: strconv.ParseInt: parsing "x": invalid syntax',
        ),
        (
            "Deployment",
            "deprecated.deployment.rollback.to",
            'Deployment in version "v1" cannot be handled as a Deployment: failed to parse '
            "annotation[deprecated.deployment.rollback.to]=x as int64: "
            'strconv.ParseInt: parsing "x": invalid syntax',
        ),
    ],
)
def test_an_annotation_that_must_be_a_number_is_refused(kind, annotation, message):
    with pytest.raises(Refusal) as refusal:
        default("apps", "v1", kind, {"metadata": {"annotations": {annotation: "x"}}})

    assert (refusal.value.code, refusal.value.message) == (400, message)


def test_a_number_too_large_for_an_annotation_is_refused():
    annotations = {"deprecated.daemonset.template.generation": "9" * 20}

    with pytest.raises(Refusal, match="value out of range"):
        default("apps", "v1", "DaemonSet", {"metadata": {"annotations": annotations}})
