"""Topology spread: how evenly a pod and its likes lie over the places of a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kubewright.api import LabelSelector
from kubewright.controlplane.scheduler.ledger import House
from kubewright.controlplane.scheduler.node_affinity import chooses
from kubewright.controlplane.scheduler.tenant import Tenant
from kubewright.controlplane.taints import first_untolerated
from kubewright.kinds.core_v1 import PodSpec, TopologySpreadConstraint

__all__ = ["Spread"]


class Spread:
    """The spread constraints of a pod of one kind (``DoNotSchedule`` or ``ScheduleAnyway``), counted on some nodes."""

    def __init__(self, pod: Tenant, spec: PodSpec, houses: Iterable[House], kind: str) -> None:
        self._pod = pod
        self._constraints = [c for c in spec.topology_spread_constraints if c.when_unsatisfiable == kind]
        self._selectors = [_selector(constraint, pod) for constraint in self._constraints]
        self._counts: list[Counter[str]] = [Counter() for _ in self._constraints]
        if self._constraints:
            for house in houses:
                if self.has_places(house):
                    self._count(house, spec)

    def _count(self, house: House, spec: PodSpec) -> None:
        for constraint, selector, counts in zip(self._constraints, self._selectors, self._counts, strict=True):
            if _includes(constraint, spec, house):
                counts[house.labels[constraint.topology_key]] += sum(
                    tenant.namespace == self._pod.namespace
                    and not tenant.is_leaving
                    and selector.matches(tenant.labels)
                    for tenant in house.tenants.values()
                )

    def has_places(self, house: House) -> bool:
        """Whether a node has the labels that all constraints name."""
        return all(constraint.topology_key in house.labels for constraint in self._constraints)

    def allows(self, house: House) -> bool:
        """Whether the pod on that node would leave no place with too many more than the emptiest one."""
        for constraint, selector, counts in zip(self._constraints, self._selectors, self._counts, strict=True):
            least = min(counts.values(), default=0)
            if len(counts) < (constraint.min_domains or 1):
                least = 0
            itself = int(selector.matches(self._pod.labels))
            if counts[house.labels[constraint.topology_key]] + itself - least > constraint.max_skew:
                return False
        return True

    def crowd(self, house: House) -> int:
        """How many of its likes are where that node is, all constraints together."""
        return sum(
            counts[house.labels[constraint.topology_key]]
            for constraint, counts in zip(self._constraints, self._counts, strict=True)
            if constraint.topology_key in house.labels
        )

    def __bool__(self) -> bool:
        return bool(self._constraints)


def _selector(constraint: TopologySpreadConstraint, pod: Tenant) -> LabelSelector:
    selector = constraint.label_selector or LabelSelector()
    same = {key: pod.labels[key] for key in constraint.match_label_keys if key in pod.labels}
    return LabelSelector(
        match_labels={**selector.match_labels, **same}, match_expressions=list(selector.match_expressions)
    )


def _includes(constraint: TopologySpreadConstraint, spec: PodSpec, house: House) -> bool:
    if constraint.node_affinity_policy != "Ignore" and not chooses(spec, house):
        return False
    if constraint.node_taints_policy != "Honor":
        return True
    return first_untolerated(house.taints, spec.tolerations, ("NoSchedule", "NoExecute")) is None
