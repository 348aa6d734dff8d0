"""The room's door inside: finds the rules of a kind and runs them in kube-apiserver's order."""

from __future__ import annotations

from collections.abc import Sequence

from kubewright_apiserver.conversion import converted, stored_version
from kubewright_apiserver.status import FieldError, Refusal, invalid
from kubewright_apiserver.validation.kinds import KINDS, Rules
from kubewright_apiserver.validation.metadata import common_errors, generic_metadata, generic_update
from kubewright_apiserver.validation.names import dns_subdomain, path_segment
from kubewright_apiserver.validation.rules import Errors, Object

__all__ = [
    "name_errors",
    "refusal",
    "validate_create",
    "validate_status_update",
    "validate_subresource_update",
    "validate_update",
]


def refusal(group: str, kind: str, name: str, errors: Sequence[FieldError]) -> Refusal:
    """422 with these errors.

    An Event is told as one of the core group, whichever group it was sent to, and an access review has neither a kind
    nor a name.
    """
    if group == "authorization.k8s.io":
        return invalid(group, "", "", errors)
    return invalid("" if group == "events.k8s.io" else group, kind, name, errors)


def name_errors(group: str, kind: str, name: str) -> Sequence[str]:
    """What keeps a text from naming an object of a kind.

    Of an APIService or a ClusterTrustBundle the name depends on the spec too, which ``validate_create`` looks at.
    """
    rules = KINDS.get((group, kind))
    return (rules.name if rules else dns_subdomain)(name) or path_segment(name)


def validate_create(group: str, version: str, kind: str, obj: Object) -> Errors:
    """The errors of a new object, in kube-apiserver's order; none if it may be stored.

    The object is as it would be stored: decoded, defaulted, its status and what else its strategy resets put back,
    its name generated and its namespace filled in.
    """
    rules = _rules(group, kind, obj)
    obj = _internal(group, version, kind, obj)
    errors = rules.created(obj)
    if errors or not rules.lacks_metadata:
        return errors
    return generic_metadata(obj, rules.namespaced, path_segment)


def validate_update(group: str, version: str, kind: str, obj: Object, old: Object) -> Errors:
    """The errors of an object that is written over an old one; both are as they would be stored."""
    rules = _rules(group, kind, obj)
    obj, old = _internal(group, version, kind, obj), _internal(group, version, kind, old)
    return common_errors(obj, old, rules.namespaced) + rules.updated(obj, old)


def validate_subresource_update(
    group: str, version: str, kind: str, subresource: str, obj: Object, old: Object
) -> Errors:
    """The errors of an object of which a part is written: its status, its debugging containers, its size.

    The object is the old one with that part changed, and with what else the write may change.
    """
    rules = _rules(group, kind, obj)
    obj, old = _internal(group, version, kind, obj), _internal(group, version, kind, old)
    updated = rules.subresources.get(subresource, generic_update)
    return common_errors(obj, old, rules.namespaced) + updated(obj, old)


def validate_status_update(group: str, version: str, kind: str, obj: Object, old: Object) -> Errors:
    """The errors of an object whose status is written."""
    return validate_subresource_update(group, version, kind, "status", obj, old)


def _rules(group: str, kind: str, obj: Object) -> Rules:
    """The rules of a kind; what is not built in has those of custom resources."""
    found = KINDS.get((group, kind))
    if found is not None:
        return found
    namespaced = bool(obj["metadata"].get("namespace"))
    return Rules(lambda new: generic_metadata(new, namespaced, dns_subdomain), generic_update, namespaced)


def _internal(group: str, version: str, kind: str, obj: Object) -> Object:
    """The object as the rules know it: in the version that is stored. Only Events have rules for each group."""
    named = f"{group}/{version}"
    stored = named if kind == "Event" else stored_version(named, kind)
    return obj if stored == named else converted({**obj, "apiVersion": named, "kind": kind}, stored)
