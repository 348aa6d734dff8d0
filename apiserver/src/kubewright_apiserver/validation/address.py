"""IP addresses and address ranges, read as Go reads them."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from typing import Final

from kubewright_apiserver.status import invalid_field
from kubewright_apiserver.validation.rules import Errors

__all__ = [
    "Address",
    "Network",
    "canonical_cidr_errors",
    "canonical_ip_errors",
    "cidr_errors",
    "endpoint_ip",
    "family",
    "ip_errors",
    "is_dual_stack",
    "is_ip",
    "is_ipv6",
    "parse_cidr",
    "parse_ip",
]

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_DOTTED: Final = re.compile(r"[0-9]+(\.[0-9]+){3}")
_NO_IP: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_NO_CIDR: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


def _without_zeros(text: str) -> str:
    """The text with leading zeros cut from the parts of an IPv4 address, which Go once read as decimal too."""
    head, colon, dotted = text.rpartition(":")
    if not _DOTTED.fullmatch(dotted):
        return text
    return head + colon + ".".join(str(int(part)) for part in dotted.split("."))


def parse_ip(text: str) -> Address | None:
    """The address, an IPv4 one if it was mapped into IPv6; None for what is none."""
    if "%" in text or "/" in text:
        return None
    try:
        address = ipaddress.ip_address(_without_zeros(text))
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, ipaddress.IPv6Address) else address


def is_ip(text: str) -> bool:
    """Whether a text is an IP address."""
    return parse_ip(text) is not None


def is_ipv6(text: str) -> bool:
    """Whether a text is an IPv6 address, and not a mapped IPv4 one."""
    return isinstance(parse_ip(text), ipaddress.IPv6Address)


def family(text: str) -> str:
    """``IPv4``, ``IPv6``, or nothing for what is neither an address nor a range."""
    address = parse_ip(text.partition("/")[0])
    return "" if address is None else f"IPv{address.version}"


def is_dual_stack(texts: Sequence[str]) -> bool:
    """Whether there are addresses or ranges of both families."""
    return {"IPv4", "IPv6"} <= {family(text) for text in texts}


def _has_leading_zeros(text: str) -> bool:
    return _without_zeros(text) != text


def _is_mapped(text: str) -> bool:
    return ":" in text and isinstance(parse_ip(text), ipaddress.IPv4Address)


def ip_errors(path: str, text: str, old: Sequence[str] = ()) -> Errors:
    """The errors of an address in a field that once took more; what was there before stays."""
    if text in old:
        return []
    if not is_ip(text):
        return [invalid_field(path, text, _NO_IP)]
    if _has_leading_zeros(text):
        return [invalid_field(path, text, "must not have leading 0s")]
    if _is_mapped(text):
        return [invalid_field(path, text, "must not be an IPv4-mapped IPv6 address")]
    return []


def canonical_ip_errors(path: str, text: str) -> Errors:
    """The errors of an address that must be written in the one form that is its own."""
    if errors := ip_errors(path, text):
        return errors
    canonical = str(parse_ip(text))
    return [] if text == canonical else [invalid_field(path, text, f'must be in canonical form ("{canonical}")')]


def parse_cidr(text: str) -> Network | None:
    """The range, whatever bits are set after its prefix; None for what is none."""
    host, slash, length = text.partition("/")
    address = parse_ip(host)
    if address is None or not slash or not re.fullmatch("[0-9]{1,3}", length):
        return None
    bits = int(length) - (96 if _is_mapped(host) else 0)
    try:
        return ipaddress.ip_network((str(address), bits), strict=False)
    except ValueError:
        return None


def cidr_errors(path: str, text: str, old: Sequence[str] = ()) -> Errors:
    """The errors of a range in a field that once took more; what was there before stays."""
    if text in old:
        return []
    network = parse_cidr(text)
    if network is None:
        return [invalid_field(path, text, _NO_CIDR)]
    host, _, length = text.partition("/")
    if _has_leading_zeros(host) or (length.startswith("0") and length != "0"):
        return [invalid_field(path, text, "must not have leading 0s in IP or prefix length")]
    if _is_mapped(host):
        return [invalid_field(path, text, "must not have an IPv4-mapped IPv6 address")]
    if parse_ip(host) != network.network_address:
        return [invalid_field(path, text, "must not have bits set beyond the prefix length")]
    return []


def canonical_cidr_errors(path: str, text: str) -> Errors:
    """The errors of a range that must be written in the one form that is its own."""
    if errors := cidr_errors(path, text):
        return errors
    canonical = str(parse_cidr(text))
    return [] if text == canonical else [invalid_field(path, text, f'must be in canonical form ("{canonical}")')]


def endpoint_ip(text: str, path: str) -> Errors:
    """The errors of an address that traffic is sent to."""
    address = parse_ip(text)
    if address is None:
        return [invalid_field(path, text, "must be a valid IP address")]
    checks = (
        (address.is_unspecified, f"may not be unspecified ({text})"),
        (address.is_loopback, "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (address.is_link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        (
            _is_link_local_multicast(address),
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
        ),
    )
    return [invalid_field(path, text, detail) for wrong, detail in checks if wrong]


def _is_link_local_multicast(address: Address) -> bool:
    packed = address.packed
    return packed[:3] == b"\xe0\x00\x00" if address.version == 4 else packed[0] == 0xFF and packed[1] & 0x0F == 2
