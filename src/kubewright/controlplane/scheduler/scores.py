"""Scores: which of the nodes that can take a pod should. Weights and formulas are those of Kubernetes' own plugins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kubewright.controlplane.scheduler.filters import Applicant
from kubewright.controlplane.scheduler.ledger import House
from kubewright.controlplane.scheduler.node_affinity import preference
from kubewright.controlplane.scheduler.pod_affinity import LabelsOf, prefers
from kubewright.controlplane.scheduler.spread import Spread
from kubewright.controlplane.taints import tolerates

__all__ = ["best"]

_MOST = 100
_COMPUTE = ("cpu", "memory")


def best(applicant: Applicant, fitting: Sequence[House], houses: Mapping[str, House], labels_of: LabelsOf) -> House:
    """The node with the highest score; of equals the first by name, where Kubernetes draws lots."""
    if len(fitting) == 1:
        return fitting[0]
    likes = Spread(applicant.tenant, applicant.spec, houses.values(), "ScheduleAnyway")
    is_choosy, asks = applicant.spec.affinity is not None, any(applicant.tenant.requests.get(one) for one in _COMPUTE)
    worth = prefers(applicant.tenant, applicant.spec, houses.values(), labels_of)

    def neighbours(house: House) -> int:
        return sum(value for (key, place), value in worth.items() if house.labels.get(key) == place)

    # What is the same for all of them is left out: it would only take time.
    parts = [
        _weighted(3, _reversed(fitting, lambda house: _dislikes(applicant, house))) if _some_tainted(fitting) else [],
        _weighted(2, _scaled(fitting, lambda house: preference(applicant.spec, house))) if is_choosy else [],
        _weighted(2, _reversed(fitting, likes.crowd)) if likes else [],
        _weighted(2, _spanned(fitting, neighbours)) if worth else [],
        [_least_allocated(applicant, house) for house in fitting],
        [_balanced(applicant, house) for house in fitting] if asks else [],
    ]
    totals = [sum(scores) for scores in zip(*filter(None, parts), strict=True)]
    return min(zip(totals, fitting, strict=True), key=lambda pair: (-pair[0], pair[1].name))[1]


def _some_tainted(houses: Sequence[House]) -> bool:
    return any(house.taints for house in houses)


def _weighted(weight: int, scores: list[int]) -> list[int]:
    return [weight * score for score in scores]


def _scaled(fitting: Sequence[House], score: Callable[[House], int]) -> list[int]:
    scores = [score(house) for house in fitting]
    most = max(scores)
    return [value * _MOST // most for value in scores] if most else scores


def _reversed(fitting: Sequence[House], score: Callable[[House], int]) -> list[int]:
    return [_MOST - value for value in _scaled(fitting, score)]


def _spanned(fitting: Sequence[House], score: Callable[[House], int]) -> list[int]:
    scores = [score(house) for house in fitting]
    least, most = min(scores), max(scores)
    return [_MOST * (value - least) // (most - least) for value in scores] if most > least else [0] * len(scores)


def _dislikes(applicant: Applicant, house: House) -> int:
    """How many taints of the node the pod would rather not meet."""
    return sum(
        taint.effect == "PreferNoSchedule" and not any(tolerates(one, taint) for one in applicant.spec.tolerations)
        for taint in house.taints
    )


def _least_allocated(applicant: Applicant, house: House) -> int:
    scores = []
    for name in _COMPUTE:
        capacity = house.allocatable.get(name, 0)
        if capacity:
            wanted = house.nonzero[name] + applicant.tenant.nonzero[name]
            scores.append(0 if wanted > capacity else (capacity - wanted) * _MOST // capacity)
    return sum(scores) // len(scores) if scores else 0


def _balanced(applicant: Applicant, house: House) -> int:
    """How much more evenly CPU and memory are used with the pod."""
    asked = applicant.tenant.requests
    with_it = {name: house.used.get(name, 0) + asked.get(name, 0) for name in _COMPUTE}
    return _MOST // 2 + (_MOST // 2 + _evenness(house, with_it) - _evenness(house, house.used)) // 2


def _evenness(house: House, used: Mapping[str, int]) -> int:
    capacities = {name: house.allocatable.get(name, 0) for name in _COMPUTE}
    shares = [min(1.0, used.get(name, 0) / capacity) for name, capacity in capacities.items() if capacity]
    deviation = abs(shares[0] - shares[1]) / 2 if len(shares) == 2 else 0.0
    return int((1 - deviation) * _MOST)
