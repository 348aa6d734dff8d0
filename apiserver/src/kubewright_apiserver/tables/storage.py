"""The rows of volumes and of what gives them."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.tables.ages import age_of
from kubewright_apiserver.tables.texts import NONE, UNSET, is_annotated, part

__all__ = [
    "claim_cells",
    "csi_driver_cells",
    "csi_node_cells",
    "storage_class_cells",
    "volume_attachment_cells",
    "volume_attributes_class_cells",
    "volume_cells",
]

_MODES: Final = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_DEFAULTS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def _modes(modes: list[str] | None) -> str:
    return ",".join(short for mode, short in _MODES.items() if mode in (modes or ()))


def _class_of(obj: dict[str, Any]) -> str:
    annotations = obj["metadata"].get("annotations") or {}
    found: str = annotations[_CLASS] if _CLASS in annotations else part(obj, "spec").get("storageClassName") or ""
    return found


def _phase(obj: dict[str, Any]) -> str:
    return "Terminating" if obj["metadata"].get("deletionTimestamp") else part(obj, "status").get("phase", "")


def _or_unset(value: str | None) -> str:
    return UNSET if value is None else value


def volume_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a PersistentVolume."""
    spec, claim = part(obj, "spec"), part(obj, "spec").get("claimRef")
    return [
        obj["metadata"].get("name", ""),
        part(spec, "capacity").get("storage", "0"),
        _modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(obj),
        "" if claim is None else f"{claim.get('namespace', '')}/{claim.get('name', '')}",
        _class_of(obj),
        _or_unset(spec.get("volumeAttributesClassName")),
        part(obj, "status").get("reason", ""),
        age_of(obj, now),
        _or_unset(spec.get("volumeMode")),
    ]


def claim_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a PersistentVolumeClaim."""
    spec, status = part(obj, "spec"), part(obj, "status")
    volume = spec.get("volumeName", "")
    return [
        obj["metadata"].get("name", ""),
        _phase(obj),
        volume,
        part(status, "capacity").get("storage", "0") if volume else "",
        _modes(status.get("accessModes")) if volume else "",
        _class_of(obj),
        _or_unset(spec.get("volumeAttributesClassName")),
        age_of(obj, now),
        _or_unset(spec.get("volumeMode")),
    ]


def storage_class_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a StorageClass."""
    return [
        obj["metadata"].get("name", "") + (" (default)" if is_annotated(obj, *_DEFAULTS) else ""),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy", "Delete"),
        obj.get("volumeBindingMode", "Immediate"),
        obj.get("allowVolumeExpansion", False),
        age_of(obj, now),
    ]


def volume_attributes_class_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a VolumeAttributesClass."""
    return [obj["metadata"].get("name", ""), obj.get("driverName", ""), age_of(obj, now)]


def volume_attachment_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a VolumeAttachment."""
    spec = part(obj, "spec")
    return [
        obj["metadata"].get("name", ""),
        spec.get("attacher", ""),
        part(spec, "source").get("persistentVolumeName") or "",
        spec.get("nodeName", ""),
        part(obj, "status").get("attached", False),
        age_of(obj, now),
    ]


def csi_node_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a CSINode."""
    return [obj["metadata"].get("name", ""), len(part(obj, "spec").get("drivers") or ()), age_of(obj, now)]


def csi_driver_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a CSIDriver."""
    spec = part(obj, "spec")
    requests = spec.get("tokenRequests")
    return [
        obj["metadata"].get("name", ""),
        spec.get("attachRequired", True),
        spec.get("podInfoOnMount", False),
        spec.get("storageCapacity", False),
        UNSET if requests is None else ",".join(one.get("audience", "") for one in requests),
        spec.get("requiresRepublish", False),
        ",".join(spec.get("volumeLifecycleModes") or ()) or NONE,
        age_of(obj, now),
    ]
