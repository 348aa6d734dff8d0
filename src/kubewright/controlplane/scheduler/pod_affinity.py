"""Which pods a pod wants near it or far from it, counted by the places that the nodes' labels tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from kubewright.controlplane.scheduler.ledger import House
from kubewright.controlplane.scheduler.tenant import Tenant
from kubewright.kinds.core_v1 import PodAffinityTerm, PodSpec, WeightedPodAffinityTerm

__all__ = ["Neighbourhood", "prefers"]

LabelsOf = Callable[[str], Mapping[str, str]]
Place = tuple[str, str]


class Neighbourhood:
    """Where a pod's neighbours are: judges nodes by required affinity and anti-affinity, of the pod and of others."""

    def __init__(self, pod: Tenant, spec: PodSpec, houses: Iterable[House], labels_of: LabelsOf) -> None:
        self._pod = pod
        self._labels_of = labels_of
        self._wanted = _required_affinity(spec)
        self._near: Counter[Place] = Counter()
        self._unwanted: list[Counter[Place]] = [Counter() for _ in pod.anti_affinity]
        self._shunned: Counter[Place] = Counter()
        for house in houses:
            self._count(house)

    def __bool__(self) -> bool:
        """Whether any node is judged at all."""
        return bool(self._wanted or self._unwanted or self._shunned)

    def _count(self, house: House) -> None:
        for tenant in house.tenants.values() if self._wanted or self._unwanted else ():
            if self._wanted and self._is_wanted(tenant):
                self._near.update(_places(self._wanted, house))
            for term, places in zip(self._pod.anti_affinity, self._unwanted, strict=True):
                if self._matches(term, self._pod, tenant):
                    places.update(_places([term], house))
        for tenant in house.shy.values():
            for term in tenant.anti_affinity:
                if self._matches(term, tenant, self._pod):
                    self._shunned.update(_places([term], house))

    def _is_wanted(self, tenant: Tenant) -> bool:
        return all(self._matches(term, self._pod, tenant) for term in self._wanted)

    def _matches(self, term: PodAffinityTerm, owner: Tenant, other: Tenant) -> bool:
        return _matches(term, owner, other, self._labels_of)

    def has_wanted(self, house: House) -> bool:
        """Whether all pods that it wants near are near on that node; the first of its kind may settle anywhere."""
        if any(term.topology_key not in house.labels for term in self._wanted):
            return False
        if all(self._near[term.topology_key, house.labels[term.topology_key]] for term in self._wanted):
            return True
        return not self._near and self._is_wanted(self._pod)

    def has_unwanted(self, house: House) -> bool:
        """Whether a pod that it does not want near is near on that node."""
        return any(
            places[term.topology_key, house.labels[term.topology_key]]
            for term, places in zip(self._pod.anti_affinity, self._unwanted, strict=True)
            if term.topology_key in house.labels
        )

    def is_shunned(self, house: House) -> bool:
        """Whether a pod near that node does not want it near."""
        return any(count and house.labels.get(key) == value for (key, value), count in self._shunned.items())


def prefers(pod: Tenant, spec: PodSpec, houses: Iterable[House], labels_of: LabelsOf) -> Counter[Place]:
    """What each place is worth to the pod by its preferred affinity and anti-affinity."""
    worth: Counter[Place] = Counter()
    weighted = [*((term, 1) for term in _preferred(spec, anti=False)), *((t, -1) for t in _preferred(spec, anti=True))]
    if not weighted:
        return worth
    for house in houses:
        for tenant in house.tenants.values():
            for preferred, sign in weighted:
                term = preferred.pod_affinity_term
                if _matches(term, pod, tenant, labels_of):
                    for place in _places([term], house):
                        worth[place] += sign * preferred.weight
    return worth


def _required_affinity(spec: PodSpec) -> list[PodAffinityTerm]:
    affinity = spec.affinity.pod_affinity if spec.affinity is not None else None
    return [] if affinity is None else affinity.required_during_scheduling_ignored_during_execution


def _preferred(spec: PodSpec, *, anti: bool) -> list[WeightedPodAffinityTerm]:
    if spec.affinity is None:
        return []
    affinity = spec.affinity.pod_anti_affinity if anti else spec.affinity.pod_affinity
    return [] if affinity is None else affinity.preferred_during_scheduling_ignored_during_execution


def _places(terms: Iterable[PodAffinityTerm], house: House) -> list[Place]:
    keys = (term.topology_key for term in terms)
    return [(key, house.labels[key]) for key in keys if key in house.labels]


def _matches(term: PodAffinityTerm, owner: Tenant, other: Tenant, labels_of: LabelsOf) -> bool:
    if term.label_selector is None or not _is_in_scope(term, owner, other, labels_of):
        return False
    return term.label_selector.matches(other.labels)


def _is_in_scope(term: PodAffinityTerm, owner: Tenant, other: Tenant, labels_of: LabelsOf) -> bool:
    if other.namespace in term.namespaces:
        return True
    if term.namespace_selector is not None:
        return term.namespace_selector.matches(labels_of(other.namespace))
    return not term.namespaces and other.namespace == owner.namespace
