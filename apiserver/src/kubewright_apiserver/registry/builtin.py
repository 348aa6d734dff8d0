"""The resources that every Kubernetes server has, from the extracted facts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from kubewright_apiserver.conversion import stored_version
from kubewright_apiserver.data import described_kinds, resources
from kubewright_apiserver.registry.served import Served, Subresource
from kubewright_apiserver.schema.node import node_of_builtin

__all__ = ["builtin_resources", "definition_of", "group_order"]


@cache
def _definitions() -> dict[tuple[str, str, str], str]:
    found: dict[tuple[str, str, str], str] = {}
    for name, kinds in described_kinds().items():
        if len(kinds) == 1:
            found[kinds[0]["group"], kinds[0]["version"], kinds[0]["kind"]] = name
    return found


def definition_of(group: str, version: str, kind: str) -> str:
    """The name of the schema of a built-in kind."""
    return _definitions()[group, version, kind]


def group_order() -> list[dict[str, Any]]:
    """The built-in groups in the server's order, each with its versions and the preferred one."""
    groups: list[dict[str, Any]] = resources()["groups"]
    return groups


def builtin_resources(is_enabled: Callable[[str, str], bool]) -> list[Served]:
    """The resources of the group-versions that are enabled, in the server's order."""
    return [_served(entry) for entry in resources()["resources"] if is_enabled(entry["group"], entry["version"])]


def _served(entry: dict[str, Any]) -> Served:
    group, version, plural = entry["group"], entry["version"], entry["name"]
    stored = stored_version(f"{group}/{version}" if group else version, entry["kind"]).rpartition("/")
    return Served(
        group=group,
        version=version,
        plural=plural,
        singular=entry["singular"],
        kind=entry["kind"],
        namespaced=entry["namespaced"],
        verbs=tuple(entry["verbs"]),
        short_names=tuple(entry.get("shortNames", ())),
        categories=tuple(entry.get("categories", ())),
        subresources={name: _subresource(name, part, group, version) for name, part in _parts(entry)},
        storage_version_hash=entry.get("storageVersionHash", ""),
        node=node_of_builtin(definition_of(group, version, entry["kind"])),
        storage_group=stored[0],
        storage_version=stored[2],
    )


def _parts(entry: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return list(entry.get("subresources", {}).items())


def _subresource(name: str, part: dict[str, Any], group: str, version: str) -> Subresource:
    return Subresource(
        name=name,
        group=part.get("group", group),
        version=part.get("version", version),
        kind=part["kind"],
        verbs=tuple(part["verbs"]),
    )
