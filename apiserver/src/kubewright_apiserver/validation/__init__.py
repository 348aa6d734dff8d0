"""What an object must be to be stored: kube-apiserver's rules for every built-in kind, in its words and order."""

from __future__ import annotations

from kubewright_apiserver.validation.equality import same
from kubewright_apiserver.validation.names import generated_name
from kubewright_apiserver.validation.pod_resources import quality_of_service
from kubewright_apiserver.validation.strategies import Strategy, bumps_generation, strategy
from kubewright_apiserver.validation.validating import (
    name_errors,
    refusal,
    validate_create,
    validate_status_update,
    validate_subresource_update,
    validate_update,
)
from kubewright_apiserver.validation.warnings import object_warnings

__all__ = [
    "Strategy",
    "bumps_generation",
    "generated_name",
    "name_errors",
    "object_warnings",
    "quality_of_service",
    "refusal",
    "same",
    "strategy",
    "validate_create",
    "validate_status_update",
    "validate_subresource_update",
    "validate_update",
]
