"""The subsets of an Endpoints object: addresses that offer the same ports, ready and not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from kubewright.controlplane.endpoints.members import addresses_of, has_own_name, is_worth_telling, port_in
from kubewright.controlplane.endpoints.order import port_hash, subset_hash
from kubewright.controlplane.pods import is_ready
from kubewright.kinds.core_v1 import EndpointAddress, EndpointPort, EndpointSubset, ObjectReference, Pod, Service

__all__ = ["MOST_ADDRESSES", "packed", "subsets_of", "truncate"]

MOST_ADDRESSES: Final = 1000
"""More an Endpoints object does not hold."""


class _Offer(msgspec.Struct):
    """One address: which ports it offers, each ready or not."""

    address: EndpointAddress
    is_ready: bool


def subsets_of(service: Service, pods: Iterable[Pod]) -> list[EndpointSubset]:
    """What the Endpoints of a Service should say."""
    tolerant = bool(service.spec.publish_not_ready_addresses)
    found: list[EndpointSubset] = []
    for pod in pods:
        address = _address(service, pod) if is_worth_telling(pod, terminating=tolerant) else None
        if address is not None:
            found += [_single(address, ports, is_ready=tolerant or is_ready(pod)) for ports in _ports(service, pod)]
    return packed(found)


def _single(address: EndpointAddress, ports: list[EndpointPort], *, is_ready: bool) -> EndpointSubset:
    if is_ready:
        return EndpointSubset(addresses=[address], ports=ports)
    return EndpointSubset(not_ready_addresses=[address], ports=ports)


def _address(service: Service, pod: Pod) -> EndpointAddress | None:
    found = addresses_of(pod, _family(service, pod))
    if not found:
        return None
    reference = ObjectReference(kind="Pod", namespace=pod.namespace, name=pod.name, uid=pod.metadata.uid)
    return EndpointAddress(
        ip=found[0],
        hostname=pod.spec.hostname if has_own_name(pod, service) else None,
        node_name=pod.spec.node_name or "",
        target_ref=reference,
    )


def _family(service: Service, pod: Pod) -> str:
    if service.spec.ip_families:
        return service.spec.ip_families[0]
    has_ip = service.spec.cluster_ip not in (None, "", "None")
    return "IPv6" if ":" in (service.spec.cluster_ip or "" if has_ip else pod.status.pod_ip) else "IPv4"


def _ports(service: Service, pod: Pod) -> list[list[EndpointPort]]:
    """The ports of a Service that a pod has, one by one; a headless Service without ports has the address alone."""
    if not service.spec.ports:
        return [[]] if service.spec.cluster_ip == "None" else []
    found = []
    for port in service.spec.ports:
        number = port_in(pod, port)
        if number is not None:
            name = port.name or None
            told = EndpointPort(name=name, port=number, protocol=port.protocol, app_protocol=port.app_protocol)
            found.append([told])
    return found


def packed(subsets: Iterable[EndpointSubset]) -> list[EndpointSubset]:
    """The same in Kubernetes' canonical form: addresses that offer just the same ports together, all in order."""
    groups: dict[tuple[tuple[tuple[str, str], bool], ...], tuple[list[_Offer], list[EndpointPort]]] = {}
    for port, offers in _by_port(subsets).values():
        ordered = sorted(offers.items())
        key = tuple((who, offer.is_ready) for who, offer in ordered)
        _, ports = groups.setdefault(key, ([offer for _, offer in ordered], []))
        if port is not None:
            ports.append(port)
    made = [
        EndpointSubset(
            addresses=[offer.address for offer in offers if offer.is_ready],
            not_ready_addresses=[offer.address for offer in offers if not offer.is_ready],
            ports=sorted(ports, key=port_hash),
        )
        for offers, ports in groups.values()
    ]
    return sorted(made, key=subset_hash)


_ByPort = dict[str, tuple[EndpointPort | None, dict[tuple[str, str], _Offer]]]


def _by_port(subsets: Iterable[EndpointSubset]) -> _ByPort:
    """Who offers a port; where one says that it is ready and another that it is not, it is not."""
    found: _ByPort = {}
    for subset in subsets:
        for port in _or_none(subset.ports):
            _, offers = found.setdefault(repr(port), (port, {}))
            for address in subset.addresses:
                _offer(offers, address, is_ready=True)
            for address in subset.not_ready_addresses:
                _offer(offers, address, is_ready=False)
    return found


def _or_none(ports: Sequence[EndpointPort]) -> Sequence[EndpointPort | None]:
    """The ports; what offers none is grouped under None."""
    return ports or (None,)


def _offer(offers: dict[tuple[str, str], _Offer], address: EndpointAddress, *, is_ready: bool) -> None:
    who = (address.ip, (address.target_ref.uid if address.target_ref is not None else None) or "")
    known = offers.setdefault(who, _Offer(address, is_ready))
    known.is_ready = known.is_ready and is_ready


def truncate(subsets: Sequence[EndpointSubset]) -> bool:
    """Leave no more addresses than the object may hold, ready ones first; tell whether some were left out."""
    ready = sum(len(subset.addresses) for subset in subsets)
    unready = sum(len(subset.not_ready_addresses) for subset in subsets)
    if ready + unready <= MOST_ADDRESSES:
        return False
    only_ready = ready > MOST_ADDRESSES
    most, total = (MOST_ADDRESSES, ready) if only_ready else (MOST_ADDRESSES - ready, unready)
    left = most
    for subset in subsets:
        addresses = subset.addresses if only_ready else subset.not_ready_addresses
        share = min(math.ceil(len(addresses) / total * most), left)
        del addresses[share:]
        if only_ready:
            subset.not_ready_addresses.clear()
        left -= len(addresses)
    return True
