"""The rows of what runs pods."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from kubewright_apiserver.tables.ages import age_of, human_duration, since
from kubewright_apiserver.tables.texts import (
    NONE,
    UNSET,
    condition_status,
    containers_of,
    labels_text,
    part,
    selected_labels,
    selected_text,
)

__all__ = [
    "controller_revision_cells",
    "cron_job_cells",
    "daemon_set_cells",
    "deployment_cells",
    "job_cells",
    "pod_disruption_budget_cells",
    "pod_template_cells",
    "replica_set_cells",
    "replication_controller_cells",
    "scale_cells",
    "stateful_set_cells",
]

_DAEMONS: Final = (
    "desiredNumberScheduled",
    "currentNumberScheduled",
    "numberReady",
    "updatedNumberScheduled",
    "numberAvailable",
)


def deployment_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a Deployment."""
    spec, status = part(obj, "spec"), part(obj, "status")
    return [
        obj["metadata"].get("name", ""),
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        age_of(obj, now),
        *containers_of(part(spec, "template")),
        selected_labels(spec.get("selector")),
    ]


def replica_set_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a ReplicaSet."""
    return [*_replicas(obj, now), selected_text(part(obj, "spec").get("selector"))]


def replication_controller_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a ReplicationController."""
    return [*_replicas(obj, now), labels_text(part(obj, "spec").get("selector"))]


def _replicas(obj: dict[str, Any], now: float) -> list[Any]:
    spec, status = part(obj, "spec"), part(obj, "status")
    return [
        obj["metadata"].get("name", ""),
        spec.get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        age_of(obj, now),
        *containers_of(part(spec, "template")),
    ]


def stateful_set_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a StatefulSet."""
    spec, status = part(obj, "spec"), part(obj, "status")
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    return [obj["metadata"].get("name", ""), ready, age_of(obj, now), *containers_of(part(spec, "template"))]


def daemon_set_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a DaemonSet."""
    spec, status = part(obj, "spec"), part(obj, "status")
    template = part(spec, "template")
    return [
        obj["metadata"].get("name", ""),
        *(status.get(name, 0) for name in _DAEMONS),
        labels_text(part(template, "spec").get("nodeSelector")),
        age_of(obj, now),
        *containers_of(template),
        selected_text(spec.get("selector")),
    ]


def job_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a Job."""
    spec, status = part(obj, "spec"), part(obj, "status")
    return [
        obj["metadata"].get("name", ""),
        _job_status(obj, status),
        _completions(spec, status),
        _job_duration(status, now),
        age_of(obj, now),
        *containers_of(part(spec, "template")),
        selected_text(spec.get("selector")),
    ]


def _job_status(obj: dict[str, Any], status: dict[str, Any]) -> str:
    def has(type: str) -> bool:
        return condition_status(status.get("conditions"), type) == "True"

    for type in ("Complete", "Failed"):
        if has(type):
            return type
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return next((type for type in ("Suspended", "FailureTarget", "SuccessCriteriaMet") if has(type)), "Running")


def _completions(spec: dict[str, Any], status: dict[str, Any]) -> str:
    succeeded, wanted = status.get("succeeded", 0), spec.get("completions")
    if wanted is not None:
        return f"{succeeded}/{wanted}"
    together = spec.get("parallelism") or 0
    return f"{succeeded}/1 of {together}" if together > 1 else f"{succeeded}/1"


def _job_duration(status: dict[str, Any], now: float) -> str:
    start, end = status.get("startTime"), status.get("completionTime")
    if not start:
        return ""
    if not end:
        return since(start, now)
    return human_duration((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds())


def cron_job_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a CronJob."""
    spec, status = part(obj, "spec"), part(obj, "status")
    last, job = status.get("lastScheduleTime"), part(spec, "jobTemplate", "spec")
    zone, suspended = spec.get("timeZone"), spec.get("suspend")
    return [
        obj["metadata"].get("name", ""),
        spec.get("schedule", ""),
        NONE if zone is None else zone,
        UNSET if suspended is None else str(suspended),
        len(status.get("active") or ()),
        since(last, now) if last else NONE,
        age_of(obj, now),
        *containers_of(part(job, "template")),
        selected_text(job.get("selector")),
    ]


def pod_template_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a PodTemplate."""
    template = part(obj, "template")
    labels = labels_text(part(template, "metadata").get("labels"))
    return [obj["metadata"].get("name", ""), *containers_of(template), labels]


def pod_disruption_budget_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a PodDisruptionBudget."""
    spec = part(obj, "spec")
    bounds = [str(spec[name]) if spec.get(name) is not None else "N/A" for name in ("minAvailable", "maxUnavailable")]
    allowed = part(obj, "status").get("disruptionsAllowed", 0)
    return [obj["metadata"].get("name", ""), *bounds, allowed, age_of(obj, now)]


def controller_revision_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a ControllerRevision."""
    metadata = obj["metadata"]
    owner = next((one for one in metadata.get("ownerReferences") or () if one.get("controller")), None)
    told = NONE
    if owner is not None:
        group = owner["apiVersion"].rpartition("/")[0]
        told = f"{owner['kind']}.{group}".rstrip(".").lower() + f"/{owner['name']}"
    return [metadata.get("name", ""), told, obj.get("revision", 0), age_of(obj, now)]


def scale_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a Scale."""
    numbers = [part(obj, name).get("replicas", 0) for name in ("spec", "status")]
    return [obj["metadata"].get("name", ""), *numbers, age_of(obj, now)]
