"""Defaults of the core group beside pods and Services."""

from __future__ import annotations

from base64 import b64encode
from typing import Any, Final

from kubewright_apiserver.defaulting.parts import Default, Key, part
from kubewright_apiserver.defaulting.pod import default_pod, default_pod_template
from kubewright_apiserver.defaulting.service import default_service
from kubewright_apiserver.defaulting.volume import default_claim_spec, default_source
from kubewright_apiserver.schema.amount import in_millis

__all__ = ["DEFAULTS", "default_claim"]

_NAME_LABEL: Final = "kubernetes.io/metadata.name"
_LIMITS: Final = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


def _round(amounts: dict[str, Any] | None) -> None:
    if amounts:
        for name, amount in amounts.items():
            amounts[name] = in_millis(amount)


def default_claim(claim: dict[str, Any]) -> None:
    """Complete a PersistentVolumeClaim in place, also one inside of a StatefulSet."""
    status = part(claim, "status")
    if not status.get("phase"):
        status["phase"] = "Pending"
    _round(status.get("capacity"))
    _round(status.get("allocatedResources"))
    default_claim_spec(part(claim, "spec"))


def _volume(volume: dict[str, Any]) -> None:
    status, spec = part(volume, "status"), part(volume, "spec")
    if not status.get("phase"):
        status["phase"] = "Pending"
    if not spec.get("persistentVolumeReclaimPolicy"):
        spec["persistentVolumeReclaimPolicy"] = "Retain"
    if spec.get("volumeMode") is None:
        spec["volumeMode"] = "Filesystem"
    _round(spec.get("capacity"))
    default_source(spec)


def _secret(secret: dict[str, Any]) -> None:
    if not secret.get("type"):
        secret["type"] = "Opaque"
    texts = secret.pop("stringData", None)
    if texts:
        data = part(secret, "data")
        for name, text in texts.items():
            data[name] = b64encode((text or "").encode()).decode()


def _namespace(namespace: dict[str, Any]) -> None:
    metadata = part(namespace, "metadata")
    if metadata.get("name"):
        part(metadata, "labels")[_NAME_LABEL] = metadata["name"]
    status = part(namespace, "status")
    if not status.get("phase"):
        status["phase"] = "Active"


def _node(node: dict[str, Any]) -> None:
    status, spec = part(node, "status"), part(node, "spec")
    capacity = status.get("capacity")
    if capacity and status.get("allocatable") is None:
        status["allocatable"] = dict(capacity)
    _round(capacity)
    _round(status.get("allocatable"))
    network, networks = spec.get("podCIDR"), spec.get("podCIDRs")
    if network and (not networks or networks[0] != network):
        spec["podCIDRs"] = [network]
    elif networks:
        spec["podCIDR"] = networks[0]


def _endpoints(endpoints: dict[str, Any]) -> None:
    for subset in endpoints.get("subsets") or ():
        for port in subset.get("ports") or ():
            if not port.get("protocol"):
                port["protocol"] = "TCP"


def _limit_range(limit_range: dict[str, Any]) -> None:
    for item in part(limit_range, "spec").get("limits") or ():
        if item.get("type") == "Container":
            _default_limits(item)
        for name in _LIMITS:
            _round(item.get(name))


def _default_limits(item: dict[str, Any]) -> None:
    limits = {**(item.get("max") or {}), **(item.get("default") or {})}
    requests = {**(item.get("min") or {}), **limits, **(item.get("defaultRequest") or {})}
    if limits:
        item["default"] = limits
    if requests:
        item["defaultRequest"] = requests


def _resource_quota(quota: dict[str, Any]) -> None:
    _round(part(quota, "spec").get("hard"))
    status = quota.get("status") or {}
    _round(status.get("hard"))
    _round(status.get("used"))


def _replication_controller(controller: dict[str, Any]) -> None:
    spec = part(controller, "spec")
    template = spec.get("template")
    labels = ((template or {}).get("metadata") or {}).get("labels")
    if labels:
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        metadata = part(controller, "metadata")
        if not metadata.get("labels"):
            metadata["labels"] = dict(labels)
    if spec.get("replicas") is None:
        spec["replicas"] = 1
    if template is not None:
        default_pod_template(template)


def _pod_template(template: dict[str, Any]) -> None:
    default_pod_template(part(template, "template"))


DEFAULTS: Final[dict[Key, Default]] = {
    ("", "v1", "Endpoints"): _endpoints,
    ("", "v1", "LimitRange"): _limit_range,
    ("", "v1", "Namespace"): _namespace,
    ("", "v1", "Node"): _node,
    ("", "v1", "PersistentVolume"): _volume,
    ("", "v1", "PersistentVolumeClaim"): default_claim,
    ("", "v1", "Pod"): default_pod,
    ("", "v1", "PodTemplate"): _pod_template,
    ("", "v1", "ReplicationController"): _replication_controller,
    ("", "v1", "ResourceQuota"): _resource_quota,
    ("", "v1", "Secret"): _secret,
    ("", "v1", "Service"): default_service,
}
