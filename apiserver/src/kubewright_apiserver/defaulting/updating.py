"""``prepare_update``: what the strategy of a kind keeps or changes when an object, or one part of it, is updated.

Parts of the old object are put into the new one, not copied: what is stored is never changed in place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kubewright_apiserver.defaulting.apps import TEMPLATE_GENERATION
from kubewright_apiserver.defaulting.certificate_strategy import keep_all_but_decision, keep_decision
from kubewright_apiserver.defaulting.context import Context
from kubewright_apiserver.defaulting.creation import (
    STATUS_KEPT_FROM_USERS,
    join_data_sources,
    stamp_taints,
    template_of,
)
from kubewright_apiserver.defaulting.disabled import (
    drop_disabled_claim_fields,
    drop_disabled_pod_fields,
    drop_disabled_slice_fields,
    drop_unless_used,
)
from kubewright_apiserver.defaulting.parts import part
from kubewright_apiserver.defaulting.pod_strategy import (
    keep_all_but_ephemeral_containers,
    keep_all_but_resources,
    keep_pod_spec,
    update_pod,
)
from kubewright_apiserver.defaulting.printed import fill_printed
from kubewright_apiserver.defaulting.service_update import drop_internal_policy, drop_unfit_fields

__all__ = ["prepare_update"]

Object = dict[str, Any]
Prepare = Callable[[Object, Object, Context], None]

_METADATA: Final = ("annotations", "finalizers", "labels", "ownerReferences")
_METADATA_RESET: Final = frozenset(
    {
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
        ("certificates.k8s.io", "PodCertificateRequest"),
        ("networking.k8s.io", "ServiceCIDR"),
        ("resource.k8s.io", "DeviceTaintRule"),
        ("resource.k8s.io", "ResourceClaim"),
        ("storage.k8s.io", "VolumeAttachment"),
        ("storagemigration.k8s.io", "StorageVersionMigration"),
        ("apiregistration.k8s.io", "APIService"),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
    }
)


def prepare_update(
    group: str, version: str, kind: str, obj: Object, old: Object, context: Context, *, subresource: str = ""
) -> None:
    """Do in place to a changed object what kube-apiserver's strategy for its kind and endpoint does.

    ``subresource`` is empty for the object itself, else ``status``, ``approval``, ``finalize``,
    ``ephemeralcontainers`` or ``resize``. Expects defaults to be set in both objects. Generation is not touched.
    """
    if subresource:
        _prepare_part(group, kind, obj, old, context, subresource)
        return
    if (group, kind) in STATUS_KEPT_FROM_USERS:
        _keep(obj, old, "status")
    template, before = template_of(group, kind, obj), template_of(group, kind, old)
    if template is not None:
        drop_disabled_pod_fields(template.get("spec"), (before or {}).get("spec"))
    if kind == "DaemonSet" and group == "apps":
        fill_printed(group, version, kind, obj)
    prepare = _PREPARE.get((group, kind))
    if prepare is not None:
        prepare(obj, old, context)


def _prepare_part(group: str, kind: str, obj: Object, old: Object, context: Context, subresource: str) -> None:
    prepare = _PARTS.get((group, kind, subresource))
    if prepare is not None:
        prepare(obj, old, context)
    elif subresource == "status":
        _keep(obj, old, "spec")
    if subresource == "status" and (group, kind) in _METADATA_RESET:
        _reset_metadata(obj, old)


def _keep(obj: Object, old: Object, *names: str) -> None:
    for name in names:
        if name in old:
            obj[name] = old[name]
        else:
            obj.pop(name, None)


def _reset_metadata(obj: Object, old: Object) -> None:
    _keep(part(obj, "metadata"), old["metadata"], *_METADATA)


def _pod(pod: Object, old: Object, context: Context) -> None:
    update_pod(pod, old)


def _pod_status(pod: Object, old: Object, context: Context) -> None:
    keep_pod_spec(pod, old)


def _ephemeral_containers(pod: Object, old: Object, context: Context) -> None:
    keep_all_but_ephemeral_containers(pod, old)
    _reset_metadata(pod, old)


def _resize(pod: Object, old: Object, context: Context) -> None:
    if keep_all_but_resources(pod, old):
        _reset_metadata(pod, old)


def _namespace(namespace: Object, old: Object, context: Context) -> None:
    _keep(part(namespace, "spec"), old.get("spec") or {}, "finalizers")
    _keep(namespace, old, "status")


def _namespace_finalize(namespace: Object, old: Object, context: Context) -> None:
    _keep(namespace, old, "status")


def _node(node: Object, old: Object, context: Context) -> None:
    _keep(node, old, "status")
    drop_unless_used(node.get("spec"), old.get("spec"), "configSource")


def _node_status(node: Object, old: Object, context: Context) -> None:
    _keep(node, old, "spec")
    drop_unless_used(node.get("status"), old.get("status"), "config")


def _service(service: Object, old: Object, context: Context) -> None:
    drop_unfit_fields(service, old)
    drop_internal_policy(service)


def _service_account(account: Object, old: Object, context: Context) -> None:
    secrets = account.get("secrets")
    if secrets:
        account["secrets"] = [{"name": secret["name"]} if secret.get("name") else {} for secret in secrets]


def _claim(claim: Object, old: Object, context: Context) -> None:
    spec, before = claim["spec"], old.get("spec") or {}
    drop_disabled_claim_fields(spec, before)
    join_data_sources(spec, before)


def _volume_status(volume: Object, old: Object, context: Context) -> None:
    _keep(volume, old, "spec")
    status, before = part(volume, "status"), old.get("status") or {}
    stamped, stamp = status.get("lastPhaseTransitionTime"), before.get("lastPhaseTransitionTime")
    if status.get("phase") == before.get("phase"):
        if stamped is None and stamp is not None:
            status["lastPhaseTransitionTime"] = stamp
    elif stamped is None or stamped == stamp:
        status["lastPhaseTransitionTime"] = context.now


def _daemon_set(daemon_set: Object, old: Object, context: Context) -> None:
    before = int((old["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION) or 0)
    is_changed = daemon_set["spec"].get("template") != old["spec"].get("template")
    part(daemon_set["metadata"], "annotations")[TEMPLATE_GENERATION] = str(before + is_changed)


def _daemon_set_status(daemon_set: Object, old: Object, context: Context) -> None:
    _keep(daemon_set, old, "spec")
    before = (old["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION) or "0"
    part(part(daemon_set, "metadata"), "annotations")[TEMPLATE_GENERATION] = before


def _job(job: Object, old: Object, context: Context) -> None:
    labels = job["metadata"].get("labels")
    if labels:
        # Defaulting may have put those of the template here as they are.
        job["metadata"]["labels"] = dict(labels)


def _deployment_status(deployment: Object, old: Object, context: Context) -> None:
    _keep(deployment, old, "spec")
    _keep(part(deployment, "metadata"), old["metadata"], "labels")


def _stateful_set(stateful_set: Object, old: Object, context: Context) -> None:
    rolling = (old["spec"].get("updateStrategy") or {}).get("rollingUpdate")
    drop_unless_used(stateful_set["spec"]["updateStrategy"].get("rollingUpdate"), rolling, "maxUnavailable")


def _signing_request(request: Object, old: Object, context: Context) -> None:
    _keep(request, old, "spec", "status")


def _signing_request_status(request: Object, old: Object, context: Context) -> None:
    _keep(request, old, "spec")
    keep_decision(request, old, context)


def _signing_request_approval(request: Object, old: Object, context: Context) -> None:
    _keep(request, old, "spec")
    keep_all_but_decision(request, old, context)


def _endpoint_slice(endpoint_slice: Object, old: Object, context: Context) -> None:
    endpoints, before = endpoint_slice.get("endpoints") or [], old.get("endpoints") or []
    if endpoints == before:
        return
    hosts = {(endpoint.get("deprecatedTopology") or {}).get("kubernetes.io/hostname") for endpoint in before}
    for endpoint in endpoints:
        host = (endpoint.pop("deprecatedTopology", None) or {}).get("kubernetes.io/hostname")
        if host and host in hosts and endpoint.get("nodeName") is None:
            endpoint["nodeName"] = host


def _lease(lease: Object, old: Object, context: Context) -> None:
    drop_unless_used(lease.get("spec"), old.get("spec"), "strategy", "preferredHolder")


def _driver(driver: Object, old: Object, context: Context) -> None:
    drop_unless_used(driver.get("spec"), old.get("spec"), "preventPodSchedulingIfMissing")


def _resource_slice(resource_slice: Object, old: Object, context: Context) -> None:
    drop_disabled_slice_fields(part(resource_slice, "spec"), old.get("spec"))
    stamp_taints(resource_slice["spec"], context)


def _taint_rule(rule: Object, old: Object, context: Context) -> None:
    taint, before = part(part(rule, "spec"), "taint"), old["spec"].get("taint") or {}
    taint.setdefault("timeAdded", context.now)
    if taint.get("effect") != before.get("effect") and taint["timeAdded"] == before.get("timeAdded"):
        taint["timeAdded"] = context.now


def _claim_devices(claim: Object, old: Object, context: Context) -> None:
    _keep(claim, old, "spec")
    status = part(claim, "status")
    gone = _allocated(old.get("status") or {}) - _allocated(status)
    devices = [device for device in status.get("devices") or () if _device(device) not in gone]
    if devices:
        status["devices"] = devices
    else:
        status.pop("devices", None)


def _allocated(status: Object) -> set[tuple[Any, ...]]:
    results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()
    return {_device(result) for result in results}


def _device(told: Object) -> tuple[Any, ...]:
    return told.get("driver"), told.get("pool"), told.get("device"), told.get("shareID")


_PREPARE: Final[dict[tuple[str, str], Prepare]] = {
    ("", "Namespace"): _namespace,
    ("", "Node"): _node,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Pod"): _pod,
    ("", "Service"): _service,
    ("", "ServiceAccount"): _service_account,
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
_PARTS: Final[dict[tuple[str, str, str], Prepare]] = {
    ("", "Namespace", "finalize"): _namespace_finalize,
    ("", "Node", "status"): _node_status,
    ("", "PersistentVolume", "status"): _volume_status,
    ("", "Pod", "ephemeralcontainers"): _ephemeral_containers,
    ("", "Pod", "resize"): _resize,
    ("", "Pod", "status"): _pod_status,
    ("apps", "DaemonSet", "status"): _daemon_set_status,
    ("apps", "Deployment", "status"): _deployment_status,
    ("certificates.k8s.io", "CertificateSigningRequest", "approval"): _signing_request_approval,
    ("certificates.k8s.io", "CertificateSigningRequest", "status"): _signing_request_status,
    ("resource.k8s.io", "ResourceClaim", "status"): _claim_devices,
}
