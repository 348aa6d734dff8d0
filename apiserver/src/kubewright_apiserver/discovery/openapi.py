"""OpenAPI v3: an index, and one document a group-version with the schemas and paths that clients look for."""

from __future__ import annotations

import hashlib
from typing import Any, Final
from urllib.parse import parse_qs

import orjson

from kubewright_apiserver.data import resources, schemas
from kubewright_apiserver.registry import Registry, Served

__all__ = ["OpenApi"]

Found = tuple[int, list[tuple[str, str]], bytes]

_REFERENCE: Final = "#/components/schemas/"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
_PRIVATE: Final = ("Cache-Control", "no-cache, private")
_FOR_EVER: Final = [("Cache-Control", "public, immutable"), ("Expires", "Sat, 01 Jan 2050 00:00:00 GMT")]
_ACTIONS: Final = {
    "get": ("get", "get"),
    "list": ("get", "list"),
    "create": ("post", "post"),
    "update": ("put", "put"),
    "patch": ("patch", "patch"),
    "delete": ("delete", "delete"),
    "deletecollection": ("delete", "deletecollection"),
}
_ON_ONE: Final = ("get", "update", "patch", "delete")
_ON_ALL: Final = ("list", "create", "deletecollection")
_WRITES: Final = ("create", "update", "patch")
_ROOTS: Final = ("api", "apis", "version", ".well-known/openid-configuration", "openid/v1/jwks", "logs")


class OpenApi:
    """The documents of what is served, made when first asked for and again when that has changed."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._generation = -1
        self._documents: dict[str, tuple[bytes, str]] = {}

    def answer(self, path: str, query: str, headers: dict[str, str]) -> Found | None:
        """``/openapi/v3`` and what is below it."""
        if self._registry.generation != self._generation:
            self._generation = self._registry.generation
            self._documents.clear()
        if path.rstrip("/") == "/openapi/v3":
            return self._index(headers)
        if not path.startswith("/openapi/v3/"):
            return None
        name = path.removeprefix("/openapi/v3/")
        if name not in self._names():
            return 404, [_PRIVATE], b""
        data, digest = self._document(name)
        asked = parse_qs(query).get("hash")
        if asked and asked != [digest]:
            return 301, [_PRIVATE, ("Location", f"/openapi/v3/{name}?hash={digest}")], b""
        told = [*(_FOR_EVER if asked else [_PRIVATE]), ("ETag", f'"{digest}"'), ("Vary", "Accept")]
        if headers.get("if-none-match") == f'"{digest}"':
            return 304, told, b""
        return 200, [("Content-Type", "application/json"), *told], data

    def _index(self, headers: dict[str, str]) -> Found:
        paths = {
            name: {"serverRelativeURL": f"/openapi/v3/{name}?hash={self._document(name)[1]}"} for name in self._names()
        }
        data = orjson.dumps({"paths": paths})
        etag = f'"{hashlib.sha512(data).hexdigest().upper()}"'
        if headers.get("if-none-match") == etag:
            return 304, [("ETag", etag)], b""
        return 200, [("ETag", etag), ("Content-Type", "text/plain; charset=utf-8")], data

    def _names(self) -> list[str]:
        names = [*_ROOTS]
        for group in self._registry.groups():
            names += [f"apis/{group}"] if group else []
            versions = self._registry.versions_of(group)
            names += [f"apis/{group}/{version}" if group else f"api/{version}" for version in versions]
        return names

    def _document(self, name: str) -> tuple[bytes, str]:
        found = self._documents.get(name)
        if found is None:
            data = orjson.dumps(self._made(name))
            found = self._documents[name] = (data, hashlib.sha512(data).hexdigest().upper())
        return found

    def _made(self, name: str) -> dict[str, Any]:
        parts = name.split("/")
        info = {"title": "Kubernetes", "version": resources()["kubernetes"]}
        is_version = (parts[0] == "api" and len(parts) == 2) or (parts[0] == "apis" and len(parts) == 3)
        if not is_version:
            return {"openapi": "3.0.0", "info": info, "paths": {f"/{name}/": {"get": {}}}}
        group, version = ("", parts[1]) if parts[0] == "api" else (parts[1], parts[2])
        served = [one for one in self._registry.resources() if (one.group, one.version) == (group, version)]
        paths: dict[str, Any] = {}
        components: dict[str, Any] = {}
        for one in served:
            paths |= _paths(one, f"/{name}")
            components |= _components(one)
        return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": components}}


def schema_name(served: Served) -> str:
    """The name of the schema of a kind: built-in ones have theirs, custom ones are named after their group."""
    if served.crd is None:
        return served.node.definition
    return ".".join([*reversed(served.group.split(".")), served.version, served.kind])


def _components(served: Served) -> dict[str, Any]:
    found: dict[str, Any] = {}
    kind = {"group": served.group, "version": served.version, "kind": served.kind}
    name = schema_name(served)
    if served.crd is not None:
        found[name] = {**_told(served.node.schema), "x-kubernetes-group-version-kind": [kind]}
        _collect(served.node.schema, found)
    else:
        _collect({"$ref": _REFERENCE + name}, found)
    for always in ("DeleteOptions", "Patch", "Status"):
        _collect({"$ref": f"{_REFERENCE}{_META}.{always}"}, found)
    listed = {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "items": {"type": "array", "items": {"$ref": _REFERENCE + name}},
            "metadata": _told({"$ref": f"{_REFERENCE}{_META}.ListMeta"}),
        },
        "x-kubernetes-group-version-kind": [{**kind, "kind": served.list_kind}],
    }
    found.setdefault(f"{name}List", listed)
    _collect(listed, found)
    return found


def _told(schema: Any) -> Any:
    """A schema as it is published: what is said beside a reference needs a wrapper, and so has it here."""
    if isinstance(schema, list):
        return [_told(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return {"allOf": [schema]}
    return {key: _told(value) for key, value in schema.items()}


def _collect(schema: Any, found: dict[str, Any]) -> None:
    """Gather the schemas that this one refers to, and those that they refer to."""
    if isinstance(schema, dict):
        reference = schema.get("$ref")
        if isinstance(reference, str):
            name = reference.removeprefix(_REFERENCE)
            if name not in found and name in schemas():
                found[name] = schemas()[name]
                _collect(found[name], found)
        for value in schema.values():
            _collect(value, found)
    elif isinstance(schema, list):
        for value in schema:
            _collect(value, found)


def _paths(served: Served, root: str) -> dict[str, Any]:
    scope = f"{root}/namespaces/{{namespace}}" if served.namespaced else root
    kind = {"group": served.group, "version": served.version, "kind": served.kind}
    all_of = f"{scope}/{served.plural}"
    paths: dict[str, Any] = {
        all_of: _operations(served, _ON_ALL, served.verbs, kind),
        f"{all_of}/{{name}}": _operations(served, _ON_ONE, served.verbs, kind),
    }
    if served.namespaced and "list" in served.verbs:
        paths[f"{root}/{served.plural}"] = _operations(served, ("list",), served.verbs, kind)
    for part in served.subresources.values():
        of_part = {"group": part.group, "version": part.version, "kind": part.kind}
        path = f"{all_of}/{{name}}/{part.name}"
        paths[path] = _operations(served, (*_ON_ONE, "create"), part.verbs, of_part)
    return {path: operations for path, operations in paths.items() if operations}


def _operations(
    served: Served, actions: tuple[str, ...], verbs: tuple[str, ...], kind: dict[str, str]
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for verb in actions:
        if verb not in verbs:
            continue
        method, action = _ACTIONS[verb]
        found[method] = {
            "operationId": f"{verb}{served.kind}",
            "parameters": _parameters(verb),
            "responses": {"200": {"description": "OK"}},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": kind,
        }
    return found


def _parameters(verb: str) -> list[dict[str, Any]]:
    names = []
    if verb in _WRITES:
        names = ["dryRun", "fieldManager", "fieldValidation"] + (["force"] if verb == "patch" else [])
    elif verb == "delete":
        names = ["dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy"]
    elif verb == "list":
        names = ["continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "watch"]
    return [{"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}} for name in names]
