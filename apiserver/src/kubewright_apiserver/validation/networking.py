"""NetworkPolicies, IPAddresses and ServiceCIDRs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubewright_apiserver.schema.goprint import printed
from kubewright_apiserver.status import forbidden_field, invalid_field, not_supported, required
from kubewright_apiserver.validation.address import (
    canonical_cidr_errors,
    canonical_ip_errors,
    cidr_errors,
    family,
    parse_cidr,
)
from kubewright_apiserver.validation.labels import selector_errors
from kubewright_apiserver.validation.metadata import created_metadata, updated_metadata
from kubewright_apiserver.validation.names import dns_subdomain, path_segment, port_name, port_number
from kubewright_apiserver.validation.rules import IMMUTABLE, Errors, Object, named, named_if_set, named_required

__all__ = [
    "created_ip_address",
    "created_network_policy",
    "created_service_cidr",
    "ip_address_name",
    "updated_ip_address",
    "updated_network_policy",
    "updated_service_cidr",
]

_CIDRS: Final = "spec.cidrs"


def created_network_policy(obj: Object) -> Errors:
    """The errors of a new NetworkPolicy."""
    return created_metadata(obj, True, dns_subdomain) + _policy(obj.get("spec") or {}, ())


def updated_network_policy(obj: Object, old: Object) -> Errors:
    """The errors of a NetworkPolicy that is written over an old one, whose ranges may stay as they were."""
    known = [
        text
        for direction, peers in (("ingress", "from"), ("egress", "to"))
        for rule in (old.get("spec") or {}).get(direction) or ()
        for peer in rule.get(peers) or ()
        for text in _ranges(peer.get("ipBlock") or {})
    ]
    return updated_metadata(obj, old) + _policy(obj.get("spec") or {}, known)


def _ranges(block: Object) -> list[str]:
    return [block.get("cidr", ""), *(block.get("except") or ())]


def _policy(spec: Object, known: Sequence[str]) -> Errors:
    errors = selector_errors(spec.get("podSelector"), "spec.podSelector")
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(direction) or ()):
            at = f"spec.{direction}[{index}]"
            for place, port in enumerate(rule.get("ports") or ()):
                errors += _port(port, f"{at}.ports[{place}]")
            for place, peer in enumerate(rule.get(peers) or ()):
                errors += _peer(peer, f"{at}.{peers}[{place}]", known)
    types, at = spec.get("policyTypes") or [], "spec.policyTypes"
    if len(types) > 2:
        return [*errors, invalid_field(at, types, "may not specify more than two policyTypes")]
    return errors + [
        not_supported(f"{at}[{index}]", kind, ("Ingress", "Egress"))
        for index, kind in enumerate(types)
        if kind not in ("Ingress", "Egress")
    ]


def _port(found: Object, path: str) -> Errors:
    protocol, port, end = found.get("protocol"), found.get("port"), found.get("endPort")
    errors: Errors = []
    if protocol not in (None, "TCP", "UDP", "SCTP"):
        errors.append(not_supported(f"{path}.protocol", protocol, ("TCP", "UDP", "SCTP")))
    if isinstance(port, int):
        errors += [invalid_field(f"{path}.port", port, message) for message in port_number(port)]
        if end is not None and end < port:
            errors.append(invalid_field(f"{path}.endPort", port, "must be greater than or equal to `port`"))
        messages = port_number(end) if end is not None else ()
        return errors + [invalid_field(f"{path}.endPort", end, message) for message in messages]
    if end is not None:
        detail = "non-numeric" if port is not None else "not specified"
        errors.append(invalid_field(f"{path}.endPort", end, f"may not be specified when `port` is {detail}"))
    return errors if port is None else errors + named(port_name, f"{path}.port", port)


def _peer(peer: Object, path: str, known: Sequence[str]) -> Errors:
    present = [name for name in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(name) is not None]
    errors: Errors = []
    for name in present:
        errors += (
            _block(peer[name], f"{path}.{name}", known)
            if name == "ipBlock"
            else selector_errors(peer[name], f"{path}.{name}")
        )
    if not present:
        errors.append(required(path, "must specify a peer"))
    elif len(present) > 1 and "ipBlock" in present:
        errors.append(forbidden_field(path, "may not specify both ipBlock and another peer"))
    return errors


def _block(block: Object, path: str, known: Sequence[str]) -> Errors:
    text = block.get("cidr")
    if not text:
        return [required(f"{path}.cidr")]
    errors, network = cidr_errors(f"{path}.cidr", text, known), parse_cidr(text)
    if network is None:
        return errors
    for index, text in enumerate(block.get("except") or ()):
        at, inner = f"{path}.except[{index}]", parse_cidr(text)
        errors += cidr_errors(at, text, known)
        if inner is None:
            continue
        if inner.network_address not in network or network.prefixlen >= inner.prefixlen:
            errors.append(invalid_field(at, text, "must be a strict subset of `cidr`"))
    return errors


def ip_address_name(text: str) -> tuple[str, ...]:
    """What keeps a text from naming an IPAddress: it must be one, in its canonical form."""
    return tuple(error.detail for error in canonical_ip_errors("", text))


def created_ip_address(obj: Object) -> Errors:
    """The errors of a new IPAddress."""
    errors = created_metadata(obj, False, ip_address_name)
    parent, at = (obj.get("spec") or {}).get("parentRef"), "spec.parentRef"
    if parent is None:
        return [*errors, required(at)]
    errors += named_if_set(dns_subdomain, f"{at}.group", parent.get("group"))
    errors += named_required(path_segment, f"{at}.resource", parent.get("resource"))
    errors += named_required(path_segment, f"{at}.name", parent.get("name"))
    return errors + named_if_set(path_segment, f"{at}.namespace", parent.get("namespace"))


def updated_ip_address(obj: Object, old: Object) -> Errors:
    """The errors of an IPAddress that is written over an old one."""
    new, before = (
        printed("*networking.ParentReference", (holder.get("spec") or {}).get("parentRef")) for holder in (obj, old)
    )
    errors = created_ip_address(obj) + updated_metadata(obj, old)
    return errors if new == before else [*errors, invalid_field("spec.parentRef", new, IMMUTABLE)]


def created_service_cidr(obj: Object) -> Errors:
    """The errors of a new ServiceCIDR."""
    return created_metadata(obj, False, dns_subdomain) + _cidrs((obj.get("spec") or {}).get("cidrs") or [])


def _cidrs(cidrs: list[str]) -> Errors:
    if not cidrs:
        return [required(_CIDRS, "at least one CIDR required")]
    if len(cidrs) > 2:
        value = printed("networking.ServiceCIDRSpec", {"cidrs": cidrs})
        return [invalid_field(_CIDRS, value, "may only hold up to 2 values")]
    errors: Errors = []
    for index, cidr in enumerate(cidrs):
        errors += canonical_cidr_errors(f"{_CIDRS}[{index}]", cidr)
    families = [family(cidr) if parse_cidr(cidr) else "" for cidr in cidrs]
    if len(cidrs) == 2 and families[0] == families[1] != "":
        detail = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        errors.append(invalid_field(_CIDRS, cidrs, detail))
    return errors


def updated_service_cidr(obj: Object, old: Object) -> Errors:
    """The errors of a ServiceCIDR that is written over an old one."""
    new, before = ((holder.get("spec") or {}).get("cidrs") or [] for holder in (obj, old))
    errors = updated_metadata(obj, old)
    if len(new) == len(before):
        changed = [index for index, cidr in enumerate(before) if cidr != new[index]]
        return errors + [invalid_field(f"{_CIDRS}[{index}]", new[index], IMMUTABLE) for index in changed]
    if len(before) == 1 and len(new) == 2:
        if new[0] != before[0]:
            errors.append(invalid_field(f"{_CIDRS}[0]", new[0], IMMUTABLE))
        return errors + _cidrs(new)
    return [*errors, invalid_field(_CIDRS, new, IMMUTABLE)]
