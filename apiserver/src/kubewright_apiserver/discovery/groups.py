"""Discovery documents: what is served, in the aggregated form and in the older one."""

from __future__ import annotations

from typing import Any

from kubewright_apiserver.registry import Registry, Served, Subresource

__all__ = ["aggregated", "api_group", "api_groups", "api_resources", "core_versions"]


def aggregated(registry: Registry, *, core: bool) -> dict[str, Any]:
    """``/api`` or ``/apis`` as APIGroupDiscoveryList."""
    groups = [group for group in registry.groups() if bool(group) is not core]
    items = [_group(registry, group) for group in groups]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def _group(registry: Registry, group: str) -> dict[str, Any]:
    versions = [
        {
            "version": version,
            "resources": [_aggregated_resource(served) for served in _resources(registry, group, version)],
            "freshness": "Current",
        }
        for version in registry.versions_of(group)
    ]
    return {"metadata": {"name": group} if group else {}, "versions": versions}


def _resources(registry: Registry, group: str, version: str) -> list[Served]:
    return [served for served in registry.resources() if (served.group, served.version) == (group, version)]


def _aggregated_resource(served: Served) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "resource": served.plural,
        "responseKind": _own_kind(served, served.kind),
        "scope": "Namespaced" if served.namespaced else "Cluster",
        "singularResource": served.singular,
        "verbs": list(served.verbs),
    }
    if served.short_names:
        entry["shortNames"] = list(served.short_names)
    if served.categories:
        entry["categories"] = list(served.categories)
    if served.subresources:
        entry["subresources"] = [_aggregated_part(served, part) for part in served.subresources.values()]
    return entry


def _aggregated_part(served: Served, part: Subresource) -> dict[str, Any]:
    is_own = (part.group, part.version) == (served.group, served.version)
    return {
        "subresource": part.name,
        "responseKind": _own_kind(served, part.kind) if is_own else _kind(part.group, part.version, part.kind),
        "verbs": list(part.verbs),
    }


def _own_kind(served: Served, kind: str) -> dict[str, str]:
    """A kind of the resource's own group and version, which only custom resources name."""
    return _kind("", "", kind) if served.crd is None else _kind(served.group, served.version, kind)


def _kind(group: str, version: str, kind: str) -> dict[str, str]:
    return {"group": group, "version": version, "kind": kind}


def core_versions(address: str) -> dict[str, Any]:
    """``/api`` in the older form."""
    where = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": where}


def api_groups(registry: Registry) -> dict[str, Any]:
    """``/apis`` in the older form."""
    groups = [_api_group(registry, group) for group in registry.groups() if group]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def api_group(registry: Registry, group: str) -> dict[str, Any]:
    """``/apis/GROUP``."""
    return {"kind": "APIGroup", "apiVersion": "v1", **_api_group(registry, group)}


def _api_group(registry: Registry, group: str) -> dict[str, Any]:
    versions = [{"groupVersion": f"{group}/{version}", "version": version} for version in registry.versions_of(group)]
    return {"name": group, "versions": versions, "preferredVersion": versions[0]}


def api_resources(registry: Registry, group: str, version: str) -> dict[str, Any]:
    """``/api/VERSION`` or ``/apis/GROUP/VERSION``: resources, each followed by its parts."""
    entries: list[dict[str, Any]] = []
    for served in _resources(registry, group, version):
        entries.append(_resource(served))
        entries += [_part(served, part) for part in served.subresources.values()]
    named = f"{group}/{version}" if group else version
    entries.sort(key=lambda entry: entry["name"])
    document: dict[str, Any] = {"kind": "APIResourceList"}
    if group:
        document["apiVersion"] = "v1"
    return {**document, "groupVersion": named, "resources": entries}


def _resource(served: Served) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": served.plural,
        "singularName": served.singular,
        "namespaced": served.namespaced,
        "kind": served.kind,
        "verbs": list(served.verbs),
    }
    if served.short_names:
        entry["shortNames"] = list(served.short_names)
    if served.categories:
        entry["categories"] = list(served.categories)
    if served.storage_version_hash:
        entry["storageVersionHash"] = served.storage_version_hash
    return entry


def _part(served: Served, part: Subresource) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": f"{served.plural}/{part.name}",
        "singularName": "",
        "namespaced": served.namespaced,
    }
    if (part.group, part.version) != (served.group, served.version):
        entry |= {"group": part.group, "version": part.version}
    return {**entry, "kind": part.kind, "verbs": list(part.verbs)}
