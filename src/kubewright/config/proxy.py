"""Which proxy leads to a server, by the environment, with Go's rules: what works for kubectl works here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final
from urllib.parse import SplitResult, urlsplit

from kubewright.config.address import parts_of, redacted
from kubewright.errors import ConfigError

__all__ = ["checked_proxy", "proxy_for"]

_PORTS: Final = {"http": 80, "https": 443}


def proxy_for(url: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """The proxy for ``url`` by HTTPS_PROXY, HTTP_PROXY and NO_PROXY (or in lower case), or None for a direct way.

    As in Go, ``localhost`` and loopback addresses never go through a proxy and ALL_PROXY is not read. Entries of
    NO_PROXY are host names (with all their subdomains), domains with a leading dot or ``*.`` (subdomains alone),
    addresses, networks (10.0.0.0/8), each of them but networks with or without a port, or ``*`` for everything.

    Raises ``ConfigError`` for a proxy that cannot be used.
    """
    target = urlsplit(url)
    variable = f"{target.scheme.upper()}_PROXY"
    proxy = _variable(variable, environ)
    if not proxy or not _goes_through_proxy(target, _variable("NO_PROXY", environ)):
        return None
    return checked_proxy(proxy if "://" in proxy else f"http://{proxy}", f"the environment variable {variable}")


def checked_proxy(proxy: str, source: str) -> str:
    """The proxy's URL itself, if it can be used; else ``ConfigError`` naming ``source``, without the password."""
    parts = parts_of(proxy)
    if parts is None:
        raise ConfigError(f"{source} is {redacted(proxy)}, which names no host and port; write http://host:port")
    if parts.scheme not in _PORTS:
        raise ConfigError(
            f"{source} is {redacted(proxy)}, but {parts.scheme or 'such'} proxies are not supported (docs/limits.md); "
            "use an http:// or https:// proxy"
        )
    return proxy


def _variable(name: str, environ: Mapping[str, str]) -> str:
    return environ.get(name) or environ.get(name.lower()) or ""


def _goes_through_proxy(target: SplitResult, no_proxy: str) -> bool:
    host = (target.hostname or "").lower()
    port = str(target.port or _PORTS.get(target.scheme))
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return False
    entries = [entry.strip().lower() for entry in no_proxy.split(",")]
    return not any(entry and _matches(entry, host, port, address) for entry in entries)


def _matches(entry: str, host: str, port: str, address: IPv4Address | IPv6Address | None) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        return address is not None and _contains(entry, address)
    wanted, wanted_port = _host_and_port(entry)
    if not wanted or wanted_port not in ("", port):
        return False
    if (wanted_address := _address(wanted)) is not None:
        return wanted_address == address
    if wanted.startswith("*."):
        wanted = wanted[1:]
    if wanted.startswith("."):
        return host.endswith(wanted)
    return host == wanted or host.endswith(f".{wanted}")


def _host_and_port(entry: str) -> tuple[str, str]:
    """``host:port`` or ``[IPv6]:port`` in two; an IPv6 address without brackets has no port."""
    if entry.startswith("["):
        host, _, rest = entry[1:].partition("]")
        return host, rest.removeprefix(":")
    if entry.count(":") == 1:
        host, _, port = entry.partition(":")
        return host, port
    return entry, ""


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _contains(network: str, address: IPv4Address | IPv6Address) -> bool:
    try:
        return address in ip_network(network, strict=False)
    except ValueError:
        return False
