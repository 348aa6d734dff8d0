"""Defaults of the group autoscaling."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.conversion import without_hidden
from kubewright_apiserver.defaulting.parts import Default, Key, part, set_missing

__all__ = ["DEFAULTS"]

_UTILISATION: Final = 80
_METRICS: Final = "autoscaling.alpha.kubernetes.io/metrics"


def _v1(autoscaler: dict[str, Any]) -> None:
    spec = part(autoscaler, "spec")
    set_missing(spec, {"minReplicas": 1})
    annotations = (autoscaler.get("metadata") or {}).get("annotations") or {}
    if _METRICS not in annotations:
        set_missing(spec, {"targetCPUUtilizationPercentage": _UTILISATION})


def _v2(autoscaler: dict[str, Any]) -> None:
    spec = part(autoscaler, "spec")
    set_missing(spec, {"minReplicas": 1})
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": _UTILISATION}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    behavior = spec.get("behavior")
    if behavior is not None:
        pods = {"type": "Pods", "value": 4, "periodSeconds": 15}
        percent = {"type": "Percent", "value": 100, "periodSeconds": 15}
        up = {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [pods, percent]}
        set_missing(part(behavior, "scaleUp"), up)
        set_missing(part(behavior, "scaleDown"), {"selectPolicy": "Max", "policies": [dict(percent)]})
    autoscaler["metadata"] = without_hidden(part(autoscaler, "metadata"))


DEFAULTS: Final[dict[Key, Default]] = {
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): _v1,
    ("autoscaling", "v2", "HorizontalPodAutoscaler"): _v2,
}
