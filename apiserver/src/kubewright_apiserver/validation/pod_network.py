"""The network of a pod: DNS, names for hosts, ports of the host."""

from __future__ import annotations

from collections.abc import Sequence

from kubewright_apiserver.status import forbidden_field, invalid_field, required, too_long
from kubewright_apiserver.validation.address import ip_errors
from kubewright_apiserver.validation.names import dns_subdomain_with_underscores
from kubewright_apiserver.validation.rules import Errors, Object, dns_subdomain_errors, named

__all__ = ["dns_config", "host_alias", "host_network_ports", "hostname_override"]


def dns_config(config: Object | None, policy: str | None, path: str) -> Errors:
    """The errors of how a pod finds names."""
    servers = (config or {}).get("nameservers") or ()
    if policy == "None" and config is None:
        return [required(path, "must provide `dnsConfig` when `dnsPolicy` is None")]
    if policy == "None" and not servers:
        detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        return [required(f"{path}.nameservers", detail)]
    errors: Errors = []
    if len(servers) > 3:
        errors.append(invalid_field(f"{path}.nameservers", servers, "must not have more than 3 nameservers"))
    for index, server in enumerate(servers):
        errors += ip_errors(f"{path}.nameservers[{index}]", server)
    return errors + (_dns_searches(config, path) if config else [])


def _dns_searches(config: Object, path: str) -> Errors:
    at, searches = f"{path}.searches", config.get("searches") or ()
    errors: Errors = []
    if len(searches) > 32:
        errors.append(invalid_field(at, searches, "must not have more than 32 search paths"))
    if len(" ".join(searches)) > 2048:
        detail = "must not have more than 2048 characters (including spaces) in the search list"
        errors.append(invalid_field(at, searches, detail))
    for index, search in enumerate(searches):
        if search != ".":
            errors += named(dns_subdomain_with_underscores, f"{at}[{index}]", search.removesuffix("."))
    return errors + [
        required(f"{path}.options[{index}]", "must not be empty")
        for index, option in enumerate(config.get("options") or ())
        if not option.get("name")
    ]


def host_alias(alias: Object, path: str) -> Errors:
    """The errors of a line in a pod's hosts file."""
    errors = ip_errors(f"{path}.ip", alias.get("ip", ""))
    for index, hostname in enumerate(alias.get("hostnames") or ()):
        errors += dns_subdomain_errors(f"{path}.hostnames[{index}]", hostname)
    return errors


def hostname_override(spec: Object, path: str) -> Errors:
    """The errors of a pod's own choice of its hostname."""
    override, at = spec.get("hostnameOverride"), f"{path}.hostnameOverride"
    if override is None:
        return []
    errors = [
        forbidden_field(at, f"may not be specified when {name} is true")
        for name in ("setHostnameAsFQDN", "hostNetwork")
        if spec.get(name)
    ]
    if len(override.encode()) > 64:
        errors.append(too_long(at, 64))
    return errors + dns_subdomain_errors(at, override)


def host_network_ports(regular: Sequence[Object], path: str, *, in_pod: bool) -> Errors:
    """The errors of ports that are the host's too and must be the same there."""
    detail = "must match `containerPort` when `hostNetwork` is true"
    return [
        invalid_field(f"{path}.containers[{index}].ports[{place}].hostPort", port.get("hostPort", 0), detail)
        for index, container in enumerate(regular)
        for place, port in enumerate(container.get("ports") or ())
        if (in_pod or port.get("hostPort")) and port.get("hostPort", 0) != port.get("containerPort", 0)
    ]
