"""The small rules that most fields need: each gives the errors of one field, an empty list if there are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kubewright_apiserver.status import FieldError, forbidden_field, invalid_field, not_supported, required
from kubewright_apiserver.validation.names import NameRule, dns_label, dns_subdomain, qualified_name

__all__ = [
    "IMMUTABLE",
    "Errors",
    "Object",
    "backsteps",
    "dns_label_errors",
    "dns_subdomain_errors",
    "enumerated",
    "enumerated_if_set",
    "immutable",
    "local_path",
    "named",
    "named_if_set",
    "named_required",
    "needed",
    "non_negative",
    "positive",
    "qualified_errors",
    "relative_path",
    "unchangeable",
]

Errors = list[FieldError]
Object = dict[str, Any]

IMMUTABLE: Final = "field is immutable"


def named(rule: NameRule, path: str, text: str) -> Errors:
    """The errors that a rule for names finds in a text."""
    return [invalid_field(path, text, message) for message in rule(text)]


def named_if_set(rule: NameRule, path: str, text: str | None) -> Errors:
    """The errors of a name that may be left out."""
    return named(rule, path, text) if text else []


def named_required(rule: NameRule, path: str, text: str | None) -> Errors:
    """The errors of a name that must be there."""
    return named(rule, path, text) if text else [required(path)]


def dns_label_errors(path: str, text: str) -> Errors:
    """The errors of an RFC 1123 label."""
    return [invalid_field(path, text, message) for message in dns_label(text)]


def dns_subdomain_errors(path: str, text: str) -> Errors:
    """The errors of an RFC 1123 subdomain."""
    return [invalid_field(path, text, message) for message in dns_subdomain(text)]


def qualified_errors(path: str, text: str) -> Errors:
    """The errors of a name with an optional DNS prefix."""
    return [invalid_field(path, text, message) for message in qualified_name(text)]


def needed(holder: Object, path: str, *names: str) -> Errors:
    """An error for each of these fields that is missing or empty."""
    return [required(f"{path}.{name}") for name in names if not holder.get(name)]


def enumerated(path: str, value: str | None, supported: Sequence[str]) -> Errors:
    """The error of a value that must be one of some."""
    if value in supported:
        return []
    return [not_supported(path, value, supported)] if value else [required(path)]


def enumerated_if_set(path: str, value: str | None, supported: Sequence[str]) -> Errors:
    """The error of a value that may be left out, and must be one of some if it is there."""
    return [] if value is None or value in supported else [not_supported(path, value, supported)]


def non_negative(path: str, value: int | None) -> Errors:
    """The error of a number below zero."""
    return [invalid_field(path, value, "must be greater than or equal to 0")] if value and value < 0 else []


def positive(path: str, value: int) -> Errors:
    """The error of a number that is zero or below."""
    return [] if value > 0 else [invalid_field(path, value, "must be greater than zero")]


def immutable(path: str, new: Any, old: Any) -> Errors:
    """The error of a value that is not what it was."""
    return [] if new == old else [invalid_field(path, new, IMMUTABLE)]


def unchangeable(path: str, new: Any, old: Any, detail: str) -> Errors:
    """The error of a value that is not what it was, told without the value."""
    return [] if new == old else [forbidden_field(path, detail)]


def backsteps(path: str, text: str) -> Errors:
    """The error of a path that goes up."""
    return [invalid_field(path, text, "must not contain '..'")] if ".." in text.split("/") else []


def relative_path(path: str, text: str) -> Errors:
    """The errors of a path that must go down from where it starts."""
    errors = [invalid_field(path, text, "must be a relative path")] if text.startswith("/") else []
    return errors + backsteps(path, text)


def local_path(path: str, text: str) -> Errors:
    """The errors of a path that must go down and leave alone what the kubelet names ``..data``."""
    errors = relative_path(path, text)
    if text.startswith("..") and not text.startswith("../"):
        errors.append(invalid_field(path, text, "must not start with '..'"))
    return errors
