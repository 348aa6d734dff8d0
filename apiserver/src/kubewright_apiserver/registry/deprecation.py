"""Which versions of built-in kinds are deprecated in Kubernetes 1.36, and what clients of them are told."""

from __future__ import annotations

from typing import Final

__all__ = ["deprecation_of"]

_DEVICES: Final = ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")
_DEPRECATED: Final = {
    ("v1", "ComponentStatus"): "v1.19+",
    ("v1", "Endpoints"): "v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    ("coordination.k8s.io/v1beta1", "LeaseCandidate"): "v1.36+, unavailable in v1.39+",
    ("networking.k8s.io/v1beta1", "IPAddress"): "v1.34+, unavailable in v1.37+",
    ("networking.k8s.io/v1beta1", "ServiceCIDR"): "v1.34+, unavailable in v1.37+",
    ("storage.k8s.io/v1beta1", "VolumeAttributesClass"): (
        "v1.34+, unavailable in v1.37+; use storage.k8s.io/v1 VolumeAttributesClass"
    ),
    **{("resource.k8s.io/v1beta1", kind): "v1.35+, unavailable in v1.38+" for kind in _DEVICES},
    **{("resource.k8s.io/v1beta2", kind): "v1.36+, unavailable in v1.39+" for kind in _DEVICES},
}


def deprecation_of(api_version: str, kind: str) -> str:
    """The warning that every client of a version of a kind gets; empty for most."""
    told = _DEPRECATED.get((api_version, kind))
    return f"{api_version} {kind} is deprecated in {told}" if told else ""
