"""PodDisruptionBudgets."""

from __future__ import annotations

from kubewright_apiserver.schema.goprint import printed
from kubewright_apiserver.status import invalid_field
from kubewright_apiserver.validation.labels import selector_errors
from kubewright_apiserver.validation.percentage import at_most_all, number_or_percent
from kubewright_apiserver.validation.rules import Errors, Object, enumerated_if_set, non_negative
from kubewright_apiserver.validation.statuses import condition_errors

__all__ = ["created_budget", "updated_budget", "updated_budget_status"]


def created_budget(obj: Object) -> Errors:
    """The errors of a new PodDisruptionBudget, for whose name there is no rule of its own."""
    spec = obj.get("spec") or {}
    errors: Errors = []
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        value = printed("policy.PodDisruptionBudgetSpec", spec)
        errors.append(invalid_field("spec", value, "minAvailable and maxUnavailable cannot be both set"))
    for name in ("minAvailable", "maxUnavailable"):
        if (count := spec.get(name)) is not None:
            errors += number_or_percent(count, f"spec.{name}") + at_most_all(count, f"spec.{name}")
    errors += selector_errors(spec.get("selector"), "spec.selector")
    policies, policy = ("AlwaysAllow", "IfHealthyBudget"), spec.get("unhealthyPodEvictionPolicy")
    return errors + enumerated_if_set("spec.unhealthyPodEvictionPolicy", policy, policies)


def updated_budget(obj: Object, old: Object) -> Errors:
    """The errors of a PodDisruptionBudget that is written over an old one."""
    return created_budget(obj)


def updated_budget_status(obj: Object, old: Object) -> Errors:
    """The errors of a PodDisruptionBudget whose status is written."""
    status = obj.get("status") or {}
    errors = condition_errors(status.get("conditions") or (), "status.conditions")
    for name in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"):
        errors += non_negative(f"status.{name}", status.get(name))
    return errors
