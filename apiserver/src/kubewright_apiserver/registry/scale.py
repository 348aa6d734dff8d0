"""The ``scale`` of a custom resource: an autoscaling/v1 Scale, made of the fields that its CRD names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kubewright_apiserver.golang import go_text, go_type
from kubewright_apiserver.status import FieldError, Refusal, bad_request, internal_error, invalid_field

__all__ = ["read_scale", "scale_spec_errors", "scale_status_errors", "write_scale"]

_UNSET: Final = -(2**31)
_MOST: Final = 2**31 - 1
_METADATA: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


class _WrongType(ValueError):
    """A value on the way to a field, or the field, is not what it must be."""


def read_scale(obj: dict[str, Any], scale: dict[str, Any], *, for_update: bool = False) -> dict[str, Any]:
    """The Scale of an object by ``subresources.scale`` of its version.

    An object without replicas has no scale; for an update it has one with a number that must be changed.

    Raises:
        Refusal: 500, because there are no replicas, or something else is in their place.
    """
    try:
        replicas = _integer(obj, scale["specReplicasPath"])
        observed = _integer(obj, scale["statusReplicasPath"]) or 0
        selector = _text(obj, scale["labelSelectorPath"]) if scale.get("labelSelectorPath") else ""
    except _WrongType as error:
        raise internal_error(str(error)) from None
    if replicas is None and not for_update:
        why = f'the spec replicas field "{scale["specReplicasPath"]}" does not exist'
        details = {"causes": [{"message": why}]}
        raise Refusal(500, "InternalError", f"Internal error occurred: {why}", details=details)
    wanted = _UNSET if replicas is None else replicas
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: obj["metadata"][key] for key in _METADATA if key in obj["metadata"]},
        "spec": {"replicas": wanted} if wanted else {},
        "status": {"replicas": observed, "selector": selector} if selector else {"replicas": observed},
    }


def write_scale(obj: dict[str, Any], written: dict[str, Any], scale: dict[str, Any]) -> None:
    """Set the replicas of an object to those of a Scale, and its resourceVersion if the Scale has one, in place.

    Raises:
        Refusal: the Scale has no replicas (400), or the object no place for them (500).
    """
    path = scale["specReplicasPath"]
    replicas = (written.get("spec") or {}).get("replicas", 0)
    if replicas == _UNSET:
        raise bad_request(f'the spec replicas field "{path}" cannot be empty')
    steps = _steps(path)
    place = obj
    for index, step in enumerate(steps[:-1]):
        place = place.setdefault(step, {})
        if not isinstance(place, dict):
            reached = ".".join(("", *steps[: index + 1]))
            raise internal_error(f"value cannot be set because {reached} is not a map[string]interface{{}}")
    place[steps[-1]] = replicas
    if version := (written.get("metadata") or {}).get("resourceVersion"):
        obj["metadata"]["resourceVersion"] = version


def scale_spec_errors(obj: dict[str, Any], scale: dict[str, Any] | None) -> list[FieldError]:
    """The errors of the replicas that are wanted."""
    return list(_replica_errors(obj, scale["specReplicasPath"])) if scale is not None else []


def scale_status_errors(obj: dict[str, Any], scale: dict[str, Any] | None) -> list[FieldError]:
    """The errors of the replicas that there are, and of the selector."""
    if scale is None:
        return []
    errors = list(_replica_errors(obj, scale["statusReplicasPath"]))
    if selector_path := scale.get("labelSelectorPath"):
        try:
            _text(obj, selector_path)
        except _WrongType as error:
            errors.append(invalid_field(selector_path, "", str(error)))
    return errors


def _replica_errors(obj: dict[str, Any], path: str) -> Iterator[FieldError]:
    try:
        replicas = _integer(obj, path) or 0
    except _WrongType as error:
        yield invalid_field(path, 0, str(error))
        return
    if replicas < 0:
        yield invalid_field(path, replicas, "should be a non-negative integer")
    elif replicas > _MOST:
        yield invalid_field(path, replicas, f"should be less than or equal to {_MOST}")


def _integer(obj: dict[str, Any], path: str) -> int | None:
    value, is_there = _found(obj, path)
    if is_there and (not isinstance(value, int) or isinstance(value, bool)):
        raise _wrong(_steps(path), value, "int64")
    return value if is_there else None


def _text(obj: dict[str, Any], path: str) -> str:
    value, is_there = _found(obj, path)
    if is_there and not isinstance(value, str):
        raise _wrong(_steps(path), value, "string")
    return value if is_there else ""


def _steps(path: str) -> list[str]:
    return path.removeprefix(".").split(".")


def _found(obj: dict[str, Any], path: str) -> tuple[Any, bool]:
    value: Any = obj
    steps = _steps(path)
    for index, step in enumerate(steps):
        if value is None:
            return None, False
        if not isinstance(value, dict):
            raise _wrong(steps[: index + 1], value, "map[string]interface{}")
        if step not in value:
            return None, False
        value = value[step]
    return value, True


def _wrong(steps: list[str], value: Any, wanted: str) -> _WrongType:
    kind = "<nil>" if value is None else go_type(value)
    reached = ".".join(("", *steps))
    return _WrongType(f"{reached} accessor error: {go_text(value)} is of the type {kind}, expected {wanted}")
