"""Resources of a pod as a whole: against those of its containers, and the quality of service that they make."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from kubewright_apiserver.schema.amount import Amount, added, amount_of, canonical, greater, nanos, printed
from kubewright_apiserver.status import forbidden_field, invalid_field
from kubewright_apiserver.validation.resources import pod_resource_name, requirements
from kubewright_apiserver.validation.rules import Errors, Object

__all__ = ["pod_resources", "quality_of_service"]

Amounts = dict[str, Amount]
_COMPUTED: Final = ("cpu", "memory")


def pod_resources(spec: Object, path: str, claims: Collection[str]) -> Errors:
    """The errors of the resources that a pod asks for as a whole."""
    resources, at = spec["resources"], f"{path}.resources"
    if (spec.get("os") or {}).get("name") == "windows":
        return [forbidden_field(at, "may not be set for a windows pod")]
    errors: Errors = []
    if resources.get("claims"):
        errors.append(forbidden_field(f"{at}.claims", "claims may not be set for Resources at pod-level"))
    errors += requirements(resources, at, claims, pod_resource_name)
    return errors + _consistency(spec, resources, at)


def _consistency(spec: Object, resources: Object, path: str) -> Errors:
    errors: Errors = []
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name, total in _aggregate(spec, "requests").items():
        if name in requests and total.nanos > nanos(requests[name]):
            detail = f"must be greater than or equal to aggregate container requests of {_text(total)}"
            errors.append(invalid_field(f"{path}.requests[{name}]", canonical(requests[name]), detail))
    for name, total in _aggregate(spec, "limits").items():
        if name.startswith("hugepages-") and name in limits and total.nanos > nanos(limits[name]):
            detail = f"must be greater than or equal to aggregate container limits of {_text(total)}"
            errors.append(invalid_field(f"{path}.limits[{name}]", canonical(limits[name]), detail))
    for index, container in enumerate(spec.get("containers") or ()):
        for name, limit in ((container.get("resources") or {}).get("limits") or {}).items():
            if name in limits and nanos(limit) > nanos(limits[name]):
                detail = f"must be less than or equal to pod limits of {canonical(limits[name])}"
                at = f"{path}.containers[{index}][{name}].limits"
                errors.append(invalid_field(at, canonical(limit), detail))
    return errors


def _text(amount: Amount) -> str:
    return amount.text or printed(amount)


def _aggregate(spec: Object, part: str) -> Amounts:
    """What all containers need at once: the regular ones with sidecars, or what an init container needs if more."""
    total: Amounts = {}
    for container in spec.get("containers") or ():
        total = _sum(total, _amounts(container, part))
    beside: Amounts = {}
    before: Amounts = {}
    for container in spec.get("initContainers") or ():
        own = _amounts(container, part)
        if container.get("restartPolicy") == "Always":
            total, beside = _sum(total, own), _sum(beside, own)
            before = _most(before, beside)
        else:
            before = _most(before, _sum(own, beside))
    return _most(total, before)


def _amounts(container: Object, part: str) -> Amounts:
    return {name: amount_of(str(text)) for name, text in ((container.get("resources") or {}).get(part) or {}).items()}


def _sum(left: Amounts, right: Amounts) -> Amounts:
    return left | {name: added(left[name], amount) if name in left else amount for name, amount in right.items()}


def _most(left: Amounts, right: Amounts) -> Amounts:
    return left | {name: greater(left[name], amount) if name in left else amount for name, amount in right.items()}


def quality_of_service(pod: Object) -> str:
    """``BestEffort``, ``Burstable`` or ``Guaranteed``, by what a pod asks for."""
    spec = pod.get("spec") or {}
    holders = [spec] if spec.get("resources") is not None else _asking(spec)
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    guaranteed = True
    for holder in holders:
        resources = holder.get("resources") or {}
        _count(requests, resources.get("requests") or {})
        limited = _count(limits, resources.get("limits") or {})
        guaranteed = guaranteed and (len(limited) == len(_COMPUTED) or (holder is spec and not resources.get("limits")))
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed and requests == limits else "Burstable"


def _asking(spec: Object) -> list[Object]:
    return [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]


def _count(totals: dict[str, int], amounts: dict[str, str]) -> list[str]:
    counted = [name for name in _COMPUTED if nanos(amounts.get(name)) > 0]
    for name in counted:
        totals[name] = totals.get(name, 0) + nanos(amounts[name])
    return counted
