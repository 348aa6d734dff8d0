"""How a reconcile's outcome stands in the object's status: the Ready condition and observedGeneration.

Only for kinds whose status derives from ``Status``; the rest of a status is the user's.
"""

from __future__ import annotations

import math
import types
import typing
from datetime import timedelta
from typing import Any, Final, get_args, get_origin

import msgspec

from kubewright.api import Resource, Status, Unstructured

__all__ = ["FAILURE_REASONS", "Failure", "Standing", "status_class", "wait_text"]

FAILURE_REASONS: Final = ("ReconcileFailed", "ReconcileTimedOut", "ReconcileRefused", "Invalid")
"""Reasons of the Ready condition that the framework sets; it takes them back when a reconcile succeeds."""


class Failure(msgspec.Struct, frozen=True):
    """What a failed reconcile says to people."""

    reason: str
    message: str
    terminal: bool = False

    def text(self, retry: timedelta | None) -> str:
        """The message, and when it is tried again."""
        return self.message if retry is None else f"{self.message}; next try in {wait_text(retry)}"


def status_class(kind: type[Resource]) -> type[Status] | None:
    """The class of a kind's status if it derives from ``Status``, else None."""
    if issubclass(kind, Unstructured):
        return None
    hint = typing.get_type_hints(kind).get("status")
    for option in get_args(hint) if get_origin(hint) in (typing.Union, types.UnionType) else (hint,):
        if isinstance(option, type) and issubclass(option, Status):
            return option
    return None


def wait_text(delay: timedelta) -> str:
    """A wait for people: whole seconds, so that the first short ones all read the same."""
    seconds = max(1, math.ceil(delay.total_seconds()))
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"


class Standing:
    """Writes outcomes into statuses, in memory."""

    def __init__(self, kind: type[Resource], condition: str | None) -> None:
        self._class = status_class(kind)
        self._condition = condition

    def succeeded(self, obj: Resource, generation: int | None, *, was: Status | None) -> bool:
        """Note a success; tell whether the object had stood as failed until now."""
        status = self._status(obj)
        if status is None:
            return False
        status.observed_generation = generation
        found = status.get(self._condition) if self._condition else None
        before = was.get(self._condition) if was is not None and self._condition else None
        if before is None or before.status != "False" or before.reason not in FAILURE_REASONS:
            return False
        if found == before:
            assert self._condition is not None
            status.set(self._condition, True, reason="Reconciled", observed_generation=generation)
        return True

    def failed(
        self,
        obj: Resource,
        failure: Failure,
        generation: int | None,
        retry: timedelta | None,
        *,
        was: Status | None,
    ) -> bool:
        """Note a failure; tell whether that is news: another reason than before, or none before."""
        status = self._status(obj)
        if status is None:
            return False
        if failure.terminal:
            status.observed_generation = generation
        if self._condition is None:
            return False
        found = was.get(self._condition) if was is not None else None
        before = (found.status, found.reason) if found is not None else None
        text = failure.text(retry)
        stamped = generation if failure.terminal else None
        status.set(self._condition, False, reason=failure.reason, message=text[:32768], observed_generation=stamped)
        told = status.get(self._condition)
        if told is not None and found is not None and found.status == told.status:
            # Whatever the reconcile set before it raised, the object has stood so since then.
            told.last_transition_time = found.last_transition_time
        return before != ("False", failure.reason)

    @property
    def is_kept(self) -> bool:
        """Whether outcomes can be told in this kind's status."""
        return self._class is not None

    def _status(self, obj: Any) -> Status | None:
        if self._class is None:
            return None
        if obj.status is None:
            obj.status = self._class()
        status: Status = obj.status
        return status
