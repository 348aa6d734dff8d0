"""Defaults of the groups certificates.k8s.io and authentication.k8s.io."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.defaulting.parts import Default, Key, part, set_missing

__all__ = ["DEFAULTS"]


def _pod_certificate_request(request: dict[str, Any]) -> None:
    set_missing(part(request, "spec"), {"maxExpirationSeconds": 86400})


def _token_request(request: dict[str, Any]) -> None:
    set_missing(part(request, "spec"), {"expirationSeconds": 3600})


DEFAULTS: Final[dict[Key, Default]] = {
    ("authentication.k8s.io", "v1", "TokenRequest"): _token_request,
    ("certificates.k8s.io", "v1beta1", "PodCertificateRequest"): _pod_certificate_request,
}
