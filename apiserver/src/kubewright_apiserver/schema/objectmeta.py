"""``coerce_metadata``: metadata as kube-apiserver writes it back after reading it into its own type.

Custom resources have it at their root and in embedded resources; what Go has no field for is dropped.
"""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.data import go_fields
from kubewright_apiserver.golang import go_json
from kubewright_apiserver.schema.go_time import InvalidTime, canonical_time

__all__ = ["MetadataError", "coerce_metadata"]

_ROOM: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_KINDS: Final[dict[type, str]] = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "bool",
    int: "number",
    float: "number",
}
_ZEROS: Final[dict[str, Any]] = {"string": "", "int": 0, "bool": False}


class MetadataError(ValueError):
    """Metadata that Go cannot read, with its reason."""


def coerce_metadata(metadata: Any) -> tuple[dict[str, Any], list[str]]:
    """The metadata with the fields that Go knows, and the paths of the others.

    Raises:
        MetadataError: a field has the wrong JSON type, or a time is none.
    """
    if metadata is None:
        return {}, []
    if not isinstance(metadata, dict):
        raise MetadataError(f"json: cannot unmarshal {_KINDS[type(metadata)]} into Go value of type v1.ObjectMeta")
    dropped: list[str] = []
    return _struct("ObjectMeta", metadata, "", "", dropped), dropped


def _struct(name: str, value: dict[str, Any], go_path: str, path: str, dropped: list[str]) -> dict[str, Any]:
    fields = go_fields()[_ROOM + name]
    dropped += [f"{path}{key}" for key in value if key not in fields]
    read: dict[str, Any] = {}
    for key, field in fields.items():
        inner = value.get(key)
        if inner is not None:
            found = _field(field, inner, f"{name}.{go_path}{key}", f"{path}{key}", dropped)
            if found or not field.get("omit") or (field.get("pointer") and found is not None):
                read[key] = found
        elif not field.get("omit"):
            read[key] = _ZEROS[field["kind"]]
    return read


def _field(field: dict[str, Any], value: Any, go_name: str, path: str, dropped: list[str]) -> Any:
    kind, of = field["kind"], field.get("of", "")
    if of == _ROOM + "FieldsV1":
        return value
    if of == _ROOM + "Time":
        return _time(value, go_name)
    if kind == "map":
        _need(value, dict, go_name, "map[string]string")
        return {key: _scalar("string", inner, go_name) for key, inner in value.items()}
    if kind != "slice":
        return _scalar(field.get("type", kind), value, go_name)
    of_struct = of.removeprefix(_ROOM)
    _need(value, list, go_name, "[]string" if of == "string" else f"[]v1.{of_struct}")
    if of == "string":
        return [_scalar(of, inner, go_name) for inner in value]
    return [_item(of_struct, inner, go_name, f"{path}[{index}]", dropped) for index, inner in enumerate(value)]


def _item(name: str, value: Any, go_name: str, path: str, dropped: list[str]) -> dict[str, Any]:
    value = {} if value is None else value
    _need(value, dict, go_name, f"v1.{name}")
    return _struct(name, value, go_name.partition(".")[2] + ".", f"{path}.", dropped)


def _need(value: Any, kind: type, go_name: str, wanted: str) -> None:
    if type(value) is not kind:
        raise MetadataError(
            f"json: cannot unmarshal {_KINDS[type(value)]} into Go struct field {go_name} of type {wanted}"
        )


def _scalar(declared: str, value: Any, go_name: str) -> Any:
    kind: type = {"int64": int, "bool": bool}.get(declared, str)
    if value is None:
        return kind()
    if kind is int and isinstance(value, float):
        if value.is_integer():
            return int(value)
        number = f"number {go_json(value)}"
        raise MetadataError(f"json: cannot unmarshal {number} into Go struct field {go_name} of type int64")
    _need(value, kind, go_name, declared)
    return value


def _time(value: Any, go_name: str) -> str | None:
    _need(value, str, go_name, "string")
    try:
        return canonical_time(value)
    except InvalidTime as error:
        raise MetadataError(str(error)) from None
