"""The row of a pod: what its containers say together."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from kubewright_apiserver.tables.ages import age_of, since
from kubewright_apiserver.tables.texts import NONE, condition_status, part

__all__ = ["pod_cells", "pod_conditions"]

_DONE: Final = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}


class _Tally:
    """What is counted over containers: restarts and the last of them, and how many are ready."""

    def __init__(self) -> None:
        self.restarts = 0
        self.last = ""
        self.ready = 0

    def add_restarts(self, status: dict[str, Any]) -> None:
        """Count the restarts of a container."""
        self.restarts += status.get("restartCount", 0)
        ended = part(status, "lastState", "terminated").get("finishedAt") or ""
        self.last = max(self.last, ended)

    def text(self, now: float) -> str:
        """How many restarts, and how long ago the last one was."""
        return f"{self.restarts} ({since(self.last, now)} ago)" if self.restarts and self.last else str(self.restarts)


class _Beginning(NamedTuple):
    """What the init containers say: why the pod has not begun, if it has not; all restarts, and the sidecars'."""

    reason: str
    every: _Tally
    sidecars: _Tally


def pod_conditions(obj: dict[str, Any]) -> list[dict[str, str]]:
    """That a pod has come to an end, for those who grey it out."""
    phase = part(obj, "status").get("phase", "")
    if phase not in _DONE:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _DONE[phase]}]


def pod_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a pod."""
    spec, status = part(obj, "spec"), part(obj, "status")
    sidecars = {one["name"] for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"}
    beginning = _beginning(spec, status, sidecars)
    reason, tally = beginning.reason, beginning.every
    if not reason or condition_status(status.get("conditions"), "Initialized") == "True":
        tally = beginning.sidecars
        reason = _running(status, reason or _first_reason(status), tally)
    ready = f"{beginning.sidecars.ready}/{len(spec.get('containers') or ()) + len(sidecars)}"
    name = obj["metadata"].get("name", "")
    reason = _ending(obj, status) or reason
    return [name, ready, reason, tally.text(now), age_of(obj, now), *_placement(spec, status)]


def _first_reason(status: dict[str, Any]) -> str:
    for condition in status.get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            return "SchedulingGated"
    return str(status.get("reason") or status.get("phase", ""))


def _beginning(spec: dict[str, Any], status: dict[str, Any], sidecars: set[str]) -> _Beginning:
    found = _Beginning("", _Tally(), _Tally())
    for index, container in enumerate(status.get("initContainerStatuses") or ()):
        found.every.add_restarts(container)
        is_sidecar = container["name"] in sidecars
        if is_sidecar:
            found.sidecars.add_restarts(container)
        state = container.get("state") or {}
        ended = state.get("terminated")
        if ended is not None and not ended.get("exitCode", 0):
            continue
        if is_sidecar and container.get("started"):
            found.sidecars.ready += bool(container.get("ready"))
            continue
        progress = f"{index}/{len(spec.get('initContainers') or ())}"
        return found._replace(reason=f"Init:{_init_reason(state, progress)}")
    return found


def _init_reason(state: dict[str, Any], progress: str) -> str:
    if state.get("terminated") is not None:
        return _end_reason(state["terminated"])
    waiting: str = part(state, "waiting").get("reason", "")
    return waiting if waiting not in ("", "PodInitializing") else progress


def _end_reason(ended: dict[str, Any]) -> str:
    reason: str = ended.get("reason", "")
    if reason:
        return reason
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _running(status: dict[str, Any], reason: str, tally: _Tally) -> str:
    """The reason that the last container with a reason gives, and the first of them that failed if all is done."""
    runs, failure = False, ""
    for container in reversed(status.get("containerStatuses") or ()):
        tally.add_restarts(container)
        state = container.get("state") or {}
        waiting, ended = part(state, "waiting").get("reason"), state.get("terminated")
        if waiting:
            reason = waiting
        elif ended is not None:
            reason = _end_reason(ended)
            failure = reason if ended.get("exitCode", 0) else failure
        elif container.get("ready") and state.get("running") is not None:
            runs = True
            tally.ready += 1
    return _completed(status, runs, failure) if reason == "Completed" else reason


def _completed(status: dict[str, Any], runs: bool, failure: str) -> str:
    if runs and _is_ready(status):
        return "Running"
    return failure or ("NotReady" if runs else "Completed")


def _is_ready(status: dict[str, Any]) -> bool:
    conditions = status.get("conditions") or ()
    return any(one["type"] == "Ready" and one.get("status") == "True" for one in conditions)


def _ending(obj: dict[str, Any], status: dict[str, Any]) -> str:
    if not obj["metadata"].get("deletionTimestamp"):
        return ""
    if status.get("reason") == "NodeLost":
        return "Unknown"
    return "" if status.get("phase") in _DONE else "Terminating"


def _placement(spec: dict[str, Any], status: dict[str, Any]) -> list[str]:
    addresses = status.get("podIPs") or [{}]
    address = status.get("podIP") or addresses[0].get("ip")
    places = (address, spec.get("nodeName"), status.get("nominatedNodeName"), _gates(spec, status))
    return [place or NONE for place in places]


def _gates(spec: dict[str, Any], status: dict[str, Any]) -> str:
    gates = spec.get("readinessGates") or ()
    conditions = status.get("conditions")
    passed = sum(condition_status(conditions, gate["conditionType"]) == "True" for gate in gates)
    return f"{passed}/{len(gates)}" if gates else ""
