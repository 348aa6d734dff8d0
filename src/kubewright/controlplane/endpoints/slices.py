"""Which EndpointSlices a Service needs: pure planning, so that as few slices as possible are written.

Slices are per address family and per set of ports (a named port may have another number in each pod). Slices that must
change anyway are filled up first; others only if all that is left fits in; else new ones are made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kubewright.api import Metadata, OwnerReference
from kubewright.controlplane.endpoints.members import addresses_of, has_own_name, is_headless, is_worth_telling, port_in
from kubewright.controlplane.endpoints.order import slice_port_hash
from kubewright.controlplane.pods import is_ready
from kubewright.kinds.core_v1 import Node, ObjectReference, Pod, Service
from kubewright.kinds.discovery_v1 import Endpoint, EndpointConditions, EndpointPort, EndpointSlice

__all__ = ["MANAGED_BY", "NAME", "SERVICE", "Plan", "families_of", "plan"]

NAME: Final = "endpointslice-controller.k8s.io"
MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
SERVICE: Final = "kubernetes.io/service-name"
_HEADLESS: Final = "service.kubernetes.io/headless"
_RESERVED: Final = (SERVICE, MANAGED_BY, _HEADLESS)
_ZONE: Final = "topology.kubernetes.io/zone"


@dataclass(slots=True)
class Plan:
    """What to write."""

    create: list[EndpointSlice] = field(default_factory=list)
    update: list[EndpointSlice] = field(default_factory=list)
    delete: list[EndpointSlice] = field(default_factory=list)
    keep: list[EndpointSlice] = field(default_factory=list)
    """Slices that are right, but for their hints."""
    missing: list[str] = field(default_factory=list)
    """Why pods were left out that should be in."""

    def add(self, other: Plan) -> None:
        """Do what the other says, too."""
        self.create += other.create
        self.update += other.update
        self.delete += other.delete
        self.keep += other.keep
        self.missing += other.missing


@dataclass(slots=True)
class _Group:
    """Pods that offer the same ports."""

    ports: list[EndpointPort]
    endpoints: dict[tuple[object, ...], Endpoint] = field(default_factory=dict)


def families_of(service: Service) -> list[str]:
    """The address families that a Service needs slices of."""
    if service.spec.ip_families:
        return list(dict.fromkeys(service.spec.ip_families))
    if not is_headless(service):
        return ["IPv6" if ":" in (service.spec.cluster_ip or "") else "IPv4"]
    return ["IPv4", "IPv6"]


def plan(
    service: Service,
    pods: Sequence[Pod],
    nodes: Mapping[str, Node],
    existing: Sequence[EndpointSlice],
    most: int,
) -> Plan:
    """What to write so that the slices of a Service show its pods, at most so many in one."""
    families = families_of(service)
    whole = Plan(delete=[found for found in existing if found.address_type not in families])
    for family in families:
        found = [slice for slice in existing if slice.address_type == family]
        whole.add(_of_family(service, family, _groups(service, pods, nodes, family, whole.missing), found, most))
    return whole


def _of_family(
    service: Service, family: str, groups: dict[str, _Group], existing: list[EndpointSlice], most: int
) -> Plan:
    ours = [slice for slice in existing if any(owner.uid == service.metadata.uid for owner in _services(slice))]
    by_ports: dict[str, list[EndpointSlice]] = {}
    for slice in ours:
        by_ports.setdefault(_ports_key(slice.ports), []).append(slice)
    made = Plan(delete=[slice for slice in existing if slice not in ours])
    for key, group in groups.items():
        made.add(_Packing(service, family, group, most).pack(by_ports.pop(key, [])))
    made.delete += [slice for slices in by_ports.values() for slice in slices]
    if len(made.delete) == len(existing) and not made.create:
        _add_placeholder(made, new_slice(service, family, []))
    return made


def _add_placeholder(made: Plan, placeholder: EndpointSlice) -> None:
    """A Service without endpoints has one empty slice."""
    if len(made.delete) == 1 and _is_like(made.delete[0], placeholder):
        made.keep += made.delete
        made.delete = []
    else:
        made.create.append(placeholder)


def _is_like(slice: EndpointSlice, placeholder: EndpointSlice) -> bool:
    return (
        not slice.endpoints
        and not slice.ports
        and slice.namespace == placeholder.namespace
        and slice.metadata.labels == placeholder.metadata.labels
    )


def _services(slice: EndpointSlice) -> Iterable[OwnerReference]:
    return (owner for owner in slice.metadata.owner_references if (owner.api_version, owner.kind) == ("v1", "Service"))


def _ports_key(ports: Iterable[EndpointPort]) -> str:
    return repr(sorted(ports, key=slice_port_hash))


def _groups(
    service: Service, pods: Iterable[Pod], nodes: Mapping[str, Node], family: str, missing: list[str]
) -> dict[str, _Group]:
    groups: dict[str, _Group] = {}
    for pod in pods:
        if not is_worth_telling(pod, terminating=True):
            continue
        ports = _ports_of(service, pod)
        group = groups.setdefault(_ports_key(ports), _Group(ports))
        node = nodes.get(pod.spec.node_name or "")
        if node is None and not service.spec.publish_not_ready_addresses:
            where = f"Service {service.namespace}/{service.name}: Node {pod.spec.node_name or ''} Not Found"
            missing.append(f"skipping Pod {pod.name} for {where}")
            continue
        endpoint = _endpoint(pod, node, service, family)
        if endpoint.addresses:
            group.endpoints[_who(endpoint)] = endpoint
    return groups


def _ports_of(service: Service, pod: Pod) -> list[EndpointPort]:
    found = []
    for port in service.spec.ports:
        number = port_in(pod, port)
        if number is not None:
            name, protocol = port.name or "", port.protocol
            found.append(EndpointPort(name=name, port=number, protocol=protocol, app_protocol=port.app_protocol))
    return sorted(found, key=slice_port_hash)


def _endpoint(pod: Pod, node: Node | None, service: Service, family: str) -> Endpoint:
    serving, terminating = is_ready(pod), pod.metadata.deletion_timestamp is not None
    ready = bool(service.spec.publish_not_ready_addresses) or (serving and not terminating)
    return Endpoint(
        addresses=sorted(addresses_of(pod, family)),
        conditions=EndpointConditions(ready=ready, serving=serving, terminating=terminating),
        hostname=pod.spec.hostname if has_own_name(pod, service) else None,
        target_ref=ObjectReference(kind="Pod", namespace=pod.namespace, name=pod.name, uid=pod.metadata.uid),
        node_name=pod.spec.node_name or None,
        zone=(node.metadata.labels.get(_ZONE) or None) if node is not None else None,
    )


def _who(endpoint: Endpoint) -> tuple[object, ...]:
    """By what an endpoint is found again, however else it changed."""
    target = endpoint.target_ref
    pod = (target.namespace, target.name) if target is not None else (None, None)
    return (tuple(sorted(endpoint.addresses)), endpoint.hostname or "", *pod)


def _said(endpoint: Endpoint) -> tuple[object, ...]:
    """What an endpoint says besides who it is; hints are another's business."""
    target = endpoint.target_ref
    uid = target.uid if target is not None else None
    return (endpoint.node_name, endpoint.zone, endpoint.conditions or EndpointConditions(), uid)


def labels_of(service: Service) -> dict[str, str]:
    """The labels of a Service's slices."""
    labels = {name: value for name, value in service.metadata.labels.items() if name not in _RESERVED}
    if is_headless(service):
        labels[_HEADLESS] = ""
    return {**labels, SERVICE: service.name, MANAGED_BY: NAME}


def new_slice(service: Service, family: str, ports: list[EndpointPort]) -> EndpointSlice:
    """An empty slice of a Service, named by the server."""
    metadata = Metadata(
        generate_name=f"{service.name}-",
        namespace=service.namespace,
        labels=labels_of(service),
        owner_references=[service.owner_reference],
    )
    return EndpointSlice(metadata=metadata, address_type=family, ports=ports)


class _Packing:
    """Distributes the endpoints of one group of pods over slices."""

    def __init__(self, service: Service, family: str, group: _Group, most: int) -> None:
        self._service = service
        self._family = family
        self._group = group
        self._most = most
        self._left = dict(group.endpoints)
        self._made = Plan()

    def pack(self, existing: Sequence[EndpointSlice]) -> Plan:
        for slice in existing:
            self._review(slice)
        for slice in sorted(self._made.update, key=lambda slice: -len(slice.endpoints)):
            self._fill(slice)
        while self._left:
            self._fill(self._roomiest() or self._another())
        return self._made

    def _review(self, slice: EndpointSlice) -> None:
        """Bring a slice up to date, without what it does not hold yet."""
        wanted = [self._left.pop(_who(endpoint), None) for endpoint in slice.endpoints]
        kept = [endpoint for endpoint in wanted if endpoint is not None]
        is_changed = len(kept) != len(slice.endpoints) or any(
            _said(new) != _said(old) for new, old in zip(kept, slice.endpoints, strict=True)
        )
        if is_changed and not kept:
            self._made.delete.append(slice)
        elif is_changed or not _has_labels(slice, self._service):
            slice.endpoints = kept if is_changed else slice.endpoints
            slice.metadata.labels = labels_of(self._service)
            self._made.update.append(slice)
        else:
            self._made.keep.append(slice)

    def _fill(self, slice: EndpointSlice) -> None:
        while self._left and len(slice.endpoints) < self._most:
            slice.endpoints.append(self._left.pop(next(iter(self._left))))

    def _roomiest(self) -> EndpointSlice | None:
        """The unchanged slice that all that is left fits in and that is fullest then; it is changed now."""
        room = {id(slice): self._most - len(self._left) - len(slice.endpoints) for slice in self._made.keep}
        fitting = [slice for slice in self._made.keep if 0 <= room[id(slice)] < self._most]
        if len(self._left) >= self._most or not fitting:
            return None
        found = min(fitting, key=lambda slice: room[id(slice)])
        self._made.keep.remove(found)
        self._made.update.append(found)
        return found

    def _another(self) -> EndpointSlice:
        self._made.create.append(new_slice(self._service, self._family, self._group.ports))
        return self._made.create[-1]


def _has_labels(slice: EndpointSlice, service: Service) -> bool:
    """Whether the labels that a slice has from its Service are right."""
    has, should = (
        {name: value for name, value in labels.items() if name not in _RESERVED}
        for labels in (slice.metadata.labels, service.metadata.labels)
    )
    return has == should
