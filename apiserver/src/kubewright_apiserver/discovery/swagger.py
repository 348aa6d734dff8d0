"""OpenAPI v2: the types of all that is served in one document, as older clients read them; without prose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kubewright_apiserver.data import resources, schemas
from kubewright_apiserver.discovery.openapi import schema_name
from kubewright_apiserver.registry import Registry, Served
from kubewright_apiserver.registry.builtin import definition_of

__all__ = ["swagger_of"]

_V3: Final = "#/components/schemas/"
_V2: Final = "#/definitions/"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
_ALWAYS: Final = (
    f"{_META}.DeleteOptions",
    f"{_META}.Patch",
    f"{_META}.Status",
    f"{_META}.WatchEvent",
    f"{_META}.APIGroup",
    f"{_META}.APIGroupList",
    f"{_META}.APIResourceList",
    f"{_META}.APIVersions",
    "io.k8s.apimachinery.pkg.version.Info",
)
_KINDS: Final = "x-kubernetes-group-version-kind"
_KEPT: Final = "x-kubernetes-preserve-unknown-fields"
_UNSAYABLE: Final = frozenset(("allOf", "anyOf", "default", "not", "nullable", "oneOf"))
_ON_ALL: Final = {
    "list": ("get", "list"),
    "create": ("post", "post"),
    "deletecollection": ("delete", "deletecollection"),
}
_ON_ONE: Final = {
    "get": ("get", "get"),
    "create": ("post", "post"),
    "update": ("put", "put"),
    "patch": ("patch", "patch"),
    "delete": ("delete", "delete"),
}
_WORDS: Final = {"get": "read", "update": "replace", "deletecollection": "delete"}
_OPTIONS: Final = {
    "create": ("dryRun", "fieldManager", "fieldValidation"),
    "update": ("dryRun", "fieldManager", "fieldValidation"),
    "patch": ("dryRun", "fieldManager", "fieldValidation", "force"),
    "delete": ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy"),
    "list": ("continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "watch"),
}
_NUMBERS: Final = ("gracePeriodSeconds", "limit")
_FLAGS: Final = ("force", "orphanDependents", "watch")


def swagger_of(registry: Registry) -> dict[str, Any]:
    """The document of what a registry serves."""
    paths: dict[str, Any] = {}
    definitions = _Definitions()
    for name in _ALWAYS:
        definitions.add(name)
    for served in registry.resources():
        definitions.add_served(served)
        paths |= _paths(served)
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": resources()["kubernetes"].removeprefix("v").rpartition(".")[0]},
        "paths": paths,
        "definitions": {name: definitions.found[name] for name in sorted(definitions.found)},
        "securityDefinitions": {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}},
        "security": [{"BearerToken": []}],
    }


class _Definitions:
    """The types that are asked for, with those that they refer to."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}

    def add(self, name: str) -> None:
        """Add a built-in type."""
        if name in self.found or name not in schemas():
            return
        self.found[name] = _in_v2(schemas()[name])
        self._follow(self.found[name])

    def add_served(self, served: Served) -> None:
        """Add the types of a resource: of its objects, their list, and their parts."""
        name = schema_name(served)
        if served.crd is not None:
            self.found[name] = _custom(served)
            self.found[f"{name}List"] = _custom_list(served, name)
            self._follow([self.found[name], self.found[f"{name}List"]])
        else:
            self.add(name)
            self.add(f"{name}List")
        for part in served.subresources.values():
            self.add(_definition(part.group, part.version, part.kind))

    def _follow(self, schema: Any) -> None:
        for reference in _references(schema):
            self.add(reference.removeprefix(_V2))


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"]
        for value in schema.values():
            yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)


def _definition(group: str, version: str, kind: str) -> str:
    """The type of a kind; empty for the options of streams, which are none."""
    try:
        return definition_of(group, version, kind)
    except KeyError:
        return ""


def _in_v2(schema: Any) -> Any:
    """A built-in type without what the older version cannot say: defaults, and more than one type."""
    if isinstance(schema, list):
        return [_in_v2(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if len(schema.get("allOf", ())) == 1:
        beside = {key: value for key, value in schema.items() if key.startswith("x-")}
        return {**_in_v2(schema["allOf"][0]), **beside}
    if isinstance(schema.get("$ref"), str):
        return {"$ref": schema["$ref"].replace(_V3, _V2)}
    kept = {key: _in_v2(value) for key, value in schema.items() if key not in ("default", "oneOf")}
    if "properties" in schema:
        kept["properties"] = {name: _in_v2(inner) for name, inner in schema["properties"].items()}
    return {"type": "string", **kept} if "oneOf" in schema else kept


def _custom(served: Served) -> dict[str, Any]:
    """The type of a custom resource; one that keeps what it does not know says nothing of its fields."""
    crd = served.crd or {}
    version = next(one for one in crd["spec"]["versions"] if one["name"] == served.version)
    schema: dict[str, Any] = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    told: dict[str, Any] = {"type": "object"}
    if schema and not schema.get(_KEPT):
        told = _sayable(schema)
        told["properties"] = {**told.get("properties", {}), **_object_fields()}
    return {**told, _KINDS: [_kind(served, served.kind)]}


def _kind(served: Served, kind: str) -> dict[str, str]:
    return {"group": served.group, "kind": kind, "version": served.version}


def _object_fields() -> dict[str, Any]:
    text = {"type": "string"}
    return {"apiVersion": text, "kind": text, "metadata": {"$ref": f"{_V2}{_META}.ObjectMeta"}}


def _sayable(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema of a CRD without what kubectl could not read in the older version: see its conversion in Kubernetes."""
    told = {key: value for key, value in schema.items() if key not in _UNSAYABLE}
    is_null, keeps = schema.get("nullable"), schema.get(_KEPT)
    if is_null or keeps:
        told.pop("items", None)
        told.pop("properties", None)
    if is_null or ("items" not in told and told.get("type") == "array") or (keeps and told.get("type") == "object"):
        told.pop("type", None)
    _set_required(told, schema)
    if told.get("properties"):
        told["properties"] = {name: _sayable(inner) for name, inner in told["properties"].items()}
    for name in ("items", "additionalProperties"):
        if isinstance(told.get(name), dict):
            told[name] = _sayable(told[name])
    if schema.get("x-kubernetes-embedded-resource") and not keeps:
        told["properties"] = {**told.get("properties", {}), **_object_fields()}
    return told


def _set_required(told: dict[str, Any], schema: Mapping[str, Any]) -> None:
    """What may be null is not required; of an object, a whole one needs its kind and version."""
    properties = told.get("properties") or {}
    required = [name for name in schema.get("required") or () if not properties.get(name, {}).get("nullable")]
    others = schema.get("additionalProperties")
    if isinstance(others, dict) and others.get("nullable"):
        required = []
    if schema.get("x-kubernetes-embedded-resource") and not schema.get(_KEPT):
        required += [name for name in ("kind", "apiVersion") if name not in required]
    told.pop("required", None)
    if required:
        told["required"] = required


def _custom_list(served: Served, name: str) -> dict[str, Any]:
    fields = {**_object_fields(), "metadata": {"$ref": f"{_V2}{_META}.ListMeta"}}
    fields["items"] = {"type": "array", "items": {"$ref": _V2 + name}}
    told = {"type": "object", "required": ["items"], "properties": fields}
    return {**told, _KINDS: [_kind(served, served.list_kind)]}


def _paths(served: Served) -> dict[str, Any]:
    root = f"/apis/{served.group}/{served.version}" if served.group else f"/api/{served.version}"
    place = f"{root}/namespaces/{{namespace}}/{served.plural}" if served.namespaced else f"{root}/{served.plural}"
    own = _kind(served, served.kind)
    paths = {
        place: _operations(served, _ON_ALL, served.verbs, own),
        f"{place}/{{name}}": _operations(served, {**_ON_ONE, "create": ("", "")}, served.verbs, own),
    }
    if served.namespaced and "list" in served.verbs:
        paths[f"{root}/{served.plural}"] = _operations(
            served, {"list": _ON_ALL["list"]}, ("list",), own, suffix="ForAllNamespaces"
        )
    for part in served.subresources.values():
        kind = {"group": part.group, "kind": part.kind, "version": part.version}
        told = own if served.crd is not None else kind
        suffix = "".join(word.capitalize() for word in part.name.split("/"))
        paths[f"{place}/{{name}}/{part.name}"] = _operations(served, _ON_ONE, part.verbs, told, suffix=suffix)
    return {path: operations for path, operations in paths.items() if operations}


def _operations(
    served: Served,
    actions: Mapping[str, tuple[str, str]],
    verbs: tuple[str, ...],
    kind: dict[str, str],
    suffix: str = "",
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for verb, (method, action) in actions.items():
        if verb in verbs and method:
            is_stream = kind["kind"].endswith("Options")
            found[method] = {
                "operationId": _operation_id(served, verb, suffix, method.capitalize() if is_stream else ""),
                "parameters": [*_body(served, verb, kind), *map(_parameter, _OPTIONS.get(verb, ()))],
                "responses": {"200": {"description": "OK"}, "401": {"description": "Unauthorized"}},
                "x-kubernetes-action": "connect" if is_stream else action,
                _KINDS: kind,
            }
    return found


def _operation_id(served: Served, verb: str, suffix: str, streamed: str) -> str:
    """What clients call an operation; ``streamed`` is the method of one that connects to something."""
    group = served.group.removesuffix(".k8s.io") if served.crd is None else served.group
    words = "".join(word.capitalize() for word in (group or "core").split("."))
    collection = "Collection" if verb == "deletecollection" else ""
    scope = "Namespaced" if served.namespaced and suffix != "ForAllNamespaces" else ""
    version = served.version.capitalize()
    verb = "connect" if streamed else _WORDS.get(verb, verb)
    return f"{verb}{words}{version}{streamed}{collection}{scope}{served.kind}{suffix}"


def _body(served: Served, verb: str, kind: dict[str, str]) -> list[dict[str, Any]]:
    if verb in ("create", "update"):
        name = schema_name(served)
        if kind["kind"] != served.kind and served.crd is None:
            name = _definition(kind["group"], kind["version"], kind["kind"])
        body = {"name": "body", "in": "body", "required": True, "schema": {"$ref": _V2 + name}}
        return [body] if name else []
    if verb == "patch":
        return [{"name": "body", "in": "body", "required": True, "schema": {"$ref": f"{_V2}{_META}.Patch"}}]
    return []


def _parameter(name: str) -> dict[str, Any]:
    type = "integer" if name in _NUMBERS else "boolean" if name in _FLAGS else "string"
    return {"uniqueItems": True, "type": type, "name": name, "in": "query"}
