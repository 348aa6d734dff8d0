"""Revisions: how a Deployment's ReplicaSets are numbered, and what else their annotations say."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

import msgspec

from kubewright.controlplane.deployment.sizes import max_surge, replicas_of
from kubewright.kinds.apps_v1 import Deployment, ReplicaSet
from kubewright.kinds.core_v1 import PodTemplateSpec

__all__ = [
    "DESIRED",
    "HASH_LABEL",
    "MAX",
    "REVISION",
    "ROLLBACK_TO",
    "age_of",
    "are_alike",
    "copy_annotations_back",
    "last_revision",
    "max_revision",
    "number_in",
    "revision_of",
    "set_annotations",
    "set_sizes",
    "without_hash",
]

REVISION: Final = "deployment.kubernetes.io/revision"
HISTORY: Final = "deployment.kubernetes.io/revision-history"
DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
MAX: Final = "deployment.kubernetes.io/max-replicas"
ROLLBACK_TO: Final = "deprecated.deployment.rollback.to"
HASH_LABEL: Final = "pod-template-hash"

_NOT_COPIED: Final = frozenset(
    {"kubectl.kubernetes.io/last-applied-configuration", REVISION, HISTORY, DESIRED, MAX, ROLLBACK_TO}
)
_LONGEST_HISTORY: Final = 2000
_NUMBER: Final = re.compile(r"[+-]?[0-9]+")
_LONG_AGO: Final = datetime(1, 1, 1, tzinfo=UTC)


def revision_of(found: ReplicaSet) -> int | None:
    """The revision that a ReplicaSet stands for, 0 if it says none, None if what it says is no number."""
    return _number(found.metadata.annotations.get(REVISION, "0"))


def _number(text: str) -> int | None:
    return int(text) if _NUMBER.fullmatch(text) else None


def max_revision(sets: Iterable[ReplicaSet]) -> int:
    """The highest revision, 0 if there is none."""
    return max((revision_of(found) or 0 for found in sets), default=0)


def last_revision(sets: Iterable[ReplicaSet]) -> int:
    """The highest revision but one: that before the current one; 0 if there is none."""
    numbers = sorted((revision_of(found) or 0 for found in sets), reverse=True)
    return numbers[1] if len(numbers) > 1 else 0


def age_of(found: ReplicaSet) -> tuple[datetime, str]:
    """What ReplicaSets are sorted by from old to new."""
    return (found.metadata.creation_timestamp or _LONG_AGO, found.name)


def number_in(found: ReplicaSet, annotation: str) -> int | None:
    """The number in an annotation, None if there is none that fits."""
    text = found.metadata.annotations.get(annotation, "")
    return int(text) if text.isascii() and text.isdigit() and int(text) < 2**31 else None


def set_sizes(found: ReplicaSet, deployment: Deployment) -> bool:
    """Note in the annotations how many pods the Deployment wants, and how many it may have; tell whether that is new.

    From these a later round knows that the Deployment was scaled, and which share of it a ReplicaSet had.
    """
    wanted = replicas_of(deployment)
    sizes = {DESIRED: str(wanted), MAX: str(wanted + max_surge(deployment))}
    before = dict(found.metadata.annotations)
    found.metadata.annotations |= sizes
    return found.metadata.annotations != before


def set_annotations(found: ReplicaSet, deployment: Deployment, revision: int, *, exists: bool) -> bool:
    """Give the newest ReplicaSet the annotations of its Deployment, and its revision; tell whether anything is new.

    A ReplicaSet that becomes the newest again, by a rollback, keeps a list of the revisions that it was.
    """
    annotations, before = found.metadata.annotations, dict(found.metadata.annotations)
    annotations |= {key: value for key, value in deployment.metadata.annotations.items() if key not in _NOT_COPIED}
    text = annotations.get(REVISION)
    old = _number(text or "0")
    if old is None:
        return False
    if old < revision:
        annotations[REVISION] = str(revision)
        if text is not None:
            _note_history(annotations, text)
    if not exists:
        set_sizes(found, deployment)
    return annotations != before


def _note_history(annotations: dict[str, str], revision: str) -> None:
    history = annotations.get(HISTORY, "")
    entries = [*history.split(","), revision] if history else [revision]
    while len(",".join(entries)) > _LONGEST_HISTORY and len(entries) > 1:
        del entries[0]
    annotations[HISTORY] = ",".join(entries)


def copy_annotations_back(deployment: Deployment, found: ReplicaSet) -> None:
    """Give a Deployment the annotations that it had when the ReplicaSet was its newest."""
    kept = {key: value for key, value in deployment.metadata.annotations.items() if key in _NOT_COPIED}
    former = {key: value for key, value in found.metadata.annotations.items() if key not in _NOT_COPIED}
    deployment.metadata.annotations = kept | former


def without_hash(template: PodTemplateSpec) -> PodTemplateSpec:
    """The template as the Deployment has it: without the label that its ReplicaSet added."""
    labels = {key: value for key, value in template.metadata.labels.items() if key != HASH_LABEL}
    metadata = msgspec.structs.replace(template.metadata, labels=labels)
    return msgspec.structs.replace(template, metadata=metadata)


def are_alike(one: PodTemplateSpec | None, other: PodTemplateSpec) -> bool:
    """Whether two templates make the same pods."""
    return one is not None and without_hash(one) == without_hash(other)
