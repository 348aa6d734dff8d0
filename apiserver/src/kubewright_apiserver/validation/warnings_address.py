"""Warnings about addresses and ranges that are written in an unusual way."""

from __future__ import annotations

import ipaddress

from kubewright_apiserver.golang import go_quoted
from kubewright_apiserver.validation.address import parse_cidr, parse_ip

__all__ = ["cidr_warnings", "ip_warnings"]


def ip_warnings(path: str, text: str) -> list[str]:
    """What to say of an address; nothing of what is none."""
    address = parse_ip(text)
    if address is None:
        return []
    try:
        exact = ipaddress.ip_address(text)
    except ValueError:
        exact = None
    if exact is None or exact.version != address.version:
        return [f"{path}: non-standard IP address {go_quoted(text)} is invalid: use {go_quoted(str(address))}"]
    return _canonical_warnings(path, "IPv6 address", text, str(exact)) if exact.version == 6 else []


def cidr_warnings(path: str, text: str) -> list[str]:
    """What to say of a range; nothing of what is none."""
    network = parse_cidr(text)
    host, _, length = text.partition("/")
    address = parse_ip(host)
    if network is None or address is None:
        return []
    warnings, shown = [], go_quoted(text)
    if address != network.network_address:
        single = go_quoted(f"{address}/{network.max_prefixlen}")
        meant = f"should be {go_quoted(str(network))} or {single}?"
        warnings.append(f"{path}: CIDR value {shown} is ambiguous in this context ({meant})")
    if not _is_standard(host, length, address.version):
        warnings.append(f"{path}: non-standard CIDR value {shown} is invalid: use {go_quoted(str(network))}")
    if not warnings and network.version == 6:
        return _canonical_warnings(path, "IPv6 CIDR value", text, str(network))
    return warnings


def _is_standard(host: str, length: str, version: int) -> bool:
    try:
        return ipaddress.ip_address(host).version == version and str(int(length)) == length
    except ValueError:
        return False


def _canonical_warnings(path: str, what: str, text: str, canonical: str) -> list[str]:
    if text == canonical:
        return []
    return [f"{path}: {what} {go_quoted(text)} should be in RFC 5952 canonical format ({go_quoted(canonical)})"]
