"""Defaults of Services, as far as they need no addresses; those are given by ``service_allocation``."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.defaulting.parts import part

__all__ = ["default_service", "is_external"]

_REACHABLE: Final = ("NodePort", "LoadBalancer", "ClusterIP")
_AFFINITY_SECONDS: Final = 10800


def default_service(service: dict[str, Any]) -> None:
    """Complete a Service in place."""
    spec = part(service, "spec")
    _default_affinity(spec)
    if not spec.get("type"):
        spec["type"] = "ClusterIP"
    for port in spec.get("ports") or ():
        if not port.get("protocol"):
            port["protocol"] = "TCP"
        if not port.get("targetPort"):
            port["targetPort"] = port.get("port", 0)
    if is_external(spec) and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if spec.get("internalTrafficPolicy") is None and spec["type"] in _REACHABLE:
        spec["internalTrafficPolicy"] = "Cluster"
    if spec["type"] == "LoadBalancer":
        _default_balancer(service, spec)


def is_external(spec: dict[str, Any]) -> bool:
    """Whether a Service can be reached from outside of the cluster."""
    return spec.get("type") in ("LoadBalancer", "NodePort") or (
        spec.get("type") == "ClusterIP" and bool(spec.get("externalIPs"))
    )


def _default_affinity(spec: dict[str, Any]) -> None:
    affinity = spec.get("sessionAffinity")
    if not affinity:
        affinity = spec["sessionAffinity"] = "None"
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        client = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if client.get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}


def _default_balancer(service: dict[str, Any], spec: dict[str, Any]) -> None:
    if spec.get("allocateLoadBalancerNodePorts") is None:
        spec["allocateLoadBalancerNodePorts"] = True
    balancer = (service.get("status") or {}).get("loadBalancer") or {}
    for ingress in balancer.get("ingress") or ():
        if ingress.get("ip") and ingress.get("ipMode") is None:
            ingress["ipMode"] = "VIP"
