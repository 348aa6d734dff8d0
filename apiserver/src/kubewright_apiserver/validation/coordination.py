"""Leases and those who would like to hold them."""

from __future__ import annotations

import re
from typing import Final

from kubewright_apiserver.status import forbidden_field, invalid_field, not_supported, required
from kubewright_apiserver.validation.metadata import generic_metadata, generic_update
from kubewright_apiserver.validation.names import config_key, dns_subdomain, qualified_name
from kubewright_apiserver.validation.rules import Errors, Object, immutable, named

__all__ = ["created_candidate", "created_lease", "updated_candidate", "updated_lease"]

_STRATEGY: Final = "OldestEmulationVersion"
_NUMBER: Final = r"(0|[1-9][0-9]*)"
_SUFFIX: Final = r"[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*"
_VERSION: Final = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_SUFFIX})?(\+{_SUFFIX})?")


def created_lease(obj: Object) -> Errors:
    """The errors of a new Lease."""
    return generic_metadata(obj, True, dns_subdomain) + _lease(obj.get("spec") or {})


def updated_lease(obj: Object, old: Object) -> Errors:
    """The errors of a Lease that is written over an old one."""
    return generic_update(obj, old) + _lease(obj.get("spec") or {})


def _lease(spec: Object) -> Errors:
    seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    strategy = spec.get("strategy")
    errors: Errors = []
    if seconds is not None and seconds <= 0:
        errors.append(invalid_field("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    if transitions is not None and transitions < 0:
        errors.append(invalid_field("spec.leaseTransitions", transitions, "must be greater than or equal to 0"))
    if strategy is not None:
        errors += _strategy(strategy, "spec.strategy")
    if spec.get("preferredHolder") and not strategy:
        errors.append(forbidden_field("spec.preferredHolder", "may only be specified if `strategy` is defined"))
    return errors


def _strategy(strategy: str, path: str) -> Errors:
    at = f"{path}.strategy"
    if "/" in strategy:
        return named(qualified_name, at, strategy)
    return [] if strategy == _STRATEGY else [not_supported(at, strategy, (_STRATEGY,))]


def created_candidate(obj: Object) -> Errors:
    """The errors of a new LeaseCandidate."""
    return generic_metadata(obj, True, config_key) + _candidate(obj.get("spec") or {})


def updated_candidate(obj: Object, old: Object) -> Errors:
    """The errors of a LeaseCandidate that is written over an old one."""
    new, before = ((holder.get("spec") or {}).get("leaseName", "") for holder in (obj, old))
    errors = generic_update(obj, old) + _candidate(obj.get("spec") or {})
    return errors + immutable("spec.leaseName", new, before)


def _candidate(spec: Object) -> Errors:
    emulation, binary, strategy = (spec.get(n, "") for n in ("emulationVersion", "binaryVersion", "strategy"))
    told = "must be a valid semantic version"
    errors = [] if spec.get("leaseName") else [required("spec.leaseName")]
    if emulation and not _VERSION.fullmatch(emulation):
        errors.append(invalid_field("spec.emulationVersion", emulation, told))
    if not binary:
        errors.append(required("spec.binaryVersion"))
    elif not _VERSION.fullmatch(binary):
        errors.append(invalid_field("spec.binaryVersion", binary, told))
    if binary and emulation and _release(binary) < _release(emulation):
        detail = "must be greater than or equal to `emulationVersion`"
        errors.append(invalid_field("spec.binaryVersion", binary, detail))
    if not strategy:
        return [*errors, required("spec.strategy")]
    if strategy == _STRATEGY and not any(_release(emulation)):
        detail = "must be specified when `strategy` is 'OldestEmulationVersion'"
        errors.append(required("spec.emulationVersion", detail))
    return errors + _strategy(strategy, "spec.strategy")


def _release(version: str) -> tuple[int, ...]:
    found = _VERSION.fullmatch(version)
    return tuple(map(int, found.groups()[:3])) if found else (0, 0, 0)
