"""Conditions, and ``Status``, the status of a custom resource that carries them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Final

from kubewright.api.clock import now
from kubewright.api.model import ListMap, Model

__all__ = ["Condition", "Status"]

_TYPE: Final = re.compile(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])"
)
_REASON: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_WORDS: Final = {True: "True", False: "False", None: "Unknown"}


class Condition(Model):
    """One aspect of an object's state, as Kubernetes' API conventions write it."""

    type: str
    status: str
    last_transition_time: datetime | None = None
    reason: str = ""
    message: str = ""
    observed_generation: int | None = None


class Status(Model):
    """The status of a resource: conditions and the generation that they speak of. Derive yours from it.

    >>> status = Status()
    >>> status.set("Ready", True, reason="Serving")
    True
    >>> status.set("Ready", True, reason="Serving")
    False
    >>> status.is_true("Ready")
    True
    """

    conditions: Annotated[list[Condition], ListMap("type")] = []
    observed_generation: int | None = None

    def get(self, type: str) -> Condition | None:
        """The condition of that type, or None."""
        return next((condition for condition in self.conditions if condition.type == type), None)

    def is_true(self, type: str) -> bool:
        """Whether the condition is there and True."""
        found = self.get(type)
        return found is not None and found.status == "True"

    def is_false(self, type: str) -> bool:
        """Whether the condition is there and False."""
        found = self.get(type)
        return found is not None and found.status == "False"

    def set(
        self,
        type: str,
        status: bool | None,
        *,
        reason: str,
        message: str = "",
        observed_generation: int | None = None,
    ) -> bool:
        """Set a condition to True, False or Unknown (``None``); tell whether its status changed.

        *Guarantees*: ``lastTransitionTime`` moves only when the status changes, so that it tells since when.

        *Raises* ``ValueError`` for a type or reason that Kubernetes would refuse.
        """
        _check(type, reason, message)
        word = _WORDS[status]
        found = self.get(type)
        changed = found is None or found.status != word
        if found is None:
            found = Condition(type=type, status=word)
            self.conditions.append(found)
        if changed:
            found.status = word
            found.last_transition_time = now().replace(microsecond=0)
        found.reason = reason
        found.message = message
        if observed_generation is not None:
            found.observed_generation = observed_generation
        return changed

    def remove(self, type: str) -> bool:
        """Take a condition away; tell whether it was there."""
        kept = [condition for condition in self.conditions if condition.type != type]
        changed = len(kept) != len(self.conditions)
        self.conditions = kept
        return changed


def _check(type: str, reason: str, message: str) -> None:
    if len(type) > 316 or not _TYPE.fullmatch(type):
        raise ValueError(
            f"condition type {type[:80]!r}: must be CamelCase letters and digits, optionally with a DNS prefix "
            "and a slash, of at most 316 characters"
        )
    if len(reason) > 1024 or not _REASON.fullmatch(reason):
        raise ValueError(
            f"condition {type}: reason {reason[:80]!r} must be a CamelCase word of 1 to 1024 characters "
            "(letters, digits, '_', ',' and ':', beginning with a letter)"
        )
    if len(message) > 32768:
        raise ValueError(f"condition {type}: message has {len(message)} characters, at most 32768 are allowed")
