"""``copied``: a JSON value of one's own."""

from __future__ import annotations

from typing import Any

__all__ = ["copied"]


def copied(value: Any) -> Any:
    """The same JSON value, sharing nothing that can be changed."""
    if type(value) is dict:
        return {key: copied(inner) for key, inner in value.items()}
    if type(value) is list:
        return [copied(inner) for inner in value]
    return value
