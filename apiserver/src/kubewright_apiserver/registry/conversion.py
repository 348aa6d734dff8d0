"""Between versions of built-in kinds that share their storage: Events of both groups, autoscalers of both versions."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["converted"]

Object = dict[str, Any]

# The names of the same fields in the core group and in events.k8s.io.
_EVENT: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_EVENT_BACK: Final = {theirs: ours for ours, theirs in _EVENT.items()}
_CPU: Final = "cpu"


def converted(obj: Object, api_version: str) -> Object:
    """The object in another version of its kind; itself if it is in that version."""
    if obj["apiVersion"] == api_version:
        return obj
    change = _CHANGES[obj["kind"], api_version]
    return {**change(obj), "kind": obj["kind"], "apiVersion": api_version}


def _to_events_group(event: Object) -> Object:
    return {_EVENT.get(name, name): value for name, value in event.items()}


def _to_core_group(event: Object) -> Object:
    return {_EVENT_BACK.get(name, name): value for name, value in event.items()}


def _to_autoscaling_v1(scaler: Object) -> Object:
    """Only the CPU's share of an autoscaler's metrics has a field in version 1."""
    spec = {name: value for name, value in scaler["spec"].items() if name not in ("metrics", "behavior")}
    share = next((_share(metric) for metric in scaler["spec"].get("metrics") or () if _share(metric)), None)
    if share is not None:
        spec["targetCPUUtilizationPercentage"] = share
    hidden = ("currentMetrics", "conditions")
    status = {name: value for name, value in (scaler.get("status") or {}).items() if name not in hidden}
    status.setdefault("desiredReplicas", 0)
    status.setdefault("currentReplicas", 0)
    return {**scaler, "spec": spec, "status": status}


def _share(metric: Object) -> int | None:
    resource = metric.get("resource") or {}
    share: int | None = (resource.get("target") or {}).get("averageUtilization")
    return share if resource.get("name") == _CPU else None


def _to_autoscaling_v2(scaler: Object) -> Object:
    spec = {name: value for name, value in scaler["spec"].items() if name != "targetCPUUtilizationPercentage"}
    share = scaler["spec"].get("targetCPUUtilizationPercentage")
    if share is not None:
        target = {"type": "Utilization", "averageUtilization": share}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": _CPU, "target": target}}]
    status = {**(scaler.get("status") or {})}
    status.pop("currentCPUUtilizationPercentage", None)
    status.setdefault("currentMetrics", None)
    return {**scaler, "spec": spec, "status": status}


_CHANGES: Final = {
    ("Event", "events.k8s.io/v1"): _to_events_group,
    ("Event", "v1"): _to_core_group,
    ("HorizontalPodAutoscaler", "autoscaling/v1"): _to_autoscaling_v1,
    ("HorizontalPodAutoscaler", "autoscaling/v2"): _to_autoscaling_v2,
}
