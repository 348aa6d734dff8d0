"""Resource names and the requests and limits of containers and pods."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Final

from kubewright_apiserver.schema.amount import canonical, is_quantity, millis, nanos, whole
from kubewright_apiserver.status import FieldError, duplicate, forbidden_field, invalid_field, not_supported, required
from kubewright_apiserver.validation.names import qualified_name
from kubewright_apiserver.validation.rules import Errors, Object, dns_label_errors, named

__all__ = [
    "basic_quantity",
    "container_resource_name",
    "is_native",
    "is_overcommittable",
    "is_quota_name",
    "non_negative_quantity",
    "pod_resource_name",
    "positive_quantity",
    "quota_resource_name",
    "requirements",
    "resource_name",
    "resource_quantity",
]

_COUNTED: Final = frozenset(
    (
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    )
)
_COMPUTED: Final = frozenset(("cpu", "memory", "ephemeral-storage"))
_QUOTA: Final = (
    _COUNTED
    | _COMPUTED
    | {f"{part}.{name}" for part in ("requests", "limits") for name in _COMPUTED}
    | {"requests.storage"}
)
_STANDARD: Final = _QUOTA | {"storage"}
_HUGE_PAGES: Final = "hugepages-"

ResourceNameRule = Callable[[str, str], Errors]


def is_native(name: str) -> bool:
    """Whether a resource is one of Kubernetes' own."""
    return "/" not in name or "kubernetes.io/" in name


def is_overcommittable(name: str) -> bool:
    """Whether more of a resource may be requested than there is."""
    return is_native(name) and not name.startswith(_HUGE_PAGES)


def _is_extended(name: str) -> bool:
    return not is_native(name) and not name.startswith("requests.") and not qualified_name(f"requests.{name}")


def _is_quota_huge_page(name: str) -> bool:
    return name.startswith((_HUGE_PAGES, f"requests.{_HUGE_PAGES}"))


def resource_name(name: str, path: str) -> Errors:
    """The errors of the name of any resource."""
    errors = named(qualified_name, path, name)
    if errors or "/" in name or name in _STANDARD or _is_quota_huge_page(name):
        return errors
    return [invalid_field(path, name, "must be a standard resource type or fully qualified")]


def container_resource_name(name: str, path: str) -> Errors:
    """The errors of the name of a resource that a container asks for."""
    if name in _COMPUTED:
        return []
    errors = resource_name(name, path)
    if "/" not in name:
        if not name.startswith(_HUGE_PAGES):
            errors.append(invalid_field(path, name, "must be a standard resource for containers"))
    elif not is_native(name) and not _is_extended(name):
        errors.append(invalid_field(path, name, "doesn't follow extended resource name standard"))
    return errors


def pod_resource_name(name: str, path: str) -> Errors:
    """The errors of the name of a resource that a pod asks for as a whole."""
    errors = resource_name(name, path)
    if errors or name in ("cpu", "memory") or name.startswith(_HUGE_PAGES):
        return errors
    return [not_supported(path, name, ("cpu", "hugepages-", "memory"))]


def is_quota_name(name: str) -> bool:
    """Whether a name is one of those that quotas know without a prefix."""
    return name in _QUOTA or _is_quota_huge_page(name)


def quota_resource_name(name: str, path: str) -> Errors:
    """The errors of the name of a resource that a quota limits."""
    errors = resource_name(name, path)
    if "/" not in name and not is_quota_name(name):
        errors.append(invalid_field(path, name, "must be a standard resource for quota"))
    return errors


def non_negative_quantity(quantity: str, path: str) -> Errors:
    """The error of a quantity below zero."""
    if nanos(quantity) >= 0:
        return []
    return [invalid_field(path, canonical(quantity), "must be greater than or equal to 0")]


def positive_quantity(quantity: str, path: str) -> Errors:
    """The error of a quantity that is zero or below."""
    return [] if nanos(quantity) > 0 else [invalid_field(path, canonical(quantity), "must be greater than zero")]


def basic_quantity(quantity: str, path: str) -> Errors:
    """The error of a quantity that rounds to less than zero."""
    value = whole(quantity)
    return [invalid_field(path, value, "must be a valid resource quantity")] if value < 0 else []


def resource_quantity(name: str, quantity: str, path: str) -> Errors:
    """The errors of how much there is of a resource."""
    errors = non_negative_quantity(quantity, path)
    if name not in _COMPUTED and (name in _COUNTED or _is_extended(name)) and millis(quantity) % 1000:
        errors.append(invalid_field(path, canonical(quantity), "must be an integer"))
    return errors


def requirements(
    resources: Object, path: str, claims: Collection[str], rule: ResourceNameRule = container_resource_name
) -> Errors:
    """The errors of requests, limits and claims, with the rule for the names of resources."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    errors: Errors = []
    for name, quantity in limits.items():
        errors += _amount(name, quantity, f"{path}.limits[{name}]", rule)
    for name, quantity in requests.items():
        errors += _request(name, quantity, limits, path, rule)
    asked = (*limits, *requests)
    if any(name.startswith(_HUGE_PAGES) for name in asked) and "cpu" not in asked and "memory" not in asked:
        errors.append(forbidden_field(path, "HugePages require cpu or memory"))
    return errors + _claims(resources.get("claims") or (), f"{path}.claims", claims)


def _amount(name: str, quantity: str, path: str, rule: ResourceNameRule) -> Errors:
    return rule(name, path) + resource_quantity(name, quantity, path) + _huge_pages(name, quantity, path)


def _request(name: str, quantity: str, limits: dict[str, str], path: str, rule: ResourceNameRule) -> Errors:
    at = f"{path}.requests[{name}]"
    errors = rule(name, at) + resource_quantity(name, quantity, at)
    limit = limits.get(name)
    if limit is None:
        if not is_overcommittable(name):
            errors.append(required(f"{path}.limits", "Limit must be set for non overcommitable resources"))
    elif (asked := nanos(quantity)) != (most := nanos(limit)):
        if not is_overcommittable(name):
            detail = f"must be equal to {name} limit of {canonical(limit)}"
            errors.append(invalid_field(f"{path}.requests", canonical(quantity), detail))
        elif asked > most:
            detail = f"must be less than or equal to {name} limit of {canonical(limit)}"
            errors.append(invalid_field(f"{path}.requests", canonical(quantity), detail))
    return errors + _huge_pages(name, quantity, at)


def _huge_pages(name: str, quantity: str, path: str) -> Errors:
    if not name.startswith(_HUGE_PAGES) or _is_divisible(name.removeprefix(_HUGE_PAGES), quantity):
        return []
    text = canonical(quantity)
    return [invalid_field(path, text, f"{text} is not positive integer multiple of {name}")]


def _is_divisible(size: str, quantity: str) -> bool:
    if not is_quantity(size) or nanos(size) <= 0 or millis(size) % 1000:
        return False
    return whole(quantity) % whole(size) == 0


def _claims(claims: Iterable[Object], path: str, known: Collection[str]) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        at, name = f"{path}[{index}]", claim.get("name")
        if not name:
            errors.append(required(at))
            continue
        errors += _claim(claim, at, seen)
        if name not in known:
            listed = f": {', '.join(sorted(known))}" if known else " which is empty"
            detail = f"must be one of the names in pod.spec.resourceClaims{listed}"
            errors.append(FieldError("Not found", at, detail, name))
    return errors


def _claim(claim: Object, path: str, seen: set[str]) -> Errors:
    name, request = claim["name"], claim.get("request")
    if name in seen:
        return [duplicate(path, name)]
    errors = dns_label_errors(f"{path}.request", request) if request else []
    key = f"{name}/{request}" if request else name
    if key in seen:
        errors.append(duplicate(path, key))
    elif not request:
        errors += [duplicate(path, name) for other in seen if other.startswith(f"{name}/")]
    seen.add(key)
    return errors
