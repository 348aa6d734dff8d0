"""What is asked and answered without being kept: access reviews, tokens, bindings."""

from __future__ import annotations

from typing import Final

from kubewright_apiserver.schema.goprint import printed
from kubewright_apiserver.status import invalid_field, not_supported, required
from kubewright_apiserver.validation.labels import selector_requirement
from kubewright_apiserver.validation.rules import Errors, Object

__all__ = [
    "created_access_review",
    "created_binding",
    "created_local_access_review",
    "created_self_access_review",
    "created_token_request",
]

_ATTRIBUTES: Final = "spec.resourceAttributes"


def _attributes(spec: Object) -> Errors:
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    value = printed("*authorization.NonResourceAttributes", other)
    if resource is not None and other is not None:
        detail = "cannot be specified in combination with resourceAttributes"
        return [invalid_field("spec.nonResourceAttributes", value, detail)]
    if resource is None and other is None:
        detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [invalid_field(_ATTRIBUTES, value, detail)]
    return []


def _selectors(spec: Object) -> Errors:
    attributes = spec.get("resourceAttributes") or {}
    errors: Errors = []
    for name in ("fieldSelector", "labelSelector"):
        if (selector := attributes.get(name)) is None:
            continue
        at, raw, found = f"{_ATTRIBUTES}.{name}", selector.get("rawSelector"), selector.get("requirements") or ()
        if raw and found:
            detail = "may not specified at the same time as requirements"
            errors.append(invalid_field(f"{at}.rawSelector", raw, detail))
        if not raw and not found:
            detail = f"when {at} is specified, requirements or rawSelector is required"
            errors.append(required(f"{at}.requirements", detail))
        for index, requirement in enumerate(found):
            place = f"{at}.requirements[{index}]"
            errors += _field(requirement, place) if name == "fieldSelector" else _label(requirement, place)
    return errors


def _label(requirement: Object, path: str) -> Errors:
    return selector_requirement(requirement, path, any_operator=True)


def _field(requirement: Object, path: str) -> Errors:
    errors = [] if requirement.get("key") else [required(f"{path}.key", "must be specified")]
    wrong = selector_requirement(
        {**requirement, "key": "a", "values": requirement.get("values")}, path, any_operator=True
    )
    return errors + [error for error in wrong if error.field == f"{path}.values"]


def _metadata(obj: Object, kept: tuple[str, ...], detail: str) -> Errors:
    metadata = obj.get("metadata") or {}
    if all(name in kept or not value for name, value in metadata.items()):
        return []
    return [invalid_field("metadata", printed("metav1.ObjectMeta", metadata), detail)]


def created_access_review(obj: Object) -> Errors:
    """The errors of a SubjectAccessReview."""
    return _subject_review(obj) + _metadata(obj, ("managedFields",), "must be empty")


def _subject_review(obj: Object) -> Errors:
    spec = obj.get("spec") or {}
    errors = _attributes(spec)
    if not spec.get("user") and not spec.get("groups"):
        errors.append(invalid_field("spec.user", "", "at least one of user or group must be specified"))
    return errors + _selectors(spec)


def created_self_access_review(obj: Object) -> Errors:
    """The errors of a SelfSubjectAccessReview."""
    spec = obj.get("spec") or {}
    return _attributes(spec) + _selectors(spec) + _metadata(obj, ("managedFields",), "must be empty")


def created_local_access_review(obj: Object) -> Errors:
    """The errors of a LocalSubjectAccessReview."""
    spec, namespace = obj.get("spec") or {}, (obj.get("metadata") or {}).get("namespace", "")
    errors = _subject_review(obj)
    errors += _metadata(obj, ("managedFields", "namespace"), "must be empty except for namespace")
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and resource.get("namespace", "") != namespace:
        detail = "must match metadata.namespace"
        errors.append(invalid_field(f"{_ATTRIBUTES}.namespace", resource.get("namespace", ""), detail))
    if other is not None:
        value = printed("*authorization.NonResourceAttributes", other)
        errors.append(invalid_field("spec.nonResourceAttributes", value, "disallowed on this kind of request"))
    return errors


def created_token_request(obj: Object) -> Errors:
    """The errors of a TokenRequest."""
    seconds, at = (obj.get("spec") or {}).get("expirationSeconds", 0), "spec.expirationSeconds"
    errors: Errors = []
    if seconds < 600:
        errors.append(invalid_field(at, seconds, "may not specify a duration less than 10 minutes"))
    if seconds > 1 << 32:
        errors.append(invalid_field(at, seconds, "may not specify a duration larger than 2^32 seconds"))
    return errors


def created_binding(obj: Object) -> Errors:
    """The errors of a Binding of a pod to a node."""
    target = obj.get("target") or {}
    errors: Errors = []
    if target.get("kind", "") not in ("", "Node"):
        errors.append(not_supported("target.kind", target["kind"], ("Node", "<empty>")))
    return errors if target.get("name") else [*errors, required("target.name")]
