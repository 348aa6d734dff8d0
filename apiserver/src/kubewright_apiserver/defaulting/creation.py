"""``prepare_create``: what the strategy of a kind does to a new object, after admission and before validation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kubewright_apiserver.defaulting.apps import TEMPLATE_GENERATION
from kubewright_apiserver.defaulting.context import Context
from kubewright_apiserver.defaulting.disabled import (
    drop_disabled_claim_fields,
    drop_disabled_pod_fields,
    drop_disabled_slice_fields,
    drop_unless_used,
)
from kubewright_apiserver.defaulting.parts import part
from kubewright_apiserver.defaulting.pod_strategy import create_pod
from kubewright_apiserver.defaulting.service_update import drop_internal_policy

__all__ = [
    "STATUS_KEPT_FROM_USERS",
    "join_data_sources",
    "prepare_create",
    "stamp_taints",
    "template_of",
]

Object = dict[str, Any]
Prepare = Callable[[Object, Context], None]

STATUS_KEPT_FROM_USERS: Final = frozenset(
    {
        ("", "PersistentVolume"),
        ("", "PersistentVolumeClaim"),
        ("", "Pod"),
        ("", "ReplicationController"),
        ("", "ResourceQuota"),
        ("", "Service"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
        ("apiregistration.k8s.io", "APIService"),
        ("apps", "DaemonSet"),
        ("apps", "Deployment"),
        ("apps", "ReplicaSet"),
        ("apps", "StatefulSet"),
        ("autoscaling", "HorizontalPodAutoscaler"),
        ("batch", "CronJob"),
        ("batch", "Job"),
        ("certificates.k8s.io", "CertificateSigningRequest"),
        ("certificates.k8s.io", "PodCertificateRequest"),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
        ("networking.k8s.io", "Ingress"),
        ("networking.k8s.io", "ServiceCIDR"),
        ("policy", "PodDisruptionBudget"),
        ("resource.k8s.io", "DeviceTaintRule"),
        ("resource.k8s.io", "ResourceClaim"),
        ("storage.k8s.io", "VolumeAttachment"),
        ("storagemigration.k8s.io", "StorageVersionMigration"),
    }
)
"""Group and kind of those whose status only the status endpoint writes: users create them without one."""
_LONGEST_LABEL: Final = 63


def prepare_create(group: str, version: str, kind: str, obj: Object, context: Context) -> None:
    """Do in place to a new object what kube-apiserver's strategy for its kind does.

    Expects defaults, name and uid to be set. Its generation is not touched; a Service gets its addresses from
    ``allocate_service``.
    """
    if (group, kind) in STATUS_KEPT_FROM_USERS:
        obj.pop("status", None)
    prepare = _PREPARE.get((group, kind))
    if prepare is not None:
        prepare(obj, context)
    template = template_of(group, kind, obj)
    if template is not None:
        drop_disabled_pod_fields(template.get("spec"), None)


def template_of(group: str, kind: str, obj: Object) -> Object | None:
    """The template of pods in an object, if its kind has one."""
    if group not in ("", "apps", "batch") or kind == "Pod":
        return None
    holder: Object = obj if kind == "PodTemplate" else obj.get("spec") or {}
    if kind == "CronJob":
        holder = (holder.get("jobTemplate") or {}).get("spec") or {}
    template: Object | None = holder.get("template")
    return template


def _namespace(namespace: Object, context: Context) -> None:
    namespace["status"] = {"phase": "Active"}
    finalizers = part(namespace, "spec").setdefault("finalizers", [])
    if "kubernetes" not in finalizers:
        finalizers.append("kubernetes")
    metadata = namespace["metadata"]
    part(metadata, "labels")["kubernetes.io/metadata.name"] = metadata.get("name", "")


def _node(node: Object, context: Context) -> None:
    part(node, "spec").pop("configSource", None)
    part(node, "status").pop("config", None)


def _volume(volume: Object, context: Context) -> None:
    volume["status"] = {"phase": "Pending", "lastPhaseTransitionTime": context.now}


def _claim(claim: Object, context: Context) -> None:
    claim["status"] = {"phase": "Pending"}
    drop_disabled_claim_fields(claim["spec"], None)
    join_data_sources(claim["spec"], None)


def join_data_sources(spec: Object, old: Object | None) -> None:
    """Say in both fields of a claim what one says about where its data come from."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source and not reference and not _has_source(old) and not _is_claim_or_snapshot(source):
        del spec["dataSource"]
        return
    if source and not reference:
        spec["dataSourceRef"] = dict(source)
    elif reference and not source and not reference.get("namespace"):
        spec["dataSource"] = {name: value for name, value in reference.items() if name != "namespace"}


def _has_source(old: Object | None) -> bool:
    return bool(old and (old.get("dataSource") or old.get("dataSourceRef")))


def _is_claim_or_snapshot(source: Object) -> bool:
    kind = (source.get("apiGroup") or "", source.get("kind"))
    return kind in (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))


def _limit_range(limit_range: Object, context: Context) -> None:
    metadata = part(limit_range, "metadata")
    if not metadata.get("name"):
        metadata["name"] = context.new_uid()


def _service(service: Object, context: Context) -> None:
    drop_internal_policy(service)


def _service_account(account: Object, context: Context) -> None:
    secrets = account.get("secrets")
    if secrets:
        account["secrets"] = [{"name": secret["name"]} if secret.get("name") else {} for secret in secrets]


def _daemon_set(daemon_set: Object, context: Context) -> None:
    annotations = part(daemon_set["metadata"], "annotations")
    annotations[TEMPLATE_GENERATION] = str(max(1, int(annotations.get(TEMPLATE_GENERATION) or 0)))


def _stateful_set(stateful_set: Object, context: Context) -> None:
    drop_unless_used(stateful_set["spec"]["updateStrategy"].get("rollingUpdate"), None, "maxUnavailable")


def _job(job: Object, context: Context) -> None:
    spec, metadata = job["spec"], job["metadata"]
    if spec.get("manualSelector"):
        return
    labels = part(part(part(spec, "template"), "metadata"), "labels")
    for prefix in ("", "batch.kubernetes.io/"):
        labels.setdefault(f"{prefix}job-name", metadata.get("name", ""))
        labels.setdefault(f"{prefix}controller-uid", metadata["uid"])
    matched = part(part(spec, "selector"), "matchLabels")
    matched.setdefault("batch.kubernetes.io/controller-uid", metadata["uid"])
    # Storage gives a Job without labels those of its template; one whose name is too long for them never gets there.
    is_unlabelled = not metadata.get("labels") or metadata["labels"] is labels
    if is_unlabelled and len(metadata.get("name", "")) <= _LONGEST_LABEL:
        metadata["labels"] = dict(labels)


def _signing_request(request: Object, context: Context) -> None:
    spec = part(request, "spec")
    user = {
        "username": context.username,
        "uid": context.user_uid,
        "groups": list(context.groups),
        "extra": {name: list(values) for name, values in context.extra.items()},
    }
    for name, value in user.items():
        spec.pop(name, None)
        if value:
            spec[name] = value


def _endpoint_slice(endpoint_slice: Object, context: Context) -> None:
    for endpoint in endpoint_slice.get("endpoints") or ():
        endpoint.pop("deprecatedTopology", None)


def _lease(lease: Object, context: Context) -> None:
    drop_unless_used(lease.get("spec"), None, "strategy", "preferredHolder")


def _driver(driver: Object, context: Context) -> None:
    drop_unless_used(driver.get("spec"), None, "preventPodSchedulingIfMissing")


def _api_service(api_service: Object, context: Context) -> None:
    if part(api_service, "spec").get("service") is None:
        condition = {
            "type": "Available",
            "status": "True",
            "lastTransitionTime": context.now,
            "reason": "Local",
            "message": "Local APIServices are always available",
        }
        api_service["status"] = {"conditions": [condition]}


def _resource_slice(resource_slice: Object, context: Context) -> None:
    drop_disabled_slice_fields(part(resource_slice, "spec"), None)
    stamp_taints(resource_slice["spec"], context)


def stamp_taints(spec: Object, context: Context) -> None:
    """Stamp the taints of the devices of a ResourceSlice that say no time."""
    for device in spec.get("devices") or ():
        told = device["basic"] if device.get("basic") is not None else device
        for taint in told.get("taints") or ():
            taint.setdefault("timeAdded", context.now)


def _taint_rule(rule: Object, context: Context) -> None:
    part(part(rule, "spec"), "taint").setdefault("timeAdded", context.now)


_PREPARE: Final[dict[tuple[str, str], Prepare]] = {
    ("", "LimitRange"): _limit_range,
    ("", "Namespace"): _namespace,
    ("", "Node"): _node,
    ("", "PersistentVolume"): _volume,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Pod"): create_pod,
    ("", "Service"): _service,
    ("", "ServiceAccount"): _service_account,
    ("apiregistration.k8s.io", "APIService"): _api_service,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "StatefulSet"): _stateful_set,
    ("batch", "Job"): _job,
    ("certificates.k8s.io", "CertificateSigningRequest"): _signing_request,
    ("coordination.k8s.io", "Lease"): _lease,
    ("discovery.k8s.io", "EndpointSlice"): _endpoint_slice,
    ("resource.k8s.io", "DeviceTaintRule"): _taint_rule,
    ("resource.k8s.io", "ResourceSlice"): _resource_slice,
    ("storage.k8s.io", "CSIDriver"): _driver,
}
