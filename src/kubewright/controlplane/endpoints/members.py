"""Which pods stand behind a Service, and which Services stand before a pod."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Sequence
from typing import Final

from kubewright.api import Key
from kubewright.cache import Cache, Change
from kubewright.controller import Predicate
from kubewright.controlplane.pods import is_ready
from kubewright.kinds.core_v1 import Container, Pod, Service, ServicePort

__all__ = [
    "addresses_of",
    "has_own_name",
    "is_headless",
    "is_served",
    "is_worth_telling",
    "pod_matters",
    "port_in",
    "selector_pair",
    "services_before",
]


def is_served(service: Service) -> bool:
    """Whether the Service finds its pods by a selector; others have endpoints that somebody else writes."""
    return bool(service.spec.selector) and service.spec.type != "ExternalName"


def is_headless(service: Service) -> bool:
    """Whether the Service has no address of its own."""
    return service.spec.cluster_ip in (None, "", "None")


def is_worth_telling(pod: Pod, *, terminating: bool) -> bool:
    """Whether a pod is an endpoint: it has an address and has not ended; ``terminating`` ones only if asked for."""
    if pod.status.phase in ("Succeeded", "Failed") or not (pod.status.pod_ip or pod.status.pod_ips):
        return False
    return terminating or pod.metadata.deletion_timestamp is None


def has_own_name(pod: Pod, service: Service) -> bool:
    """Whether the pod is known by its host name in the Service's domain."""
    return bool(pod.spec.hostname) and pod.spec.subdomain == service.name and pod.namespace == service.namespace


def addresses_of(pod: Pod, family: str) -> list[str]:
    """The pod's addresses of a family, ``IPv4`` or ``IPv6``."""
    found = [ipaddress.ip_address(one.ip) for one in pod.status.pod_ips]
    return [str(address) for address in found if f"IPv{address.version}" == family]


def port_in(pod: Pod, port: ServicePort) -> int | None:
    """The number that a Service's port has in a pod; None if it is a name that no container has."""
    if not isinstance(port.target_port, str):
        return port.target_port or 0
    sidecars = [container for container in pod.spec.init_containers if container.restart_policy == "Always"]
    for container in (*pod.spec.containers, *sidecars):
        number = _named(container, port.target_port, port.protocol)
        if number is not None:
            return number
    return None


def _named(container: Container, name: str, protocol: str | None) -> int | None:
    same = (port for port in container.ports if port.name == name and port.protocol == protocol)
    return next((port.container_port for port in same), None)


def selector_pair(service: Service) -> Sequence[str]:
    """An index: one label that all pods of a Service have."""
    if not is_served(service):
        return ()
    return [_pair(*min(service.spec.selector.items()))]


def services_before(index: str) -> Callable[[Pod, Cache], list[Key]]:
    """A mapping: the Services that select a pod, found by an index of ``selector_pair`` of that name."""

    def services(pod: Pod, cache: Cache) -> list[Key]:
        labels = pod.metadata.labels
        return [
            service.key
            for label, value in labels.items()
            for service in cache.list(Service, namespace=pod.namespace, where={index: _pair(label, value)})
            if service.spec.selector.items() <= labels.items()
        ]

    return services


def _pair(label: str, value: str) -> str:
    return f"{label}={value}"


def _matters(change: Change[Pod]) -> bool:
    if change.cause == "resync":
        return False  # Services are looked at again themselves.
    old, new = change.old, change.new
    return old is None or new is None or _shown(old) != _shown(new)


def _shown(pod: Pod) -> tuple[object, ...]:
    """What of a pod its endpoints, and whether it is one, depend on."""
    where = (pod.spec.node_name, pod.spec.hostname, pod.spec.subdomain, pod.metadata.labels)
    is_over = pod.status.phase in ("Succeeded", "Failed")
    return (*where, pod.status.pod_ips, is_over, is_ready(pod), pod.metadata.deletion_timestamp)


pod_matters: Final = Predicate("an endpoint changed", _matters)
"""Whether a change of a pod can change endpoints."""
