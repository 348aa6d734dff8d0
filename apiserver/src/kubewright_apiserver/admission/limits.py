"""LimitRanger: containers get the resources that their namespace gives by default, and keep to what it allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from kubewright_apiserver.admission.attributes import Attributes, Object, Rule
from kubewright_apiserver.defaulting.parts import part
from kubewright_apiserver.defaulting.pod_resources import of_containers
from kubewright_apiserver.schema.amount import canonical, millis, printed, whole

__all__ = ["RULES"]

_ANNOTATION: Final = "kubernetes.io/limit-ranger"
_MOST: Final = (2**63 - 1) // 1000
"""The largest amount that is compared in thousandths."""
_OF_PODS: Final = ("cpu", "memory")

Quantities = Mapping[str, Any]
Constraint = Callable[[str, str, str, Quantities, Quantities], str]
"""What is wrong, if anything, by: the type of the limit, a resource, how much is enforced, requests and limits."""


def _ranges(attributes: Attributes) -> list[list[Object]]:
    old = attributes.old
    if old is not None and old["metadata"].get("deletionTimestamp"):
        return []
    found = attributes.cluster.listed("/limitranges", f"{attributes.namespace}/")
    return [(one.get("spec") or {}).get("limits") or [] for one in found]


def _set_resources(attributes: Attributes) -> None:
    for limits in _ranges(attributes):
        requests: dict[str, Any] = {}
        most: dict[str, Any] = {}
        for limit in limits:
            if limit.get("type") == "Container":
                requests.update(limit.get("defaultRequest") or {})
                most.update(limit.get("default") or {})
        notes = [note for kind, one in _containers(attributes.obj) for note in _merged(one, kind, requests, most)]
        if notes:
            metadata = part(attributes.obj, "metadata")
            told = f"LimitRanger plugin set: {'; '.join(notes)}"
            metadata["annotations"] = {**(metadata.get("annotations") or {}), _ANNOTATION: told}


def _containers(pod: Object) -> Iterator[tuple[str, Object]]:
    spec = pod.get("spec") or {}
    for kind, field in (("container", "containers"), ("init container", "initContainers")):
        for container in spec.get(field) or ():
            yield kind, container


def _merged(container: Object, kind: str, requests: Quantities, limits: Quantities) -> Iterator[str]:
    """Give a container what it lacks, and tell what that was."""
    for what, field, defaults in (("request", "requests", requests), ("limit", "limits", limits)):
        own = (container.get("resources") or {}).get(field) or {}
        missing = {name: amount for name, amount in defaults.items() if name not in own}
        if missing:
            part(container, "resources")[field] = {**own, **missing}
            yield f"{', '.join(sorted(missing))} {what} for {kind} {container.get('name', '')}"


def _check_pod(attributes: Attributes) -> None:
    spec = attributes.obj.get("spec") or {}
    for limits in _ranges(attributes):
        problems: list[str] = []
        for limit in limits:
            if limit.get("type") == "Container":
                for _, container in _containers(attributes.obj):
                    own = container.get("resources") or {}
                    problems += _problems(limit, own.get("requests") or {}, own.get("limits") or {}, _OF_COMPUTE)
            elif limit.get("type") == "Pod":
                problems += _problems(limit, _of_pod(spec, "requests"), _of_pod(spec, "limits"), _OF_COMPUTE)
        _refuse(attributes, problems)


def _of_pod(spec: Object, what: str) -> Quantities:
    """What a pod needs as a whole: what it says, or else what its containers say."""
    own = (spec.get("resources") or {}).get(what) or {}
    summed = {name: printed(amount) for name, amount in of_containers(spec, what).items()}
    return summed | {name: amount for name, amount in own.items() if name in _OF_PODS}


def _check_claim(attributes: Attributes) -> None:
    requests = ((attributes.obj.get("spec") or {}).get("resources") or {}).get("requests") or {}
    for limits in _ranges(attributes):
        problems: list[str] = []
        for limit in limits:
            if limit.get("type") == "PersistentVolumeClaim":
                problems += _problems(limit, requests, {}, _OF_CLAIMS)
        _refuse(attributes, problems)


def _refuse(attributes: Attributes, problems: list[str]) -> None:
    told = list(dict.fromkeys(problems))
    if told:
        raise attributes.refusal(told[0] if len(told) == 1 else f"[{', '.join(told)}]")


def _problems(
    limit: Object, requests: Quantities, limits: Quantities, constraints: Mapping[str, Constraint]
) -> Iterator[str]:
    for field, constraint in constraints.items():
        for name, enforced in sorted((limit.get(field) or {}).items()):
            problem = constraint(limit["type"], name, canonical(enforced), requests, limits)
            if problem:
                yield problem


def _values(*amounts: Any) -> list[int]:
    """The amounts to be compared: in thousandths, unless one of them is too large for that."""
    wholes = [whole(amount or 0) for amount in amounts]
    return wholes if any(value > _MOST for value in wholes) else [millis(amount or 0) for amount in amounts]


def _least(kind: str, name: str, enforced: str, requests: Quantities, limits: Quantities) -> str:
    told = f"minimum {name} usage per {kind} is {enforced}"
    if name not in requests:
        return f"{told}.  No request is specified"
    request, limit, least = _values(requests[name], limits.get(name), enforced)
    if request < least:
        return f"{told}, but request is {canonical(requests[name])}"
    return f"{told}, but limit is {canonical(limits[name])}" if name in limits and limit < least else ""


def _most(kind: str, name: str, enforced: str, requests: Quantities, limits: Quantities) -> str:
    told = f"maximum {name} usage per {kind} is {enforced}"
    if name not in limits:
        return f"{told}.  No limit is specified"
    request, limit, most = _values(requests.get(name), limits[name], enforced)
    if limit > most:
        return f"{told}, but limit is {canonical(limits[name])}"
    return f"{told}, but request is {canonical(requests[name])}" if name in requests and request > most else ""


def _most_requested(kind: str, name: str, enforced: str, requests: Quantities, limits: Quantities) -> str:
    told = f"maximum {name} usage per {kind} is {enforced}"
    if name not in requests:
        return f"{told}.  No request is specified"
    request, most = _values(requests[name], enforced)
    return f"{told}, but request is {canonical(requests[name])}" if request > most else ""


def _ratio(kind: str, name: str, enforced: str, requests: Quantities, limits: Quantities) -> str:
    told = f"{name} max limit to request ratio per {kind} is {enforced}"
    request, limit, _ = _values(requests.get(name), limits.get(name), enforced)
    if not request:
        return f"{told}, but no request is specified or request is 0"
    if not limit:
        return f"{told}, but no limit is specified or limit is 0"
    found = limit / request
    is_more = found * 1000 > millis(enforced) if whole(enforced) <= _MOST else found > whole(enforced)
    return f"{told}, but provided ratio is {found:f}" if is_more else ""


_OF_COMPUTE: Final[Mapping[str, Constraint]] = {"min": _least, "max": _most, "maxLimitRequestRatio": _ratio}
_OF_CLAIMS: Final[Mapping[str, Constraint]] = {"min": _least, "max": _most_requested}

RULES: Final = (
    Rule("LimitRanger", ("CREATE",), "/pods", _set_resources),
    Rule("LimitRanger", ("UPDATE",), "/pods", _set_resources, subresource="resize"),
    Rule("LimitRanger", ("CREATE",), "/pods", _check_pod, validates=True),
    Rule("LimitRanger", ("UPDATE",), "/pods", _check_pod, subresource="resize", validates=True),
    Rule("LimitRanger", ("CREATE", "UPDATE"), "/persistentvolumeclaims", _check_claim, validates=True),
)
