"""How the server says no: refusals with the Status bodies of kube-apiserver, and errors of single fields."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from kubewright_apiserver.golang import go_json, go_number, go_quoted

__all__ = [
    "OMITTED",
    "FieldError",
    "Printed",
    "Refusal",
    "already_exists",
    "bad_request",
    "conflict",
    "duplicate",
    "expired",
    "forbidden",
    "forbidden_field",
    "internal_error",
    "invalid",
    "invalid_field",
    "method_not_allowed",
    "not_found",
    "not_supported",
    "readable",
    "required",
    "too_long",
    "too_many",
    "type_invalid",
    "unserved",
]

_CAUSES: Final = {
    "Not found": "FieldValueNotFound",
    "Required value": "FieldValueRequired",
    "Duplicate value": "FieldValueDuplicate",
    "Invalid value": "FieldValueInvalid",
    "Unsupported value": "FieldValueNotSupported",
    "Forbidden": "FieldValueForbidden",
    "Too long": "FieldValueTooLong",
    "Too many": "FieldValueTooMany",
    "Too few": "FieldValueTooFew",
    "Internal error": "InternalError",
}
# How Python keeps bytes that are no Unicode.
_UNDECODABLE: Final = str.maketrans(dict.fromkeys(range(0xDC80, 0xDD00), "\ufffd"))
_VALUELESS: Final = frozenset(("Required value", "Forbidden", "Too long", "Internal error"))

OMITTED: Final = object()
"""A value that the message leaves out."""


class Printed(str):
    """A value as Go prints it already, for values that are structs and so keep their fields' order."""

    __slots__ = ()


class FieldError(NamedTuple):
    """What is wrong with one field, in Kubernetes' words."""

    kind: str
    """One of Go's error types: ``Required value``, ``Invalid value``, ``Duplicate value``, …"""
    field: str
    """Path as Kubernetes prints it: ``spec.containers[0].name``, ``metadata.labels``."""
    detail: str = ""
    value: Any = None
    is_type_error: bool = False

    @property
    def body(self) -> str:
        """The message without the field, as a cause tells it."""
        silent = self.kind in _VALUELESS or self.value is OMITTED
        text = self.kind if silent else f"{self.kind}: {_printed(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    @property
    def message(self) -> str:
        """The message with the field in front."""
        return f"{self.field}: {self.body}"

    @property
    def cause(self) -> dict[str, str]:
        """The entry in ``details.causes``."""
        reason = "FieldValueTypeInvalid" if self.is_type_error else _CAUSES[self.kind]
        return {"reason": reason, "message": self.body, "field": self.field}


def _printed(value: Any) -> str:
    if isinstance(value, Printed):
        return value
    if isinstance(value, str):
        return go_quoted(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return go_number(value) if is_number else go_json(value)


def required(field: str, detail: str = "") -> FieldError:
    """A field that must be there."""
    return FieldError("Required value", field, detail)


def invalid_field(field: str, value: Any, detail: str) -> FieldError:
    """A value that breaks a rule."""
    return FieldError("Invalid value", field, detail, value)


def type_invalid(field: str, value: Any, detail: str) -> FieldError:
    """A value of the wrong JSON type."""
    return FieldError("Invalid value", field, detail, value, is_type_error=True)


def duplicate(field: str, value: Any) -> FieldError:
    """A value that may be there once."""
    return FieldError("Duplicate value", field, "", value)


def not_supported(field: str, value: Any, supported: Sequence[str]) -> FieldError:
    """A value that is none of an enumeration; the choices are told in the order given."""
    listed = ", ".join(json.dumps(choice) for choice in supported)
    return FieldError("Unsupported value", field, f"supported values: {listed}" if listed else "", value)


def forbidden_field(field: str, detail: str) -> FieldError:
    """A field that may not be set, or not be changed."""
    return FieldError("Forbidden", field, detail)


def too_long(field: str, most: int) -> FieldError:
    """A text of too many bytes."""
    return FieldError("Too long", field, f"may not be more than {most} {'byte' if most == 1 else 'bytes'}")


def too_many(field: str, actual: int, most: int) -> FieldError:
    """A list of too many items."""
    return FieldError("Too many", field, f"must have at most {most} {'item' if most == 1 else 'items'}", actual)


def readable(text: str) -> str:
    """A text of an address, which may hold bytes that are no Unicode, with U+FFFD for each of those."""
    return text if text.isascii() else text.translate(_UNDECODABLE)


class Refusal(Exception):
    """An answer that is not a success: the Status, and headers that go with it."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: dict[str, Any] | None = None,
        headers: Sequence[tuple[str, str]] = (),
        metadata: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code: int = code
        self.reason: str = reason
        self.message: str = readable(message)
        self.details: dict[str, Any] | None = details
        if details is not None and isinstance(details.get("name"), str):
            details["name"] = readable(details["name"])
        self.headers: tuple[tuple[str, str], ...] = tuple(headers)
        self.metadata: dict[str, Any] = metadata or {}

    @property
    def body(self) -> dict[str, Any]:
        """The Status object."""
        status: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": self.metadata, "status": "Failure"}
        status["message"] = self.message
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status


def _named(group: str, plural: str, name: str) -> dict[str, Any]:
    details = {"name": name, "group": group, "kind": plural}
    return {key: value for key, value in details.items() if value}


def _qualified(group: str, plural: str) -> str:
    return f"{plural}.{group}" if group else plural


def not_found(group: str, plural: str, name: str) -> Refusal:
    """404: no object of that name."""
    message = f"{_qualified(group, plural)} {go_quoted(name)} not found"
    return Refusal(404, "NotFound", message, details=_named(group, plural, name))


def unserved() -> Refusal:
    """404: no such resource in a group that is served."""
    return Refusal(404, "NotFound", "the server could not find the requested resource", details={})


def already_exists(group: str, plural: str, name: str) -> Refusal:
    """409: the name is taken."""
    message = f"{_qualified(group, plural)} {go_quoted(name)} already exists"
    return Refusal(409, "AlreadyExists", message, details=_named(group, plural, name))


def conflict(group: str, plural: str, name: str, why: str) -> Refusal:
    """409: the object is not as the request supposed."""
    message = f"Operation cannot be fulfilled on {_qualified(group, plural)} {go_quoted(name)}: {why}"
    return Refusal(409, "Conflict", message, details=_named(group, plural, name))


def forbidden(group: str, plural: str, name: str, why: str) -> Refusal:
    """403: it may not be done."""
    named = f" {go_quoted(name)}" if name else ""
    message = f"{_qualified(group, plural)}{named} is forbidden: {why}"
    return Refusal(403, "Forbidden", message, details=_named(group, plural, name))


def invalid(group: str, kind: str, name: str, errors: Sequence[FieldError]) -> Refusal:
    """422: the object breaks its schema or rules."""
    told = list(dict.fromkeys(error.message for error in errors))
    listed = told[0] if len(told) == 1 else f"[{', '.join(told)}]"
    details: dict[str, Any] = {**_named(group, kind, name), "causes": [error.cause for error in errors]}
    return Refusal(422, "Invalid", f"{_qualified(group, kind)} {go_quoted(name)} is invalid: {listed}", details=details)


def bad_request(message: str) -> Refusal:
    """400: the request makes no sense."""
    return Refusal(400, "BadRequest", message)


def method_not_allowed() -> Refusal:
    """405: the resource has no such verb."""
    message = "the server does not allow this method on the requested resource"
    return Refusal(405, "MethodNotAllowed", message, details={})


def expired(message: str, *, continue_token: str = "") -> Refusal:
    """410: the revision is forgotten."""
    metadata = {"continue": continue_token} if continue_token else {}
    return Refusal(410, "Expired", message, metadata=metadata)


def internal_error(message: str) -> Refusal:
    """500: without a reason, as kube-apiserver answers some requests that are really wrong."""
    return Refusal(500, "", message)
