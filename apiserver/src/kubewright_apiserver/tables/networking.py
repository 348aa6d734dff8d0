"""The rows of services and of what leads to them."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.tables.ages import age_of
from kubewright_apiserver.tables.texts import (
    NONE,
    UNSET,
    first_few,
    is_annotated,
    labels_text,
    part,
    selected_text,
)

__all__ = [
    "endpoint_slice_cells",
    "endpoints_cells",
    "ingress_cells",
    "ingress_class_cells",
    "ip_address_cells",
    "network_policy_cells",
    "service_cells",
    "service_cidr_cells",
]

_MOST: Final = 3
_DEFAULT: Final = "ingressclass.kubernetes.io/is-default-class"


def service_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a Service."""
    spec = part(obj, "spec")
    addresses = spec.get("clusterIPs") or [NONE]
    ports = ",".join(_port(port) for port in spec.get("ports") or ())
    return [
        obj["metadata"].get("name", ""),
        spec.get("type", ""),
        addresses[0],
        _external(spec, part(obj, "status")),
        ports or NONE,
        age_of(obj, now),
        labels_text(spec.get("selector")),
    ]


def _port(port: dict[str, Any]) -> str:
    node = port.get("nodePort", 0)
    between = f":{node}" if node > 0 else ""
    return f"{port.get('port', 0)}{between}/{port.get('protocol', '')}"


def _external(spec: dict[str, Any], status: dict[str, Any]) -> str:
    type, own = spec.get("type"), spec.get("externalIPs") or []
    if type in ("ClusterIP", "NodePort"):
        return ",".join(own) or NONE
    if type == "LoadBalancer":
        balancers = _balancers(status)
        return ",".join([*([balancers] if balancers else []), *own]) or "<pending>"
    return str(spec.get("externalName", "")) if type == "ExternalName" else "<unknown>"


def _balancers(status: dict[str, Any]) -> str:
    entries = part(status, "loadBalancer").get("ingress") or ()
    found = {one.get("ip") or one.get("hostname") or "" for one in entries}
    return ",".join(sorted(found - {""}))


def ingress_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of an Ingress."""
    spec = part(obj, "spec")
    named = spec.get("ingressClassName")
    return [
        obj["metadata"].get("name", ""),
        NONE if named is None else named,
        _hosts(spec.get("rules") or []),
        _balancers(part(obj, "status")),
        "80, 443" if spec.get("tls") else "80",
        age_of(obj, now),
    ]


def _hosts(rules: list[dict[str, Any]]) -> str:
    """The first hosts; how many more there are is counted in rules, and known when a rule follows the last host."""
    hosts: list[str] = []
    for rule in rules:
        if len(hosts) == _MOST:
            return f"{','.join(hosts)} + {len(rules) - _MOST} more..."
        if rule.get("host"):
            hosts.append(rule["host"])
    return ",".join(hosts) or "*"


def ingress_class_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of an IngressClass."""
    spec, name = part(obj, "spec"), obj["metadata"].get("name", "")
    if is_annotated(obj, _DEFAULT):
        name += " (default)"
    told, parameters = NONE, spec.get("parameters")
    if parameters is not None:
        group = f".{parameters['apiGroup']}" if parameters.get("apiGroup") is not None else ""
        told = f"{parameters.get('kind', '')}{group}/{parameters.get('name', '')}"
    return [name, spec.get("controller", ""), told, age_of(obj, now)]


def endpoints_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of an Endpoints."""
    return [obj["metadata"].get("name", ""), _endpoints(obj.get("subsets") or []), age_of(obj, now)]


def _endpoints(subsets: list[dict[str, Any]]) -> str:
    if not subsets:
        return NONE
    found: list[str] = []
    for subset in subsets:
        addresses = [one["ip"] for one in subset.get("addresses") or ()]
        ports = subset.get("ports") or ()
        found += [_joined(address, port.get("port", 0)) for port in ports for address in addresses]
        found += [] if ports else addresses
    return first_few(found, _MOST, "")


def _joined(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def endpoint_slice_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of an EndpointSlice."""
    ports = [_slice_port(port) for port in obj.get("ports") or ()]
    addresses = [address for one in obj.get("endpoints") or () for address in one.get("addresses") or ()]
    few = [first_few(texts, _MOST, UNSET) for texts in (ports, addresses)]
    return [obj["metadata"].get("name", ""), obj.get("addressType", ""), *few, age_of(obj, now)]


def _slice_port(port: dict[str, Any]) -> str:
    number, name = port.get("port"), port.get("name")
    return str(number) if number is not None else ("*" if name is None else name)


def network_policy_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a NetworkPolicy."""
    return [obj["metadata"].get("name", ""), selected_text(part(obj, "spec").get("podSelector")), age_of(obj, now)]


def service_cidr_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a ServiceCIDR."""
    return [obj["metadata"].get("name", ""), ",".join(part(obj, "spec").get("cidrs") or ()), age_of(obj, now)]


def ip_address_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of an IPAddress, one more than it has columns."""
    parent, told = part(obj, "spec").get("parentRef"), NONE
    if parent is not None:
        resource = f"{parent.get('resource', '')}.{parent.get('group', '')}".removesuffix(".").lower()
        told = "/".join(filter(None, (resource, parent.get("namespace")))) + f"/{parent.get('name', '')}"
    return [obj["metadata"].get("name", ""), told, age_of(obj, now)]
