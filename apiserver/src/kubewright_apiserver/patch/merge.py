"""JSON Merge Patch (RFC 7386) with kube-apiserver's habits: nulls stay in lists that replace an object."""

from __future__ import annotations

from typing import Any

from kubewright_apiserver.json_tree import HugeNumber, MalformedJson, read_json, read_untyped
from kubewright_apiserver.schema.strictness import duplicate_fields
from kubewright_apiserver.status import bad_request

__all__ = ["apply_merge_patch", "read_merge_patch"]


def read_merge_patch(data: bytes, *, is_checked: bool = True, is_custom: bool = False) -> tuple[Any, list[str]]:
    """A patch, and texts for fields that come twice in it.

    ``is_checked`` is false for ``fieldValidation=Ignore``; ``is_custom`` reads numbers as they are in custom resources.

    Raises ``Refusal`` (400) for what is no object.
    """
    try:
        untyped = read_untyped(data) if is_checked or is_custom else None
        patch = untyped if is_custom else read_json(data)
        repeated = duplicate_fields(data, patch) if is_checked and isinstance(patch, dict) else []
    except (MalformedJson, HugeNumber) as error:
        raise bad_request(f"error decoding patch: {error}" if is_checked else "Invalid JSON Patch") from None
    if isinstance(patch, dict):
        return patch, repeated
    if is_checked and patch is not None:
        what = {list: "array", str: "string", bool: "bool"}.get(type(patch), "number")
        type_name = "map[string]interface {}"
        raise bad_request(f"error decoding patch: json: cannot unmarshal {what} into Go value of type {type_name}")
    if isinstance(patch, list):
        return patch, []
    raise bad_request("Invalid JSON Patch")


def apply_merge_patch(document: dict[str, Any], patch: Any) -> Any:
    """The document with the patch merged in; both stay as they are. Objects that were merged or pruned are sorted."""
    return _merged(document, patch) if isinstance(patch, dict) else _pruned(patch)


def _merged(document: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    merged = dict(document)
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _in_place_of(merged.get(name), value)
    return {name: merged[name] for name in sorted(merged)}


def _in_place_of(current: Any, value: Any) -> Any:
    if not isinstance(current, dict):
        return _pruned(value)
    return _merged(current, value) if isinstance(value, dict) else value


def _pruned(value: Any) -> Any:
    """The value without fields that are null, also of objects in lists; nulls in lists stay."""
    if isinstance(value, dict):
        return {name: _pruned(value[name]) for name in sorted(value) if value[name] is not None}
    return [_pruned(inner) for inner in value] if isinstance(value, list) else value
