"""HorizontalPodAutoscalers of version 1: all but the processor's share is in annotations, as JSON of other types."""

from __future__ import annotations

from typing import Any, Final

import orjson

from kubewright_apiserver.conversion.metrics import metric_in_v1, metric_in_v2, status_in_v1, status_in_v2
from kubewright_apiserver.golang import go_json
from kubewright_apiserver.schema.decoding import normalised_as
from kubewright_apiserver.schema.goprint import internal
from kubewright_apiserver.schema.mismatch import Undecodable

__all__ = ["autoscaler_in_v1", "autoscaler_in_v2", "without_hidden"]

Object = dict[str, Any]

_PREFIX: Final = "autoscaling.alpha.kubernetes.io/"
_METRICS: Final = f"{_PREFIX}metrics"
_CURRENT: Final = f"{_PREFIX}current-metrics"
_CONDITIONS: Final = f"{_PREFIX}conditions"
_BEHAVIOR: Final = f"{_PREFIX}behavior"
_HIDDEN: Final = frozenset(
    (_METRICS, _CURRENT, _CONDITIONS, _BEHAVIOR, f"{_PREFIX}scale-down-tolerance", f"{_PREFIX}scale-up-tolerance")
)
_TYPES: Final = "io.k8s.api.autoscaling.v1."
_BEHAVIOR_TYPE: Final = "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerBehavior"
_INTERNAL_BEHAVIOR: Final = "autoscaling.HorizontalPodAutoscalerBehavior"
_SHARE: Final = "targetCPUUtilizationPercentage"
_CURRENT_SHARE: Final = "currentCPUUtilizationPercentage"
_DEFAULT_SHARE: Final = 80
_STATUS: Final = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")


def without_hidden(metadata: Object) -> Object:
    """Metadata without the annotations that stand for fields of version 2."""
    annotations = metadata.get("annotations")
    if not annotations or _HIDDEN.isdisjoint(annotations):
        return metadata
    return _with_annotations(metadata, {name: text for name, text in annotations.items() if name not in _HIDDEN})


def _with_annotations(metadata: Object, annotations: dict[str, str]) -> Object:
    if annotations:
        return {**metadata, "annotations": dict(sorted(annotations.items()))}
    return {name: value for name, value in metadata.items() if name != "annotations"}


def autoscaler_in_v1(scaler: Object) -> Object:
    """An autoscaler of version 2 in version 1."""
    spec, status = scaler.get("spec") or {}, scaler.get("status") or {}
    metrics, current = spec.get("metrics") or [], status.get("currentMetrics") or []
    seen = {name: value for name, value in spec.items() if name not in ("metrics", "behavior")}
    shares = [share for metric in metrics if (share := _share(metric, "target")) is not None]
    if shares:
        seen[_SHARE] = shares[0]
    seen_status = {name: status[name] for name in _STATUS if status.get(name) is not None}
    seen_status = {"currentReplicas": 0, "desiredReplicas": 0, **seen_status}
    shares = [share for metric in current if (share := _share(metric, "current")) is not None]
    if shares:
        seen_status[_CURRENT_SHARE] = shares[-1]
    hidden = _hidden(spec, status, [metric for metric in metrics if _share(metric, "target") is None])
    metadata = without_hidden(scaler.get("metadata") or {})
    if hidden:
        metadata = _with_annotations(metadata, {**(metadata.get("annotations") or {}), **hidden})
    return {**scaler, "metadata": metadata, "spec": seen, "status": seen_status}


def _share(metric: Object, part: str) -> int | None:
    """The utilisation of the processor that a metric is about; None if it is about something else."""
    resource = metric.get("resource") or {}
    if metric.get("type") != "Resource" or resource.get("name") != "cpu":
        return None
    share: int | None = (resource.get(part) or {}).get("averageUtilization")
    return share


def _hidden(spec: Object, status: Object, metrics: list[Object]) -> dict[str, str]:
    hidden: dict[str, str] = {}
    if metrics:
        hidden[_METRICS] = _json("MetricSpec", [metric_in_v1(metric) for metric in metrics])
    if status.get("currentMetrics"):
        hidden[_CURRENT] = _json("MetricStatus", [status_in_v1(metric) for metric in status["currentMetrics"]])
    if spec.get("behavior") is not None:
        hidden[_BEHAVIOR] = go_json(internal(_INTERNAL_BEHAVIOR, spec["behavior"]), is_struct=True)
    if status.get("conditions"):
        hidden[_CONDITIONS] = _json("HorizontalPodAutoscalerCondition", status["conditions"])
    return hidden


def _json(type_name: str, values: list[Object]) -> str:
    return go_json([normalised_as(f"{_TYPES}{type_name}", value) for value in values], is_struct=True)


def autoscaler_in_v2(scaler: Object) -> Object:
    """An autoscaler of version 1 in version 2; what its annotations say wrongly is as if it were not said."""
    metadata, spec, status = (scaler.get(part) or {} for part in ("metadata", "spec", "status"))
    annotations = metadata.get("annotations") or {}
    seen = {name: value for name, value in spec.items() if name != _SHARE}
    metrics = _read_all(annotations, _METRICS, "MetricSpec") or []
    seen["metrics"] = [metric_in_v2(metric) for metric in metrics]
    if spec.get(_SHARE) is not None or not metrics:
        share = spec.get(_SHARE)
        seen["metrics"].append(_share_metric("target", _DEFAULT_SHARE if share is None else share))
    behavior = _read_behavior(annotations)
    if behavior:
        seen["behavior"] = behavior
    return {**scaler, "metadata": without_hidden(metadata), "spec": seen, "status": _status_in_v2(status, annotations)}


def _share_metric(part: str, share: int) -> Object:
    target = {"type": "Utilization"} if part == "target" else {}
    return {"type": "Resource", "resource": {"name": "cpu", part: {**target, "averageUtilization": share}}}


def _status_in_v2(status: Object, annotations: dict[str, str]) -> Object:
    seen: Object = {name: status[name] for name in _STATUS if status.get(name) is not None}
    share = status.get(_CURRENT_SHARE)
    seen["currentMetrics"] = [_share_metric("current", share)] if share is not None else None
    current = _read_all(annotations, _CURRENT, "MetricStatus")
    if current is not None:
        seen["currentMetrics"] = [status_in_v2(metric) for metric in current] or None
    conditions = _read_all(annotations, _CONDITIONS, "HorizontalPodAutoscalerCondition")
    if conditions:
        seen["conditions"] = conditions
    return seen


def _read_all(annotations: dict[str, str], name: str, type_name: str) -> list[Object] | None:
    try:
        found = orjson.loads(annotations.get(name, "{}"))
        if found is None:
            return []
        if not isinstance(found, list):
            return None
        return [normalised_as(f"{_TYPES}{type_name}", value, ignores_case=True) for value in found]
    except (orjson.JSONDecodeError, Undecodable):
        return None


def _read_behavior(annotations: dict[str, str]) -> Object | None:
    try:
        found = orjson.loads(annotations.get(_BEHAVIOR, "null"))
        return normalised_as(_BEHAVIOR_TYPE, found, ignores_case=True)
    except (orjson.JSONDecodeError, Undecodable):
        return None
