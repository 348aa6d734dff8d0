"""Reads which groups, versions and resources the server serves, in the server's own order."""

from __future__ import annotations

from typing import Any

from tools.facts.reading import Get

__all__ = ["read_resources"]


async def read_resources(get: Get) -> dict[str, Any]:
    """The server's version, its groups in order, and all resources with their subresources."""
    groups = [{"group": "", "versions": (await get("/api"))["versions"], "preferred": "v1"}]
    for found in (await get("/apis"))["groups"]:
        versions = [version["version"] for version in found["versions"]]
        groups.append({"group": found["name"], "versions": versions, "preferred": found["preferredVersion"]["version"]})
    resources = []
    for group in groups:
        for version in group["versions"]:
            resources += await _resources(get, group["group"], version)
    return {"kubernetes": (await get("/version"))["gitVersion"], "groups": groups, "resources": resources}


async def _resources(get: Get, group: str, version: str) -> list[dict[str, Any]]:
    served = (await get(f"/apis/{group}/{version}" if group else f"/api/{version}"))["resources"]
    return [
        _resource(group, version, found, [other for other in served if other["name"].startswith(f"{found['name']}/")])
        for found in served
        if "/" not in found["name"]
    ]


def _resource(group: str, version: str, found: dict[str, Any], below: list[dict[str, Any]]) -> dict[str, Any]:
    resource: dict[str, Any] = {
        "group": group,
        "version": version,
        "name": found["name"],
        "singular": found["singularName"],
        "kind": found["kind"],
        "namespaced": found["namespaced"],
        "verbs": found["verbs"],
    }
    resource |= {key: found[key] for key in ("shortNames", "categories", "storageVersionHash") if key in found}
    subresources = {other["name"].partition("/")[2]: _subresource(other) for other in below}
    return {**resource, "subresources": subresources} if subresources else resource


def _subresource(found: dict[str, Any]) -> dict[str, Any]:
    return {key: found[key] for key in ("group", "version", "kind", "verbs") if key in found}
