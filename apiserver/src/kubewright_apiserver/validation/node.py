"""Nodes and RuntimeClasses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from kubewright_apiserver.schema.goprint import printed
from kubewright_apiserver.status import FieldError, duplicate, forbidden_field, invalid_field, required
from kubewright_apiserver.validation.address import cidr_errors, is_dual_stack
from kubewright_apiserver.validation.labels import label_errors
from kubewright_apiserver.validation.metadata import (
    created_metadata,
    generic_metadata,
    generic_update,
    updated_metadata,
)
from kubewright_apiserver.validation.names import dns_label, dns_subdomain, label_value
from kubewright_apiserver.validation.resources import requirements, resource_quantity
from kubewright_apiserver.validation.rules import (
    Errors,
    Object,
    immutable,
    named_required,
    positive,
    qualified_errors,
    unchangeable,
)
from kubewright_apiserver.validation.scheduling import taint_effect, tolerations

__all__ = [
    "created_node",
    "created_runtime_class",
    "updated_node",
    "updated_node_status",
    "updated_runtime_class",
]

_FEATURE: Final = re.compile(r"[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*")
_FEATURE_TEXT: Final = (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or"
    " MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
)
_ONCE: Final = 'node updates may not change {} except from "" to valid'


def created_node(obj: Object) -> Errors:
    """The errors of a new Node."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    errors = created_metadata(obj, False, dns_subdomain) + _taints(spec.get("taints") or (), "metadata.taints")
    errors += _resources(status)
    capacity = ((status.get("nodeInfo") or {}).get("swap") or {}).get("capacity")
    if capacity is not None:
        errors += positive("metadata.nodeSwapStatus.capacity", capacity)
    errors += _features(status.get("declaredFeatures") or (), "status.declaredFeatures")
    ranges = _ranges(spec)
    for index, text in enumerate(ranges):
        errors += cidr_errors(f"spec.podCIDRs[{index}]", text)
    if len(ranges) > 1 and (len(ranges) > 2 or not is_dual_stack(ranges)):
        detail = "may specify no more than one CIDR for each IP family"
        errors.append(invalid_field("spec.podCIDRs", ranges, detail))
    return errors


def _ranges(spec: Object) -> list[str]:
    first, ranges = spec.get("podCIDR"), spec.get("podCIDRs") or []
    return [first] if first and (not ranges or ranges[0] != first) else ranges


def updated_node(obj: Object, old: Object) -> Errors:
    """The errors of a Node that is written over an old one."""
    return created_node(obj) + updated_node_status(obj, old)


def updated_node_status(obj: Object, old: Object) -> Errors:
    """The errors of a Node whose status is written."""
    spec, before, status = obj.get("spec") or {}, old.get("spec") or {}, obj.get("status") or {}
    errors = updated_metadata(obj, old) + _resources(status)
    errors += _features(status.get("declaredFeatures") or (), "status.declaredFeatures")
    errors += _addresses(status.get("addresses") or ())
    errors += _kept_ranges(_ranges(spec), _ranges(before))
    if provider := before.get("providerID"):
        errors += unchangeable("spec.providerID", spec.get("providerID"), provider, _ONCE.format("providerID"))
    errors += _taints(spec.get("taints") or (), "metadata.taints")
    new, was = (holder.get("externalID", "") for holder in (spec, before))
    return errors + unchangeable("spec.externalID", new, was, "may not be updated")


def _taints(taints: Sequence[Object], path: str) -> Errors:
    errors: Errors = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        at, key, value, effect = f"{path}[{index}]", *(taint.get(name, "") for name in ("key", "value", "effect"))
        errors += qualified_errors(f"{at}.key", key)
        if messages := label_value(value):
            errors.append(invalid_field(f"{at}.value", value, ";".join(messages)))
        errors += taint_effect(effect, f"{at}.effect") if effect else [required(f"{at}.effect")]
        if (key, effect) in seen:
            detail = "taints must be unique by key and effect pair"
            errors.append(FieldError("Duplicate value", at, detail, printed("core.Taint", taint)))
        seen.add((key, effect))
    return errors


def _resources(status: Object) -> Errors:
    errors: Errors = []
    for part in ("capacity", "allocatable"):
        for name, quantity in (status.get(part) or {}).items():
            errors += resource_quantity(name, quantity, f"status.{part}.{name}")
    return errors


def _features(features: Sequence[str], path: str) -> Errors:
    errors: Errors = []
    for index, feature in enumerate(features):
        if len(feature) > 253:
            detail = f'invalid feature name "{feature}": must be no more than 253 characters'
            errors.append(invalid_field(f"{path}[{index}]", feature, detail))
        elif not _FEATURE.fullmatch(feature):
            detail = f'invalid feature name "{feature}": {_FEATURE_TEXT}'
            errors.append(invalid_field(f"{path}[{index}]", feature, detail))
        following = features[index + 1] if index + 1 < len(features) else None
        if following == feature:
            errors.append(duplicate(f"{path}[{index + 1}]", following))
        elif following is not None and feature > following:
            detail = "list must be sorted alphabetically"
            errors.append(invalid_field(f"{path}[{index + 1}]", following, detail))
    return errors


def _addresses(addresses: Sequence[Object]) -> Errors:
    return [
        duplicate(f"status.addresses[{index}]", printed("core.NodeAddress", address))
        for index, address in enumerate(addresses)
        if address in addresses[:index]
    ]


def _kept_ranges(new: list[str], old: list[str]) -> Errors:
    error = forbidden_field("spec.podCIDRs", _ONCE.format("podCIDR"))
    if not old:
        return []
    if len(new) != len(old):
        return [error]
    return [error for text, was in zip(new, old, strict=True) if text != was]


def created_runtime_class(obj: Object) -> Errors:
    """The errors of a new RuntimeClass."""
    errors = generic_metadata(obj, False, dns_subdomain)
    errors += named_required(dns_label, "handler", obj.get("handler"))
    if (overhead := obj.get("overhead")) is not None:
        errors += requirements({"limits": overhead.get("podFixed")}, "overhead", ())
    if (scheduling := obj.get("scheduling")) is not None:
        errors += label_errors(scheduling.get("nodeSelector") or {}, "scheduling.nodeSelector")
        errors += _distinct_tolerations(scheduling.get("tolerations") or (), "scheduling.tolerations")
    return errors


def _distinct_tolerations(found: Sequence[Object], path: str) -> Errors:
    errors = tolerations(found, path)
    keys = [tuple(one.get(name, "") for name in ("key", "operator", "value", "effect")) for one in found]
    return errors + [
        duplicate(f"{path}[{index}]", printed("core.Toleration", found[index]))
        for index, key in enumerate(keys)
        if key in keys[:index]
    ]


def updated_runtime_class(obj: Object, old: Object) -> Errors:
    """The errors of a RuntimeClass that is written over an old one."""
    errors = created_runtime_class(obj) + generic_update(obj, old)
    return errors + immutable("handler", obj.get("handler", ""), old.get("handler", ""))
