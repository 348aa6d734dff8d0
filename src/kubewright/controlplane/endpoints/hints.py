"""Hints: for whom an endpoint is meant, if a Service prefers traffic to stay near."""

from __future__ import annotations

from typing import Final

from kubewright.controlplane.endpoints.slices import Plan
from kubewright.kinds.core_v1 import Service
from kubewright.kinds.discovery_v1 import Endpoint, EndpointHints, EndpointSlice, ForNode, ForZone

__all__ = ["set_hints"]

_NEAR: Final = ("PreferClose", "PreferSameZone", "PreferSameNode")
_TOPOLOGY: Final = ("service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode")


def set_hints(service: Service, plan: Plan) -> None:
    """Set the hints of all endpoints that are written; what is otherwise right is written if its hints are wrong."""
    wish = service.spec.traffic_distribution or ""
    is_near = wish in _NEAR and not _is_topology_aware(service)
    by_node = wish == "PreferSameNode"
    for slice in [slice for slice in plan.keep if _is_wrong(slice, is_near=is_near, by_node=by_node)]:
        plan.keep.remove(slice)
        plan.update.append(slice)
    for slice in (*plan.create, *plan.update):
        for endpoint in slice.endpoints:
            if not is_near or _is_ready(endpoint):
                endpoint.hints = _hints(endpoint, by_node=by_node) if is_near else None


def _is_topology_aware(service: Service) -> bool:
    said = [service.metadata.annotations[name] for name in _TOPOLOGY if name in service.metadata.annotations]
    return bool(said) and said[0] in ("Auto", "auto")


def _is_wrong(slice: EndpointSlice, *, is_near: bool, by_node: bool) -> bool:
    if not is_near:
        return any(endpoint.hints is not None for endpoint in slice.endpoints)
    return any(
        (endpoint.hints or EndpointHints()) != (_hints(endpoint, by_node=by_node) or EndpointHints())
        for endpoint in slice.endpoints
        if _is_ready(endpoint)
    )


def _is_ready(endpoint: Endpoint) -> bool:
    return endpoint.conditions is not None and bool(endpoint.conditions.ready)


def _hints(endpoint: Endpoint, *, by_node: bool) -> EndpointHints | None:
    zones = [ForZone(name=endpoint.zone)] if endpoint.zone is not None else []
    nodes = [ForNode(name=endpoint.node_name)] if endpoint.node_name is not None and by_node else []
    return EndpointHints(for_zones=zones, for_nodes=nodes) if zones or nodes else None
