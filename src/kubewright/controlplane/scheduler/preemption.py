"""Preemption: which pods of less importance would have to leave, so that a pod finds room."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from kubewright.controlplane.scheduler.filters import Applicant, Filters, Refusal
from kubewright.controlplane.scheduler.ledger import House
from kubewright.controlplane.scheduler.tenant import Tenant
from kubewright.controlplane.scheduler.verdict import refusal_text

__all__ = ["Candidate", "ineligibility", "preempt"]

_NO_VICTIMS = Refusal(("No preemption victims found for incoming pod",))
_NO_HELP = Refusal(("Preemption is not helpful for scheduling",))


class Candidate(NamedTuple):
    """A node, and who would have to leave it, the most important first."""

    node: str
    victims: list[Tenant]


def ineligibility(applicant: Applicant, houses: Mapping[str, House], refusals: Mapping[str, Refusal]) -> str:
    """Why a pod may not make others leave, or nothing."""
    if applicant.spec.preemption_policy == "Never":
        return "not eligible due to preemptionPolicy=Never."
    nominated = applicant.tenant.nominated
    if nominated not in houses or not refusals.get(nominated, _NO_HELP).helps:
        return ""
    leaving = (tenant for tenant in _lesser(applicant, houses[nominated]) if tenant.is_preempted)
    return "not eligible due to a terminating pod on the nominated node." if any(leaving) else ""


def preempt(
    applicant: Applicant,
    houses: Mapping[str, House],
    refusals: Mapping[str, Refusal],
    filters: Callable[[Mapping[str, House]], Filters],
) -> Candidate | str:
    """The node where making room hurts least, or why that helps nowhere.

    ``filters`` gives the pod's filters for nodes as they would be.
    """
    candidates: list[Candidate] = []
    failures: list[Refusal] = []
    for name, house in houses.items():
        if not refusals[name].helps:
            failures.append(_NO_HELP)
            continue
        found = _victims(applicant, house, lambda tried: _tried(tried, houses, filters))
        if isinstance(found, Refusal):
            failures.append(found)
        else:
            candidates.append(Candidate(name, found))
    return min(candidates, key=_harm) if candidates else refusal_text(failures, len(houses))


def _tried(
    house: House, houses: Mapping[str, House], filters: Callable[[Mapping[str, House]], Filters]
) -> Refusal | None:
    return filters({**houses, house.name: house}).refusal(house)


def _victims(applicant: Applicant, house: House, try_on: Callable[[House], Refusal | None]) -> list[Tenant] | Refusal:
    lesser = sorted(_lesser(applicant, house), key=_importance)
    if not lesser:
        return _NO_VICTIMS
    rest = house.without(tenant.key for tenant in lesser)
    refusal = try_on(rest)
    if refusal is not None:
        return refusal
    victims: list[Tenant] = []
    for tenant in lesser:
        spared = rest.copy()
        spared.admit(tenant)
        if try_on(spared) is None:
            rest = spared
        else:
            victims.append(tenant)
    return victims


def _lesser(applicant: Applicant, house: House) -> Iterable[Tenant]:
    return (tenant for tenant in house.tenants.values() if tenant.priority < applicant.tenant.priority)


def _importance(tenant: Tenant) -> tuple[int, datetime, str]:
    return (-tenant.priority, tenant.started, str(tenant.key))


def _harm(candidate: Candidate) -> tuple[int, int, int, float, str]:
    priorities = [tenant.priority for tenant in candidate.victims]
    highest = max(priorities, default=0)
    latest_first = -min((t.started.timestamp() for t in candidate.victims if t.priority == highest), default=0.0)
    return (highest, sum(priority + 2**31 for priority in priorities), len(priorities), latest_first, candidate.node)
