"""Defaults of the groups networking.k8s.io and discovery.k8s.io."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.defaulting.parts import Default, Key, part

__all__ = ["DEFAULTS"]


def _network_policy(policy: dict[str, Any]) -> None:
    spec = part(policy, "spec")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for direction in ("ingress", "egress"):
        for rule in spec.get(direction) or ():
            for port in rule.get("ports") or ():
                if port.get("protocol") is None:
                    port["protocol"] = "TCP"


def _ingress_class(ingress_class: dict[str, Any]) -> None:
    parameters = part(ingress_class, "spec").get("parameters")
    if parameters is not None and parameters.get("scope") is None:
        parameters["scope"] = "Cluster"


def _endpoint_slice(endpoint_slice: dict[str, Any]) -> None:
    for port in endpoint_slice.get("ports") or ():
        if port.get("name") is None:
            port["name"] = ""
        if port.get("protocol") is None:
            port["protocol"] = "TCP"


DEFAULTS: Final[dict[Key, Default]] = {
    ("discovery.k8s.io", "v1", "EndpointSlice"): _endpoint_slice,
    ("networking.k8s.io", "v1", "IngressClass"): _ingress_class,
    ("networking.k8s.io", "v1", "NetworkPolicy"): _network_policy,
}
