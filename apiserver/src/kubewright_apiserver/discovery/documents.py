"""``Discovery``: the requests that ask about the server itself: what it serves, its version, its health."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import parse_qs

import orjson

from kubewright_apiserver.data import resources
from kubewright_apiserver.discovery.groups import aggregated, api_group, api_groups, api_resources, core_versions
from kubewright_apiserver.discovery.metrics import METRICS_TYPE
from kubewright_apiserver.discovery.openapi import OpenApi
from kubewright_apiserver.discovery.openapi_v2 import OpenApiV2
from kubewright_apiserver.negotiation import accepted_by, aggregated_media, check_route
from kubewright_apiserver.protobuf import written_object
from kubewright_apiserver.registry import Registry
from kubewright_apiserver.status import unserved

__all__ = ["Discovery"]

Found = tuple[int, list[tuple[str, str]], bytes]

_AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_PROBES: Final = ("healthz", "livez", "readyz")
_CHECKS: Final = ("ping", "log", "etcd", "informer-sync")
_PRIVATE: Final = ("Cache-Control", "no-cache, private")


class Discovery:
    """Answers what is not about objects; documents are made anew only when what is served has changed."""

    def __init__(self, registry: Registry, metrics: Callable[[], bytes]) -> None:
        self._registry = registry
        self._metrics = metrics
        self._openapi = OpenApi(registry)
        self._openapi_v2 = OpenApiV2(registry)
        self._made: dict[str, tuple[int, bytes, str]] = {}

    def answer(self, path: str, query: str, headers: dict[str, str]) -> Found | None:
        """The answer, or None if the path is of an object or of nothing."""
        parts = path.strip("/").split("/")
        if path.startswith("//"):
            return None
        if parts[0] in ("api", "apis"):
            return self._served(parts, headers)
        if parts[0] in _PROBES:
            return _health(parts if not path.endswith("/") else [*parts, ""], query)
        if parts[0] == "openapi":
            is_older = path == "/openapi/v2"
            return self._openapi_v2.answer(headers) if is_older else self._openapi.answer(path, query, headers)
        if path == "/metrics":
            return 200, [_PRIVATE, ("Content-Type", METRICS_TYPE)], self._metrics()
        if parts == ["version"]:
            check_route(headers.get("accept", ""), ("application/json",))
            return _json(_version())
        return _json(self._paths()) if path == "/" else None

    def _served(self, parts: list[str], headers: dict[str, str]) -> Found | None:
        root, *rest = parts
        if not rest:
            return self._root(root, headers)
        if root == "apis":
            return self._group(parts) if len(rest) < 3 else None
        if len(rest) > 1:
            return None
        if not self._registry.serves("", rest[0]):
            raise unserved()
        return _json(api_resources(self._registry, "", rest[0]))

    def _paths(self) -> dict[str, list[str]]:
        """``/``: where there is something to be read."""
        paths = ["/api", "/apis", "/apis/", "/metrics", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/version"]
        paths += [f"/{probe}{check}" for probe in _PROBES for check in ("", *(f"/{name}" for name in _CHECKS))]
        for group in self._registry.groups():
            root = f"/apis/{group}" if group else "/api"
            paths += [root] if group else []
            paths += [f"{root}/{version}" for version in self._registry.versions_of(group)]
        return {"paths": sorted(paths)}

    def _root(self, root: str, headers: dict[str, str]) -> Found:
        accept = headers.get("accept", "")
        media = aggregated_media(accept)
        if media:
            status, told, data = self._aggregated(root, headers)
            if media != "application/json" and data:
                told[-1] = ("Content-Type", _AGGREGATED.replace("application/json", media))
                data = written_object(orjson.loads(data))
            return status, told, data
        accepted_by(accept, is_routed=False)
        return _json(core_versions("") if root == "api" else api_groups(self._registry))

    def _aggregated(self, root: str, headers: dict[str, str]) -> Found:
        made = self._made.get(root)
        if made is None or made[0] != self._registry.generation:
            data = orjson.dumps(aggregated(self._registry, core=root == "api"))
            etag = f'"{hashlib.sha512(data).hexdigest().upper()}"'
            made = self._made[root] = (self._registry.generation, data, etag)
        told = [("Cache-Control", "public"), ("Vary", "Accept"), ("ETag", made[2])]
        if headers.get("if-none-match") == made[2]:
            return 304, told, b""
        return 200, [*told, ("Content-Type", _AGGREGATED)], made[1]

    def _group(self, parts: list[str]) -> Found | None:
        group = parts[1]
        if not self._registry.serves(group):
            return None
        if len(parts) == 2:
            return _json(api_group(self._registry, group))
        if not self._registry.serves(group, parts[2]):
            if self._registry.is_built_in(group):
                raise unserved()
            return None
        return _json(api_resources(self._registry, group, parts[2]))


def _json(document: Any) -> Found:
    return 200, [_PRIVATE, ("Content-Type", "application/json")], orjson.dumps(document)


def _text(status: int, text: str) -> Found:
    headers = [_PRIVATE, ("Content-Type", "text/plain; charset=utf-8"), ("X-Content-Type-Options", "nosniff")]
    return status, headers, text.encode()


def _health(parts: list[str], query: str) -> Found:
    if len(parts) > 1 and parts[1] not in _CHECKS:
        return _text(404, "404 page not found\n")
    if "verbose" in parse_qs(query, keep_blank_values=True) and len(parts) == 1:
        lines = [f"[+]{check} ok" for check in _CHECKS]
        return _text(200, "\n".join([*lines, f"{parts[0]} check passed\n"]))
    return _text(200, "ok")


def _version() -> dict[str, str]:
    full = resources()["kubernetes"]
    major, minor, _ = full.removeprefix("v").split(".")
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": full,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "kubewright-apiserver",
        "compiler": "gc",
        "platform": "linux/amd64",
    }
