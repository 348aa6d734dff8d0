"""Endpoints and EndpointSlices: where the traffic of a Service goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubewright_apiserver.status import duplicate, invalid_field, not_supported, required, too_many
from kubewright_apiserver.validation.address import canonical_ip_errors, endpoint_ip, ip_errors, is_ipv6
from kubewright_apiserver.validation.container import PROTOCOLS
from kubewright_apiserver.validation.labels import label_errors
from kubewright_apiserver.validation.metadata import created_metadata, updated_metadata
from kubewright_apiserver.validation.names import dns_label, dns_subdomain, label_value, port_number
from kubewright_apiserver.validation.rules import (
    Errors,
    Object,
    dns_label_errors,
    enumerated,
    immutable,
    named,
    named_if_set,
    qualified_errors,
)

__all__ = ["created_endpoint_slice", "created_endpoints", "updated_endpoint_slice", "updated_endpoints"]

_ADDRESS_TYPES: Final = ("FQDN", "IPv4", "IPv6")


def created_endpoints(obj: Object) -> Errors:
    """The errors of new Endpoints."""
    return created_metadata(obj, True, dns_subdomain) + _subsets(obj.get("subsets") or (), "subsets")


def updated_endpoints(obj: Object, old: Object) -> Errors:
    """The errors of Endpoints that are written over old ones, whose subsets may stay as they were."""
    errors = updated_metadata(obj, old) + created_metadata(obj, True, dns_subdomain)
    if obj.get("subsets") == old.get("subsets"):
        return errors
    return errors + _subsets(obj.get("subsets") or (), "subsets")


def _subsets(subsets: Sequence[Object], path: str) -> Errors:
    errors: Errors = []
    for index, subset in enumerate(subsets):
        at, ports = f"{path}[{index}]", subset.get("ports") or ()
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            errors.append(required(at, "must specify `addresses` or `notReadyAddresses`"))
        for field in ("addresses", "notReadyAddresses"):
            for place, address in enumerate(subset.get(field) or ()):
                errors += _address(address, f"{at}.{field}[{place}]")
        for place, port in enumerate(ports):
            errors += _port(port, f"{at}.ports[{place}]", len(ports) > 1)
    return errors


def _address(address: Object, path: str) -> Errors:
    text = address.get("ip", "")
    errors = ip_errors(f"{path}.ip", text)
    errors += named_if_set(dns_label, f"{path}.hostname", address.get("hostname"))
    if (node := address.get("nodeName")) is not None:
        errors += named(dns_subdomain, f"{path}.nodeName", node)
    return errors + endpoint_ip(text, f"{path}.ip")


def _port(port: Object, path: str, needs_name: bool) -> Errors:
    name, number = port.get("name"), port.get("port", 0)
    errors = [required(f"{path}.name")] if needs_name and not name else []
    errors += named_if_set(dns_label, f"{path}.name", name)
    errors += [invalid_field(f"{path}.port", number, message) for message in port_number(number)]
    errors += enumerated(f"{path}.protocol", port.get("protocol"), PROTOCOLS)
    if (protocol := port.get("appProtocol")) is not None:
        errors += qualified_errors(f"{path}.appProtocol", protocol)
    return errors


def created_endpoint_slice(obj: Object) -> Errors:
    """The errors of a new EndpointSlice."""
    return _slice(obj, checks_endpoints=True)


def updated_endpoint_slice(obj: Object, old: Object) -> Errors:
    """The errors of an EndpointSlice that is written over an old one, whose endpoints may stay as they were."""
    errors = _slice(obj, checks_endpoints=obj.get("endpoints") != old.get("endpoints"))
    return errors + immutable("addressType", obj.get("addressType"), old.get("addressType"))


def _slice(obj: Object, *, checks_endpoints: bool) -> Errors:
    kind = obj.get("addressType", "")
    errors = created_metadata(obj, True, dns_subdomain)
    errors += enumerated("addressType", kind, _ADDRESS_TYPES)
    errors += _slice_ports(obj.get("ports") or (), "ports")
    return errors + (_endpoints(obj.get("endpoints") or (), kind, "endpoints") if checks_endpoints else [])


def _slice_ports(ports: Sequence[Object], path: str) -> Errors:
    if len(ports) > 20000:
        return [too_many(path, len(ports), 20000)]
    errors: Errors = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        at, name, protocol = f"{path}[{index}]", port.get("name", ""), port.get("protocol")
        errors += named_if_set(dns_label, f"{at}.name", name)
        if name in names:
            errors.append(duplicate(f"{at}.name", name))
        names.add(name)
        if protocol is None:
            errors.append(required(f"{at}.protocol"))
        elif protocol not in PROTOCOLS:
            errors.append(not_supported(f"{at}.protocol", protocol, PROTOCOLS))
        if (app := port.get("appProtocol")) is not None:
            errors += qualified_errors(f"{at}.appProtocol", app)
    return errors


def _endpoints(endpoints: Sequence[Object], kind: str, path: str) -> Errors:
    if len(endpoints) > 1000:
        return [too_many(path, len(endpoints), 1000)]
    errors: Errors = []
    for index, endpoint in enumerate(endpoints):
        at, addresses = f"{path}[{index}]", endpoint.get("addresses") or ()
        if not addresses:
            errors.append(required(f"{at}.addresses", "must contain at least 1 address"))
        elif len(addresses) > 100:
            errors.append(too_many(f"{at}.addresses", len(addresses), 100))
        for place, address in enumerate(addresses):
            errors += _slice_address(address, kind, f"{at}.addresses", place)
        if (node := endpoint.get("nodeName")) is not None:
            errors += named(dns_subdomain, f"{at}.nodeName", node)
        topology = endpoint.get("deprecatedTopology") or {}
        if len(topology) > 16:
            errors.append(too_many(f"{at}.deprecatedTopology", len(topology), 16))
        errors += label_errors(topology, f"{at}.deprecatedTopology")
        if (hostname := endpoint.get("hostname")) is not None:
            errors += dns_label_errors(f"{at}.hostname", hostname)
        errors += _hints(endpoint.get("hints") or {}, f"{at}.hints")
    return errors


def _slice_address(address: str, kind: str, path: str, place: int) -> Errors:
    at = f"{path}[{place}]"
    if kind == "FQDN":
        return _domain_name(address, at)
    if kind not in ("IPv4", "IPv6"):
        return []
    if errors := ip_errors(at, address) if kind == "IPv4" else canonical_ip_errors(at, address):
        return errors
    wrong = is_ipv6(address) != (kind == "IPv6")
    errors = [invalid_field(path, address, f"must be an {kind} address")] if wrong else []
    return errors + endpoint_ip(address, at)


def _domain_name(name: str, path: str) -> Errors:
    if not name:
        return [required(path)]
    name = name.removesuffix(".")
    if messages := dns_subdomain(name):
        return [invalid_field(path, name, ",".join(messages))]
    if "." not in name:
        detail = "should be a domain with at least two segments separated by dots"
        return [invalid_field(path, name, detail)]
    for label in name.split("."):
        if messages := dns_label(label):
            return [invalid_field(path, label, ",".join(messages))]
    return []


def _hints(hints: Object, path: str) -> Errors:
    errors: Errors = []
    for field, rule in (("forZones", label_value), ("forNodes", dns_subdomain)):
        found, at = hints.get(field) or (), f"{path}.{field}"
        if len(found) > 8:
            return [*errors, too_many(at, len(found), 8)]
        names = [hint.get("name", "") for hint in found]
        for index, name in enumerate(names):
            if name in names[:index]:
                errors.append(duplicate(f"{at}[{index}].name", name))
            errors += named(rule, f"{at}[{index}].name", name)
    return errors
