"""The order in which Kubernetes writes ports and subsets: by a hash of how Go prints them."""

from __future__ import annotations

from typing import Final

from kubewright.kinds import discovery_v1
from kubewright.kinds.core_v1 import EndpointAddress, EndpointPort, EndpointSubset, ObjectReference

__all__ = ["fnv128a", "port_hash", "slice_port_hash", "subset_hash"]

_BASIS: Final = 0x6C62272E07BB014262B821756295C58D
_PRIME: Final = 0x0000000001000000000000000000013B
_SIZE: Final = (1 << 128) - 1


def fnv128a(text: str) -> int:
    """The FNV-1a hash of a text, in 128 bits."""
    value = _BASIS
    for byte in text.encode():
        value = (value ^ byte) * _PRIME & _SIZE
    return value


def port_hash(port: EndpointPort) -> int:
    """By what the ports of Endpoints are ordered."""
    return fnv128a(f"(v1.EndpointPort){_port(port)}")


def slice_port_hash(port: discovery_v1.EndpointPort) -> int:
    """By what the ports of EndpointSlices are ordered."""
    named = f"Name:(*string){_pointed(port.name)} Protocol:(*v1.Protocol){_pointed(port.protocol)}"
    numbered = f"Port:(*int32){_pointed(port.port)} AppProtocol:(*string){_pointed(port.app_protocol)}"
    return fnv128a(f"(v1.EndpointPort){{{named} {numbered}}}")


def subset_hash(subset: EndpointSubset) -> int:
    """By what the subsets of Endpoints are ordered."""
    ready = f"Addresses:([]v1.EndpointAddress){_listed([_address(one) for one in subset.addresses])}"
    unready = (
        f"NotReadyAddresses:([]v1.EndpointAddress){_listed([_address(one) for one in subset.not_ready_addresses])}"
    )
    ports = f"Ports:([]v1.EndpointPort){_listed([_port(port) for port in subset.ports])}"
    return fnv128a(f"(v1.EndpointSubset){{{ready} {unready} {ports}}}")


def _port(port: EndpointPort) -> str:
    named = f"Name:(string){port.name or ''} Port:(int32){port.port} Protocol:(v1.Protocol){port.protocol or ''}"
    return f"{{{named} AppProtocol:(*string){_pointed(port.app_protocol)}}}"


def _address(address: EndpointAddress) -> str:
    named = f"IP:(string){address.ip} Hostname:(string){address.hostname or ''}"
    reference = _reference(address.target_ref) if address.target_ref is not None else "<nil>"
    return f"{{{named} NodeName:(*string){_pointed(address.node_name)} TargetRef:(*v1.ObjectReference){reference}}}"


def _reference(reference: ObjectReference) -> str:
    where = f"Kind:(string){reference.kind or ''} Namespace:(string){reference.namespace or ''}"
    who = f"Name:(string){reference.name or ''} UID:(types.UID){reference.uid or ''}"
    version = f"APIVersion:(string){reference.api_version or ''}"
    rest = f"ResourceVersion:(string){reference.resource_version or ''} FieldPath:(string){reference.field_path or ''}"
    return f"{{{where} {who} {version} {rest}}}"


def _pointed(value: str | int | None) -> str:
    return "<nil>" if value is None else str(value)


def _listed(items: list[str]) -> str:
    return f"[{' '.join(items)}]" if items else "<nil>"
