"""From Python types to structural schemas, in which Kubernetes says what an object may look like.

``definition`` puts them into a CustomResourceDefinition.
"""

from __future__ import annotations

import enum
import types
import typing
from collections import abc
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, TypeAlias
from uuid import UUID

import msgspec

from kubewright.api import ListMap, ListSet, MicroTime, Quantity, Resource, UnsetType
from kubewright.crd.constraints import constrain
from kubewright.crd.descriptions import described_class, described_fields

__all__ = ["Schema", "schema_of"]

Schema: TypeAlias = dict[str, Any]
"""A schema as it stands in the CRD, in JSON."""

_ANYTHING: Final = {"x-kubernetes-preserve-unknown-fields": True}
_INT_OR_STRING: Final = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
_QUANTITY: Final = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?$"

_SCALARS: Final[dict[Any, Schema]] = {
    bool: {"type": "boolean"},
    int: {"type": "integer", "format": "int64"},
    float: {"type": "number", "format": "double"},
    str: {"type": "string"},
    bytes: {"type": "string", "format": "byte"},
    datetime: {"type": "string", "format": "date-time"},
    MicroTime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    timedelta: {"type": "string"},
    Decimal: {"type": "string"},
    UUID: {"type": "string", "format": "uuid"},
    Quantity: {**_INT_OR_STRING, "pattern": _QUANTITY},
}
_LISTS: Final = (list, tuple, set, frozenset, abc.Sequence, abc.Set, abc.Collection)
_MAPS: Final = (dict, abc.Mapping, abc.MutableMapping)
_KEY_DEFAULTS: Final = {"protocol": "TCP"}
"""What Kubernetes takes for an absent key of its own list-maps."""


def schema_of(hint: Any) -> Schema:
    """The structural schema of a type: a Model, a scalar, or lists and maps of these.

    *Guarantees*: what the type accepts is accepted, and nothing that it would read is pruned; where a schema cannot
    say it (``Any``, mixed unions, types that contain themselves), anything is let pass.

    *Raises* ``TypeError`` naming the field whose type has no schema.
    """
    return _Writer().write(hint, getattr(hint, "__name__", str(hint)))


class _Writer:
    """Writes one schema; knows in which Structs it is, so that it ends where they contain themselves."""

    def __init__(self) -> None:
        self._inside: list[Any] = []

    def write(self, hint: Any, where: str, *, omits_null: bool = False) -> Schema:
        """The schema of a type; ``where`` is what errors call it; with ``omits_null``, None is left out on the wire."""
        hint = _resolved(hint)
        origin = typing.get_origin(hint)
        if origin is Annotated:
            return self._annotated(hint, where, omits_null)
        if origin in (typing.Union, types.UnionType):
            return self._union(typing.get_args(hint), where, omits_null)
        if origin is Literal:
            return _chosen(typing.get_args(hint), where, omits_null)
        plain = origin or hint
        if plain in _SCALARS:
            return dict(_SCALARS[plain])
        if plain in _LISTS:
            return self._list(plain, typing.get_args(hint), where)
        if plain in _MAPS:
            return self._map(typing.get_args(hint), where)
        return self._named(hint, plain, where)

    def _named(self, hint: Any, plain: Any, where: str) -> Schema:
        if plain in (Any, object, msgspec.Raw):
            return dict(_ANYTHING)
        if isinstance(plain, type) and issubclass(plain, enum.Enum):
            return _enumerated([member.value for member in plain], where)
        if isinstance(plain, type) and issubclass(plain, msgspec.Struct):
            return self._struct(hint, plain, where)
        raise TypeError(
            f"{where}: {plain!r} cannot be written as a Kubernetes schema; use a Model, a scalar, a list or dict of "
            "these, or Any"
        )

    def _annotated(self, hint: Any, where: str, omits_null: bool) -> Schema:
        schema = self.write(hint.__origin__, where, omits_null=omits_null)
        for mark in hint.__metadata__:
            if isinstance(mark, msgspec.Meta):
                constrain(schema, mark, where)
            elif isinstance(mark, ListMap):
                _mark_as_map(schema, mark.keys, where)
            elif isinstance(mark, ListSet):
                schema["x-kubernetes-list-type"] = "set"
        return schema

    def _union(self, members: tuple[Any, ...], where: str, omits_null: bool) -> Schema:
        kept = [member for member in members if member not in (type(None), UnsetType, msgspec.UNSET)]
        schema = self.write(kept[0], where) if len(kept) == 1 else _mixed([_plain(member) for member in kept])
        return _nullable(schema) if type(None) in members and not omits_null else schema

    def _list(self, plain: Any, arguments: tuple[Any, ...], where: str) -> Schema:
        is_plain = len(arguments) == 1 or (len(arguments) == 2 and arguments[1] is Ellipsis)
        schema: Schema = {"type": "array"}
        schema["items"] = self.write(arguments[0], f"{where}[]") if is_plain else dict(_ANYTHING)
        if arguments and not is_plain:
            schema["minItems"] = schema["maxItems"] = len(arguments)
        if plain in (set, frozenset, abc.Set):
            schema["x-kubernetes-list-type"] = "set"
        return schema

    def _map(self, arguments: tuple[Any, ...], where: str) -> Schema:
        value = self.write(arguments[1], f"{where}.*") if arguments else _ANYTHING
        return {"type": "object", **(_ANYTHING if value == _ANYTHING else {"additionalProperties": value})}

    def _struct(self, hint: Any, plain: type[msgspec.Struct], where: str) -> Schema:
        if plain in self._inside:
            return {"type": "object", **_ANYTHING}
        self._inside.append(plain)
        try:
            schema = self._fields(hint, plain, where)
        finally:
            self._inside.pop()
        description = described_class(plain)
        return {"description": description, **schema} if description else schema

    def _fields(self, hint: Any, plain: type[msgspec.Struct], where: str) -> Schema:
        properties: Schema = _fixed_properties(plain)
        required = list(properties) if not issubclass(plain, Resource) else []
        described = described_fields(plain)
        for field in msgspec.structs.fields(hint):
            schema = self.write(field.type, f"{where}.{field.name}", omits_null=field.default is None)
            if field.name in described and not _says_itself(field.type):
                schema = {**schema, "description": described[field.name]}
            properties[field.encode_name] = schema
            if field.required:
                required.append(field.encode_name)
        return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _resolved(hint: Any) -> Any:
    """The type behind a NewType or an alias made by ``type X = …``."""
    while True:
        inner = getattr(hint, "__supertype__", None) or _alias_value(hint)
        if inner is None:
            return hint
        hint = inner


def _alias_value(hint: Any) -> Any:
    return hint.__value__ if type(hint).__name__ == "TypeAliasType" else None


def _plain(hint: Any) -> Any:
    """The class of a member of a union, without what it is marked with and made of."""
    hint = _resolved(hint)
    if typing.get_origin(hint) is Annotated:
        return _plain(hint.__origin__)
    return typing.get_origin(hint) or hint


def _mixed(members: list[Any]) -> Schema:
    """The schema of a union; Kubernetes can say little of values of several types."""
    if set(members) <= {int, str, Quantity} and members:
        return dict(_INT_OR_STRING)
    if set(members) == {int, float}:
        return dict(_SCALARS[float])
    if members and all(member in _MAPS or _is_struct(member) for member in members):
        return {"type": "object", **_ANYTHING}
    return dict(_ANYTHING)


def _is_struct(member: Any) -> bool:
    return isinstance(member, type) and issubclass(member, msgspec.Struct)


def _says_itself(hint: Any) -> bool:
    """Whether the annotation carries a description, which goes before the text below the field."""
    marks = getattr(hint, "__metadata__", ())
    return any(isinstance(mark, msgspec.Meta) and mark.description for mark in marks)


def _nullable(schema: Schema) -> Schema:
    """The schema where null is written too; Kubernetes refuses null under an ``enum``, even if null is listed."""
    if schema == _ANYTHING:
        return schema
    return {key: value for key, value in schema.items() if key != "enum"} | {"nullable": True}


def _chosen(values: tuple[Any, ...], where: str, omits_null: bool) -> Schema:
    schema = _enumerated([value for value in values if value is not None], where)
    return _nullable(schema) if None in values and not omits_null else schema


def _enumerated(values: list[Any], where: str) -> Schema:
    kinds = {bool: "boolean", int: "integer", str: "string"}
    found = {kinds.get(type(value)) for value in values}
    if len(found) != 1 or None in found:
        raise TypeError(f"{where}: the choices {values!r} must all be texts, or all whole numbers")
    return {"type": found.pop(), "enum": values}


def _fixed_properties(plain: type[msgspec.Struct]) -> Schema:
    """Properties that are no fields: of an object inside another, and of a tagged Struct."""
    if issubclass(plain, Resource):
        return {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}
    config = plain.__struct_config__
    if config.tag is None or config.tag_field is None:
        return {}
    return {config.tag_field: _enumerated([config.tag], plain.__name__)}


def _mark_as_map(schema: Schema, keys: tuple[str, ...], where: str) -> None:
    """Say that items are told apart by keys; Kubernetes wants each to be required or to have a default."""
    item = schema.get("items", {})
    if _ANYTHING.items() <= item.items():
        return  # A type that contains itself: its keys are not known here.
    unknown = [key for key in keys if key not in item.get("properties", {})]
    if unknown:
        raise TypeError(f"{where}: ListMap names {unknown[0]!r}, but the items have no such field on the wire")
    schema |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}
    for key in keys:
        if key not in item.get("required", ()):
            absent = 0 if item["properties"][key].get("type") == "integer" else ""
            item["properties"][key].setdefault("default", _KEY_DEFAULTS.get(key, absent))
