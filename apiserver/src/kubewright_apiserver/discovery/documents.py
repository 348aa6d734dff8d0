"""``Discovery``: the requests that ask about the server itself: what it serves, its version, its health."""

from __future__ import annotations

import hashlib
from typing import Any, Final
from urllib.parse import parse_qs

import orjson

from kubewright_apiserver.data import resources
from kubewright_apiserver.discovery.groups import aggregated, api_group, api_groups, api_resources, core_versions
from kubewright_apiserver.discovery.openapi import OpenApi
from kubewright_apiserver.negotiation import accepts_aggregated
from kubewright_apiserver.registry import Registry
from kubewright_apiserver.status import unserved

__all__ = ["Discovery"]

Found = tuple[int, list[tuple[str, str]], bytes]

_AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_CHECKS: Final = ("ping", "log", "etcd", "informer-sync")
_PRIVATE: Final = ("Cache-Control", "no-cache, private")


class Discovery:
    """Answers what is not about objects; documents are made anew only when what is served has changed."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._openapi = OpenApi(registry)
        self._made: dict[str, tuple[int, bytes, str]] = {}

    def answer(self, path: str, query: str, headers: dict[str, str]) -> Found | None:
        """The answer, or None if the path is of an object or of nothing."""
        parts = path.strip("/").split("/")
        if parts[0] in ("healthz", "livez", "readyz"):
            return _health(parts, query)
        if path == "/version":
            return _json(_version())
        if parts[0] == "openapi":
            return self._openapi.answer(path, query, headers)
        if parts == ["api"] or parts == ["apis"]:
            return self._root(parts[0], headers)
        if parts[0] == "apis" and len(parts) in (2, 3):
            return self._group(parts)
        if parts[0] == "api" and len(parts) == 2 and self._registry.serves("", parts[1]):
            return _json(api_resources(self._registry, "", parts[1]))
        return None

    def _root(self, root: str, headers: dict[str, str]) -> Found:
        if accepts_aggregated(headers.get("accept", "")):
            return self._aggregated(root, headers)
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
            raise unserved()
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
