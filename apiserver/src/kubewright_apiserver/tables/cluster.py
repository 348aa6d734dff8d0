"""The rows of nodes, namespaces, events, and of other things that every cluster has."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.tables.ages import UNKNOWN, age_of, since
from kubewright_apiserver.tables.texts import NONE, condition_status, part

__all__ = [
    "api_service_cells",
    "component_status_cells",
    "config_map_cells",
    "event_cells",
    "lease_candidate_cells",
    "lease_cells",
    "named_cells",
    "namespace_cells",
    "node_cells",
    "priority_class_cells",
    "resource_quota_cells",
    "runtime_class_cells",
    "secret_cells",
    "storage_version_migration_cells",
]

_ROLE: Final = "node-role.kubernetes.io/"
_ROLE_NAME: Final = "kubernetes.io/role"
_MIGRATION: Final = ("Running", "Succeeded", "Failed")


def named_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The name and the age."""
    return [obj["metadata"].get("name", ""), age_of(obj, now)]


def node_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a Node."""
    status = part(obj, "status")
    system = part(status, "nodeInfo")
    kernel = system.get("kernelVersion") or UNKNOWN
    if system.get("architecture"):
        kernel += f" ({system['architecture']})"
    return [
        obj["metadata"].get("name", ""),
        _node_status(obj),
        _roles(obj["metadata"].get("labels") or {}),
        age_of(obj, now),
        system.get("kubeletVersion", ""),
        *(_address(status, type) for type in ("InternalIP", "ExternalIP")),
        system.get("osImage") or UNKNOWN,
        kernel,
        system.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _node_status(obj: dict[str, Any]) -> str:
    # Of several conditions of a type, which no kubelet writes, the last one counts.
    ready = condition_status(reversed(part(obj, "status").get("conditions") or ()), "Ready")
    told = {"": "Unknown", "True": "Ready"}.get(ready, "NotReady")
    return f"{told},SchedulingDisabled" if part(obj, "spec").get("unschedulable") else told


def _roles(labels: dict[str, str]) -> str:
    roles = {label.removeprefix(_ROLE) for label in labels if label.startswith(_ROLE)} | {labels.get(_ROLE_NAME, "")}
    return ",".join(sorted(roles - {""})) or NONE


def _address(status: dict[str, Any], type: str) -> str:
    addresses = status.get("addresses") or ()
    return next((one.get("address", "") for one in addresses if one.get("type") == type), NONE)


def namespace_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a Namespace."""
    return [obj["metadata"].get("name", ""), part(obj, "status").get("phase", ""), age_of(obj, now)]


def config_map_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a ConfigMap."""
    count = len(obj.get("data") or ()) + len(obj.get("binaryData") or ())
    return [obj["metadata"].get("name", ""), count, age_of(obj, now)]


def secret_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a Secret."""
    return [obj["metadata"].get("name", ""), obj.get("type", ""), len(obj.get("data") or ()), age_of(obj, now)]


def event_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of an Event of the core group."""
    about = part(obj, "involvedObject")
    first = since(obj.get("firstTimestamp") or obj.get("eventTime"), now)
    last = since(obj.get("lastTimestamp"), now) if obj.get("lastTimestamp") else first
    count, series = obj.get("count") or 1, obj.get("series")
    if series is not None:
        last, count = since(series.get("lastObservedTime"), now), series.get("count", 0)
    kind, name = about.get("kind", "").lower(), about.get("name", "")
    return [
        last,
        obj.get("type", ""),
        obj.get("reason", ""),
        f"{kind}/{name}" if name else kind,
        about.get("fieldPath", ""),
        _source(obj),
        obj.get("message", "").strip(),
        first,
        count,
        obj["metadata"].get("name", ""),
    ]


def _source(obj: dict[str, Any]) -> str:
    source = part(obj, "source")
    component: str = source.get("component") or obj.get("reportingComponent", "")
    instance = source.get("host") or obj.get("reportingInstance", "")
    return f"{component}, {instance}" if instance else component


def resource_quota_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a ResourceQuota."""
    status = part(obj, "status")
    hard, used = status.get("hard") or {}, status.get("used") or {}
    told: dict[bool, list[str]] = {False: [], True: []}
    for name in sorted(hard):
        told[name.startswith("limits.")].append(f"{name}: {used.get(name, '0')}/{hard[name]}")
    return [obj["metadata"].get("name", ""), ", ".join(told[False]), ", ".join(told[True]), age_of(obj, now)]


def component_status_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a ComponentStatus."""
    healthy = next((one for one in obj.get("conditions") or () if one["type"] == "Healthy"), None)
    if healthy is None:
        return [obj["metadata"].get("name", ""), "Unknown", "", ""]
    told = "Healthy" if healthy.get("status") == "True" else "Unhealthy"
    return [obj["metadata"].get("name", ""), told, healthy.get("message", ""), healthy.get("error", "")]


def lease_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a Lease."""
    return [obj["metadata"].get("name", ""), part(obj, "spec").get("holderIdentity") or "", age_of(obj, now)]


def lease_candidate_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a LeaseCandidate."""
    told = [part(obj, "spec").get(name, "") for name in ("leaseName", "binaryVersion", "emulationVersion")]
    return [obj["metadata"].get("name", ""), *told, age_of(obj, now)]


def priority_class_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a PriorityClass."""
    told = [obj.get("value", 0), obj.get("globalDefault", False), age_of(obj, now)]
    return [obj["metadata"].get("name", ""), *told, obj.get("preemptionPolicy", "")]


def runtime_class_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a RuntimeClass."""
    return [obj["metadata"].get("name", ""), obj.get("handler", ""), age_of(obj, now)]


def api_service_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of an APIService."""
    service = part(obj, "spec").get("service")
    told = "Local" if service is None else f"{service.get('namespace', '')}/{service.get('name', '')}"
    conditions = part(obj, "status").get("conditions") or ()
    available = next((one for one in conditions if one["type"] == "Available"), {"status": "Unknown"})
    status = available["status"]
    if status != "True" and available.get("reason"):
        status += f" ({available['reason']})"
    return [obj["metadata"].get("name", ""), told, status, age_of(obj, now)]


def storage_version_migration_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a StorageVersionMigration."""
    resource = part(obj, "spec", "resource")
    told = f"{resource.get('resource', '')}.{resource.get('group', '')}".removesuffix(".")
    conditions = part(obj, "status").get("conditions") or ()
    states = [one["type"] for one in conditions if one.get("status") == "True" and one["type"] in _MIGRATION]
    return [obj["metadata"].get("name", ""), told, states[-1] if states else "Unknown"]
