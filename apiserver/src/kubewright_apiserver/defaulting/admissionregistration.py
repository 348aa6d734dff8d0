"""Defaults of the groups admissionregistration.k8s.io and apiregistration.k8s.io: what calls, and what is called."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.defaulting.parts import Default, Key, part, set_missing

__all__ = ["DEFAULTS"]

_GROUP: Final = "admissionregistration.k8s.io"


def _default_match(match: dict[str, Any] | None) -> None:
    if match is None:
        return
    set_missing(match, {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}})
    for name in ("resourceRules", "excludeResourceRules"):
        _default_rules(match.get(name))


def _default_rules(rules: list[dict[str, Any]] | None) -> None:
    for rule in rules or ():
        if rule.get("scope") is None:
            rule["scope"] = "*"


def _default_port(service: dict[str, Any] | None) -> None:
    if service is not None and service.get("port") is None:
        service["port"] = 443


def _default_webhook(webhook: dict[str, Any]) -> None:
    set_missing(webhook, {"failurePolicy": "Fail", "matchPolicy": "Equivalent", "timeoutSeconds": 10})
    set_missing(webhook, {"namespaceSelector": {}, "objectSelector": {}})
    _default_port(part(webhook, "clientConfig").get("service"))
    _default_rules(webhook.get("rules"))


def _validating(configuration: dict[str, Any]) -> None:
    for webhook in configuration.get("webhooks") or ():
        _default_webhook(webhook)


def _mutating(configuration: dict[str, Any]) -> None:
    for webhook in configuration.get("webhooks") or ():
        _default_webhook(webhook)
        set_missing(webhook, {"reinvocationPolicy": "Never"})


def _policy(policy: dict[str, Any]) -> None:
    spec = part(policy, "spec")
    set_missing(spec, {"failurePolicy": "Fail"})
    _default_match(spec.get("matchConstraints"))


def _binding(binding: dict[str, Any]) -> None:
    _default_match(part(binding, "spec").get("matchResources"))


def _api_service(api_service: dict[str, Any]) -> None:
    _default_port(part(api_service, "spec").get("service"))


DEFAULTS: Final[dict[Key, Default]] = {
    (_GROUP, "v1", "MutatingAdmissionPolicy"): _policy,
    (_GROUP, "v1", "MutatingAdmissionPolicyBinding"): _binding,
    (_GROUP, "v1", "MutatingWebhookConfiguration"): _mutating,
    (_GROUP, "v1", "ValidatingAdmissionPolicy"): _policy,
    (_GROUP, "v1", "ValidatingAdmissionPolicyBinding"): _binding,
    (_GROUP, "v1", "ValidatingWebhookConfiguration"): _validating,
    (_GROUP, "v1beta1", "MutatingAdmissionPolicy"): _policy,
    (_GROUP, "v1beta1", "MutatingAdmissionPolicyBinding"): _binding,
    ("apiregistration.k8s.io", "v1", "APIService"): _api_service,
}
