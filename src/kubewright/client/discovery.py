"""Discovery: where the API server serves which kind, asked when needed and asked again for a kind not yet known."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import msgspec

from kubewright.api import ApiResource
from kubewright.client.caller import Caller
from kubewright.client.transport import USER_AGENT, Request
from kubewright.errors import ApiStatus, NotAcceptable, NotFound, NotServed

__all__ = ["Discovery"]

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


class _Version(msgspec.Struct, rename="camel"):
    version: str
    resources: list[_Resource] | None = None


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


class _LegacyResources(msgspec.Struct, rename="camel"):
    resources: list[_LegacyResource] | None = None


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
        """Ask the server again."""
        found = [*await self._tree("/api"), *await self._tree("/apis")]
        self._known = {(resource.api_version, resource.kind): resource for resource in found}

    async def _tree(self, path: str) -> list[ApiResource]:
        try:
            data = await self._get(path, _AGGREGATED)
        except NotAcceptable:
            data = await self._get(path, "application/json")
        aggregated = msgspec.json.decode(data, type=_Aggregated)
        if aggregated.kind == "APIGroupDiscoveryList":
            return _read_aggregated(aggregated)
        return await self._read_legacy(path, data)

    async def _read_legacy(self, path: str, data: bytes) -> list[ApiResource]:
        listed = msgspec.json.decode(data, type=_LegacyGroups)
        names = list(listed.versions or ())
        names += [version.group_version for group in listed.groups or () for version in group.versions or ()]
        found: list[ApiResource] = []
        for name in names:
            try:
                page = await self._get(f"{path}/{name}", "application/json")
            except NotFound:
                continue  # A group that went away between the two questions.
            group, _, version = name.rpartition("/")
            found += _read_legacy(group, version, msgspec.json.decode(page, type=_LegacyResources))
        return found

    async def _get(self, path: str, accept: str) -> bytes:
        headers = [("Accept", accept), ("User-Agent", USER_AGENT)]
        request = Request(method="GET", target=path, headers=headers, verb="get", timeout=_TIMEOUT, idempotent=True)
        return await self._caller.fetch(request)


def _read_aggregated(tree: _Aggregated) -> list[ApiResource]:
    return [
        ApiResource(
            group=group.metadata.name,
            version=version.version,
            kind=resource.response_kind.kind,
            plural=resource.resource,
            namespaced=resource.scope == "Namespaced",
            singular=resource.singular_resource,
            short_names=resource.short_names or (),
            categories=resource.categories or (),
        )
        for group in tree.items or ()
        for version in group.versions or ()
        for resource in version.resources or ()
        if resource.response_kind is not None
    ]


def _read_legacy(group: str, version: str, page: _LegacyResources) -> list[ApiResource]:
    return [
        ApiResource(
            group=group,
            version=version,
            kind=resource.kind,
            plural=resource.name,
            namespaced=resource.namespaced,
            singular=resource.singular_name,
            short_names=resource.short_names or (),
            categories=resource.categories or (),
        )
        for resource in page.resources or ()
        if "/" not in resource.name
    ]


def _unknown(api_version: str, kind: str, known: dict[tuple[str, str], ApiResource]) -> ApiStatus:
    others = sorted(version for version, name in known if name == kind)
    hint = f"it serves {kind} of {', '.join(others)}" if others else "if it is a custom resource, install its CRD"
    message = f"the API server does not serve {kind} of {api_version}; {hint}"
    return ApiStatus(status="Failure", code=404, reason="NotFound", message=message)
