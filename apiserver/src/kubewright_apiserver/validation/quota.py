"""ResourceQuotas and LimitRanges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubewright_apiserver.schema.amount import canonical, millis, nanos, whole
from kubewright_apiserver.schema.goprint import printed
from kubewright_apiserver.status import duplicate, forbidden_field, invalid_field, required
from kubewright_apiserver.validation.metadata import created_metadata, updated_metadata
from kubewright_apiserver.validation.names import dns_subdomain, qualified_name
from kubewright_apiserver.validation.resources import (
    container_resource_name,
    is_overcommittable,
    is_quota_name,
    quota_resource_name,
    resource_name,
    resource_quantity,
)
from kubewright_apiserver.validation.rules import IMMUTABLE, Errors, Object, named

__all__ = [
    "created_limit_range",
    "created_quota",
    "updated_limit_range",
    "updated_quota",
    "updated_quota_status",
]

_POD_SCOPES: Final = (
    "Terminating",
    "NotTerminating",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
)
_SCOPES: Final = (*_POD_SCOPES, "BestEffort", "VolumeAttributesClass")
_EXISTING: Final = ("BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity")
_POD_RESOURCES: Final = ("pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory")
_CONTRADICTIONS: Final = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_MOST_MILLIS: Final = (2**63 - 1) // 1000


def created_quota(obj: Object) -> Errors:
    """The errors of a new ResourceQuota."""
    status = obj.get("status") or {}
    errors = created_metadata(obj, True, dns_subdomain) + _quota(obj.get("spec") or {})
    return (
        errors + _amounts(status.get("hard") or {}, "status.hard") + _amounts(status.get("used") or {}, "status.used")
    )


def updated_quota(obj: Object, old: Object) -> Errors:
    """The errors of a ResourceQuota that is written over an old one."""
    new, before = ((holder.get("spec") or {}).get("scopes") or [] for holder in (obj, old))
    errors = updated_metadata(obj, old) + _quota(obj.get("spec") or {})
    return errors if {*new} == {*before} else [*errors, invalid_field("spec.scopes", new or None, IMMUTABLE)]


def updated_quota_status(obj: Object, old: Object) -> Errors:
    """The errors of a ResourceQuota whose status is written."""
    status = obj.get("status") or {}
    errors = updated_metadata(obj, old)
    if not obj["metadata"].get("resourceVersion"):
        errors.append(required("resourceVersion"))
    return (
        errors + _amounts(status.get("hard") or {}, "status.hard") + _amounts(status.get("used") or {}, "status.used")
    )


def _amounts(amounts: dict[str, str], path: str) -> Errors:
    errors: Errors = []
    for name, quantity in amounts.items():
        at = f"{path}[{name}]"
        errors += quota_resource_name(name, at) + resource_quantity(name, quantity, at)
    return errors


def _quota(spec: Object) -> Errors:
    hard = spec.get("hard") or {}
    errors = _amounts(hard, "spec.hard") + _scopes(spec.get("scopes") or [], hard, "spec.scopes")
    if (selector := spec.get("scopeSelector")) is not None:
        errors += _scope_selector(selector, spec, "spec.scopeSelector.matchExpressions")
    return errors


def _fits(scope: str, resource: str) -> bool:
    if scope in _POD_SCOPES:
        return resource in _POD_RESOURCES
    if scope == "BestEffort":
        return resource == "pods"
    return scope != "VolumeAttributesClass" or resource in ("persistentvolumeclaims", "requests.storage")


def _unfit(scope: str, hard: dict[str, str]) -> list[str]:
    return [name for name in sorted(hard) if is_quota_name(name) and not _fits(scope, name)]


def _scopes(scopes: list[str], hard: dict[str, str], path: str) -> Errors:
    errors: Errors = []
    for scope in scopes:
        if scope not in _SCOPES:
            errors.append(invalid_field(path, scopes, "unsupported scope"))
        errors += [invalid_field(path, scopes, "unsupported scope applied to resource") for _ in _unfit(scope, hard)]
    return errors + _contradictions(scopes, scopes, path)


def _contradictions(scopes: Sequence[str], value: list[str] | None, path: str) -> Errors:
    found = [pair for pair in _CONTRADICTIONS if {*pair} <= {*scopes}]
    return [invalid_field(path, value or None, "conflicting scopes") for _ in found]


def _scope_selector(selector: Object, spec: Object, path: str) -> Errors:
    errors: Errors = []
    found = selector.get("matchExpressions") or ()
    for requirement in found:
        scope = requirement.get("scopeName", "")
        if scope not in _SCOPES:
            errors.append(invalid_field(f"{path}.scopeName", scope, "unsupported scope"))
        for _ in _unfit(scope, spec.get("hard") or {}):
            value = printed("*core.ScopeSelector", selector)
            errors.append(invalid_field(path, value, "unsupported scope applied to resource"))
        errors += _scope_operator(requirement, scope, path)
    return errors + _contradictions([one.get("scopeName", "") for one in found], spec.get("scopes"), path)


def _scope_operator(requirement: Object, scope: str, path: str) -> Errors:
    operator, values = requirement.get("operator", ""), requirement.get("values") or []
    errors: Errors = []
    if scope in _EXISTING and operator != "Exists":
        detail = (
            "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating,"
            " ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or"
            " ResourceQuotaScopeCrossNamespacePodAffinity"
        )
        errors.append(invalid_field(f"{path}.operator", operator, detail))
    if operator in ("In", "NotIn"):
        if not values:
            detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            errors.append(required(f"{path}.values", detail))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            errors.append(invalid_field(f"{path}.values", values, detail))
    else:
        errors.append(invalid_field(f"{path}.operator", operator, "not a valid selector operator"))
    return errors


def created_limit_range(obj: Object) -> Errors:
    """The errors of a new LimitRange."""
    errors = created_metadata(obj, True, dns_subdomain)
    kinds: set[str] = set()
    for index, limit in enumerate((obj.get("spec") or {}).get("limits") or ()):
        path, kind = f"spec.limits[{index}]", limit.get("type", "")
        errors += _limit_type(kind, f"{path}.type")
        if kind in kinds:
            errors.append(duplicate(f"{path}.type", kind))
        kinds.add(kind)
        errors += _limit_names(limit, kind, path)
        for name in sorted({name for part in _parts(kind) for name in limit.get(part) or ()}):
            errors += _limit_order(limit, kind, name, path)
    return errors


def updated_limit_range(obj: Object, old: Object) -> Errors:
    """The errors of a LimitRange that is written over an old one."""
    return created_limit_range(obj)


def _limit_type(kind: str, path: str) -> Errors:
    errors = named(qualified_name, path, kind)
    if errors or "/" in kind or kind in ("Pod", "Container", "PersistentVolumeClaim"):
        return errors
    return [invalid_field(path, kind, "must be a standard limit type or fully qualified")]


def _parts(kind: str) -> tuple[str, ...]:
    beside = () if kind == "Pod" else ("default", "defaultRequest")
    return ("max", "min", *beside, "maxLimitRequestRatio")


def _limit_names(limit: Object, kind: str, path: str) -> Errors:
    rule = container_resource_name if kind in ("Pod", "Container") else resource_name
    errors: Errors = []
    for part in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
        amounts = limit.get(part) or {}
        if kind == "Pod" and part.startswith("default"):
            told = "may not be specified when `type` is 'Pod'"
            errors += [forbidden_field(f"{path}.{part}", told)] if amounts else []
            continue
        if part == "maxLimitRequestRatio" and kind == "PersistentVolumeClaim":
            errors += _claim_limits(limit, path)
        for name in amounts:
            errors += rule(name, f"{path}.{part}[{name}]")
    return errors


def _claim_limits(limit: Object, path: str) -> Errors:
    if any("storage" in (limit.get(part) or {}) for part in ("min", "max")):
        return []
    detail = "either minimum or maximum storage value is required, but neither was provided"
    return [required(f"{path}.limits", detail)]


# Which of two amounts may not be more, where it is told, which value is shown, and in which words.
_ORDER: Final = (
    ("min", "max", "min", "min", "min value {} is greater than max value {}"),
    (
        "min",
        "defaultRequest",
        "defaultRequest",
        "defaultRequest",
        "min value {} is greater than default request value {}",
    ),
    (
        "defaultRequest",
        "max",
        "defaultRequest",
        "defaultRequest",
        "default request value {} is greater than max value {}",
    ),
    (
        "defaultRequest",
        "default",
        "defaultRequest",
        "defaultRequest",
        "default request value {} is greater than default limit value {}",
    ),
    ("min", "default", "default", "min", "min value {} is greater than default value {}"),
    ("default", "max", "default", "max", "default value {} is greater than max value {}"),
)


def _limit_order(limit: Object, kind: str, name: str, path: str) -> Errors:
    amounts = {part: (limit.get(part) or {}).get(name) for part in _parts(kind)}
    errors: Errors = []
    for lower, upper, told, shown, text in _ORDER:
        less, more = amounts.get(lower), amounts.get(upper)
        if less is not None and more is not None and nanos(less) > nanos(more):
            value, detail = amounts[shown] or "", text.format(canonical(less), canonical(more))
            errors.append(invalid_field(f"{path}.{told}[{name}]", canonical(value), detail))
    errors += _ratio(amounts, f"{path}.maxLimitRequestRatio[{name}]")
    default, request = amounts.get("default"), amounts.get("defaultRequest")
    if (
        default is not None
        and request is not None
        and not is_overcommittable(name)
        and nanos(default) != nanos(request)
    ):
        detail = f"default value {canonical(default)} must equal to defaultRequest value {canonical(request)} in {name}"
        errors.append(invalid_field(f"{path}.defaultRequest[{name}]", canonical(request), detail))
    return errors


def _ratio(amounts: dict[str, str | None], path: str) -> Errors:
    ratio, least, most = (amounts.get(part) for part in ("maxLimitRequestRatio", "min", "max"))
    if ratio is None:
        return []
    errors: Errors = []
    if nanos(ratio) < 10**9:
        errors.append(invalid_field(path, canonical(ratio), f"ratio {canonical(ratio)} is less than 1"))
    if least is None or most is None or not nanos(least):
        return errors
    exact = all(whole(amount) < _MOST_MILLIS for amount in (ratio, least, most))
    value = millis(ratio) / 1000 if exact else float(whole(ratio))
    limit = millis(most) / millis(least) if exact else whole(most) / whole(least)
    if value > limit:
        detail = f"ratio {canonical(ratio)} is greater than max/min = {limit:f}"
        errors.append(invalid_field(path, canonical(ratio), detail))
    return errors
