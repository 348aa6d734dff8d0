"""Makes requests: from a verb, a kind and a name to method, path, query and headers."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, urlencode

from kubewright.api import ApiResource, MetadataOnly, Resource
from kubewright.client.discovery import Discovery
from kubewright.client.options import ALL_NAMESPACES, Options
from kubewright.client.transport import USER_AGENT, Request

__all__ = ["Requests"]

_JSON: Final = "application/json"
_METADATA: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_METADATA_LIST: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_METHODS: Final = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "connect": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "apply": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}
_IDEMPOTENT: Final = frozenset(("get", "list", "watch", "apply"))


_PLAIN: Final = re.compile(r"[a-z0-9.-]*")


def _quoted(name: str) -> str:
    """The name as a part of a path; nearly all are that already."""
    return name if _PLAIN.fullmatch(name) else quote(name, safe="")


def _pairs(query: Mapping[str, Any] | Sequence[tuple[str, Any]]) -> tuple[tuple[str, Any], ...]:
    return tuple(query.items() if isinstance(query, Mapping) else query)


# Writes of one client differ in their bodies; what they ask for is nearly always the same.
_encoded = functools.lru_cache(maxsize=256)(urlencode)


class Requests:
    """Requests in the name of one client: with its default namespace and options."""

    def __init__(self, discovery: Discovery, namespace: str, options: Options) -> None:
        self.discovery: Discovery = discovery
        self.namespace: str = namespace
        self.options: Options = options

    async def read(
        self,
        verb: str,
        kind: type[Resource],
        namespace: str | None,
        name: str | None = None,
        subresource: str | None = None,
        query: Mapping[str, Any] | Sequence[tuple[str, Any]] | None = None,
    ) -> Request:
        """A request without a body."""
        resource = kind.api_resource
        if not resource.plural:
            resource = await self.discovery.resource(resource.api_version, resource.kind)
        where = self._namespace(resource, namespace, verb)
        path = resource.path(_quoted(where), _quoted(name) if name else None, subresource)
        return Request(
            method=_METHODS[verb],
            target=f"{path}?{_encoded(_pairs(query))}" if query else path,
            headers=self._headers(kind, verb, subresource),
            verb=verb,
            resource=resource,
            namespace=where,
            name=name or "",
            subresource=subresource or "",
            timeout=self.options.timeout,
            idempotent=verb in _IDEMPOTENT,
        )

    async def write(
        self,
        verb: str,
        kind: type[Resource],
        namespace: str | None,
        name: str | None = None,
        subresource: str | None = None,
        body: bytes = b"",
        content_type: str = _JSON,
        query: Mapping[str, Any] | None = None,
    ) -> Request:
        """A request with a body; but for deletes, whose options are their body, it says who writes and how strictly."""
        common: dict[str, Any] = {} if verb.startswith("delete") else dict(self.options.write_query())
        request = await self.read(verb, kind, namespace, name, subresource, {**common, **(query or {})})
        request.headers.append(("Content-Type", content_type))
        request.body = body
        return request

    def _namespace(self, resource: ApiResource, namespace: str | None, verb: str) -> str:
        if not resource.namespaced:
            return ""
        if namespace == ALL_NAMESPACES:
            if verb not in ("list", "watch"):
                raise ValueError(
                    f"{verb} {resource.kind}: name one namespace; {ALL_NAMESPACES!r} is for list and watch"
                )
            return ""
        return namespace or self.namespace

    def _headers(self, kind: type[Resource], verb: str, subresource: str | None) -> list[tuple[str, str]]:
        accept = _JSON
        if subresource is None and verb != "create" and issubclass(kind, MetadataOnly):
            accept = _METADATA_LIST if verb in ("list", "deletecollection") else _METADATA
        headers = [("Accept", accept), ("User-Agent", USER_AGENT)]
        if self.options.impersonate is not None:
            headers += self.options.impersonate.headers()
        return headers
