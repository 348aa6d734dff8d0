"""Numbers that may be told as a percentage of all."""

from __future__ import annotations

from kubewright_apiserver.status import invalid_field
from kubewright_apiserver.validation.names import percent
from kubewright_apiserver.validation.rules import Errors, non_negative

__all__ = ["at_most_all", "number_or_percent", "number_or_percentage"]


def number_or_percent(value: int | str, path: str) -> Errors:
    """The errors of a number below zero or a text that is no percentage."""
    if isinstance(value, int):
        return non_negative(path, value)
    return [invalid_field(path, value, message) for message in percent(value)]


def number_or_percentage(value: int | str) -> int:
    """The number, or how many percent; zero for what is neither."""
    if isinstance(value, int):
        return value
    text = value.removesuffix("%")
    return int(text) if text.isascii() and text.isdigit() else 0


def at_most_all(value: int | str, path: str) -> Errors:
    """The error of more than a hundred percent."""
    is_more = isinstance(value, str) and not percent(value) and int(value[:-1]) > 100
    return [invalid_field(path, value, "must not be greater than 100%")] if is_more else []
