"""Defaults of the groups storage.k8s.io and scheduling.k8s.io."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.defaulting.parts import Default, Key, part, set_missing
from kubewright_apiserver.defaulting.volume import default_source
from kubewright_apiserver.schema.amount import in_millis

__all__ = ["DEFAULTS"]


def _storage_class(storage_class: dict[str, Any]) -> None:
    set_missing(storage_class, {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"})


def _driver(driver: dict[str, Any]) -> None:
    spec = part(driver, "spec")
    set_missing(
        spec,
        {
            "attachRequired": True,
            "podInfoOnMount": False,
            "storageCapacity": False,
            "fsGroupPolicy": "ReadWriteOnceWithFSType",
            "requiresRepublish": False,
            "seLinuxMount": False,
        },
    )
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


def _attachment(attachment: dict[str, Any]) -> None:
    inline = part(part(attachment, "spec"), "source").get("inlineVolumeSpec")
    if inline is not None:
        capacity = inline.get("capacity") or {}
        for name, amount in capacity.items():
            capacity[name] = in_millis(amount)
        default_source(inline)


def _priority_class(priority_class: dict[str, Any]) -> None:
    set_missing(priority_class, {"preemptionPolicy": "PreemptLowerPriority"})


DEFAULTS: Final[dict[Key, Default]] = {
    ("scheduling.k8s.io", "v1", "PriorityClass"): _priority_class,
    ("storage.k8s.io", "v1", "CSIDriver"): _driver,
    ("storage.k8s.io", "v1", "StorageClass"): _storage_class,
    ("storage.k8s.io", "v1", "VolumeAttachment"): _attachment,
}
