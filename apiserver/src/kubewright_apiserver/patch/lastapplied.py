"""The annotation in which kubectl keeps what it last applied from the client's side, while both kinds are in use."""

from __future__ import annotations

from typing import Any, Final

import orjson

from kubewright_apiserver.golang import go_json
from kubewright_apiserver.patch.comparison import compare
from kubewright_apiserver.patch.endpoint import Endpoint
from kubewright_apiserver.patch.fieldset import FieldSet
from kubewright_apiserver.patch.typed import TypedError, check, mentioned

__all__ = ["LAST_APPLIED", "fields_last_applied", "refresh_last_applied"]

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_MOST_BYTES: Final = 256 * 1024


def fields_last_applied(live: dict[str, Any], endpoint: Endpoint) -> FieldSet | None:
    """The fields that are as kubectl last applied them; None if that cannot be told."""
    text = (live["metadata"].get("annotations") or {}).get(LAST_APPLIED)
    try:
        applied = orjson.loads(text or "")
        if not isinstance(applied, dict) or applied.get("apiVersion") != endpoint.api_version:
            return None
        check(endpoint.shape, live)
        check(endpoint.shape, applied)
    except (ValueError, TypedError):
        return None
    changes = compare(endpoint.shape, applied, live)
    fields = mentioned(endpoint.shape, applied)
    return fields.difference(changes.modified).difference(changes.added).difference(changes.removed)


def refresh_last_applied(obj: dict[str, Any], intent: dict[str, Any]) -> None:
    """Puts the intent into the annotation of the object, if it has one; in place."""
    annotations = obj["metadata"].get("annotations") or {}
    if not annotations.get(LAST_APPLIED):
        return
    annotations[LAST_APPLIED] = f"{go_json(_without_annotation(intent))}\n"
    if sum(len(name.encode()) + len(value.encode()) for name, value in annotations.items()) > _MOST_BYTES:
        del annotations[LAST_APPLIED]


def _without_annotation(intent: dict[str, Any]) -> dict[str, Any]:
    metadata = intent.get("metadata") or {}
    annotations = metadata.get("annotations")
    if not annotations:
        return intent
    kept = {name: value for name, value in annotations.items() if name != LAST_APPLIED}
    return {**intent, "metadata": {**metadata, "annotations": kept}}
