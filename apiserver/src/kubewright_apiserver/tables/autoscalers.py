"""The row of a HorizontalPodAutoscaler."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.tables.ages import UNKNOWN, age_of
from kubewright_apiserver.tables.texts import NONE, UNSET, first_few, part

__all__ = ["autoscaler_cells"]

_MOST: Final = 2
_SOURCES: Final = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
_NIL: Final = "<nil>"


def autoscaler_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a HorizontalPodAutoscaler, in its second version."""
    spec, status = part(obj, "spec"), part(obj, "status")
    target, least = part(spec, "scaleTargetRef"), spec.get("minReplicas")
    return [
        obj["metadata"].get("name", ""),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _metrics(spec.get("metrics") or [], status.get("currentMetrics") or []),
        UNSET if least is None else str(least),
        spec.get("maxReplicas", 0),
        status.get("currentReplicas", 0),
        age_of(obj, now),
    ]


def _metrics(wanted: list[dict[str, Any]], found: list[dict[str, Any]]) -> str:
    pairs = [(one, found[index] if index < len(found) else {}) for index, one in enumerate(wanted)]
    return first_few([_metric(*pair) for pair in pairs], _MOST, NONE, separator=", ")


def _metric(wanted: dict[str, Any], found: dict[str, Any]) -> str:
    source = _SOURCES.get(wanted.get("type", ""))
    if source is None:
        return "<unknown type>"
    spec, target = part(wanted, source), part(wanted, source, "target")
    seen = found.get(source)
    current = None if seen is None else part(seen, "current")
    if source in ("resource", "containerResource"):
        return f"{spec.get('name', '')}: {_resource(target, current)}"
    if source == "pods":
        return f"{_quantity(current, 'averageValue')}/{target.get('averageValue', _NIL)}"
    return _value(target, current)


def _resource(target: dict[str, Any], current: dict[str, Any] | None) -> str:
    if target.get("averageValue") is not None:
        return f"{_quantity(current, 'averageValue')}/{target['averageValue']}"
    usage, wanted = (current or {}).get("averageUtilization"), target.get("averageUtilization")
    return f"{UNKNOWN if usage is None else f'{usage}%'}/{'<auto>' if wanted is None else f'{wanted}%'}"


def _value(target: dict[str, Any], current: dict[str, Any] | None) -> str:
    if target.get("averageValue") is not None:
        return f"{(current or {}).get('averageValue', UNKNOWN)}/{target['averageValue']} (avg)"
    return f"{_quantity(current, 'value')}/{target.get('value', _NIL)}"


def _quantity(current: dict[str, Any] | None, name: str) -> str:
    """A quantity of a status; what is not in it Go prints as nothing."""
    return UNKNOWN if current is None else str(current.get(name, _NIL))
