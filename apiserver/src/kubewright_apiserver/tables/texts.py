"""Texts that the cells of several kinds share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from kubewright_apiserver.label_selectors import selector_text

__all__ = [
    "NONE",
    "UNSET",
    "condition_status",
    "containers_of",
    "first_few",
    "is_annotated",
    "labels_text",
    "part",
    "selected_labels",
    "selected_text",
]

NONE: Final = "<none>"
UNSET: Final = "<unset>"


def part(obj: dict[str, Any], *path: str) -> dict[str, Any]:
    """The map at a path, empty if there is none."""
    for name in path:
        obj = obj.get(name) or {}
    return obj


def labels_text(labels: dict[str, str] | None) -> str:
    """Labels as ``key=value``, sorted."""
    return ",".join(sorted(f"{key}={value}" for key, value in labels.items())) if labels else NONE


def selected_labels(selector: dict[str, Any] | None) -> str:
    """A label selector with its expressions, as URLs write it; empty if it selects everything or nothing."""
    if not selector:
        return ""
    return selector_text({"matchLabels": {}, **selector})


def selected_text(selector: dict[str, Any] | None) -> str:
    """A label selector that says so when it is empty."""
    return selected_labels(selector) or NONE


def containers_of(template: dict[str, Any]) -> list[str]:
    """The names and the images of the containers of a pod template."""
    containers: list[dict[str, Any]] = part(template, "spec").get("containers") or []
    return [",".join(one.get(name, "") for one in containers) for name in ("name", "image")]


def first_few(texts: Sequence[str], most: int, empty: str, *, count: int = 0, separator: str = ",") -> str:
    """The first texts, and how many more there are; ``count`` is of what, if not of the texts."""
    told = separator.join(texts[:most])
    if len(texts) > most:
        return f"{told} + {(count or len(texts)) - most} more..."
    return told or empty


def is_annotated(obj: dict[str, Any], *names: str) -> bool:
    """Whether one of these annotations is true."""
    annotations = obj["metadata"].get("annotations") or {}
    return any(annotations.get(name) == "true" for name in names)


def condition_status(conditions: Iterable[dict[str, Any]] | None, type: str) -> str:
    """The status of the first condition of a type, empty if there is none."""
    return next((one.get("status", "") for one in conditions or () if one["type"] == type), "")
