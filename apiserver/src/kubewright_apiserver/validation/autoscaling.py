"""HorizontalPodAutoscalers, of which the server looks at version 2, and Scale."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from kubewright_apiserver.schema.amount import canonical, nanos
from kubewright_apiserver.status import forbidden_field, invalid_field, not_supported, required
from kubewright_apiserver.validation.metadata import created_metadata, updated_metadata
from kubewright_apiserver.validation.names import dns_subdomain, path_segment
from kubewright_apiserver.validation.resources import container_resource_name, non_negative_quantity
from kubewright_apiserver.validation.rules import (
    Errors,
    Object,
    dns_label_errors,
    named,
    named_required,
    non_negative,
)

__all__ = ["created_autoscaler", "created_scale", "updated_autoscaler", "updated_autoscaler_status"]

_POSITIVE: Final = "must be greater than zero"
_SOURCES: Final = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def created_scale(obj: Object) -> Errors:
    """The errors of a Scale."""
    replicas = (obj.get("spec") or {}).get("replicas")
    return created_metadata(obj, True, dns_subdomain) + non_negative("spec.replicas", replicas)


def created_autoscaler(obj: Object) -> Errors:
    """The errors of a new HorizontalPodAutoscaler."""
    return created_metadata(obj, True, dns_subdomain) + _spec(obj["spec"], None)


def updated_autoscaler(obj: Object, old: Object) -> Errors:
    """The errors of a HorizontalPodAutoscaler that is written over an old one."""
    return updated_metadata(obj, old) + _spec(obj["spec"], old["spec"])


def _spec(spec: Object, old: Object | None) -> Errors:
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    lowest = 0 if old and old.get("minReplicas") == 0 else 1
    errors: Errors = []
    if least is not None and least < lowest:
        errors.append(invalid_field("spec.minReplicas", least, f"must be greater than or equal to {lowest}"))
    if most == 0:
        errors.append(required("spec.maxReplicas", "must be set and greater than 0"))
    elif most < 0:
        errors.append(invalid_field("spec.maxReplicas", most, "must be greater than or equal to 1"))
    if least is not None and most < least:
        errors.append(invalid_field("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`"))
    errors += _target(spec.get("scaleTargetRef") or {}, (old or {}).get("scaleTargetRef"))
    errors += _metrics(spec.get("metrics") or (), "spec.metrics", least)
    behavior = spec.get("behavior") or {}
    for name in ("scaleUp", "scaleDown"):
        if (rules := behavior.get(name)) is not None:
            errors += _scaling(rules, f"spec.behavior.{name}")
    return errors


def _target(target: Object, old: Object | None) -> Errors:
    path = "spec.scaleTargetRef"
    errors = named_required(path_segment, f"{path}.kind", target.get("kind"))
    errors += named_required(path_segment, f"{path}.name", target.get("name"))
    if old is not None and all(old.get(name) == target.get(name) for name in ("apiVersion", "kind")):
        return errors
    needs_group = target.get("kind") != "ReplicationController"
    return errors + _api_version(target.get("apiVersion", ""), f"{path}.apiVersion", needs_group)


def _api_version(text: str, path: str, needs_group: bool) -> Errors:
    if text.count("/") > 1:
        return [invalid_field(path, text, f"unexpected GroupVersion string: {text}")]
    if needs_group and not text.rpartition("/")[0]:
        return [invalid_field(path, text, "apiVersion must specify API group")]
    return []


def _metrics(metrics: Sequence[Object], path: str, least: int | None) -> Errors:
    errors: Errors = []
    for index, metric in enumerate(metrics):
        errors += _metric(metric, f"{path}[{index}]")
    if least == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        detail = "must specify at least one Object or External metric to support scaling to zero replicas"
        errors.append(forbidden_field(path, detail))
    return errors


def _metric(metric: Object, path: str) -> Errors:
    kind = metric.get("type", "")
    unknown = not_supported(f"{path}.type", kind, sorted(_SOURCES))
    errors = [] if kind else [required(f"{path}.type", "must specify a metric source type")]
    if kind not in _SOURCES:
        errors.append(unknown)
    present = [name for name in _SOURCES.values() if metric.get(name) is not None]
    if present:
        errors += _RULES[present[0]](metric[present[0]], f"{path}.{present[0]}")
    expected = _SOURCES.get(kind)
    if expected is None:
        errors.append(unknown)
    elif expected not in present:
        errors.append(required(f"{path}.{expected}", "must populate information for the given metric source"))
    if len(present) != 1:
        detail = "must populate the given metric source only"
        errors += [forbidden_field(f"{path}.{name}", detail) for name in present if name != expected]
    return errors


def _object(source: Object, path: str) -> Errors:
    described, at = source.get("describedObject") or {}, f"{path}.describedObject"
    errors = named_required(path_segment, f"{at}.kind", described.get("kind"))
    errors += named_required(path_segment, f"{at}.name", described.get("name"))
    errors += _api_version(described.get("apiVersion", ""), f"{at}.apiVersion", False)
    target = source.get("target") or {}
    errors += _identifier(source.get("metric") or {}, f"{path}.metric") + _goal(target, f"{path}.target")
    if target.get("value") is None and target.get("averageValue") is None:
        errors.append(required(f"{path}.target.averageValue", "must set either a target value or averageValue"))
    return errors


def _external(source: Object, path: str) -> Errors:
    target = source.get("target") or {}
    errors = _identifier(source.get("metric") or {}, f"{path}.metric") + _goal(target, f"{path}.target")
    value, average = target.get("value"), target.get("averageValue")
    if value is None and average is None:
        detail = "must set either a target value for metric or a per-pod target"
        errors.append(required(f"{path}.target.averageValue", detail))
    if value is not None and average is not None:
        detail = "may not set both a target value for metric and a per-pod target"
        errors.append(forbidden_field(f"{path}.target.value", detail))
    return errors


def _pods(source: Object, path: str) -> Errors:
    target = source.get("target") or {}
    errors = _identifier(source.get("metric") or {}, f"{path}.metric") + _goal(target, f"{path}.target")
    if target.get("averageValue") is None:
        errors.append(required(f"{path}.target.averageValue", "must specify a positive target averageValue"))
    return errors


def _resource(source: Object, path: str) -> Errors:
    errors = [] if source.get("name") else [required(f"{path}.name", "must specify a resource name")]
    return errors + _utilization(source.get("target") or {}, f"{path}.target")


def _container_resource(source: Object, path: str) -> Errors:
    name, container = source.get("name"), source.get("container")
    errors = [required(f"{path}.name", "must specify a resource name")]
    if name:
        errors = container_resource_name(name, f"{path}.name")
    if container:
        errors += dns_label_errors(f"{path}.container", container)
    else:
        errors.append(required(f"{path}.container", "must specify a container"))
    return errors + _utilization(source.get("target") or {}, f"{path}.target")


def _utilization(target: Object, path: str) -> Errors:
    errors, share, average = _goal(target, path), target.get("averageUtilization"), target.get("averageValue")
    if share is None and average is None:
        detail = "must set either a target raw value or a target utilization"
        errors.append(required(f"{path}.averageUtilization", detail))
    if share is not None and average is not None:
        detail = "may not set both a target raw value and a target utilization"
        errors.append(forbidden_field(f"{path}.averageValue", detail))
    return errors


_RULES: Final[dict[str, Callable[[Object, str], Errors]]] = {
    "object": _object,
    "external": _external,
    "pods": _pods,
    "resource": _resource,
    "containerResource": _container_resource,
}


def _identifier(metric: Object, path: str) -> Errors:
    if not metric.get("name"):
        return [required(f"{path}.name", "must specify a metric name")]
    return named(path_segment, f"{path}.name", metric["name"])


def _goal(target: Object, path: str) -> Errors:
    kind, share = target.get("type", ""), target.get("averageUtilization")
    errors = [] if kind else [required(f"{path}.type", "must specify a metric target type")]
    if kind not in ("Utilization", "Value", "AverageValue"):
        errors.append(invalid_field(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue"))
    for name in ("value", "averageValue"):
        if (amount := target.get(name)) is not None and nanos(amount) <= 0:
            errors.append(invalid_field(f"{path}.{name}", canonical(amount), "must be positive"))
    if share is not None and share < 1:
        errors.append(invalid_field(f"{path}.averageUtilization", share, "must be greater than 0"))
    return errors


def _scaling(rules: Object, path: str) -> Errors:
    window, select, at = rules.get("stabilizationWindowSeconds"), rules.get("selectPolicy"), f"{path}.policies"
    errors: Errors = []
    if window is not None and not 0 <= window <= 3600:
        detail = "must be greater than or equal to zero" if window < 0 else "must be less than or equal to 3600"
        errors.append(invalid_field(f"{path}.stabilizationWindowSeconds", window, detail))
    if select not in (None, "Max", "Min", "Disabled"):
        errors.append(not_supported(f"{path}.selectPolicy", select, ("Disabled", "Max", "Min")))
    if not rules.get("policies"):
        errors.append(required(at, "must specify at least one Policy"))
    for index, policy in enumerate(rules.get("policies") or ()):
        errors += _scaling_policy(policy, f"{at}[{index}]")
    if (tolerance := rules.get("tolerance")) is not None:
        errors += non_negative_quantity(tolerance, f"{path}.tolerance")
    return errors


def _scaling_policy(policy: Object, path: str) -> Errors:
    kind, value, period = policy.get("type", ""), policy.get("value", 0), policy.get("periodSeconds", 0)
    errors = [] if kind in ("Pods", "Percent") else [not_supported(f"{path}.type", kind, ("Percent", "Pods"))]
    if value <= 0:
        errors.append(invalid_field(f"{path}.value", value, _POSITIVE))
    if period <= 0:
        errors.append(invalid_field(f"{path}.periodSeconds", period, _POSITIVE))
    if period > 1800:
        errors.append(invalid_field(f"{path}.periodSeconds", period, "must be less than or equal to 1800"))
    return errors


def updated_autoscaler_status(obj: Object, old: Object) -> Errors:
    """The errors of a HorizontalPodAutoscaler whose status is written."""
    status, errors = obj.get("status") or {}, updated_metadata(obj, old)
    for name in ("currentReplicas", "desiredReplicas"):
        errors += non_negative(f"status.{name}", status.get(name))
    return errors
