"""Namespaces and PriorityClasses."""

from __future__ import annotations

from typing import Final

from kubewright_apiserver.status import forbidden_field, invalid_field
from kubewright_apiserver.validation.metadata import created_metadata, updated_metadata
from kubewright_apiserver.validation.names import dns_label, dns_subdomain, qualified_name
from kubewright_apiserver.validation.rules import Errors, Object, enumerated, immutable, named, unchangeable

__all__ = [
    "created_namespace",
    "created_priority_class",
    "updated_namespace",
    "updated_namespace_finalizers",
    "updated_namespace_status",
    "updated_priority_class",
]

_STANDARD_FINALIZERS: Final = ("kubernetes", "orphan", "foregroundDeletion")
_HIGHEST_PRIORITY: Final = 1_000_000_000
_SYSTEM_PRIORITIES: Final = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


def created_namespace(obj: Object) -> Errors:
    """The errors of a new Namespace."""
    errors = created_metadata(obj, False, dns_label)
    for finalizer in (obj.get("spec") or {}).get("finalizers") or ():
        errors += _finalizer(finalizer, "spec.finalizers")
    return errors


def _finalizer(name: str, path: str) -> Errors:
    errors = named(qualified_name, path, name)
    if "/" not in name and name not in _STANDARD_FINALIZERS:
        detail = "name is neither a standard finalizer name nor is it fully qualified"
        errors.append(invalid_field(path, name, detail))
    return errors


def updated_namespace(obj: Object, old: Object) -> Errors:
    """The errors of a Namespace that is written over an old one."""
    return created_namespace(obj) + updated_metadata(obj, old)


def updated_namespace_status(obj: Object, old: Object) -> Errors:
    """The errors of a Namespace whose status is written."""
    errors, phase = updated_metadata(obj, old), (obj.get("status") or {}).get("phase", "")
    wanted, told = ("Terminating", "not ") if obj["metadata"].get("deletionTimestamp") else ("Active", "")
    if phase == wanted:
        return errors
    detail = f"may only be '{wanted}' if `deletionTimestamp` is {told}empty"
    return [*errors, invalid_field("status.Phase", phase, detail)]


def updated_namespace_finalizers(obj: Object, old: Object) -> Errors:
    """The errors of a Namespace whose own finalizers are written."""
    errors = updated_metadata(obj, old)
    for index, finalizer in enumerate((obj.get("spec") or {}).get("finalizers") or ()):
        errors += _finalizer(finalizer, f"spec.finalizers[{index}]")
    return errors


def created_priority_class(obj: Object) -> Errors:
    """The errors of a new PriorityClass."""
    name, value = obj["metadata"].get("name", ""), obj.get("value", 0)
    errors = created_metadata(obj, False, dns_subdomain)
    if name.startswith("system-"):
        if problem := _system_problem(name, value, bool(obj.get("globalDefault"))):
            detail = f"priority class names with 'system-' prefix are reserved for system use only. error: {problem}"
            errors.append(forbidden_field("metadata.name", detail))
    elif value > _HIGHEST_PRIORITY:
        detail = f"maximum allowed value of a user defined priority is {_HIGHEST_PRIORITY}"
        errors.append(forbidden_field("value", detail))
    policy = obj.get("preemptionPolicy")
    if policy is None:
        return errors
    return errors + enumerated("preemptionPolicy", policy, ("PreemptLowerPriority", "Never"))


def _system_problem(name: str, value: int, is_default: bool) -> str:
    known = _SYSTEM_PRIORITIES.get(name)
    if known is None:
        return f"{name} is not a known system priority class"
    if value != known:
        return f"value of {name} PriorityClass must be {known}"
    return f"globalDefault of {name} PriorityClass must be false" if is_default else ""


def updated_priority_class(obj: Object, old: Object) -> Errors:
    """The errors of a PriorityClass that is written over an old one."""
    errors = updated_metadata(obj, old)
    errors += unchangeable("value", obj.get("value", 0), old.get("value", 0), "may not be changed in an update.")
    return errors + immutable("preemptionPolicy", obj.get("preemptionPolicy"), old.get("preemptionPolicy"))
