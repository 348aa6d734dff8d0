"""What a Service loses when its type changes: fields that no longer apply and that nobody changed."""

from __future__ import annotations

from typing import Any

from kubewright_apiserver.defaulting.service import is_external

__all__ = ["drop_internal_policy", "drop_unfit_fields", "needs_address", "needs_health_port"]

Spec = dict[str, Any]


def needs_address(spec: Spec) -> bool:
    """Whether a Service has an address in the cluster, if only ``None``."""
    return spec.get("type") != "ExternalName"


def needs_health_port(spec: Spec) -> bool:
    """Whether a load balancer asks the nodes of a Service for their health."""
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def drop_unfit_fields(service: dict[str, Any], old: dict[str, Any]) -> None:
    """Drop in place what the old type needed and the new one does not, where the user did not set it anew."""
    spec, before = service["spec"], old["spec"]
    if needs_address(before) and not needs_address(spec):
        _drop_addresses(spec, before)
    if _has_node_ports(before) and not _has_node_ports(spec) and _node_ports(before) >= _node_ports(spec):
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
    if needs_health_port(before) and not needs_health_port(spec):
        _drop_same(spec, before, "healthCheckNodePort")
    if before.get("type") == "LoadBalancer" and spec.get("type") != "LoadBalancer":
        _drop_same(spec, before, "allocateLoadBalancerNodePorts")
        _drop_same(spec, before, "loadBalancerClass")
    if is_external(before) and not is_external(spec):
        _drop_same(spec, before, "externalTrafficPolicy")
    if spec.get("type") != "LoadBalancer":
        service["status"] = {**(service.get("status") or {}), "loadBalancer": {}}


def drop_internal_policy(service: dict[str, Any]) -> None:
    """Drop in place what a Service for an external name is never shown with."""
    spec = service["spec"]
    if spec.get("type") == "ExternalName":
        spec.pop("internalTrafficPolicy", None)


def _drop_addresses(spec: Spec, old: Spec) -> None:
    if all(spec.get(name) == old.get(name) for name in ("clusterIP", "clusterIPs")):
        spec.pop("clusterIP", None)
        spec.pop("clusterIPs", None)
    _drop_same(spec, old, "ipFamilies")
    _drop_same(spec, old, "ipFamilyPolicy")


def _drop_same(spec: Spec, old: Spec, name: str) -> None:
    if name in spec and spec[name] == old.get(name):
        del spec[name]


def _has_node_ports(spec: Spec) -> bool:
    return spec.get("type") in ("NodePort", "LoadBalancer")


def _node_ports(spec: Spec) -> set[int]:
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}
