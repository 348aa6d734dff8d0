"""The versions of built-in kinds that have more than one, and the ways between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kubewright_apiserver.conversion.autoscaling import autoscaler_in_v1, autoscaler_in_v2
from kubewright_apiserver.conversion.devices import (
    claim_in_v1,
    claim_in_v1beta1,
    slice_in_v1,
    slice_in_v1beta1,
    template_in_v1,
    template_in_v1beta1,
)
from kubewright_apiserver.conversion.event import event_in_core_group, event_in_own_group

__all__ = ["converted", "stored_version"]

Object = dict[str, Any]
Conversion = Callable[[Object], Object]

# What is not named here is stored as it is served.
_STORED: Final = {
    ("events.k8s.io/v1", "Event"): "v1",
    ("autoscaling/v1", "HorizontalPodAutoscaler"): "autoscaling/v2",
    ("networking.k8s.io/v1beta1", "IPAddress"): "networking.k8s.io/v1",
    ("networking.k8s.io/v1beta1", "ServiceCIDR"): "networking.k8s.io/v1",
    ("storage.k8s.io/v1beta1", "VolumeAttributesClass"): "storage.k8s.io/v1",
    ("admissionregistration.k8s.io/v1beta1", "MutatingAdmissionPolicy"): "admissionregistration.k8s.io/v1",
    ("admissionregistration.k8s.io/v1beta1", "MutatingAdmissionPolicyBinding"): "admissionregistration.k8s.io/v1",
    **{
        (f"resource.k8s.io/{version}", kind): "resource.k8s.io/v1"
        for version in ("v1beta1", "v1beta2")
        for kind in ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")
    },
}
# What is not named here says the same in all its versions.
_FROM: Final[dict[tuple[str, str], Conversion]] = {
    ("events.k8s.io/v1", "Event"): event_in_core_group,
    ("autoscaling/v1", "HorizontalPodAutoscaler"): autoscaler_in_v2,
    ("resource.k8s.io/v1beta1", "ResourceClaim"): claim_in_v1,
    ("resource.k8s.io/v1beta1", "ResourceClaimTemplate"): template_in_v1,
    ("resource.k8s.io/v1beta1", "ResourceSlice"): slice_in_v1,
}
_TO: Final[dict[tuple[str, str], Conversion]] = {
    ("events.k8s.io/v1", "Event"): event_in_own_group,
    ("autoscaling/v1", "HorizontalPodAutoscaler"): autoscaler_in_v1,
    ("resource.k8s.io/v1beta1", "ResourceClaim"): claim_in_v1beta1,
    ("resource.k8s.io/v1beta1", "ResourceClaimTemplate"): template_in_v1beta1,
    ("resource.k8s.io/v1beta1", "ResourceSlice"): slice_in_v1beta1,
}


def stored_version(api_version: str, kind: str) -> str:
    """The ``apiVersion`` that objects of a kind are stored at, which may be that in which they are served."""
    return _STORED.get((api_version, kind), api_version)


def converted(obj: Object, api_version: str) -> Object:
    """The object in another version of its kind; itself if it is in that version. It is not changed."""
    named, kind = obj["apiVersion"], obj["kind"]
    if named == api_version:
        return obj
    for step in (_FROM.get((named, kind)), _TO.get((api_version, kind))):
        if step is not None:
            obj = step(obj)
    return {**obj, "kind": kind, "apiVersion": api_version}
