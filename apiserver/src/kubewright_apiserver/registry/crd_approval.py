"""Whether a CRD in a group of the Kubernetes community is approved by it, which an annotation tells."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.schema.uri import UriError, parse_uri
from kubewright_apiserver.status import FieldError, invalid_field, required

__all__ = ["approval_errors", "approval_of"]

_APPROVAL: Final = "api-approved.kubernetes.io"
_SEE: Final = "see https://github.com/kubernetes/enhancements/pull/1111"


def approval_of(crd: dict[str, Any]) -> tuple[str, str]:
    """Whether a CRD in a group of the Kubernetes community is approved: the state and the reason, or two empty texts.

    The states are ``Invalid``, ``Approved``, ``Unapproved`` and ``Missing``.
    """
    group = (crd.get("spec") or {}).get("group", "")
    if group not in ("k8s.io", "kubernetes.io") and not group.endswith((".k8s.io", ".kubernetes.io")):
        return "", ""
    annotation = ((crd.get("metadata") or {}).get("annotations") or {}).get(_APPROVAL, "")
    if not annotation:
        return "Missing", f'protected groups must have approval annotation "{_APPROVAL}", {_SEE}'
    if annotation.startswith("unapproved"):
        return "Unapproved", f'not approved: "{annotation}"'
    try:
        uri = parse_uri(annotation, is_request=True)
    except UriError:
        uri = None
    if uri is not None and uri.host and uri.scheme:
        return "Approved", f"approved in {annotation}"
    wanted = 'with either a URL or a reason starting with "unapproved"'
    return "Invalid", f'protected groups must have approval annotation "{_APPROVAL}" {wanted}, {_SEE}'


def approval_errors(crd: dict[str, Any], old: dict[str, Any] | None) -> list[FieldError]:
    """The errors of the annotation, unless it was no better before."""
    state, reason = approval_of(crd)
    if old is not None and approval_of(old)[0] == state:
        return []
    path = f"metadata.annotations[{_APPROVAL}]"
    if state == "Missing":
        return [required(path, reason)]
    annotations = (crd.get("metadata") or {}).get("annotations") or {}
    return [invalid_field(path, annotations.get(_APPROVAL, ""), reason)] if state == "Invalid" else []
