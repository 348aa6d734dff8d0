"""Defaults of the group flowcontrol.apiserver.k8s.io."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.defaulting.parts import Default, Key, part, set_missing

__all__ = ["DEFAULTS"]

_GROUP: Final = "flowcontrol.apiserver.k8s.io"
_QUEUING: Final = {"handSize": 8, "queues": 64, "queueLengthLimit": 50}


def _flow_schema(flow_schema: dict[str, Any]) -> None:
    spec = part(flow_schema, "spec")
    if not spec.get("matchingPrecedence"):
        spec["matchingPrecedence"] = 1000


def _priority_level(priority_level: dict[str, Any]) -> None:
    spec = part(priority_level, "spec")
    limited, exempt = spec.get("limited"), spec.get("exempt")
    if limited is not None:
        set_missing(limited, {"nominalConcurrencyShares": 30, "lendablePercent": 0})
        queuing = part(limited, "limitResponse").get("queuing")
        if queuing is not None:
            queuing.update({name: queuing.get(name) or value for name, value in _QUEUING.items()})
    if exempt is not None:
        set_missing(exempt, {"nominalConcurrencyShares": 0, "lendablePercent": 0})


DEFAULTS: Final[dict[Key, Default]] = {
    (_GROUP, "v1", "FlowSchema"): _flow_schema,
    (_GROUP, "v1", "PriorityLevelConfiguration"): _priority_level,
}
