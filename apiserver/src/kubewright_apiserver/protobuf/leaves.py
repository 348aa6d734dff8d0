"""Messages that are a single value in JSON: times, quantities, ports that may have names, raw JSON, schemas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import orjson

from kubewright_apiserver.protobuf.messages import LISTS, Message
from kubewright_apiserver.protobuf.wire import MalformedProtobuf, read_text

__all__ = [
    "FIELDS",
    "INT_OR_STRING",
    "JSON",
    "LIST",
    "MICRO_TIME",
    "QUANTITY",
    "RAW",
    "SCHEMA_OR_ARRAY",
    "SCHEMA_OR_BOOL",
    "SCHEMA_OR_TEXTS",
    "TIME",
    "Leaf",
    "is_list",
    "leaves",
]

_EXTENSIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
TIME: Final = f"{_META}Time"
MICRO_TIME: Final = f"{_META}MicroTime"
FIELDS: Final = f"{_META}FieldsV1"
QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING: Final = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
RAW: Final = "io.k8s.apimachinery.pkg.runtime.RawExtension"
JSON: Final = f"{_EXTENSIONS}JSON"
SCHEMA_OR_ARRAY: Final = f"{_EXTENSIONS}JSONSchemaPropsOrArray"
SCHEMA_OR_BOOL: Final = f"{_EXTENSIONS}JSONSchemaPropsOrBool"
SCHEMA_OR_TEXTS: Final = f"{_EXTENSIONS}JSONSchemaPropsOrStringArray"

_EPOCH: Final = datetime(1970, 1, 1)
_NO_TIME: Final = -62135596800
_TEXT: Final = 1


class Leaf(NamedTuple):
    """How to read a message as a value."""

    empty: Callable[[], Any]
    """Makes the value of a message without any bytes; None is none."""
    value: Callable[[dict[str, Any]], Any]
    """The value that fields, by Go's names, come to."""
    is_constant: bool = True
    """Whether the same bytes may be the same value, which nobody can change."""


def is_list(message: Message) -> bool:
    """Whether a message is a list of texts in JSON."""
    return [(field.name, field.go_name) for field in message.fields] == [("", LISTS)]


def leaves(read_quantity: Callable[[str], str]) -> Mapping[str, Leaf]:
    """The leaves by their definitions; ``read_quantity`` gives the canonical text of a quantity or raises."""

    def quantity(found: dict[str, Any]) -> str:
        text: str = found.get("String_", "0")
        # Only in JSON may there be space around it.
        return read_quantity(text if text.strip() == text else "")

    return {
        TIME: Leaf(_nothing, _time),
        MICRO_TIME: Leaf(_nothing, _micro_time),
        QUANTITY: Leaf(lambda: "0", quantity),
        INT_OR_STRING: Leaf(int, _int_or_string),
        RAW: Leaf(_nothing, _raw, is_constant=False),
        JSON: Leaf(_nothing, _raw, is_constant=False),
        FIELDS: Leaf(_nothing, _fields, is_constant=False),
        SCHEMA_OR_ARRAY: Leaf(_nothing, _schema_or_array, is_constant=False),
        SCHEMA_OR_BOOL: Leaf(bool, _schema_or_bool, is_constant=False),
        SCHEMA_OR_TEXTS: Leaf(_nothing, _schema_or_texts, is_constant=False),
    }


LIST: Final = Leaf(list, lambda found: found.get(LISTS, []), is_constant=False)
"""A message around a list of texts."""


def _nothing() -> None:
    return None


def _moment(seconds: int, micros: int) -> datetime:
    try:
        return _EPOCH + timedelta(seconds=seconds, microseconds=micros)
    except OverflowError:
        return datetime.max if seconds > 0 else datetime.min


def _time(found: dict[str, Any]) -> str | None:
    seconds = found.get("Seconds", 0)
    return None if seconds == _NO_TIME else f"{_moment(seconds, 0).isoformat(timespec='seconds')}Z"


def _micro_time(found: dict[str, Any]) -> str | None:
    seconds, micros = found.get("Seconds", 0), int(found.get("Nanos", 0) / 1000)
    if (seconds, micros) == (_NO_TIME, 0):
        return None
    return f"{_moment(seconds, micros).isoformat(timespec='microseconds')}Z"


def _int_or_string(found: dict[str, Any]) -> int | str:
    kind = found.get("Type", 0)
    if kind not in (0, _TEXT):
        raise MalformedProtobuf("impossible IntOrString.Type")
    value: int | str = found.get("StrVal", "") if kind == _TEXT else found.get("IntVal", 0)
    return value


def _raw(found: dict[str, Any]) -> Any:
    raw = found.get("Raw")
    if not raw:
        return None
    try:
        return orjson.loads(read_text(raw))
    except orjson.JSONDecodeError as error:
        raise MalformedProtobuf(f"raw JSON: {error}") from None


def _fields(found: dict[str, Any]) -> Any:
    """Who owns what; nobody is refused for telling it wrongly."""
    try:
        return _raw(found)
    except MalformedProtobuf:
        return None


def _schema_or_array(found: dict[str, Any]) -> Any:
    return found.get("JSONSchemas") or found.get("Schema")


def _schema_or_bool(found: dict[str, Any]) -> Any:
    return found.get("Schema", found.get("Allows", False))


def _schema_or_texts(found: dict[str, Any]) -> Any:
    return found.get("Property") or found.get("Schema")
