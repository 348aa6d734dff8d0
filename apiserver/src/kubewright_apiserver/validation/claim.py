"""PersistentVolumeClaims: what is asked for, and that it may hardly change afterwards."""

from __future__ import annotations

from typing import Final

from kubewright_apiserver.schema.amount import nanos
from kubewright_apiserver.schema.goprint import difference
from kubewright_apiserver.status import forbidden_field, invalid_field, not_supported, required
from kubewright_apiserver.validation.equality import same
from kubewright_apiserver.validation.labels import selector_errors
from kubewright_apiserver.validation.metadata import created_metadata, updated_metadata
from kubewright_apiserver.validation.names import dns_label, dns_subdomain, qualified_name
from kubewright_apiserver.validation.resources import basic_quantity, is_native, positive_quantity, resource_quantity
from kubewright_apiserver.validation.rules import (
    Errors,
    Object,
    enumerated_if_set,
    immutable,
    named,
    named_if_set,
    needed,
)

__all__ = ["access_modes", "claim_spec", "created_claim", "updated_claim", "updated_claim_status"]

VOLUME_MODES: Final = ("Block", "Filesystem")
_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
_RESIZE_STATES: Final = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
)
_SPEC: Final = "io.k8s.api.core.v1.PersistentVolumeClaimSpec"
_CLASS: Final = "spec.volumeAttributesClassName"
_FIXED: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)


def created_claim(claim: Object) -> Errors:
    """The errors of a new claim."""
    return created_metadata(claim, True, dns_subdomain) + claim_spec(claim.get("spec") or {}, "spec")


def access_modes(modes: list[str], path: str) -> Errors:
    """The errors of access modes."""
    errors = [not_supported(path, mode, _ACCESS_MODES) for mode in modes if mode not in _ACCESS_MODES]
    known = {mode for mode in modes if mode in _ACCESS_MODES}
    if "ReadWriteOncePod" in known and len(known) > 1:
        errors.append(forbidden_field(path, "may not use ReadWriteOncePod with other access modes"))
    return errors


def claim_spec(spec: Object, path: str) -> Errors:
    """The errors of what a claim asks for."""
    modes = spec.get("accessModes") or []
    errors = [] if modes else [required(f"{path}.accessModes", "at least 1 access mode is required")]
    errors += selector_errors(spec.get("selector"), f"{path}.selector")
    errors += access_modes(modes, f"{path}.accessModes")
    errors += _storage(spec, f"{path}.resources[storage]")
    errors += named_if_set(dns_subdomain, f"{path}.storageClassName", spec.get("storageClassName"))
    errors += enumerated_if_set(f"{path}.volumeMode", spec.get("volumeMode"), VOLUME_MODES)
    errors += _sources(spec, path)
    name = spec.get("volumeAttributesClassName")
    return errors + named_if_set(dns_subdomain, f"{path}.volumeAttributesClassName", name)


def _storage(spec: Object, path: str) -> Errors:
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if storage is None:
        return [required(path)]
    return positive_quantity(storage, path) or resource_quantity("storage", storage, path)


def _sources(spec: Object, path: str) -> Errors:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    errors = [] if source is None else _source(source, f"{path}.dataSource")
    if reference is None:
        return errors
    errors += _source(reference, f"{path}.dataSourceRef")
    namespace = reference.get("namespace")
    errors += named_if_set(dns_label, f"{path}.dataSourceRef.namespace", namespace)
    if source is None:
        return errors
    if namespace:
        detail = "may not be specified when dataSourceRef.namespace is specified"
        errors.append(invalid_field(path, {}, detail))
    elif any(source.get(name) != reference.get(name) for name in ("apiGroup", "kind", "name")):
        errors.append(invalid_field(path, {}, "must match dataSourceRef"))
    return errors


def _source(source: Object, path: str) -> Errors:
    errors = needed(source, path, "name", "kind")
    group = source.get("apiGroup")
    if group:
        return errors + named(dns_subdomain, f"{path}.apiGroup", group)
    if source.get("kind") != "PersistentVolumeClaim":
        detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        errors.append(invalid_field(path, source.get("kind", ""), detail))
    return errors


def updated_claim(claim: Object, old: Object) -> Errors:
    """The errors of a claim that is written over an old one."""
    errors = updated_metadata(claim, old) + created_claim(claim)
    errors += _class_annotation(claim, old)
    kept, new = _comparable(claim, old)
    if not same(_SPEC, new, kept):
        changes = difference("core.PersistentVolumeClaimSpec", kept, new)
        errors.append(forbidden_field("spec", f"{_FIXED}\n{changes}"))
    errors += _size(claim, old)
    errors += immutable("volumeMode", claim["spec"].get("volumeMode"), old["spec"].get("volumeMode"))
    return errors + _attributes_class(claim, old)


def _class_annotation(claim: Object, old: Object) -> Errors:
    new_value, old_value = (_annotation(holder) or "" for holder in (claim, old))
    if _moves_from_annotation(claim, old):
        return []
    return immutable(f"metadata.annotations.{_CLASS_ANNOTATION}", new_value, old_value)


def _annotation(claim: Object) -> str | None:
    annotation: str | None = (claim["metadata"].get("annotations") or {}).get(_CLASS_ANNOTATION)
    return annotation


def _moves_from_annotation(claim: Object, old: Object) -> bool:
    before, after = _annotation(old), _annotation(claim)
    is_moved = old["spec"].get("storageClassName") is None and claim["spec"].get("storageClassName") == before
    return before is not None and is_moved and after in (None, before)


def _comparable(claim: Object, old: Object) -> tuple[Object, Object]:
    """The old and the new spec with what may change made equal."""
    kept, new = dict(old["spec"]), dict(claim["spec"])
    if not kept.get("volumeName") and "volumeName" in new:
        kept["volumeName"] = new["volumeName"]
    before, after = kept.get("storageClassName"), new.get("storageClassName")
    if after is not None and before is None and _annotation(old) in (None, after):
        del new["storageClassName"]
    if (claim.get("status") or {}).get("phase") == "Bound":
        requests = (new.get("resources") or {}).get("requests")
        if requests:
            storage = ((kept.get("resources") or {}).get("requests") or {}).get("storage", "0")
            new["resources"] = {**new["resources"], "requests": {**requests, "storage": storage}}
        new["volumeAttributesClassName"] = kept.get("volumeAttributesClassName")
    return kept, new


def _requested(claim: Object) -> int:
    return nanos(((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage"))


def _size(claim: Object, old: Object) -> Errors:
    held = nanos(((old.get("status") or {}).get("capacity") or {}).get("storage"))
    if _requested(claim) >= _requested(old) or _requested(claim) > held:
        return []
    return [forbidden_field("spec.resources.requests.storage", "field can not be less than status.capacity")]


def _attributes_class(claim: Object, old: Object) -> Errors:
    new, before = (holder["spec"].get("volumeAttributesClassName") for holder in (claim, old))
    if new == before or (old.get("status") or {}).get("currentVolumeAttributesClassName") is None:
        return []
    told = "is forbidden when status.currentVolumeAttributesClassName is not nil"
    if new is None:
        return [forbidden_field(_CLASS, f"update to nil {told}")]
    return [] if new else [forbidden_field(_CLASS, f"update to empty string {told}")]


def updated_claim_status(claim: Object, old: Object) -> Errors:
    """The errors of a claim whose status is written."""
    errors = updated_metadata(claim, old)
    if not claim["spec"].get("accessModes"):
        errors.append(required("Spec.accessModes"))
    status = claim.get("status") or {}
    for name, quantity in (status.get("capacity") or {}).items():
        errors += basic_quantity(quantity, f"status.capacity[{name}]")
    for name, state in (status.get("allocatedResourceStatuses") or {}).items():
        errors += _resource_key(name, "status.allocatedResourceStatuses")
        if state not in _RESIZE_STATES:
            errors.append(not_supported("status.allocatedResourceStatuses", name, sorted(_RESIZE_STATES)))
    for name, quantity in (status.get("allocatedResources") or {}).items():
        at = f"status.allocatedResources[{name}]"
        errors += (
            _resource_key(name, "status.allocatedResources")
            or basic_quantity(quantity, at)
            or resource_quantity("storage", quantity, at)
        )
    return errors


def _resource_key(name: str, path: str) -> Errors:
    if errors := named(qualified_name, path, name):
        return errors
    return [not_supported(path, name, ("storage",))] if is_native(name) and name != "storage" else []
