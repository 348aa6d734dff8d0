"""Discovery: where the API server serves which kind, asked when needed and asked again for a kind not yet known."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from datetime import timedelta

import msgspec

from kubewright.api import ApiResource
from kubewright.client.caller import Caller
from kubewright.client.transport import USER_AGENT, Request
from kubewright.errors import ApiStatus, KubewrightError, NotAcceptable, NotFound, NotServed

__all__ = ["Discovery", "Inventory", "ServedResource"]

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
_TIMEOUT = timedelta(seconds=32)


class _Kind(msgspec.Struct, rename="camel"):
    kind: str
    group: str = ""
    version: str = ""


class _Resource(msgspec.Struct, rename="camel"):
    resource: str
    response_kind: _Kind | None = None
    scope: str = "Namespaced"
    singular_resource: str = ""
    short_names: tuple[str, ...] | None = None
    categories: tuple[str, ...] | None = None
    verbs: tuple[str, ...] | None = None


class _Version(msgspec.Struct, rename="camel"):
    version: str
    resources: list[_Resource] | None = None
    freshness: str = "Current"


class _Name(msgspec.Struct):
    name: str = ""


class _Group(msgspec.Struct, rename="camel"):
    metadata: _Name
    versions: list[_Version] | None = None


class _Aggregated(msgspec.Struct, rename="camel"):
    kind: str = ""
    items: list[_Group] | None = None


class _LegacyVersion(msgspec.Struct, rename="camel"):
    group_version: str


class _LegacyGroup(msgspec.Struct, rename="camel"):
    versions: list[_LegacyVersion] | None = None


class _LegacyGroups(msgspec.Struct, rename="camel"):
    groups: list[_LegacyGroup] | None = None
    versions: list[str] | None = None


class _LegacyResource(msgspec.Struct, rename="camel"):
    name: str
    kind: str
    namespaced: bool
    singular_name: str = ""
    short_names: tuple[str, ...] | None = None
    categories: tuple[str, ...] | None = None
    verbs: tuple[str, ...] | None = None


class _LegacyResources(msgspec.Struct, rename="camel"):
    resources: list[_LegacyResource] | None = None


class ServedResource(msgspec.Struct, frozen=True, kw_only=True):
    """One resource in one version, and what can be done with it."""

    resource: ApiResource
    verbs: tuple[str, ...] = ()

    def can(self, *verbs: str) -> bool:
        """Whether it supports all of these verbs."""
        return all(verb in self.verbs for verb in verbs)


class Inventory(msgspec.Struct, frozen=True, kw_only=True):
    """All that is served, in the server's order, and what could not be found out."""

    resources: tuple[ServedResource, ...]
    failures: Mapping[str, str] = {}
    """By group version: why it is not known what is served there."""

    def preferred(self) -> Iterator[ServedResource]:
        """Each resource once, in the version that the server prefers."""
        seen: set[tuple[str, str]] = set()
        for served in self.resources:
            which = (served.resource.group, served.resource.plural)
            if which not in seen:
                seen.add(which)
                yield served


class Discovery:
    """What the API server serves.

    *Guarantees*: asked once and remembered; a kind that is not known is asked for again at once, so a CRD installed
    a moment ago is found without a restart. Aggregated discovery (one request a tree) is used where the server has
    it, the older form otherwise.
    """

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._known: dict[tuple[str, str], ApiResource] = {}
        self._lock = asyncio.Lock()

    async def resource(self, api_version: str, kind: str) -> ApiResource:
        """Where the kind is served; raises ``NotServed`` if it is not."""
        found = self._known.get((api_version, kind))
        if found is None:
            async with self._lock:
                if (api_version, kind) not in self._known:
                    await self.refresh()
            found = self._known.get((api_version, kind))
        if found is None:
            raise NotServed(_unknown(api_version, kind, self._known))
        return found

    async def resources(self) -> list[ApiResource]:
        """All kinds that are served now."""
        async with self._lock:
            await self.refresh()
        return list(self._known.values())

    async def refresh(self) -> None:
        """Ask the server again; raises if a part of the answer cannot be had."""
        found = [*await self._tree("/api", None), *await self._tree("/apis", None)]
        self._known = {(served.resource.api_version, served.resource.kind): served.resource for served in found}

    async def inventory(self) -> Inventory:
        """All that is served now, with verbs; groups that a server behind this one cannot tell of are named.

        *Raises* what the server answers with if nothing can be found out at all.
        """
        failures: dict[str, str] = {}
        found = [*await self._tree("/api", failures), *await self._tree("/apis", failures)]
        return Inventory(resources=tuple(found), failures=failures)

    async def _tree(self, path: str, failures: dict[str, str] | None) -> list[ServedResource]:
        """What is served below a path; without a place for them, failures are raised and what is stale counts."""
        try:
            data = await self._get(path, _AGGREGATED)
        except NotAcceptable:
            data = await self._get(path, "application/json")
        aggregated = msgspec.json.decode(data, type=_Aggregated)
        if aggregated.kind == "APIGroupDiscoveryList":
            return _read_aggregated(aggregated, failures)
        return await self._read_legacy(path, data, failures)

    async def _read_legacy(self, path: str, data: bytes, failures: dict[str, str] | None) -> list[ServedResource]:
        listed = msgspec.json.decode(data, type=_LegacyGroups)
        names = list(listed.versions or ())
        names += [version.group_version for group in listed.groups or () for version in group.versions or ()]
        found: list[ServedResource] = []
        for name in names:
            try:
                page = await self._get(f"{path}/{name}", "application/json")
            except NotFound:
                continue  # A group that went away between the two questions.
            except KubewrightError as error:
                if failures is None:
                    raise
                failures[name] = str(error)
                continue
            group, _, version = name.rpartition("/")
            found += _read_legacy(group, version, msgspec.json.decode(page, type=_LegacyResources))
        return found

    async def _get(self, path: str, accept: str) -> bytes:
        headers = [("Accept", accept), ("User-Agent", USER_AGENT)]
        request = Request(method="GET", target=path, headers=headers, verb="get", timeout=_TIMEOUT, idempotent=True)
        return await self._caller.fetch(request)


def _read_aggregated(tree: _Aggregated, failures: dict[str, str] | None) -> list[ServedResource]:
    found: list[ServedResource] = []
    for group in tree.items or ():
        for version in group.versions or ():
            if failures is not None and version.freshness == "Stale":
                name = f"{group.metadata.name}/{version.version}"
                failures[name] = f"stale GroupVersion discovery: {name}"
            else:
                found += _read_version(group.metadata.name, version)
    return found


def _read_version(group: str, version: _Version) -> Iterator[ServedResource]:
    for resource in version.resources or ():
        if resource.response_kind is not None:
            where = ApiResource(
                group=group,
                version=version.version,
                kind=resource.response_kind.kind,
                plural=resource.resource,
                namespaced=resource.scope == "Namespaced",
                singular=resource.singular_resource,
                short_names=resource.short_names or (),
                categories=resource.categories or (),
            )
            yield ServedResource(resource=where, verbs=resource.verbs or ())


def _read_legacy(group: str, version: str, page: _LegacyResources) -> Iterator[ServedResource]:
    for resource in page.resources or ():
        if "/" not in resource.name:
            where = ApiResource(
                group=group,
                version=version,
                kind=resource.kind,
                plural=resource.name,
                namespaced=resource.namespaced,
                singular=resource.singular_name,
                short_names=resource.short_names or (),
                categories=resource.categories or (),
            )
            yield ServedResource(resource=where, verbs=resource.verbs or ())


def _unknown(api_version: str, kind: str, known: dict[tuple[str, str], ApiResource]) -> ApiStatus:
    others = sorted(version for version, name in known if name == kind)
    hint = f"it serves {kind} of {', '.join(others)}" if others else "if it is a custom resource, install its CRD"
    message = f"the API server does not serve {kind} of {api_version}; {hint}"
    return ApiStatus(status="Failure", code=404, reason="NotFound", message=message)
