"""Warnings about Services, endpoints, policies and other objects of the network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubewright_apiserver.golang import go_quoted
from kubewright_apiserver.validation.rules import Object
from kubewright_apiserver.validation.warnings_address import cidr_warnings, ip_warnings

__all__ = [
    "endpoints_warnings",
    "ingress_warnings",
    "load_balancer_warnings",
    "policy_warnings",
    "service_warnings",
    "slice_warnings",
]

_HINTS: Final = "service.kubernetes.io/topology-aware-hints"
_MODE: Final = "service.kubernetes.io/topology-mode"
_CLASS: Final = "kubernetes.io/ingress.class"
_BY_CONTROLLER: Final = ("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io")


def service_warnings(service: Object) -> Iterator[str]:
    """Warnings about a Service."""
    spec = service["spec"]
    kind, external = spec.get("type", ""), spec.get("externalIPs") or []
    is_headless = kind == "ClusterIP" and spec.get("clusterIP") == "None"
    if _HINTS in (service["metadata"].get("annotations") or {}):
        yield f"annotation {_HINTS} is deprecated, please use {_MODE} instead"
    if kind != "ExternalName" and spec.get("clusterIP") not in (None, "", "None"):
        for index, address in enumerate(spec.get("clusterIPs") or ()):
            yield from ip_warnings(f"spec.clusterIPs[{index}]", address)
    if is_headless:
        yield from _headless_warnings(spec)
    for index, address in enumerate(external):
        yield from ip_warnings(f"spec.externalIPs[{index}]", address)
    if external and not is_headless and kind != "ExternalName":
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    yield from ip_warnings("spec.loadBalancerIP", spec.get("loadBalancerIP") or "")
    for index, network in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        yield from cidr_warnings(f"spec.loadBalancerSourceRanges[{index}]", network)
    yield from _name_warnings(spec, kind)
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


def _headless_warnings(spec: Object) -> Iterator[str]:
    if spec.get("loadBalancerIP"):
        yield "spec.loadBalancerIP is ignored for headless services"
    if spec.get("externalIPs"):
        yield "spec.externalIPs is ignored for headless services"
    if spec.get("sessionAffinity") != "None":
        yield "spec.SessionAffinity is ignored for headless services"


def _name_warnings(spec: Object, kind: str) -> Iterator[str]:
    if kind == "ExternalName" and spec.get("externalIPs"):
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if kind != "ExternalName" and spec.get("externalName"):
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'


def load_balancer_warnings(obj: Object) -> Iterator[str]:
    """Warnings about the addresses in the status of a Service or an Ingress."""
    balancer = (obj.get("status") or {}).get("loadBalancer") or {}
    for index, ingress in enumerate(balancer.get("ingress") or ()):
        yield from ip_warnings(f"status.loadBalancer.ingress[{index}]", ingress.get("ip") or "")


def ingress_warnings(ingress: Object) -> Iterator[str]:
    """Warnings about a new Ingress."""
    annotations = ingress["metadata"].get("annotations") or {}
    if _CLASS in annotations and ingress["spec"].get("ingressClassName") is None:
        yield f"annotation {go_quoted(_CLASS)} is deprecated, please use 'spec.ingressClassName' instead"


def policy_warnings(policy: Object) -> Iterator[str]:
    """Warnings about the ranges in a NetworkPolicy."""
    spec = policy.get("spec") or {}
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(direction) or ()):
            for place, peer in enumerate(rule.get(peers) or ()):
                yield from _block_warnings(peer.get("ipBlock"), f"spec.{direction}[{index}].{peers}[{place}].ipBlock")


def _block_warnings(block: Object | None, path: str) -> Iterator[str]:
    if block is None:
        return
    yield from cidr_warnings(f"{path}.cidr", block.get("cidr", ""))
    for index, network in enumerate(block.get("except") or ()):
        yield from cidr_warnings(f"{path}.except[{index}]", network)


def endpoints_warnings(endpoints: Object) -> Iterator[str]:
    """Warnings about the addresses of Endpoints that no controller made."""
    labels = endpoints["metadata"].get("labels") or {}
    if labels.get("endpoints.kubernetes.io/managed-by") == "endpoint-controller":
        return
    for index, subset in enumerate(endpoints.get("subsets") or ()):
        for kind in ("addresses", "notReadyAddresses"):
            for place, address in enumerate(subset.get(kind) or ()):
                yield from ip_warnings(f"subsets[{index}].{kind}[{place}].ip", address.get("ip", ""))


def slice_warnings(found: Object, *, is_new: bool) -> Iterator[str]:
    """Warnings about an EndpointSlice that no controller made."""
    if is_new and found.get("addressType") == "FQDN":
        yield "spec.addressType: FQDN endpoints are deprecated"
    labels = found["metadata"].get("labels") or {}
    if labels.get("endpointslice.kubernetes.io/managed-by") in _BY_CONTROLLER:
        return
    for index, endpoint in enumerate(found.get("endpoints") or ()):
        for place, address in enumerate(endpoint.get("addresses") or ()):
            yield from ip_warnings(f"endpoints[{index}].addresses[{place}]", address)
