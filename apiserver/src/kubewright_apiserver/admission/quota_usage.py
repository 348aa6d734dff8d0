"""What objects use of a ResourceQuota: pods, services, claims for storage and devices, and the number of all others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from kubewright_apiserver.admission.attributes import Attributes, Object
from kubewright_apiserver.admission.quota_scope import is_in_claim_scope, is_in_pod_scope
from kubewright_apiserver.defaulting.pod_resources import of_containers
from kubewright_apiserver.schema.amount import Amount, added, amount_or_zero, greater

__all__ = ["Evaluator", "Usage", "evaluator_for", "needs_of"]

Usage = dict[str, Amount]

_NANO: Final = 10**9
_ONE: Final = Amount(_NANO, "decimal")
_ALIASES: Final = {
    "/configmaps": "configmaps",
    "/resourcequotas": "resourcequotas",
    "/replicationcontrollers": "replicationcontrollers",
    "/secrets": "secrets",
}
_IGNORED: Final = frozenset(("/bindings", "/events", "events.k8s.io/events"))
_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
_OF_PODS: Final = frozenset(
    ("count/pods", "pods", *_COMPUTE, *(f"{kind}.{name}" for kind in ("requests", "limits") for name in _COMPUTE))
)
_DEMANDED: Final = frozenset(("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"))
_HUGE_PAGES: Final = "hugepages-"
_DEVICE_CLASS: Final = "deviceclass.resource.kubernetes.io/"
_OF_SERVICES: Final = frozenset(("count/services", "services", "services.nodeports", "services.loadbalancers"))
_STORAGE: Final = ("persistentvolumeclaims", "requests.storage")
_BY_STORAGE_CLASS: Final = ".storageclass.storage.k8s.io/"
_BY_DEVICE_CLASS: Final = ".deviceclass.resource.k8s.io/devices"
_DEVICE_CLAIMS: Final = "count/resourceclaims.resource.k8s.io"
_MOST_DEVICES: Final = 32
_OVER: Final = ("Failed", "Succeeded")


class Evaluator(NamedTuple):
    """How objects of one resource are counted."""

    handles: Callable[[Attributes], bool]
    """Whether a write can change what is used."""
    counts: Callable[[str], bool]
    """Whether a name in a quota is one of those that are counted."""
    usage: Callable[[Object], Usage]
    is_in_scope: Callable[[Object, Object], bool] = lambda selector, obj: False
    missing: Callable[[Iterable[str], Object], str] = lambda names, obj: ""
    """What an object must say and does not, so that it can be counted."""


def evaluator_for(resource: str) -> Evaluator | None:
    """How the objects of a resource are counted; None for what is no matter of quotas."""
    if resource in _IGNORED:
        return None
    return _EVALUATORS.get(resource) or _counting(resource)


def _counting(resource: str) -> Evaluator:
    group, _, plural = resource.rpartition("/")
    names = {f"count/{plural}.{group}" if group else f"count/{plural}", *filter(None, [_ALIASES.get(resource)])}
    return Evaluator(_is_creation, names.__contains__, lambda obj: dict.fromkeys(names, _ONE))


def _is_creation(attributes: Attributes) -> bool:
    return attributes.operation == "CREATE" and not attributes.subresource


def _is_whole(attributes: Attributes) -> bool:
    return not attributes.subresource


# Pods


def _handles_pod(attributes: Attributes) -> bool:
    if attributes.subresource or attributes.operation == "CREATE":
        return _is_creation(attributes) or (attributes.subresource, attributes.operation) == ("resize", "UPDATE")
    terminating = {"scopeName": "Terminating"}
    return is_in_pod_scope(terminating, attributes.obj) != is_in_pod_scope(terminating, attributes.old or {})


def _counts_pod(name: str) -> bool:
    return name in _OF_PODS or name.startswith((_HUGE_PAGES, f"requests.{_HUGE_PAGES}")) or _is_extended_request(name)


def _is_extended_request(name: str) -> bool:
    return name.startswith("requests.") and _is_extended(name.removeprefix("requests."))


def _is_extended(name: str) -> bool:
    """Whether a resource is one that somebody else than Kubernetes provides."""
    return name.startswith(_DEVICE_CLASS) or ("/" in name and "kubernetes.io/" not in name)


def _pod_usage(pod: Object) -> Usage:
    if (pod.get("status") or {}).get("phase") in _OVER:
        return {"count/pods": _ONE}
    return {"count/pods": _ONE, **_compute_usage(*needs_of(_effective(pod)))}


def needs_of(spec: Object) -> tuple[Usage, Usage]:
    """The requests and limits of a pod with all that belongs to it."""
    requests, limits = of_containers(spec, "requests"), of_containers(spec, "limits")
    own = spec.get("resources") or {}
    for summed, what in ((requests, "requests"), (limits, "limits")):
        for name, amount in (own.get(what) or {}).items():
            if name in ("cpu", "memory") or name.startswith(_HUGE_PAGES):
                summed[name] = amount_or_zero(amount)
    for name, amount in (spec.get("overhead") or {}).items():
        more = amount_or_zero(amount)
        requests[name] = added(requests[name], more) if name in requests else more
        if name in limits and limits[name].nanos:
            limits[name] = added(limits[name], more)
    return requests, limits


def _effective(pod: Object) -> Object:
    """The spec of a pod, whose containers need at least what they have been given so far."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    given = {
        one.get("name"): one
        for kind in ("containerStatuses", "initContainerStatuses")
        for one in status.get(kind) or ()
        if one.get("resources") is not None
    }
    if not given:
        return spec
    conditions = status.get("conditions") or ()
    is_hopeless = any(one.get("type") == "PodResizePending" and one.get("reason") == "Infeasible" for one in conditions)
    return {
        **spec,
        "containers": [
            _with_given(one, given.get(one.get("name")), is_hopeless) for one in spec.get("containers") or ()
        ],
        "initContainers": [
            _with_given(one, given.get(one.get("name")), is_hopeless) if one.get("restartPolicy") == "Always" else one
            for one in spec.get("initContainers") or ()
        ],
    }


def _with_given(container: Object, status: Object | None, is_hopeless: bool) -> Object:
    if status is None:
        return container
    wanted, actual = ({} if is_hopeless else container.get("resources") or {}), status["resources"]
    requests = _most(wanted.get("requests"), actual.get("requests"), status.get("allocatedResources"))
    return {
        **container,
        "resources": {"requests": requests, "limits": _most(wanted.get("limits"), actual.get("limits"))},
    }


def _most(*lists: Mapping[str, Any] | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in lists:
        for name, amount in (one or {}).items():
            if name not in found or amount_or_zero(amount).nanos > amount_or_zero(found[name]).nanos:
                found[name] = amount
    return found


def _compute_usage(requests: Mapping[str, Amount], limits: Mapping[str, Amount]) -> Usage:
    usage: Usage = {"pods": _ONE}
    for name in _COMPUTE:
        if name in requests:
            usage[name] = usage[f"requests.{name}"] = requests[name]
        if name in limits:
            usage[f"limits.{name}"] = limits[name]
    for name, amount in requests.items():
        if name.startswith(_HUGE_PAGES):
            usage[name] = usage[f"requests.{name}"] = amount
        elif _is_extended(name):
            usage[f"requests.{name}"] = amount
    return usage


def _missing_of_pod(names: Iterable[str], pod: Object) -> str:
    """Which containers do not say what they need of which resource, unless the pod says it as a whole."""
    spec = pod.get("spec") or {}
    whole = spec.get("resources") or {}
    if whole.get("requests") or whole.get("limits"):
        return ""
    told = []
    for name in sorted(_DEMANDED.intersection(names)):
        silent = {
            one.get("name", "")
            for kind in ("containers", "initContainers")
            for one in spec.get(kind) or ()
            if not _says(one, name)
        }
        if silent:
            told.append(f"{name} for: {','.join(sorted(silent))}")
    return f"must specify {'; '.join(told)}" if told else ""


def _says(container: Object, name: str) -> bool:
    kind, _, resource = name.rpartition(".")
    return resource in ((container.get("resources") or {}).get(kind or "requests") or {})


# Services


def _service_usage(service: Object) -> Usage:
    spec = service.get("spec") or {}
    ports, kind = spec.get("ports") or (), spec.get("type")
    node_ports = len(ports) if kind in ("NodePort", "LoadBalancer") else 0
    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
        node_ports = sum(1 for port in ports if port.get("nodePort"))
    return {
        "count/services": _ONE,
        "services": _ONE,
        "services.nodeports": Amount(node_ports * _NANO, "decimal"),
        "services.loadbalancers": _ONE if kind == "LoadBalancer" else Amount(0, "decimal"),
    }


# Claims for storage


def _handles_claim(attributes: Attributes) -> bool:
    if attributes.subresource != "status":
        return not attributes.subresource
    # The real one compares where the amounts are kept, which is never the same place.
    return True


def _counts_claim(name: str) -> bool:
    return (
        name == "count/persistentvolumeclaims"
        or name in _STORAGE
        or name.endswith(tuple(_BY_STORAGE_CLASS + one for one in _STORAGE))
    )


def _claim_usage(claim: Object) -> Usage:
    usage: Usage = {"persistentvolumeclaims": _ONE, "count/persistentvolumeclaims": _ONE}
    spec, status = claim.get("spec") or {}, claim.get("status") or {}
    name = _storage_class(claim)
    if name:
        usage[f"{name}{_BY_STORAGE_CLASS}persistentvolumeclaims"] = _ONE
    wanted = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if wanted is None:
        return usage
    amount = amount_or_zero(wanted)
    given = (status.get("allocatedResources") or {}).get("storage")
    if given is not None:
        amount = greater(amount, amount_or_zero(given))
    if amount.nanos % _NANO:
        amount = Amount(-(-amount.nanos // _NANO) * _NANO, amount.style)
    usage["requests.storage"] = amount
    if name:
        usage[f"{name}{_BY_STORAGE_CLASS}requests.storage"] = amount
    return usage


def _storage_class(claim: Object) -> str:
    annotations = (claim.get("metadata") or {}).get("annotations") or {}
    annotated = annotations.get("volume.beta.kubernetes.io/storage-class")
    return str(annotated if annotated is not None else (claim.get("spec") or {}).get("storageClassName") or "")


# Claims for devices


def _counts_device_claim(name: str) -> bool:
    return name == _DEVICE_CLAIMS or name.endswith(_BY_DEVICE_CLASS)


def _device_claim_usage(claim: Object) -> Usage:
    usage: Usage = {_DEVICE_CLAIMS: _ONE}
    for request in ((claim.get("spec") or {}).get("devices") or {}).get("requests") or ():
        wanted: Usage = {}
        for one in request.get("firstAvailable") or filter(None, [request.get("exactly")]):
            name = f"{one.get('deviceClassName', '')}{_BY_DEVICE_CLASS}"
            wanted[name] = greater(wanted.get(name, Amount(0, "decimal")), _devices(one))
        for name, amount in wanted.items():
            usage[name] = added(usage[name], amount) if name in usage else amount
    return usage


def _devices(request: Object) -> Amount:
    number = {"ExactCount": request.get("count", 0), "All": _MOST_DEVICES}.get(request.get("allocationMode", ""), 0)
    return Amount(number * _NANO, "decimal")


_EVALUATORS: Final = {
    "/pods": Evaluator(_handles_pod, _counts_pod, _pod_usage, is_in_pod_scope, _missing_of_pod),
    "/services": Evaluator(_is_whole, _OF_SERVICES.__contains__, _service_usage),
    "/persistentvolumeclaims": Evaluator(_handles_claim, _counts_claim, _claim_usage, is_in_claim_scope),
    "resource.k8s.io/resourceclaims": Evaluator(_is_whole, _counts_device_claim, _device_claim_usage),
}
