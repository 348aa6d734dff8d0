"""Autoscalers of both versions: what only version 2 has a field for is an annotation in version 1."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.exchange import Api

pytestmark = pytest.mark.section("1.4")

SCALERS = "/apis/autoscaling/{}/namespaces/{{ns}}/horizontalpodautoscalers"
V1, V2 = SCALERS.format("v1"), SCALERS.format("v2")
PREFIX = "autoscaling.alpha.kubernetes.io/"
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
SELECTOR = {"matchLabels": {"b": "2", "a": "1"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]}
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}
MEMORY = {
    "type": "Resource",
    "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "65Mi"}},
}
CONTAINER = {
    "type": "ContainerResource",
    "containerResource": {
        "name": "cpu",
        "container": "c",
        "target": {"type": "Utilization", "averageUtilization": 70},
    },
}
PODS = {
    "type": "Pods",
    "pods": {"metric": {"name": "packets"}, "target": {"type": "AverageValue", "averageValue": "1k"}},
}
OBJECT = {
    "type": "Object",
    "object": {
        "metric": {"name": "hits", "selector": SELECTOR},
        "describedObject": {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "i"},
        "target": {"type": "Value", "value": "2k"},
    },
}
AVERAGE_OBJECT = {
    "type": "Object",
    "object": {
        "metric": {"name": "hits"},
        "describedObject": {"kind": "Service", "name": "s"},
        "target": {"type": "AverageValue", "averageValue": "500m"},
    },
}
EXTERNAL = {
    "type": "External",
    "external": {"metric": {"name": "queue", "selector": SELECTOR}, "target": {"type": "Value", "value": "30"}},
}
AVERAGE_EXTERNAL = {
    "type": "External",
    "external": {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "0.3"}},
}
BEHAVIOR = {
    "scaleUp": {"policies": [{"type": "Pods", "value": 2, "periodSeconds": 60}], "selectPolicy": "Min"},
    "scaleDown": {"stabilizationWindowSeconds": 10, "tolerance": "0.05"},
}
STATUS = {
    "currentReplicas": 2,
    "desiredReplicas": 3,
    "observedGeneration": 4,
    "lastScaleTime": "2020-01-01T00:00:00Z",
    "currentMetrics": [
        {
            "type": "Resource",
            "resource": {"name": "cpu", "current": {"averageUtilization": 41, "averageValue": "82m"}},
        },
        {"type": "Resource", "resource": {"name": "memory", "current": {"averageValue": "1.5Mi"}}},
        {
            "type": "ContainerResource",
            "containerResource": {"name": "cpu", "container": "c", "current": {"averageUtilization": 1}},
        },
        {"type": "Pods", "pods": {"metric": {"name": "packets"}, "current": {"averageValue": "7"}}},
        {
            "type": "Object",
            "object": {
                "metric": {"name": "hits", "selector": SELECTOR},
                "describedObject": {"kind": "Service", "name": "s"},
                "current": {"value": "8", "averageValue": "9"},
            },
        },
        {"type": "External", "external": {"metric": {"name": "queue"}, "current": {"averageValue": "5"}}},
    ],
    "conditions": [
        {
            "type": "AbleToScale",
            "status": "True",
            "lastTransitionTime": "2020-01-01T00:00:00Z",
            "reason": "Ready & able",
            "message": "it <can>",
        },
        {"type": "ScalingActive", "status": "False"},
    ],
}


def scaler(*metrics: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """An autoscaler of version 2."""
    return {
        "metadata": {"name": "h"},
        "spec": {"scaleTargetRef": TARGET, "maxReplicas": 5, "metrics": list(metrics), **spec},
    }


def first(annotations: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """An autoscaler of version 1 with what it hides in annotations."""
    texts = {
        PREFIX + name: value if isinstance(value, str) else json.dumps(value)
        for name, value in (annotations or {}).items()
    }
    return {
        "metadata": {"name": "h", "annotations": {"mine": "x", **texts}},
        "spec": {"scaleTargetRef": TARGET, "maxReplicas": 5, **spec},
    }


async def test_every_metric_of_version_two_in_version_one(api: Api):
    metrics = (MEMORY, CONTAINER, CPU, PODS, OBJECT, AVERAGE_OBJECT, EXTERNAL, AVERAGE_EXTERNAL)
    await api.post(V2, scaler(*metrics, behavior=BEHAVIOR))
    await api.get(V1 + "/h")
    await api.get(V1)
    await api.watch(V1)


async def test_metrics_without_the_processor_in_version_one(api: Api):
    await api.post(V2, scaler(MEMORY))
    await api.get(V1 + "/h")


async def test_two_shares_of_the_processor_in_version_one(api: Api):
    other = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 9}},
    }
    value = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "AverageValue", "averageValue": "1"}}}
    await api.post(V2, scaler(value, CPU, other))
    seen = await api.get(V1 + "/h")
    await api.put(V1 + "/h", seen.body)
    await api.get(V2 + "/h")


async def test_a_status_of_version_two_in_version_one(api: Api):
    await api.post(V2, scaler(CPU))
    await api.patch(V2 + "/h/status", {"status": STATUS})
    seen = await api.get(V1 + "/h")
    await api.get(V1 + "/h/status")
    await api.put(V1 + "/h/status", seen.body)
    await api.get(V2 + "/h")


async def test_a_status_of_version_one_in_version_two(api: Api):
    status = {"currentReplicas": 1, "desiredReplicas": 2, "currentCPUUtilizationPercentage": 33}
    await api.post(V1, first(targetCPUUtilizationPercentage=50))
    await api.patch(V1 + "/h/status", {"status": status})
    await api.get(V2 + "/h")
    await api.get(V1 + "/h")


async def test_metrics_in_annotations_of_version_one(api: Api):
    metrics = [
        {"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "1000Mi"}},
        {"type": "Pods", "pods": {"metricName": "packets", "targetAverageValue": 5, "selector": SELECTOR}},
        {"type": "External", "external": {"metricName": "q", "targetValue": "7"}},
        {
            "type": "Object",
            "object": {
                "target": {"kind": "Service", "name": "s"},
                "metricName": "hits",
                "targetValue": "0",
                "averageValue": "3",
            },
        },
    ]
    behavior = {"ScaleDown": {"Policies": [{"Type": "Pods", "Value": 1, "PeriodSeconds": 5}], "selectPolicy": "Min"}}
    body = first({"metrics": metrics, "behavior": behavior}, targetCPUUtilizationPercentage=50)
    await api.post(V1, body)
    await api.get(V2 + "/h")
    await api.get(V1 + "/h")


async def test_only_annotated_metrics_in_version_one(api: Api):
    metrics = [{"type": "Resource", "resource": {"name": "memory", "targetAverageUtilization": 10}}]
    await api.post(V1, first({"metrics": metrics}))
    await api.get(V2 + "/h")


async def test_annotations_that_cannot_be_read_are_dropped(api: Api):
    annotations = {"metrics": "nonsense", "behavior": {"ScaleUp": 1}, "conditions": [7], "current-metrics": "{}"}
    await api.post(V1, first({**annotations, "scale-up-tolerance": "1"}))
    await api.get(V2 + "/h")
    await api.patch(V1 + "/h", {"metadata": {"annotations": {PREFIX + "metrics": "[]", "mine": None}}})
    await api.patch(V1 + "/h", {"metadata": {"annotations": {PREFIX + "behavior": "{}"}}})
    await api.patch(V1 + "/h", {"metadata": {"annotations": {PREFIX + "metrics": '[{"type": "Resource"} x'}}})


async def test_annotations_of_version_one_are_none_of_version_two(api: Api):
    body = scaler(CPU)
    body["metadata"]["annotations"] = {PREFIX + "metrics": "[]", PREFIX + "behavior": "{}", "mine": "x"}
    await api.post(V2, body)
    await api.patch(V2 + "/h", {"metadata": {"annotations": {PREFIX + "conditions": "[]", "mine": None}}})


async def test_annotated_metrics_are_validated(api: Api):
    negative = {"type": "Pods", "pods": {"metricName": "", "targetAverageValue": "-1"}}
    unknown = {"type": "Sun"}
    empty = {"type": "External"}
    behavior = {"ScaleUp": {"Policies": [{"Type": "Pods", "Value": 0, "PeriodSeconds": 5}]}}
    await api.post(V1, first({"metrics": [negative, unknown, empty], "behavior": behavior}))
    await api.post(V1, first(targetCPUUtilizationPercentage=0))
    await api.post(V1, first(targetCPUUtilizationPercentage=50))
    await api.patch(V1 + "/h", {"metadata": {"annotations": {PREFIX + "metrics": json.dumps([negative])}}})
    await api.patch(V1 + "/h", {"spec": {"targetCPUUtilizationPercentage": -1}})


async def test_writing_back_what_version_one_shows_changes_nothing(api: Api):
    await api.post(V2, scaler(MEMORY, CPU, OBJECT, behavior=BEHAVIOR))
    seen = await api.get(V1 + "/h")
    await api.put(V1 + "/h", seen.body)
    await api.get(V2 + "/h")


async def test_taking_metrics_away_in_version_one(api: Api):
    await api.post(V2, scaler(MEMORY, behavior=BEHAVIOR))
    gone = {"metadata": {"annotations": {PREFIX + "metrics": None, PREFIX + "behavior": None}}}
    await api.patch(V1 + "/h", gone)
    await api.get(V2 + "/h")


async def test_managers_of_both_versions(api: Api):
    await api.post(V1, first(targetCPUUtilizationPercentage=50), query={"fieldManager": "one"})
    await api.patch(V2 + "/h", {"spec": {"metrics": [MEMORY]}}, query={"fieldManager": "two"})
    await api.patch(V1 + "/h", {"spec": {"maxReplicas": 9}}, query={"fieldManager": "three"})
    await api.patch(V2 + "/h", {"spec": {"minReplicas": 2}}, query={"fieldManager": "two"})
    await api.get(V1 + "/h")


async def test_applying_in_both_versions(api: Api):
    intent = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", **first(minReplicas=2)}
    await api.patch(V1 + "/h", intent, type="apply", query={"fieldManager": "one"})
    newer = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", **scaler(MEMORY, maxReplicas=7)}
    await api.patch(V2 + "/h", newer, type="apply", query={"fieldManager": "two"})
    await api.patch(V2 + "/h", newer, type="apply", query={"fieldManager": "two", "force": "true"})
    await api.patch(V2 + "/h", newer, type="apply", query={"fieldManager": "one", "force": "true"})
    await api.patch(V1 + "/h", intent, type="apply", query={"fieldManager": "one"})


async def test_events_have_managers_of_both_groups(api: Api):
    core, group = "/api/v1/namespaces/{ns}/events", "/apis/events.k8s.io/v1/namespaces/{ns}/events"
    event = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": api.namespace},
        "reason": "Tested",
        "message": "all is well",
        "type": "Normal",
    }
    await api.post(core, event, query={"fieldManager": "one"})
    await api.patch(group + "/e", {"metadata": {"labels": {"a": "b"}}}, query={"fieldManager": "two"})
    await api.patch(core + "/e", {"count": 2}, query={"fieldManager": "three"})
    await api.patch(core + "/e", {"message": "all was well"}, query={"fieldManager": "three"})
    await api.get(group + "/e")
