"""Fields behind feature gates that are off in Kubernetes 1.36: dropped, unless the stored object has them already."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

__all__ = [
    "drop_disabled_claim_fields",
    "drop_disabled_pod_fields",
    "drop_disabled_pod_status_fields",
    "drop_disabled_slice_fields",
    "drop_unless_used",
]

Spec = dict[str, Any]
_PROJECTIONS: Final = ("clusterTrustBundle", "podCertificate")
_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")
_STATUSES: Final = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
_LISTS: Final = ("bools", "ints", "strings", "versions")


def drop_unless_used(spec: Spec | None, old: Spec | None, *names: str) -> None:
    """Drop fields that the old object does not have."""
    for name in names:
        if spec and name in spec and (old or {}).get(name) is None:
            del spec[name]


def drop_disabled_pod_fields(spec: Spec | None, old: Spec | None) -> None:
    """Drop what the spec of a pod or template may not say: stop signals, some projections, scheduling groups."""
    if not spec:
        return
    drop_unless_used(spec, old, "schedulingGroup")
    for name in _PROJECTIONS:
        _drop_projection(spec, old or {}, name)
    signalled = [container for container in _containers(spec) if "stopSignal" in (container.get("lifecycle") or {})]
    if signalled and not any(
        "stopSignal" in (container.get("lifecycle") or {}) for container in _containers(old or {})
    ):
        for container in signalled:
            del container["lifecycle"]["stopSignal"]
            if not container["lifecycle"]:
                del container["lifecycle"]


def _containers(spec: Spec) -> Iterator[dict[str, Any]]:
    for name in _CONTAINERS:
        yield from spec.get(name) or ()


def _drop_projection(spec: Spec, old: Spec, name: str) -> None:
    used = [source for source in _projections(spec) if name in source]
    if used and not any(name in source for source in _projections(old)):
        for source in used:
            del source[name]


def _projections(spec: Spec) -> Iterator[dict[str, Any]]:
    for volume in spec.get("volumes") or ():
        projected = volume.get("projected")
        if projected is not None:
            yield from projected.get("sources") or ()


def drop_disabled_pod_status_fields(status: Spec | None, old: Spec | None) -> None:
    """Drop what the status of a pod may not say: digests of image volumes, node resources of claims."""
    drop_unless_used(status, old, "nodeAllocatableResourceClaimStatuses")
    told = [mount for mount in _mounts(status) if "volumeStatus" in mount]
    if told and not any("volumeStatus" in mount for mount in _mounts(old)):
        for mount in told:
            del mount["volumeStatus"]


def _mounts(status: Spec | None) -> Iterator[dict[str, Any]]:
    for name in _STATUSES:
        for container in (status or {}).get(name) or ():
            yield from container.get("volumeMounts") or ()


def drop_disabled_claim_fields(spec: Spec, old: Spec | None) -> None:
    """Drop a data source in another namespace from the spec of a PersistentVolumeClaim."""
    reference = spec.get("dataSourceRef")
    if reference and reference.get("namespace") and not (old or {}).get("dataSourceRef"):
        del spec["dataSourceRef"]


def drop_disabled_slice_fields(spec: Spec, old: Spec | None) -> None:
    """Drop node resources and lists of attributes from the devices of a ResourceSlice."""
    devices, before = list(_devices(spec)), list(_devices(old or {}))
    if not any("nodeAllocatableResourceMappings" in device for device in before):
        for device in devices:
            device.pop("nodeAllocatableResourceMappings", None)
    if not any(name in attribute for device in before for attribute in _attributes(device) for name in _LISTS):
        for device in devices:
            for attribute in _attributes(device):
                for name in _LISTS:
                    attribute.pop(name, None)


def _devices(spec: Spec) -> Iterator[dict[str, Any]]:
    for device in spec.get("devices") or ():
        yield device["basic"] if device.get("basic") is not None else device


def _attributes(device: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from (device.get("attributes") or {}).values()
