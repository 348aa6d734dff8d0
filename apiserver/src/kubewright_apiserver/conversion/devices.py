"""Claims and slices of devices: version 1beta1 has flat requests, and devices that are all ``basic``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

__all__ = [
    "claim_in_v1",
    "claim_in_v1beta1",
    "slice_in_v1",
    "slice_in_v1beta1",
    "template_in_v1",
    "template_in_v1beta1",
]

Object = dict[str, Any]

_EXACT: Final = ("deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity")


def claim_in_v1(claim: Object) -> Object:
    """A ResourceClaim with what it asks for exactly in a part of its own."""
    return _with_requests(claim, _nested)


def claim_in_v1beta1(claim: Object) -> Object:
    """A ResourceClaim with what it asks for exactly among the fields of each request."""
    return _with_requests(claim, _flat)


def template_in_v1(template: Object) -> Object:
    """A ResourceClaimTemplate, as a claim."""
    return {**template, "spec": _with_requests(template.get("spec") or {}, _nested)}


def template_in_v1beta1(template: Object) -> Object:
    """A ResourceClaimTemplate, as a claim."""
    return {**template, "spec": _with_requests(template.get("spec") or {}, _flat)}


def _with_requests(claim: Object, change: Callable[[Object], Object]) -> Object:
    spec = claim.get("spec") or {}
    devices = spec.get("devices") or {}
    if not devices.get("requests"):
        return claim
    return {**claim, "spec": {**spec, "devices": {**devices, "requests": [*map(change, devices["requests"])]}}}


def _nested(request: Object) -> Object:
    exact = {name: request[name] for name in _EXACT if request.get(name) is not None}
    kept = {name: value for name, value in request.items() if name not in _EXACT}
    is_set = any(value not in ("", 0) or value is False for value in exact.values())
    return {**kept, "exactly": exact} if is_set else kept


def _flat(request: Object) -> Object:
    return {name: value for name, value in request.items() if name != "exactly"} | (request.get("exactly") or {})


def slice_in_v1(found: Object) -> Object:
    """A ResourceSlice with what each device is among its fields."""
    return _with_devices(found, lambda device: {"name": device.get("name", ""), **(device.get("basic") or {})})


def slice_in_v1beta1(found: Object) -> Object:
    """A ResourceSlice with what each device is in a part of its own."""
    return _with_devices(found, _basic)


def _basic(device: Object) -> Object:
    return {"name": device.get("name", ""), "basic": {name: device[name] for name in device if name != "name"}}


def _with_devices(found: Object, change: Callable[[Object], Object]) -> Object:
    spec = found.get("spec") or {}
    return {**found, "spec": {**spec, "devices": [*map(change, spec["devices"])]}} if spec.get("devices") else found
