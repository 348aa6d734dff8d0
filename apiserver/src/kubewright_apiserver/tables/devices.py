"""The rows of devices and of claims to them."""

from __future__ import annotations

from typing import Any

from kubewright_apiserver.tables.ages import age_of, since
from kubewright_apiserver.tables.texts import part

__all__ = ["device_taint_cells", "resource_claim_cells", "resource_slice_cells"]


def resource_claim_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a ResourceClaim."""
    status = part(obj, "status")
    states = ["deleted"] if obj["metadata"].get("deletionTimestamp") else []
    if status.get("allocation") is not None:
        states += ["allocated", "reserved"] if status.get("reservedFor") else ["allocated"]
    return [obj["metadata"].get("name", ""), ",".join(states) or "pending", age_of(obj, now)]


def resource_slice_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a ResourceSlice."""
    spec = part(obj, "spec")
    told = [spec.get("nodeName") or "", spec.get("driver", ""), part(spec, "pool").get("name", "")]
    return [obj["metadata"].get("name", ""), *told, age_of(obj, now)]


def device_taint_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a DeviceTaintRule."""
    taint = part(obj, "spec", "taint")
    added = taint.get("timeAdded")
    told = [taint.get(name, "") for name in ("key", "value", "effect")]
    return [obj["metadata"].get("name", ""), *told, since(added, now) if added else "", age_of(obj, now)]
