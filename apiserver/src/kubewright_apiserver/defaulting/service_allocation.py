"""``allocate_service``: addresses and node ports for a Service that is created or changed."""

from __future__ import annotations

from typing import Any

from kubewright_apiserver.defaulting.addresses import Allocation, ServiceAddresses, Unavailable
from kubewright_apiserver.defaulting.service_families import init_families, is_settled, same_addresses
from kubewright_apiserver.defaulting.service_update import needs_address, needs_health_port
from kubewright_apiserver.status import Refusal, internal_error, invalid, invalid_field

__all__ = ["allocate_service", "ip_address_of"]

Object = dict[str, Any]
Spec = dict[str, Any]


def allocate_service(
    service: Object, old: Object | None, addresses: ServiceAddresses, *, is_dry_run: bool = False
) -> Allocation:
    """Give a Service in place the families, addresses and node ports that it needs; ``old`` is None for a new one.

    Comes before ``prepare_create`` and ``prepare_update``, as in kube-apiserver, and expects defaults to be set.

    Guarantees: nothing is taken if it raises. The caller ends the allocation that it gets with ``commit`` when the
    Service is stored and with ``revert`` when it is not.

    Raises a ``Refusal`` if an address or a port cannot be had, or the fields contradict each other.
    """
    allocation = Allocation(addresses, is_dry=is_dry_run)
    try:
        if old is None:
            _allocate_new(service, allocation)
        else:
            _allocate_changed(service, old["spec"], allocation)
    except Refusal:
        allocation.revert()
        raise
    return allocation


def ip_address_of(service: Object, address: str) -> Object:
    """The IPAddress object by which kube-apiserver shows who has an address."""
    metadata = service["metadata"]
    labels = {
        "ipaddress.kubernetes.io/ip-family": "IPv6" if ":" in address else "IPv4",
        "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
    }
    parent = {"resource": "services", "namespace": metadata.get("namespace", ""), "name": metadata.get("name", "")}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IPAddress",
        "metadata": {"name": address, "labels": labels},
        "spec": {"parentRef": parent},
    }


def _allocate_new(service: Object, allocation: Allocation) -> None:
    spec = service["spec"]
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    init_families(service, None, allocation.addresses.families)
    _allocate_addresses(service, allocation)
    if spec.get("type") in ("NodePort", "LoadBalancer"):
        _allocate_ports(service, allocation)
    if needs_health_port(spec):
        _allocate_health_port(spec, allocation)


def _allocate_changed(service: Object, old: Spec, allocation: Allocation) -> None:
    spec = service["spec"]
    _keep_allocated(spec, old)
    _join_addresses(spec, old)
    init_families(service, old, allocation.addresses.families)
    if not is_settled(spec, old):
        _change_addresses(service, old, allocation)
    _change_ports(service, old, allocation)
    if needs_health_port(spec) and not needs_health_port(old):
        _allocate_health_port(spec, allocation)
    elif needs_health_port(old) and not needs_health_port(spec) and old.get("healthCheckNodePort"):
        allocation.give_back_port(old["healthCheckNodePort"])


def _allocate_addresses(service: Object, allocation: Allocation) -> None:
    spec = service["spec"]
    if not needs_address(spec) or (spec.get("clusterIPs") or [""])[0] == "None":
        return
    wanted = list(spec.get("clusterIPs") or ())
    families = spec["ipFamilies"]
    wanted += [""] * (len(families) - len(wanted))
    spec["clusterIPs"] = wanted
    found = [_address(service, address, family, allocation) for address, family in zip(wanted, families, strict=False)]
    spec["clusterIPs"] = found + wanted[len(found) :]
    spec["clusterIP"] = spec["clusterIPs"][0]


def _address(service: Object, wanted: str, family: str, allocation: Allocation) -> str:
    name = service["metadata"].get("name", "")
    try:
        if not wanted:
            return allocation.next_address(family)
        allocation.take_address(wanted)
    except Unavailable as error:
        if error.is_full:
            raise _internal(f'failed to allocate a serviceIP for Service "{name}": {error}') from None
        text = f"failed to allocate IP {wanted}: {error}"
        raise invalid(
            "", "Service", name, [invalid_field("spec.clusterIPs", service["spec"]["clusterIPs"], text)]
        ) from None
    return wanted


def _internal(text: str) -> Refusal:
    message = f"Internal error occurred: {text}"
    return Refusal(500, "InternalError", message, details={"causes": [{"message": text}]})


def _gets_ports(spec: Spec) -> bool:
    if spec.get("type") == "LoadBalancer":
        return spec.get("allocateLoadBalancerNodePorts") is not False
    return spec.get("type") == "NodePort"


def _allocate_ports(service: Object, allocation: Allocation) -> None:
    spec = service["spec"]
    ports = spec.get("ports") or []
    given: dict[int, int] = {}
    for index, port in enumerate(ports):
        wanted = port.get("nodePort") or 0
        if not wanted and not _gets_ports(spec):
            continue
        number = port.get("port", 0)
        if number not in given:
            # The same port for another protocol may say which node port both are to have.
            asked = (other["nodePort"] for other in ports if other.get("port") == number and other.get("nodePort"))
            port["nodePort"] = given[number] = _port(service, index, next(asked, 0), allocation)
        elif not wanted:
            port["nodePort"] = given[number]
        elif wanted != given[number]:
            _port(service, index, wanted, allocation)


def _port(service: Object, index: int, wanted: int, allocation: Allocation) -> int:
    try:
        if not wanted:
            return allocation.next_port()
        allocation.take_port(wanted)
    except Unavailable as error:
        if not wanted:
            raise _internal(f"failed to allocate a nodePort: {error}") from None
        wrong = invalid_field(f"spec.ports[{index}].nodePort", wanted, str(error))
        raise invalid("", "Service", service["metadata"].get("name", ""), [wrong]) from None
    return wanted


def _allocate_health_port(spec: Spec, allocation: Allocation) -> None:
    wanted = spec.get("healthCheckNodePort") or 0
    try:
        if wanted:
            allocation.take_port(wanted)
        else:
            spec["healthCheckNodePort"] = allocation.next_port()
    except Unavailable as error:
        what = f"requested HealthCheck NodePort {wanted}" if wanted else "a HealthCheck NodePort 0"
        raise _internal(f"failed to allocate {what}: {error}") from None


def _keep_allocated(spec: Spec, old: Spec) -> None:
    """Whoever sends again what they created, without what was allocated, keeps that."""
    if needs_address(spec) and needs_address(old):
        if not spec.get("clusterIP") and old.get("clusterIP"):
            spec["clusterIP"] = old["clusterIP"]
        if not spec.get("clusterIPs") and old.get("clusterIPs"):
            spec["clusterIPs"] = list(old["clusterIPs"])
    if _gets_ports(old) and _gets_ports(spec):
        _keep_ports(spec, old)
    if needs_health_port(old) and needs_health_port(spec) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = old.get("healthCheckNodePort", 0)


def _keep_ports(spec: Spec, old: Spec) -> None:
    used = set(_numbers(spec)) & set(_numbers(old))
    known = {port.get("name", ""): port.get("nodePort", 0) for port in old.get("ports") or ()}
    for port in spec.get("ports") or ():
        before = known.get(port.get("name", ""), 0)
        if not port.get("nodePort") and before and before not in used:
            port["nodePort"] = before


def _numbers(spec: Spec) -> list[int]:
    return [port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")]


def _join_addresses(spec: Spec, old: Spec) -> None:
    address, before = spec.get("clusterIP") or "", old.get("clusterIP") or ""
    if address != before and same_addresses(spec, old):
        if before and not address:
            spec.pop("clusterIPs", None)
        else:
            spec["clusterIPs"] = [address]


def _change_addresses(service: Object, old: Spec, allocation: Allocation) -> None:
    spec = service["spec"]
    if not needs_address(old) and needs_address(spec):
        _allocate_addresses(service, allocation)
        return
    addresses = old.get("clusterIPs") or []
    if addresses[:1] == ["None"] or not needs_address(old):
        return
    if not needs_address(spec):
        leaving = addresses
    elif len(old.get("ipFamilies") or ()) == 1 and len(spec.get("ipFamilies") or ()) == 2:
        _add_second(service, allocation)
        return
    else:
        is_single = len(old.get("ipFamilies") or ()) == 2 and len(spec.get("ipFamilies") or ()) == 1
        leaving = addresses[1:] if is_single else []
    for address in leaving:
        allocation.give_back_address(address)


def _add_second(service: Object, allocation: Allocation) -> None:
    spec = service["spec"]
    addresses = spec["clusterIPs"]
    second = addresses[1] if len(addresses) > 1 else ""
    spec["clusterIPs"] = [addresses[0], second]
    spec["clusterIPs"] = [addresses[0], _address(service, second, spec["ipFamilies"][1], allocation)]


def _change_ports(service: Object, old: Spec, allocation: Allocation) -> None:
    spec = service["spec"]
    before = _numbers(old)
    if spec.get("type") not in ("NodePort", "LoadBalancer"):
        if old.get("type") in ("NodePort", "LoadBalancer"):
            for number in before:
                allocation.give_back_port(number)
        return
    _check_ports(service, before, allocation)
    for number in before:
        if number not in _numbers(spec):
            allocation.give_back_port(number)


def _check_ports(service: Object, before: list[int], allocation: Allocation) -> None:
    spec = service["spec"]
    seen: set[tuple[str, int]] = set()
    known = set(before)
    for index, port in enumerate(spec.get("ports") or ()):
        number = port.get("nodePort") or 0
        if not number and not _gets_ports(spec):
            continue
        if number not in known:
            number = port["nodePort"] = _port(service, index, number, allocation)
            known.add(number)
        if (port.get("protocol", ""), number) in seen:
            raise internal_error(f"duplicate nodePort: {{{port.get('protocol', '')} {number}}}")
        seen.add((port.get("protocol", ""), number))
