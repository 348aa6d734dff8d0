"""Services: ports, addresses inside the cluster and outside, traffic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubewright_apiserver.schema.goprint import printed
from kubewright_apiserver.status import duplicate, forbidden_field, invalid_field, not_supported, required
from kubewright_apiserver.validation.address import cidr_errors, endpoint_ip, ip_errors, is_ip
from kubewright_apiserver.validation.container import PROTOCOLS
from kubewright_apiserver.validation.handler import port_number_or_name
from kubewright_apiserver.validation.labels import label_errors
from kubewright_apiserver.validation.metadata import created_metadata, updated_metadata
from kubewright_apiserver.validation.names import dns_label, dns_subdomain, port_number
from kubewright_apiserver.validation.rules import (
    Errors,
    Object,
    dns_label_errors,
    dns_subdomain_errors,
    enumerated,
    enumerated_if_set,
    named,
    qualified_errors,
    unchangeable,
)
from kubewright_apiserver.validation.service_address import (
    changed_addresses,
    changed_families,
    cluster_addresses,
    is_headless,
)

__all__ = ["created_service", "updated_service", "updated_service_status"]

_ONLY_BALANCED: Final = "may only be used when `type` is 'LoadBalancer'"
_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_POLICIES: Final = ("Cluster", "Local")
_DISTRIBUTIONS: Final = ("PreferClose", "PreferSameZone", "PreferSameNode")
_RANGES: Final = "service.beta.kubernetes.io/load-balancer-source-ranges"
_TOPOLOGY: Final = ("service.kubernetes.io/topology-mode", "service.kubernetes.io/topology-aware-hints")
_LONGEST_AFFINITY: Final = 86400


def created_service(service: Object) -> Errors:
    """The errors of a new Service."""
    return created_metadata(service, True, dns_label) + _service(service, None)


def updated_service(service: Object, old: Object) -> Errors:
    """The errors of a Service that is written over an old one."""
    spec, before = service["spec"], old["spec"]
    errors = updated_metadata(service, old) + changed_addresses(spec, before) + changed_families(spec, before)
    if spec.get("type") == before.get("type") == "LoadBalancer":
        new_class = spec.get("loadBalancerClass")
        if new_class != before.get("loadBalancerClass"):
            errors.append(invalid_field("spec.loadBalancerClass", new_class, "may not change once set"))
    errors += _balancer_class(spec)
    if _needs_health_check(spec) and _needs_health_check(before):
        new_port, old_port = (holder.get("healthCheckNodePort", 0) for holder in (spec, before))
        errors += unchangeable("spec.healthCheckNodePort", new_port, old_port, "field is immutable")
    return errors + _service(service, old)


def _service(service: Object, old: Object | None) -> Errors:
    spec, annotations = service["spec"], service["metadata"].get("annotations") or {}
    before = old["spec"] if old else {}
    mode, hints = (annotations.get(key) for key in _TOPOLOGY)
    errors: Errors = []
    if mode is not None and hints is not None and mode != hints:
        detail = f"must match annotations[{_TOPOLOGY[1]}] when both are specified"
        errors.append(invalid_field(f"metadata.annotations[{_TOPOLOGY[0]}]", mode, detail))
    errors += _by_type(spec) + _ports(spec.get("ports") or (), "spec.ports")
    errors += label_errors(spec.get("selector") or {}, "spec.selector")
    errors += _session_affinity(spec)
    errors += cluster_addresses(spec, before.get("clusterIPs") or ())
    for index, text in enumerate(spec.get("externalIPs") or ()):
        at = f"spec.externalIPs[{index}]"
        errors += ip_errors(at, text, before.get("externalIPs") or ()) or endpoint_ip(text, at)
    errors += enumerated("spec.type", spec.get("type"), _TYPES)
    errors += _distinct_ports(spec)
    errors += _source_ranges(spec, annotations, old)
    errors += _allocation(spec) + _balancer_class(spec) + _external_traffic(spec) + _internal_traffic(spec)
    distribution = spec.get("trafficDistribution")
    return errors + enumerated_if_set("spec.trafficDistribution", distribution, _DISTRIBUTIONS)


def _by_type(spec: Object) -> Errors:
    kind = spec.get("type")
    errors: Errors = []
    if not spec.get("ports") and not is_headless(spec) and kind != "ExternalName":
        errors.append(required("spec.ports"))
    if kind in ("LoadBalancer", "NodePort") and is_headless(spec):
        detail = f"may not be set to 'None' for {kind} services"
        errors.append(invalid_field("spec.clusterIPs[0]", "None", detail))
    if kind == "ExternalName":
        detail = "may not be set for ExternalName services"
        errors += [
            forbidden_field(f"spec.{name}", detail)
            for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
            if spec.get(name)
        ]
        name = spec.get("externalName", "").removesuffix(".")
        errors += dns_subdomain_errors("spec.externalName", name) if name else [required("spec.externalName")]
    return errors


def _ports(ports: Sequence[Object], path: str) -> Errors:
    errors: Errors = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        at, name, number = f"{path}[{index}]", port.get("name"), port.get("port", 0)
        if name:
            errors += dns_label_errors(f"{at}.name", name)
            if name in names:
                errors.append(duplicate(f"{at}.name", name))
            names.add(name)
        elif len(ports) > 1:
            errors.append(required(f"{at}.name"))
        errors += [invalid_field(f"{at}.port", number, message) for message in port_number(number)]
        errors += enumerated(f"{at}.protocol", port.get("protocol"), PROTOCOLS)
        errors += port_number_or_name(port.get("targetPort", 0), f"{at}.targetPort")
        if (protocol := port.get("appProtocol")) is not None:
            errors += qualified_errors(f"{at}.appProtocol", protocol)
    return errors


def _session_affinity(spec: Object) -> Errors:
    affinity, config, at = spec.get("sessionAffinity"), spec.get("sessionAffinityConfig"), "spec.sessionAffinityConfig"
    errors = enumerated("spec.sessionAffinity", affinity, ("ClientIP", "None"))
    if affinity == "ClientIP":
        return errors + _client_affinity(config, at)
    if affinity == "None" and config is not None:
        errors.append(forbidden_field(at, "must not be set when session affinity is None"))
    return errors


def _client_affinity(config: Object | None, path: str) -> Errors:
    told = "when session affinity type is ClientIP"
    if config is None:
        return [required(path, told)]
    if config.get("clientIP") is None:
        return [required(f"{path}.clientIP", told)]
    at, seconds = f"{path}.clientIP.timeoutSeconds", config["clientIP"].get("timeoutSeconds")
    if seconds is None:
        return [required(at, told)]
    if 0 < seconds <= _LONGEST_AFFINITY:
        return []
    return [invalid_field(at, seconds, f"must be greater than 0 and less than {_LONGEST_AFFINITY}")]


def _distinct_ports(spec: Object) -> Errors:
    ports = spec.get("ports") or ()
    errors: Errors = []
    if spec.get("type") == "ClusterIP":
        detail = "may not be used when `type` is 'ClusterIP'"
        errors += [
            forbidden_field(f"spec.ports[{index}].nodePort", detail)
            for index, port in enumerate(ports)
            if port.get("nodePort")
        ]
    taken: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        key = (port.get("protocol", ""), port.get("nodePort", 0))
        if key[1] and key in taken:
            errors.append(duplicate(f"spec.ports[{index}].nodePort", key[1]))
        taken.add(key)
    taken.clear()
    for index, port in enumerate(ports):
        key = (port.get("protocol", ""), port.get("port", 0))
        if key in taken:
            value = printed("core.ServicePort", {"protocol": key[0], "port": key[1], "targetPort": 0})
            errors.append(duplicate(f"spec.ports[{index}]", value))
        taken.add(key)
    return errors


def _source_ranges(spec: Object, annotations: dict[str, str], old: Object | None) -> Errors:
    ranges, balanced = spec.get("loadBalancerSourceRanges") or (), spec.get("type") == "LoadBalancer"
    errors: Errors = []
    if ranges:
        at = "spec.LoadBalancerSourceRanges"
        known = [text.strip() for text in (old or {"spec": {}})["spec"].get("loadBalancerSourceRanges") or ()]
        if not balanced:
            errors.append(forbidden_field(at, _ONLY_BALANCED))
        for index, text in enumerate(ranges):
            errors += cidr_errors(f"{at}[{index}]", text.strip(), known)
        return errors
    if _RANGES not in annotations:
        return []
    at, text = f"metadata.annotations[{_RANGES}]", annotations[_RANGES]
    if not balanced:
        errors.append(forbidden_field(at, _ONLY_BALANCED))
    was = ((old or {}).get("metadata", {}).get("annotations") or {}).get(_RANGES)
    if old is not None and was == text:
        return errors
    for part in text.strip().split(",") if text.strip() else ():
        errors += cidr_errors(at, part.strip())
    return errors


def _allocation(spec: Object) -> Errors:
    allocates, balanced = spec.get("allocateLoadBalancerNodePorts"), spec.get("type") == "LoadBalancer"
    if allocates is not None and not balanced:
        return [forbidden_field("spec.allocateLoadBalancerNodePorts", _ONLY_BALANCED)]
    return [required("allocateLoadBalancerNodePorts")] if balanced and allocates is None else []


def _balancer_class(spec: Object) -> Errors:
    name, at = spec.get("loadBalancerClass"), "spec.loadBalancerClass"
    if name is None:
        return []
    return qualified_errors(at, name) if spec.get("type") == "LoadBalancer" else [forbidden_field(at, _ONLY_BALANCED)]


def _is_external(spec: Object) -> bool:
    kind = spec.get("type")
    return kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def _needs_health_check(spec: Object) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _external_traffic(spec: Object) -> Errors:
    policy, port = spec.get("externalTrafficPolicy", ""), spec.get("healthCheckNodePort", 0)
    at = "spec.healthCheckNodePort"
    errors: Errors = []
    if _is_external(spec):
        errors += enumerated("spec.externalTrafficPolicy", policy, _POLICIES)
    elif policy:
        detail = "may only be set for externally-accessible services"
        errors.append(invalid_field("spec.externalTrafficPolicy", policy, detail))
    if not _needs_health_check(spec):
        detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        return [*errors, invalid_field(at, port, detail)] if port else errors
    if not port:
        return [*errors, required(at)]
    return errors + [invalid_field(at, port, message) for message in port_number(port)]


def _internal_traffic(spec: Object) -> Errors:
    policy, at = spec.get("internalTrafficPolicy"), "spec.internalTrafficPolicy"
    if policy is None:
        return [required(at)] if spec.get("type") in ("NodePort", "LoadBalancer", "ClusterIP") else []
    return [] if policy in _POLICIES else [not_supported(at, policy, _POLICIES)]


def updated_service_status(service: Object, old: Object) -> Errors:
    """The errors of a Service whose status is written."""
    new, before = (((holder.get("status") or {}).get("loadBalancer") or {}) for holder in (service, old))
    errors, found = updated_metadata(service, old), new.get("ingress") or ()
    at = "status.loadBalancer.ingress"
    if found and service["spec"].get("type") != "LoadBalancer":
        return [*errors, forbidden_field(at, "may only be used when `spec.type` is 'LoadBalancer'")]
    known = [ingress["ip"] for ingress in before.get("ingress") or () if ingress.get("ip")]
    for index, ingress in enumerate(found):
        errors += _ingress(ingress, f"{at}[{index}]", known)
    return errors


def _ingress(ingress: Object, path: str, known: Sequence[str]) -> Errors:
    text, mode = ingress.get("ip"), ingress.get("ipMode")
    errors = ip_errors(f"{path}.ip", text, known) if text else []
    if mode is None and text:
        errors.append(required(f"{path}.ipMode", "must be specified when `ip` is set"))
    elif mode is not None and not text:
        errors.append(forbidden_field(f"{path}.ipMode", "may not be specified when `ip` is not set"))
    else:
        errors += enumerated_if_set(f"{path}.ipMode", mode, ("Proxy", "VIP"))
    if hostname := ingress.get("hostname"):
        errors += named(dns_subdomain, f"{path}.hostname", hostname)
        if is_ip(hostname):
            detail = "must be a DNS name, not an IP address"
            errors.append(invalid_field(f"{path}.hostname", hostname, detail))
    return errors
