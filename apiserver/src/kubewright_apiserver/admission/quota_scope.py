"""Which objects a ResourceQuota with scopes is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubewright_apiserver.admission.attributes import Object
from kubewright_apiserver.defaulting.pod_resources import quality_of_service

__all__ = ["is_in_claim_scope", "is_in_pod_scope", "selectors_of"]


def selectors_of(quota: Object) -> list[Object]:
    """The scopes of a quota, all of which an object must be in."""
    spec = quota.get("spec") or {}
    plain = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
    return plain + ((spec.get("scopeSelector") or {}).get("matchExpressions") or [])


def is_in_pod_scope(selector: Object, pod: Object) -> bool:
    """Whether a pod is in a scope."""
    spec, scope = pod.get("spec") or {}, selector["scopeName"]
    if scope in ("Terminating", "NotTerminating"):
        return ((spec.get("activeDeadlineSeconds") or -1) >= 0) is (scope == "Terminating")
    if scope in ("BestEffort", "NotBestEffort"):
        quality = (pod.get("status") or {}).get("qosClass") or quality_of_service(spec)
        return (quality == "BestEffort") is (scope == "BestEffort")
    if scope == "PriorityClass":
        return _selects(selector, filter(None, [spec.get("priorityClassName")]))
    return scope == "CrossNamespacePodAffinity" and any(_looks_elsewhere(term) for term in _terms(spec))


def is_in_claim_scope(selector: Object, claim: Object) -> bool:
    """Whether a claim for storage is in a scope."""
    if selector["scopeName"] != "VolumeAttributesClass":
        return False
    spec, status = claim.get("spec") or {}, claim.get("status") or {}
    names = (
        spec.get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    )
    return _selects(selector, filter(None, names))


def _selects(selector: Object, names: Iterable[str]) -> bool:
    """Whether a scope that is about names selects one of these, or having none."""
    operator, values, found = selector.get("operator"), selector.get("values") or (), list(names)
    if operator in ("Exists", "DoesNotExist"):
        return bool(found) is (operator == "Exists")
    if operator == "In":
        return any(name in values for name in found)
    return not found or any(name not in values for name in found)


def _terms(spec: Object) -> Iterator[Object]:
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        found = affinity.get(kind) or {}
        yield from found.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        for one in found.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            yield one.get("podAffinityTerm") or {}


def _looks_elsewhere(term: Object) -> bool:
    return bool(term.get("namespaces")) or term.get("namespaceSelector") is not None
