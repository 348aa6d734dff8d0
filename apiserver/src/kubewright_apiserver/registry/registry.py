"""``Registry``: what is served now: the built-in resources, and those of the CRDs that are established."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from kubewright_apiserver.registry.builtin import builtin_resources, group_order
from kubewright_apiserver.registry.served import Served

__all__ = ["Registry", "version_priority"]

_VERSION: Final = re.compile(r"v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?")


class Registry:
    """The resources that requests can address. ``generation`` counts its changes, so that caches see them."""

    def __init__(self, runtime_config: Mapping[str, bool] | None = None) -> None:
        wanted = dict(runtime_config or {})

        def is_enabled(group: str, version: str) -> bool:
            named = f"{group}/{version}" if group else version
            stage = "api/beta" if "beta" in version else "api/ga"
            return wanted.get(named, wanted.get(stage, wanted.get("api/all", stage == "api/ga")))

        self._builtin = builtin_resources(is_enabled)
        self._own_groups = frozenset(served.group for served in self._builtin)
        self._custom: dict[str, list[Served]] = {}
        self.generation: int = 0
        self._index()

    def find(self, group: str, version: str, plural: str) -> Served | None:
        """The resource at that address."""
        return self._by_address.get((group, version, plural))

    def find_kind(self, group: str, version: str, kind: str) -> Served | None:
        """The resource that serves a kind."""
        return self._by_kind.get((group, version, kind))

    def serves(self, group: str, version: str = "") -> bool:
        """Whether anything of that group, and version, is served."""
        return (group, version) in self._versions if version else group in self._groups

    def is_built_in(self, group: str) -> bool:
        """Whether the group is the server's own, not one that only CRDs make."""
        return group in self._own_groups

    def resources(self) -> list[Served]:
        """All resources: built-in ones in the server's order, then custom ones."""
        return self._all

    def versions_of(self, group: str) -> list[str]:
        """The served versions of a group, the preferred one first."""
        return self._groups.get(group, [])

    def groups(self) -> list[str]:
        """The served groups in the order of discovery."""
        return list(self._groups)

    def siblings(self, served: Served) -> list[Served]:
        """The same resource in all its served versions."""
        versions = self.versions_of(served.group)
        found = (self.find(served.group, version, served.plural) for version in versions)
        return [sibling for sibling in found if sibling is not None]

    def install(self, name: str, resources: Iterable[Served]) -> None:
        """Serve the resources of a CRD in place of those that it had."""
        self._custom[name] = list(resources)
        self._index()

    def remove(self, name: str) -> None:
        """Serve nothing of a CRD any more."""
        if self._custom.pop(name, None) is not None:
            self._index()

    def clear(self) -> None:
        """Serve no CRD any more."""
        self._custom.clear()
        self._index()

    def _index(self) -> None:
        self.generation += 1
        custom = [served for name in sorted(self._custom) for served in self._custom[name]]
        self._all = [*self._builtin, *custom]
        self._by_address = {(served.group, served.version, served.plural): served for served in self._all}
        self._by_kind = {(served.group, served.version, served.kind): served for served in self._all}
        self._versions = {(served.group, served.version) for served in self._all}
        self._groups = self._ordered_groups()

    def _ordered_groups(self) -> dict[str, list[str]]:
        groups: dict[str, list[str]] = {}
        for known in group_order():
            versions = [version for version in known["versions"] if (known["group"], version) in self._versions]
            if versions:
                groups[known["group"]] = versions
        for group in sorted({served.group for served in self._all} - set(groups)):
            found = {served.version for served in self._all if served.group == group}
            groups[group] = sorted(found, key=version_priority)
        return groups


def version_priority(version: str) -> tuple[int, int, int, str]:
    """Kubernetes' order of versions: v10, v2, v1, v11beta2, v10beta3, v3beta1, v12alpha1, foo1."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return (3, 0, 0, version)
    stage = {None: 0, "beta": 1, "alpha": 2}[found.group(2)]
    return (stage, -int(found.group(1)), -int(found.group(3) or 0), "")
