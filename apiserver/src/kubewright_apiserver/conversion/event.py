"""Events of the core group and of their own: the same fields under other names."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["event_in_core_group", "event_in_own_group"]

Object = dict[str, Any]

# The names in the core group and in events.k8s.io.
_NAMES: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_NAMES_BACK: Final = {theirs: ours for ours, theirs in _NAMES.items()}


def event_in_own_group(event: Object) -> Object:
    """An Event of the core group with the names that events.k8s.io has."""
    return {_NAMES.get(name, name): value for name, value in event.items()}


def event_in_core_group(event: Object) -> Object:
    """An Event of events.k8s.io with the names that the core group has."""
    return {_NAMES_BACK.get(name, name): value for name, value in event.items()}
