"""Defaults of the group resource.k8s.io, in all its versions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kubewright_apiserver.defaulting.parts import Default, Key, part

__all__ = ["DEFAULTS"]

_GROUP: Final = "resource.k8s.io"


def _claim(claim: dict[str, Any]) -> None:
    _default_requests(part(claim, "spec"))
    allocation = (claim.get("status") or {}).get("allocation") or {}
    for result in (allocation.get("devices") or {}).get("results") or ():
        _default_tolerations(result)


def _template(template: dict[str, Any]) -> None:
    _default_requests(part(part(template, "spec"), "spec"))


def _default_requests(spec: dict[str, Any]) -> None:
    for request in _requests(spec):
        if not request.get("allocationMode"):
            request["allocationMode"] = "ExactCount"
        if request["allocationMode"] == "ExactCount" and not request.get("count"):
            request["count"] = 1
        _default_tolerations(request)


def _requests(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for request in part(spec, "devices").get("requests") or ():
        if request.get("exactly") is not None:
            yield request["exactly"]
        yield from request.get("firstAvailable") or ()


def _flat_claim(claim: dict[str, Any]) -> None:
    _default_flat(part(claim, "spec"))
    _claim(claim)


def _flat_template(template: dict[str, Any]) -> None:
    _default_flat(part(part(template, "spec"), "spec"))
    _template(template)


def _default_flat(spec: dict[str, Any]) -> None:
    """Requests of v1beta1, which say themselves what later versions say in ``exactly``."""
    for request in part(spec, "devices").get("requests") or ():
        _default_tolerations(request)
        if request.get("deviceClassName"):
            if not request.get("allocationMode"):
                request["allocationMode"] = "ExactCount"
            if request["allocationMode"] == "ExactCount" and not request.get("count"):
                request["count"] = 1


def _default_tolerations(request: dict[str, Any]) -> None:
    for toleration in request.get("tolerations") or ():
        if not toleration.get("operator"):
            toleration["operator"] = "Equal"


DEFAULTS: Final[dict[Key, Default]] = {
    (_GROUP, "v1", "ResourceClaim"): _claim,
    (_GROUP, "v1", "ResourceClaimTemplate"): _template,
    (_GROUP, "v1beta1", "ResourceClaim"): _flat_claim,
    (_GROUP, "v1beta1", "ResourceClaimTemplate"): _flat_template,
    (_GROUP, "v1beta2", "ResourceClaim"): _claim,
    (_GROUP, "v1beta2", "ResourceClaimTemplate"): _template,
}
