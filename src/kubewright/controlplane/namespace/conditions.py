"""How the deletion of a namespace stands, in the five conditions of its status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from kubewright.kinds.core_v1 import Namespace, NamespaceCondition

__all__ = ["Findings"]


class _Verdict(NamedTuple):
    reason: str
    message: str


_WELL: Final[Mapping[str, _Verdict]] = {
    "NamespaceDeletionDiscoveryFailure": _Verdict("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": _Verdict(
        "ParsedGroupVersions", "All legacy kube types successfully parsed"
    ),
    "NamespaceDeletionContentFailure": _Verdict(
        "ContentDeleted", "All content successfully deleted, may be waiting on finalization"
    ),
    "NamespaceContentRemaining": _Verdict("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": _Verdict("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}
"""Every condition, in Kubernetes' order, and what it says when there is nothing to complain of."""


class Findings:
    """What one round of deletion found, to be told in the conditions."""

    def __init__(self) -> None:
        self._trouble: dict[str, _Verdict] = {}
        self._failures: list[str] = []

    def undiscovered(self, failures: Mapping[str, str]) -> str:
        """Note that some groups could not be discovered; give it in words."""
        each = ", ".join(sorted(f"{version}: {why}" for version, why in failures.items()))
        text = f"unable to retrieve the complete list of server APIs: {each}"
        self.discovery_failed(f"Discovery failed for some groups, {len(failures)} failing: {text}")
        return text

    def discovery_failed(self, message: str) -> None:
        """Note that it is not known what there may be."""
        self._trouble["NamespaceDeletionDiscoveryFailure"] = _Verdict("DiscoveryFailed", message)

    def content_failed(self, message: str) -> None:
        """Note that objects of one kind could not be deleted."""
        self._failures.append(message)

    def remaining(self, objects: Mapping[str, int], finalizers: Mapping[str, int]) -> None:
        """Note how many objects are left by resource, and on how many of them each finalizer is."""
        if objects:
            left = _listed(f"{resource} has {count} resource instances" for resource, count in objects.items())
            self._trouble["NamespaceContentRemaining"] = _Verdict(
                "SomeResourcesRemain", f"Some resources are remaining: {left}"
            )
        if finalizers:
            held = _listed(f"{name} in {count} resource instances" for name, count in finalizers.items())
            self._trouble["NamespaceFinalizersRemaining"] = _Verdict(
                "SomeFinalizersRemain", f"Some content in the namespace has finalizers remaining: {held}"
            )

    def tell(self, namespace: Namespace, now: datetime) -> None:
        """Set the conditions in the namespace's status."""
        trouble = dict(self._trouble)
        if self._failures:
            message = f"Failed to delete all resource types, {len(self._failures)} remaining: {_listed(self._failures)}"
            trouble["NamespaceDeletionContentFailure"] = _Verdict("ContentDeletionFailed", message)
        for type, well in _WELL.items():
            _set(namespace, type, "True" if type in trouble else "False", trouble.get(type, well), now)


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(sorted(texts))


def _set(namespace: Namespace, type: str, status: str, verdict: _Verdict, now: datetime) -> None:
    found = next((condition for condition in namespace.status.conditions if condition.type == type), None)
    if found is None:
        found = NamespaceCondition(type=type, status="")
        namespace.status.conditions.append(found)
    if found.status != status:
        found.status, found.last_transition_time = status, now
    found.reason, found.message = verdict.reason, verdict.message
