"""Which nodes a pod asks for by their labels and names."""

from __future__ import annotations

from collections.abc import Mapping

from kubewright.controlplane.scheduler.ledger import House
from kubewright.kinds.core_v1 import NodeSelectorRequirement, NodeSelectorTerm, PodSpec

__all__ = ["chooses", "named_nodes", "preference"]


def chooses(spec: PodSpec, house: House) -> bool:
    """Whether the pod's node selector and required node affinity admit a node."""
    if any(house.labels.get(key) != value for key, value in spec.node_selector.items()):
        return False
    terms = _required(spec)
    return terms is None or any(_term_matches(term, house) for term in terms)


def named_nodes(spec: PodSpec) -> set[str] | None:
    """The only nodes that come into question, if each required term names some; None if not."""
    terms = _required(spec)
    if not terms:
        return None
    names: set[str] = set()
    for term in terms:
        named: set[str] | None = None
        for requirement in term.match_fields:
            if requirement.key == "metadata.name" and requirement.operator == "In":
                values = set(requirement.values)
                named = values if named is None else named & values
        if named is None:
            return None
        names |= named
    return names


def preference(spec: PodSpec, house: House) -> int:
    """How much the pod prefers a node: the weights of the preferred terms that it matches."""
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    if affinity is None:
        return 0
    return sum(
        preferred.weight
        for preferred in affinity.preferred_during_scheduling_ignored_during_execution
        if _term_matches(preferred.preference, house)
    )


def _required(spec: PodSpec) -> list[NodeSelectorTerm] | None:
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    return None if required is None else required.node_selector_terms


def _term_matches(term: NodeSelectorTerm, house: House) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    fields = {"metadata.name": house.name}
    return all(_holds(requirement, house.labels) for requirement in term.match_expressions) and all(
        _holds(requirement, fields) for requirement in term.match_fields
    )


def _holds(requirement: NodeSelectorRequirement, labels: Mapping[str, str]) -> bool:
    found = labels.get(requirement.key)
    operator, values = requirement.operator, requirement.values
    if operator == "In":
        return found is not None and found in values
    if operator == "NotIn":
        return found is None or found not in values
    if operator in ("Exists", "DoesNotExist"):
        return (found is not None) == (operator == "Exists")
    return found is not None and len(values) == 1 and _compares(operator, found, values[0])


def _compares(operator: str, found: str, bound: str) -> bool:
    try:
        difference = int(found) - int(bound)
    except ValueError:
        return False
    return difference > 0 if operator == "Gt" else operator == "Lt" and difference < 0
