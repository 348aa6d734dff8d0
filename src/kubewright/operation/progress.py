"""``Progress``: a status that tells how far an operation is, so that anybody can read it off the object.

An operation is a change that takes several reconciles: an upgrade, a scaling. What is wanted has a *revision*, a hash
of what matters in the spec; the status says which revision is being worked towards and which one was last reached.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final, Literal, TypeAlias

import msgspec

from kubewright.api import Column, Resource, Status

__all__ = ["PROGRESS", "Phase", "Progress", "revision_of"]

PhaseName: TypeAlias = Literal["Unknown", "NotStarted", "InProgress", "Done"]

PROGRESS: Final = Column("Progress", ".status.progress", description="How far the operation is that the spec asks for.")
"""A column of ``kubectl get`` for kinds whose status is a ``Progress``."""

_CONDITION: Final = "Progressing"
_DIGITS: Final = 10
_order: Final = msgspec.json.Encoder(enc_hook=str, order="deterministic")


class Phase(msgspec.Struct, frozen=True):
    """Where an operation is; as a text ``InProgress 2/3``.

    >>> str(Phase("InProgress", 2, 3))
    'InProgress 2/3'
    """

    name: PhaseName
    done: int = 0
    total: int = 0

    def __str__(self) -> str:
        return f"{self.name} {self.done}/{self.total}" if self.name == "InProgress" else self.name


def revision_of(*parts: Any) -> str:
    """A short name for what the parts say, the same wherever and whenever they say the same.

    Give it what matters only: a part whose change calls for no operation must not be among them.

    >>> revision_of({"b": 1, "a": 2}) == revision_of({"a": 2, "b": 1})
    True
    """
    return hashlib.sha256(_order.encode(parts)).hexdigest()[:_DIGITS]


class Progress(Status):
    """A status that tells the phase of an operation; derive yours from it.

    >>> class PodSetStatus(Progress):
    ...     nodes: list[str] = []
    >>> podset.status.observe(podset, revision_of(podset.spec.size), done=2, total=3)
    Phase(name='InProgress', done=2, total=3)

    *Guarantees*: a revision counts as reached once all were done at it, and stays so when one of them is later lost and
    replaced: that is no operation. One that is given up half way for another is never taken for reached, even if the
    other is the one before it. ``phase_of`` gives Unknown as long as the operator has not seen the present spec, so
    that A changed to B and back is told from A.
    """

    progress: str = ""
    """How far the operation is, for people: Unknown, NotStarted, InProgress 2/3 or Done."""
    desired_revision: str = ""
    """What is being worked towards."""
    current_revision: str = ""
    """What was last reached; other than the desired one while the operation goes on."""
    updated: int = 0
    """How many are as desired."""
    total: int = 0
    """How many there shall be."""

    def observe(self, obj: Resource, desired: str, *, done: int, total: int, started: bool = True) -> Phase:
        """Note what was found, and tell the phase.

        ``started`` is False as long as the operation must wait for something else: it stands as NotStarted then.
        """
        if started and desired != self.desired_revision:
            if self.current_revision != self.desired_revision:
                self.current_revision = self.desired_revision
            self.desired_revision = desired
        self.updated, self.total = done, total
        if self.desired_revision == desired and done >= total:
            self.current_revision = desired
        phase = self._phase(desired)
        self._tell(phase, "", obj.metadata.generation or None)
        return phase

    def lose_sight(self, message: str) -> Phase:
        """Note that observing failed: how far the operation is cannot be told until it is observed again."""
        phase = Phase("Unknown")
        self._tell(phase, message, None)
        return phase

    def phase_of(self, obj: Resource, desired: str) -> Phase:
        """The phase as anybody reads it off the object; ``desired`` is the revision of its spec."""
        if obj.metadata.generation != (self.observed_generation or 0):
            return Phase("Unknown")
        found = self.get(_CONDITION)
        if found is not None and found.status == "Unknown":
            return Phase("Unknown")
        return self._phase(desired)

    def _phase(self, desired: str) -> Phase:
        if desired != self.desired_revision:
            return Phase("NotStarted")
        if self.current_revision != desired:
            return Phase("InProgress", self.updated, self.total)
        return Phase("Done")

    def _tell(self, phase: Phase, message: str, generation: int | None) -> None:
        self.progress = str(phase)
        if phase.name == "InProgress":
            message = f"{phase.done} of {phase.total} are as desired"
        status = {"InProgress": True, "Unknown": None}.get(phase.name, False)
        reason = phase.name if phase.name != "Unknown" else "ObservingFailed"
        self.set(_CONDITION, status, reason=reason, message=message, observed_generation=generation)
