"""OpenAPI v2 in protobuf: the form that client-go asks for when it reads the types of a whole server."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final

import orjson
import yaml

from kubewright_apiserver.protobuf.wire import varint

__all__ = ["in_protobuf"]

Fields = dict[str, tuple[int, str]]

_EMPTY: Final = re.compile(r"(^|: |- )''$", re.MULTILINE)
# For each message its fields: their number, and what they hold. ``*`` are many of that.
_MESSAGES: Final[dict[str, Fields]] = {
    "document": {
        "swagger": (1, "text"),
        "info": (2, "info"),
        "paths": (8, "paths"),
        "definitions": (9, "definitions"),
        "parameters": (10, "parameters"),
        "security": (12, "requirement*"),
        "securityDefinitions": (13, "securities"),
    },
    "info": {"title": (1, "text"), "version": (2, "text")},
    "path": {
        "get": (2, "operation"),
        "put": (3, "operation"),
        "post": (4, "operation"),
        "delete": (5, "operation"),
        "options": (6, "operation"),
        "head": (7, "operation"),
        "patch": (8, "operation"),
        "parameters": (9, "parameter_item*"),
    },
    "operation": {
        "tags": (1, "text*"),
        "description": (3, "text"),
        "operationId": (5, "text"),
        "produces": (6, "text*"),
        "consumes": (7, "text*"),
        "parameters": (8, "parameter_item*"),
        "responses": (9, "responses"),
        "schemes": (10, "text*"),
        "x-": (13, "extension"),
    },
    "reference": {"$ref": (1, "text")},
    "body_parameter": {
        "description": (1, "text"),
        "name": (2, "text"),
        "in": (3, "text"),
        "required": (4, "flag"),
        "schema": (5, "schema"),
    },
    "query_parameter": {
        "in": (2, "text"),
        "description": (3, "text"),
        "name": (4, "text"),
        "type": (6, "text"),
        "uniqueItems": (20, "flag"),
    },
    "path_parameter": {
        "required": (1, "flag"),
        "in": (2, "text"),
        "description": (3, "text"),
        "name": (4, "text"),
        "type": (5, "text"),
        "uniqueItems": (19, "flag"),
    },
    "response": {"description": (1, "text"), "schema": (2, "schema_item")},
    "schema": {
        "$ref": (1, "text"),
        "format": (2, "text"),
        "title": (3, "text"),
        "description": (4, "text"),
        "default": (5, "any"),
        "multipleOf": (6, "number"),
        "maximum": (7, "number"),
        "exclusiveMaximum": (8, "flag"),
        "minimum": (9, "number"),
        "exclusiveMinimum": (10, "flag"),
        "maxLength": (11, "integer"),
        "minLength": (12, "integer"),
        "pattern": (13, "text"),
        "maxItems": (14, "integer"),
        "minItems": (15, "integer"),
        "uniqueItems": (16, "flag"),
        "maxProperties": (17, "integer"),
        "minProperties": (18, "integer"),
        "required": (19, "text*"),
        "enum": (20, "any*"),
        "additionalProperties": (21, "others"),
        "type": (22, "type"),
        "items": (23, "items"),
        "properties": (25, "definitions"),
        "x-": (31, "extension"),
    },
    "api_key": {"type": (1, "text"), "name": (2, "text"), "in": (3, "text"), "description": (4, "text")},
}


def in_protobuf(document: dict[str, Any]) -> bytes:
    """The bytes of a document."""
    return _message("document", document)


def _message(name: str, value: dict[str, Any]) -> bytes:
    fields = _MESSAGES[name]
    found: list[tuple[int, bytes]] = []
    for key, inner in value.items():
        if key.startswith("x-") and "x-" in fields:
            number = fields["x-"][0]
            found.append((number, _sized(number, _extension(key, inner))))
        elif key in fields:
            number, kind = fields[key]
            found += [(number, part) for part in _parts(number, kind, inner)]
    return b"".join(part for _, part in sorted(found, key=lambda one: one[0]))


def _parts(number: int, kind: str, value: Any) -> Iterator[bytes]:
    if kind.endswith("*"):
        for item in value:
            yield from _parts(number, kind[:-1], item)
    elif kind == "flag":
        if value:
            yield varint(number << 3) + b"\1"
    elif kind == "integer":
        yield varint(number << 3) + varint(value)
    elif kind == "number":
        yield varint(number << 3 | 1) + struct.pack("<d", value)
    elif kind == "text":
        if value:
            yield _sized(number, value.encode())
    else:
        yield _sized(number, _WRITTEN[kind](value) if kind in _WRITTEN else _message(kind, value))


def _sized(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def _named(number: int, kind: str) -> Callable[[dict[str, Any]], bytes]:
    """Writes a map as a list of names and values, in the order of names."""

    def written(value: dict[str, Any]) -> bytes:
        pairs = (_sized(1, name.encode()) + b"".join(_parts(2, kind, value[name])) for name in value)
        return b"".join(_sized(number, pair) for pair in pairs)

    return written


def _extension(name: str, value: Any) -> bytes:
    return _sized(1, name.encode()) + _sized(2, _any(value))


def _any(value: Any) -> bytes:
    return _sized(2, _in_yaml(orjson.dumps(value)))


@lru_cache(maxsize=1024)
def _in_yaml(data: bytes) -> bytes:
    """JSON as YAML; a few values are said a thousand times."""
    text = yaml.safe_dump(orjson.loads(data), default_flow_style=False, width=1 << 30, allow_unicode=True)
    return _EMPTY.sub(r'\1""', text.removesuffix("...\n")).encode()


def _parameter_item(value: dict[str, Any]) -> bytes:
    if "$ref" in value:
        return _sized(2, _message("reference", value))
    return _sized(1, _parameter(value))


def _parameter(value: dict[str, Any]) -> bytes:
    if value["in"] == "body":
        return _sized(1, _message("body_parameter", value))
    is_path = value["in"] == "path"
    return _sized(2, _sized(4 if is_path else 3, _message("path_parameter" if is_path else "query_parameter", value)))


def _response_value(value: dict[str, Any]) -> bytes:
    return _sized(1, _message("response", value))


def _others(value: Any) -> bytes:
    """What other properties may hold: anything, nothing, or a type."""
    return varint(2 << 3) + varint(bool(value)) if isinstance(value, bool) else _sized(1, _message("schema", value))


_WRITTEN: Final[dict[str, Callable[[Any], bytes]]] = {
    "any": _any,
    "definitions": _named(1, "schema"),
    "items": lambda value: _sized(1, _message("schema", value)),
    "others": _others,
    "parameter": _parameter,
    "parameter_item": _parameter_item,
    "parameters": _named(1, "parameter"),
    "paths": _named(2, "path"),
    "requirement": _named(1, "scopes"),
    "response_value": _response_value,
    "responses": _named(1, "response_value"),
    "schema_item": lambda value: _sized(1, _message("schema", value)),
    "scopes": lambda value: b"".join(_sized(1, text.encode()) for text in value),
    "securities": _named(1, "security"),
    "security": lambda value: _sized(2, _message("api_key", value)),
    "type": lambda value: _sized(1, value.encode()),
}
