"""Requests that follow from limits: of containers, and of a pod as a whole from its containers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from kubewright_apiserver.schema.amount import Amount, added, amount_or_zero, greater, printed

__all__ = ["default_pod_resources", "of_containers", "quality_of_service"]

_COMPUTE: Final = ("cpu", "memory")
_HUGE_PAGES: Final = "hugepages-"
Amounts = dict[str, Amount]


def default_pod_resources(spec: dict[str, Any]) -> None:
    """Set the requests that a pod leaves out, in place: what is limited is requested."""
    for name in ("containers", "initContainers"):
        for container in spec.get(name) or ():
            resources = container.get("resources")
            if resources:
                _request_limits(resources)
    whole = spec.get("resources")
    if whole:
        _default_huge_page_limits(spec, whole)
        _default_whole_requests(spec, whole)


def _request_limits(resources: dict[str, Any]) -> None:
    limits = resources.get("limits")
    if not limits:
        return
    requests = resources.get("requests")
    if requests is None:
        resources["requests"] = dict(limits)
        return
    for name, amount in limits.items():
        if name not in requests:
            requests[name] = amount


def _default_huge_page_limits(spec: dict[str, Any], whole: dict[str, Any]) -> None:
    limits, requests = whole.get("limits") or {}, whole.get("requests") or {}
    if not limits and not requests:
        return
    for name, amount in of_containers(spec, "limits").items():
        if name.startswith(_HUGE_PAGES) and name not in requests and name not in limits:
            limits[name] = printed(amount)
    if limits:
        whole["limits"] = limits


def _default_whole_requests(spec: dict[str, Any], whole: dict[str, Any]) -> None:
    limits = whole.get("limits")
    if not limits:
        return
    requests = whole.get("requests") or {}
    for name, amount in of_containers(spec, "requests").items():
        if name in _COMPUTE and name not in requests:
            requests[name] = printed(amount)
    for name, limit in limits.items():
        if name not in requests and (name in _COMPUTE or name.startswith(_HUGE_PAGES)):
            requests[name] = limit
    if requests:
        whole["requests"] = requests


def of_containers(spec: dict[str, Any], what: str) -> Amounts:
    """The most that the containers need at any time: side-cars run beside all that start after them."""
    total: Amounts = {}
    for container in spec.get("containers") or ():
        _merge(total, _amounts(container, what), added)
    side_cars: Amounts = {}
    starting: Amounts = {}
    for container in spec.get("initContainers") or ():
        own = _amounts(container, what)
        if container.get("restartPolicy") == "Always":
            _merge(total, own, added)
            _merge(side_cars, own, added)
            own = side_cars
        else:
            _merge(own, side_cars, added)
        _merge(starting, own, greater)
    _merge(total, starting, greater)
    return total


def _amounts(container: dict[str, Any], what: str) -> Amounts:
    amounts = (container.get("resources") or {}).get(what) or {}
    return {name: amount_or_zero(amount) for name, amount in amounts.items()}


def _merge(into: Amounts, amounts: Amounts, joined: Callable[[Amount, Amount], Amount]) -> None:
    for name, amount in amounts.items():
        into[name] = joined(into[name], amount) if name in into else amount


def quality_of_service(spec: dict[str, Any]) -> str:
    """The class of a pod: ``Guaranteed``, ``Burstable`` or ``BestEffort``."""
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    is_guaranteed = True
    for resources in _considered(spec):
        _add_compute(requests, resources.get("requests"))
        found = _add_compute(limits, resources.get("limits"))
        is_guaranteed = is_guaranteed and found == len(_COMPUTE)
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if is_guaranteed and requests == limits else "Burstable"


def _considered(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    whole = spec.get("resources")
    if whole is not None:
        yield whole
        return
    for name in ("containers", "initContainers"):
        for container in spec.get(name) or ():
            yield container.get("resources") or {}


def _add_compute(into: dict[str, int], amounts: dict[str, Any] | None) -> int:
    found = 0
    for name in _COMPUTE:
        amount = (amounts or {}).get(name)
        nanos = amount_or_zero(amount).nanos if amount is not None else 0
        if nanos > 0:
            into[name] = into.get(name, 0) + nanos
            found += 1
    return found
