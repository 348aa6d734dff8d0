"""The metrics of autoscalers in version 2 and in those types of version 1 that only annotations know."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["metric_in_v1", "metric_in_v2", "status_in_v1", "status_in_v2"]

Object = dict[str, Any]

_SOURCES: Final = ("object", "pods", "resource", "containerResource", "external")


def metric_in_v1(metric: Object) -> Object:
    """A metric that is wanted, in version 1."""
    return _each(metric, lambda name, source: _flattened(name, source, "target"))


def status_in_v1(metric: Object) -> Object:
    """A metric that is observed, in version 1."""
    return _each(metric, lambda name, source: _flattened(name, source, "current"))


def metric_in_v2(metric: Object) -> Object:
    """A metric that is wanted, in version 2."""
    return _each(metric, _wanted)


def status_in_v2(metric: Object) -> Object:
    """A metric that is observed, in version 2."""
    return _each(metric, _observed)


def _each(metric: Object, change: Any) -> Object:
    sources = {name: change(name, metric[name]) for name in _SOURCES if metric.get(name) is not None}
    return {"type": metric.get("type", ""), **sources}


def _some(**values: Any) -> Object:
    return {name: value for name, value in values.items() if value is not None}


def _flattened(name: str, source: Object, part: str) -> Object:
    """A source in version 1, which has the values of ``target`` or ``current`` among its own fields."""
    values, metric = source.get(part) or {}, source.get("metric") or {}
    average, value = values.get("averageValue"), values.get("value")
    share = values.get("averageUtilization")
    if name in ("resource", "containerResource"):
        named = {"name": source.get("name", ""), **_some(container=source.get("container"))}
        return named | _some(**{f"{part}AverageUtilization": share, f"{part}AverageValue": average})
    selector = "metricSelector" if name == "external" else "selector"
    named = {"metricName": metric.get("name", ""), **_some(**{selector: metric.get("selector")})}
    if name == "pods":
        return named | _some(**{f"{part}AverageValue": average})
    if name == "external":
        return named | _some(**{f"{part}Value": value, f"{part}AverageValue": average})
    return (
        named | {"target": source.get("describedObject") or {}} | _some(**{f"{part}Value": value}, averageValue=average)
    )


def _named(name: str, source: Object) -> Object:
    """What a source of version 1 is about, in version 2."""
    if name in ("resource", "containerResource"):
        return _some(name=source.get("name"), container=source.get("container"))
    selector = source.get("metricSelector" if name == "external" else "selector")
    metric = {"metric": {"name": source.get("metricName", ""), **_some(selector=selector)}}
    return {**metric, "describedObject": source["target"]} if name == "object" else metric


def _wanted(name: str, source: Object) -> Object:
    share = source.get("targetAverageUtilization")
    average = source.get("averageValue" if name == "object" else "targetAverageValue")
    value = source.get("targetValue")
    if name in ("resource", "containerResource"):
        kind = "AverageValue" if share is None else "Utilization"
    elif name == "object":
        kind = "Value" if average is None else "AverageValue"
        # Version 1 cannot leave it out, so zero beside an average is none.
        value = None if average is not None and value == "0" else value
    else:
        kind = "AverageValue" if value is None else "Value"
    target = _some(type=kind, value=value, averageValue=average, averageUtilization=share)
    return {**_named(name, source), "target": target}


def _observed(name: str, source: Object) -> Object:
    average = source.get("averageValue" if name == "object" else "currentAverageValue")
    current = _some(
        value=source.get("currentValue"),
        averageValue=average,
        averageUtilization=source.get("currentAverageUtilization"),
    )
    return {**_named(name, source), "current": current}
