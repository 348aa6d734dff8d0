"""``object_warnings``: what clients are told of an object though it is accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from kubewright_apiserver.golang import go_text
from kubewright_apiserver.schema.amount import canonical, nanos
from kubewright_apiserver.validation.names import dns_label
from kubewright_apiserver.validation.rules import Object
from kubewright_apiserver.validation.warnings_address import cidr_warnings, ip_warnings
from kubewright_apiserver.validation.warnings_key import key_pair_warnings
from kubewright_apiserver.validation.warnings_network import (
    endpoints_warnings,
    ingress_warnings,
    load_balancer_warnings,
    policy_warnings,
    service_warnings,
    slice_warnings,
)
from kubewright_apiserver.validation.warnings_pod import OLD_LABELS, pod_warnings, term_warnings
from kubewright_apiserver.validation.warnings_volume import GONE, claim_spec_warnings

__all__ = ["object_warnings"]

Warned = Callable[[Object, Object | None], Iterable[str]]

_IN_POD_NAMES: Final = (
    "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is"
    " recommended: {}"
)
_IN_HOSTNAME: Final = (
    "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is"
    " recommended: {}"
)
_MANY_INDEXES: Final = (
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might"
    " not be able to track completedIndexes when a big number of indexes fail"
)
_IN_SCHEDULE: Final = (
    "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see"
    " https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
)
_ALL_KEPT: Final = (
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
)
_TOKENS: Final = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible"
    " logging of tokens in volume attributes"
)
_RECYCLE: Final = (
    "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is"
    " to use dynamic provisioning."
)
_STATIC: Final = (
    'metadata.name: names ending with ".static.k8s.io" are reserved for static manifest-based configurations and cannot'
    " be managed via the API"
)
_OLD_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_OLD_OPTIONS: Final = "volume.beta.kubernetes.io/mount-options"
_USE_CLASS: Final = 'deprecated since v1.8; use "storageClassName" attribute instead'
_USE_OPTIONS: Final = 'deprecated since v1.31; use "mountOptions" attribute instead'
_MOUNTABLE: Final = "kubernetes.io/enforce-mountable-secrets"
_ISOLATE: Final = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
_TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
_QUOTED: Final = ("cpu", "memory", "storage", "ephemeral-storage")


def object_warnings(group: str, kind: str, obj: Object, old: Object | None, subresource: str = "") -> list[str]:
    """The warnings about an object of a built-in kind that is new, or written over an old one."""
    found = {"": _WARNED, "status": _ON_STATUS}.get(subresource, {}).get((group, kind))
    return list(found(obj, old)) if found is not None else []


def _annotations(obj: Object) -> dict[str, str]:
    found: dict[str, str] = obj["metadata"].get("annotations") or {}
    return found


def _has_changed(obj: Object, old: Object | None) -> bool:
    return old is None or obj["metadata"].get("generation") != old["metadata"].get("generation")


def _name_warnings(obj: Object, old: Object | None, told: str = _IN_POD_NAMES) -> Iterator[str]:
    if old is None and (wrong := dns_label(obj["metadata"]["name"])):
        yield told.format(go_text(list(wrong)))


def _pod(obj: Object, old: Object | None) -> Iterator[str]:
    if old is None:
        yield from _name_warnings(obj, old, _IN_HOSTNAME)
        yield from pod_warnings(obj)


def _workload(obj: Object, old: Object | None) -> Iterator[str]:
    yield from _name_warnings(obj, old)
    if _has_changed(obj, old):
        yield from pod_warnings(obj["spec"].get("template"), "spec.template")


def _controller(obj: Object, old: Object | None) -> Iterator[str]:
    """Those of a ReplicationController, which looks at the old template when there is one."""
    yield from _name_warnings(obj, old)
    if _has_changed(obj, old):
        yield from pod_warnings((obj if old is None else old)["spec"].get("template"), "spec.template")


def _daemon_set(obj: Object, old: Object | None) -> Iterator[str]:
    if old is None or _annotations(obj).get(_TEMPLATE_GENERATION) != _annotations(old).get(_TEMPLATE_GENERATION):
        yield from pod_warnings(obj["spec"]["template"], "spec.template")


def _stateful_set(obj: Object, old: Object | None) -> Iterator[str]:
    if _has_changed(obj, old):
        yield from pod_warnings(obj["spec"]["template"], "spec.template")
    part = "" if old is None else ".Spec"
    for index, claim in enumerate(obj["spec"].get("volumeClaimTemplates") or ()):
        yield from claim_spec_warnings(f"spec.volumeClaimTemplates[{index}]{part}", claim["spec"])
    if (obj["spec"].get("revisionHistoryLimit") or 0) < 0:
        yield _ALL_KEPT


def _template(obj: Object, old: Object | None) -> Iterator[str]:
    if _has_changed(obj, old):
        yield from pod_warnings(obj.get("template"), "template")


def _job_spec(spec: Object, path: str) -> Iterator[str]:
    is_large = (spec.get("completions") or 0) > 100_000 and (spec.get("parallelism") or 0) > 10_000
    if is_large and spec.get("completionMode") == "Indexed":
        yield f"{path}: {_MANY_INDEXES}"
    yield from pod_warnings(spec["template"], f"{path}.template")


def _job(obj: Object, old: Object | None) -> Iterator[str]:
    yield from _name_warnings(obj, old)
    if _has_changed(obj, old):
        yield from _job_spec(obj["spec"], "spec")


def _cron_job(obj: Object, old: Object | None) -> Iterator[str]:
    yield from _name_warnings(obj, old)
    if _has_changed(obj, old):
        yield from _job_spec(obj["spec"]["jobTemplate"]["spec"], "spec.jobTemplate.spec")
    if old is not None and "TZ" in obj["spec"].get("schedule", ""):
        yield _IN_SCHEDULE


def _node(obj: Object, old: Object | None) -> Iterator[str]:
    spec = obj.get("spec") or {}
    if spec.get("configSource") is not None:
        yield "spec.configSource: the feature is removed"
    if spec.get("externalID"):
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"
    for index, network in enumerate(spec.get("podCIDRs") or ()):
        yield from cidr_warnings(f"spec.podCIDRs[{index}]", network)


def _quota(obj: Object, old: Object | None) -> Iterator[str]:
    hard = (obj.get("spec") or {}).get("hard") or {}
    for name in _QUOTED if old is None else ():
        request = f"requests.{name}"
        if request not in hard and name in ("cpu", "memory"):
            request = name
        limit = f"limits.{name}"
        if request in hard and limit in hard and nanos(hard[request]) > nanos(hard[limit]):
            least, most = canonical(hard[request]), canonical(hard[limit])
            yield f"ResourceQuota {request} ({least}) should be less than {limit} ({most})"


def _persistent_volume(obj: Object, old: Object | None) -> Iterator[str]:
    spec, annotations = obj["spec"], _annotations(obj)
    for key, told in ((_OLD_CLASS, _USE_CLASS), (_OLD_OPTIONS, _USE_OPTIONS)):
        if key in annotations:
            yield f"metadata.annotations[{key}]: {told}"
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        yield _RECYCLE
    required = (spec.get("nodeAffinity") or {}).get("required") or {}
    for index, term in enumerate(required.get("nodeSelectorTerms") or ()):
        yield from term_warnings(term, f"spec.nodeAffinity.required.nodeSelectorTerms[{index}]")
    for name in ("cephfs", "photonPersistentDisk", "scaleIO", "storageos", "glusterfs", "rbd"):
        if spec.get(name) is not None:
            yield f"spec.{'storageOS' if name == 'storageos' else name}: {GONE[name]}"


def _claim(obj: Object, old: Object | None) -> Iterator[str]:
    if _OLD_CLASS in _annotations(obj):
        yield f"metadata.annotations[{_OLD_CLASS}]: {_USE_CLASS}"
    yield from claim_spec_warnings("spec", obj["spec"])


def _account(obj: Object, old: Object | None) -> Iterator[str]:
    if _MOUNTABLE in _annotations(obj) and (old is None or _MOUNTABLE not in _annotations(old)):
        yield f"metadata.annotations[{_MOUNTABLE}]: {_ISOLATE}"


def _secret(obj: Object, old: Object | None) -> Iterator[str]:
    if obj.get("type") == "kubernetes.io/tls":
        data = obj.get("data") or {}
        yield from key_pair_warnings(data.get("tls.crt", ""), data.get("tls.key", ""))


def _runtime_class(obj: Object, old: Object | None) -> Iterator[str]:
    for key in sorted((obj.get("scheduling") or {}).get("nodeSelector") or ()):
        if key in OLD_LABELS:
            yield f"scheduling.nodeSelector: {OLD_LABELS[key]}"


def _storage_class(obj: Object, old: Object | None) -> Iterator[str]:
    for index, topology in enumerate(obj.get("allowedTopologies") or ()):
        for place, expression in enumerate(topology.get("matchLabelExpressions") or ()):
            if expression.get("key") in OLD_LABELS:
                path = f"allowedTopologies[{index}].matchLabelExpressions[{place}].key"
                yield f"{path}: {OLD_LABELS[expression['key']]}"


def _capacity(obj: Object, old: Object | None) -> Iterator[str]:
    selector = obj.get("nodeTopology") or {}
    yield from term_warnings(selector, "nodeTopology")
    for key in sorted(selector.get("matchLabels") or ()):
        if key in OLD_LABELS:
            yield f"nodeTopology.matchLabels.{key}: {OLD_LABELS[key]}"


def _driver(obj: Object, old: Object | None) -> Iterator[str]:
    spec = obj.get("spec") or {}
    requests = spec.get("tokenRequests") or []
    is_new = old is None or requests != ((old.get("spec") or {}).get("tokenRequests") or [])
    if requests and is_new and spec.get("serviceAccountTokenInSecrets") is None:
        yield _TOKENS


def _reserved_name(obj: Object, old: Object | None) -> Iterator[str]:
    if old is not None and obj["metadata"]["name"].endswith(".static.k8s.io"):
        yield _STATIC


def _device_slice(obj: Object, old: Object | None) -> Iterator[str]:
    driver = (obj.get("spec") or {}).get("driver", "")
    if driver != driver.lower():
        yield f'spec.driver: driver names should be lowercase; "{driver}" contains uppercase characters'


def _pod_status(obj: Object, old: Object | None) -> Iterator[str]:
    for field in ("podIPs", "hostIPs"):
        for index, address in enumerate((obj.get("status") or {}).get(field) or ()):
            yield from ip_warnings(f"status.{field}[{index}].ip", address.get("ip", ""))


_ADMISSION: Final = "admissionregistration.k8s.io"
_WARNED: Final[dict[tuple[str, str], Warned]] = {
    ("", "Pod"): _pod,
    ("", "PodTemplate"): _template,
    ("", "ReplicationController"): _controller,
    ("", "Service"): lambda obj, old: service_warnings(obj),
    ("", "Endpoints"): lambda obj, old: endpoints_warnings(obj),
    ("", "Node"): _node,
    ("", "ResourceQuota"): _quota,
    ("", "PersistentVolume"): _persistent_volume,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "ServiceAccount"): _account,
    ("", "Secret"): _secret,
    ("apps", "Deployment"): _workload,
    ("apps", "ReplicaSet"): _workload,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "StatefulSet"): _stateful_set,
    ("batch", "Job"): _job,
    ("batch", "CronJob"): _cron_job,
    ("discovery.k8s.io", "EndpointSlice"): lambda obj, old: slice_warnings(obj, is_new=old is None),
    ("networking.k8s.io", "NetworkPolicy"): lambda obj, old: policy_warnings(obj),
    ("networking.k8s.io", "Ingress"): lambda obj, old: ingress_warnings(obj) if old is None else (),
    ("node.k8s.io", "RuntimeClass"): _runtime_class,
    ("resource.k8s.io", "ResourceSlice"): _device_slice,
    ("storage.k8s.io", "CSIDriver"): _driver,
    ("storage.k8s.io", "CSIStorageCapacity"): _capacity,
    ("storage.k8s.io", "StorageClass"): _storage_class,
    (_ADMISSION, "MutatingAdmissionPolicy"): _reserved_name,
    (_ADMISSION, "MutatingAdmissionPolicyBinding"): _reserved_name,
    (_ADMISSION, "MutatingWebhookConfiguration"): _reserved_name,
    (_ADMISSION, "ValidatingAdmissionPolicy"): _reserved_name,
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): _reserved_name,
    (_ADMISSION, "ValidatingWebhookConfiguration"): _reserved_name,
}
_ON_STATUS: Final[dict[tuple[str, str], Warned]] = {
    ("", "Pod"): _pod_status,
    ("", "Service"): lambda obj, old: load_balancer_warnings(obj),
    ("networking.k8s.io", "Ingress"): lambda obj, old: load_balancer_warnings(obj),
    (_ADMISSION, "ValidatingAdmissionPolicy"): _reserved_name,
}
