"""Filters: can the pod live on that node? The first that says no gives the reasons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kubewright.controlplane.scheduler.ledger import House
from kubewright.controlplane.scheduler.node_affinity import chooses
from kubewright.controlplane.scheduler.pod_affinity import LabelsOf, Neighbourhood
from kubewright.controlplane.scheduler.spread import Spread
from kubewright.controlplane.scheduler.tenant import Tenant
from kubewright.controlplane.taints import UNSCHEDULABLE, first_untolerated, tolerates
from kubewright.kinds.core_v1 import Pod, PodSpec, Taint

__all__ = ["Applicant", "Filters", "Refusal"]

_CORDON = Taint(key=UNSCHEDULABLE, effect="NoSchedule")
_KEEP_AWAY = ("NoSchedule", "NoExecute")
_SPREAD = "node(s) didn't match pod topology spread constraints"


class Refusal(NamedTuple):
    """Why a node cannot take a pod; ``helps``: whether it could if others left it."""

    reasons: tuple[str, ...]
    helps: bool = False


class Applicant:
    """A pod that looks for a node."""

    __slots__ = ("pod", "spec", "tenant")

    def __init__(self, pod: Pod) -> None:
        self.pod: Pod = pod
        self.spec: PodSpec = pod.spec
        self.tenant: Tenant = Tenant(pod)


class Filters:
    """Kubernetes' filters for one pod, on nodes as they are or as they would be."""

    def __init__(self, applicant: Applicant, houses: Mapping[str, House], labels_of: LabelsOf) -> None:
        self._spec = applicant.spec
        self._tenant = applicant.tenant
        self._is_choosy = bool(applicant.spec.node_selector) or applicant.spec.affinity is not None
        self._spread = Spread(applicant.tenant, applicant.spec, houses.values(), "DoNotSchedule")
        self._neighbours = Neighbourhood(applicant.tenant, applicant.spec, houses.values(), labels_of)

    def refusal(self, house: House, promised: Iterable[Tenant] = ()) -> Refusal | None:
        """Why the node cannot take the pod, or None; ``promised`` are pods for whom room is kept there."""
        found = self._of_the_node(house) or self._of_its_room(house) or self._of_its_place(house)
        if found is None and (kept := [tenant for tenant in promised if tenant.key != self._tenant.key]):
            full = house.copy()
            for tenant in kept:
                full.admit(tenant)
            return self._of_its_room(full)
        return found

    def _of_the_node(self, house: House) -> Refusal | None:
        if house.unschedulable and not any(tolerates(toleration, _CORDON) for toleration in self._spec.tolerations):
            return Refusal(("node(s) were unschedulable",))
        if house.taints and first_untolerated(house.taints, self._spec.tolerations, _KEEP_AWAY) is not None:
            return Refusal(("node(s) had untolerated taint(s)",))
        if self._is_choosy and not chooses(self._spec, house):
            return Refusal(("node(s) didn't match Pod's node affinity/selector",))
        return None

    def _of_its_room(self, house: House) -> Refusal | None:
        if self._tenant.ports and any(_collide(self._tenant, other) for other in house.tenants.values()):
            return Refusal(("node(s) didn't have free ports for the requested pod ports",), helps=True)
        reasons: list[str] = []
        helps = True
        if len(house.tenants) + 1 > house.allocatable.get("pods", 0):
            reasons.append("Too many pods")
        for name, amount in self._tenant.requests.items():
            allocatable = house.allocatable.get(name, 0)
            if amount and amount > allocatable - house.used.get(name, 0):
                reasons.append(f"Insufficient {name}")
                helps = helps and amount <= allocatable
        return Refusal(tuple(reasons), helps) if reasons else None

    def _of_its_place(self, house: House) -> Refusal | None:
        if self._spread:
            if not self._spread.has_places(house):
                return Refusal((f"{_SPREAD} (missing required label)",))
            if not self._spread.allows(house):
                return Refusal((_SPREAD,), helps=True)
        return self._of_its_neighbours(house) if self._neighbours else None

    def _of_its_neighbours(self, house: House) -> Refusal | None:
        if not self._neighbours.has_wanted(house):
            return Refusal(("node(s) didn't match pod affinity rules",))
        if self._neighbours.has_unwanted(house):
            return Refusal(("node(s) didn't match pod anti-affinity rules",), helps=True)
        if self._neighbours.is_shunned(house):
            return Refusal(("node(s) didn't satisfy existing pods anti-affinity rules",), helps=True)
        return None


def _collide(one: Tenant, other: Tenant) -> bool:
    return any(
        number == taken and protocol == theirs and (address == place or "0.0.0.0" in (address, place))
        for address, protocol, number in one.ports
        for place, theirs, taken in other.ports
    )
