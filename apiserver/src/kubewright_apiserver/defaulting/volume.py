"""Defaults of volumes: those of pods and, as far as they are the same, of PersistentVolumes."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.defaulting.image import pull_policy
from kubewright_apiserver.defaulting.parts import Default, part
from kubewright_apiserver.schema.amount import in_millis

__all__ = ["default_claim_spec", "default_field_reference", "default_resources", "default_source", "default_volumes"]


def default_volumes(volumes: list[dict[str, Any]]) -> None:
    """Complete the volumes of a pod in place; one without a source is an empty directory."""
    for volume in volumes:
        if len(volume) == ("name" in volume):
            volume["emptyDir"] = {}
            continue
        for name, source in volume.items():
            default = _SOURCES.get(name)
            if default is not None and source is not None:
                default(source)


def default_source(spec: dict[str, Any]) -> None:
    """Complete the source of a PersistentVolume in place."""
    for name, default in _PERSISTENT_SOURCES.items():
        source = spec.get(name)
        if source is not None:
            default(source)


def default_claim_spec(spec: dict[str, Any]) -> None:
    """Complete the spec of a claim in place."""
    if spec.get("volumeMode") is None:
        spec["volumeMode"] = "Filesystem"
    resources = spec.get("resources")
    if resources:
        default_resources(resources)


def default_resources(resources: dict[str, Any]) -> None:
    """Round requests and limits up to thousandths, in place."""
    for name in ("limits", "requests"):
        amounts = resources.get(name)
        if amounts:
            for resource, amount in amounts.items():
                amounts[resource] = in_millis(amount)


def default_field_reference(reference: dict[str, Any]) -> None:
    """Complete a reference to a field of the pod in place."""
    if not reference.get("apiVersion"):
        reference["apiVersion"] = "v1"


def _mode(source: dict[str, Any]) -> None:
    if source.get("defaultMode") is None:
        source["defaultMode"] = 420


def _downward(source: dict[str, Any]) -> None:
    _mode(source)
    _downward_items(source)


def _downward_items(source: dict[str, Any]) -> None:
    for item in source.get("items") or ():
        reference = item.get("fieldRef")
        if reference is not None:
            default_field_reference(reference)


def _projected(source: dict[str, Any]) -> None:
    _mode(source)
    for projection in source.get("sources") or ():
        downward = projection.get("downwardAPI")
        if downward is not None:
            _downward_items(downward)
        token = projection.get("serviceAccountToken")
        if token is not None and token.get("expirationSeconds") is None:
            token["expirationSeconds"] = 3600


def _host_path(source: dict[str, Any]) -> None:
    if source.get("type") is None:
        source["type"] = ""


def _image(source: dict[str, Any]) -> None:
    if not source.get("pullPolicy"):
        source["pullPolicy"] = pull_policy(source.get("reference") or "")


def _ephemeral(source: dict[str, Any]) -> None:
    template = source.get("volumeClaimTemplate")
    if template is not None:
        default_claim_spec(part(template, "spec"))


def _azure_disk(source: dict[str, Any]) -> None:
    for name, value in (("cachingMode", "ReadWrite"), ("fsType", "ext4"), ("readOnly", False), ("kind", "Shared")):
        if source.get(name) is None:
            source[name] = value


def _filling(**values: str) -> Default:
    def default(source: dict[str, Any]) -> None:
        for name, value in values.items():
            if not source.get(name):
                source[name] = value

    return default


_PERSISTENT_SOURCES: Final[dict[str, Default]] = {
    "azureDisk": _azure_disk,
    "hostPath": _host_path,
    "iscsi": _filling(iscsiInterface="default"),
    "rbd": _filling(pool="rbd", user="admin", keyring="/etc/ceph/keyring"),
    "scaleIO": _filling(storageMode="ThinProvisioned", fsType="xfs"),
}
_SOURCES: Final[dict[str, Default]] = {
    **_PERSISTENT_SOURCES,
    "configMap": _mode,
    "downwardAPI": _downward,
    "ephemeral": _ephemeral,
    "image": _image,
    "projected": _projected,
    "secret": _mode,
}
