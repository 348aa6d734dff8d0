"""The parts of objects with addresses of their own: status, scale, binding, eviction, ephemeral containers, …"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from kubewright_apiserver.body import read_body
from kubewright_apiserver.registry import Subresource
from kubewright_apiserver.status import Refusal, bad_request, conflict, not_found
from kubewright_apiserver.verbs.call import Call, Reply
from kubewright_apiserver.verbs.deleting import DeleteOptions, delete_row
from kubewright_apiserver.verbs.patching import patch_object
from kubewright_apiserver.verbs.reading import get_object
from kubewright_apiserver.verbs.rendering import object_at
from kubewright_apiserver.verbs.scaling import get_scale, patch_scale, update_scale
from kubewright_apiserver.verbs.updating import change_object, update_object

__all__ = ["bind_pod", "subresource_verb"]

Verb = Callable[[Call], Awaitable[Reply]]

_SUCCESS: Final[dict[str, Any]] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}


async def bind_pod(call: Call) -> Reply:
    """Place a pod on a node, once."""
    document = read_body(call.body, call.headers.get("content-type", ""), "Binding").value or {}
    target = document.get("target") or {}
    node = target.get("name", "")
    name = call.address.name or (document.get("metadata") or {}).get("name", "")
    if not node:
        raise bad_request("target.name: Required value")

    def bound(live: dict[str, Any] | None) -> dict[str, Any]:
        assert live is not None
        if live["metadata"].get("deletionTimestamp"):
            raise conflict("", "pods/binding", name, f"pod {name} is being deleted, cannot be assigned to a host")
        if live["spec"].get("nodeName"):
            why = f'pod {name} is already assigned to node "{live["spec"]["nodeName"]}"'
            raise conflict("", "pods/binding", name, why)
        live["spec"]["nodeName"] = node
        conditions = [c for c in live["status"].get("conditions", ()) if c["type"] != "PodScheduled"]
        condition = {"type": "PodScheduled", "status": "True", "lastProbeTime": None}
        condition["lastTransitionTime"] = call.engine.timestamp()
        live["status"]["conditions"] = [*conditions, condition]
        return live

    pods = call.engine.registry.find("", "v1", "pods")
    assert pods is not None
    pod = call.at(call.address._replace(plural="pods", name=name, subresource="binding"))
    pod.served = pods
    await change_object(pod, bound, insists=True)
    return Reply(201, {**_SUCCESS, "code": 201})


async def evict_pod(call: Call) -> Reply:
    """Delete a pod, if its disruption budgets allow it."""
    document = read_body(call.body, call.headers.get("content-type", ""), "Eviction").value or {}
    row = call.engine.table(call.served).get(call.key)
    if row is None:
        raise not_found(*call.conflict_name())
    pod = object_at(row, call.served)
    options = DeleteOptions(document.get("deleteOptions") or {})
    options.check()
    if not _is_over(pod):
        await _ask_budgets(call, pod)
    await delete_row(call, row, options)
    return Reply(201, {**_SUCCESS, "code": 201})


def _is_over(pod: dict[str, Any]) -> bool:
    phase = pod.get("status", {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or "deletionTimestamp" in pod["metadata"]


async def _ask_budgets(call: Call, pod: dict[str, Any]) -> None:
    prefix = f"{call.address.namespace}/"
    labels = pod["metadata"].get("labels") or {}
    budgets = [row.obj for row in call.engine.store.table("policy/poddisruptionbudgets").list(prefix).rows]
    found = [budget for budget in budgets if _selects(budget["spec"].get("selector"), labels)]
    if len(found) > 1:
        message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise Refusal(500, "InternalError", message)
    for budget in found:
        _refuse_unless_allowed(budget)


def _selects(selector: dict[str, Any] | None, labels: dict[str, str]) -> bool:
    if selector is None:
        return False
    wanted = selector.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in wanted.items())


def _refuse_unless_allowed(budget: dict[str, Any]) -> None:
    status = budget.get("status", {})
    if (
        status.get("observedGeneration", 0) >= budget["metadata"].get("generation", 0)
        and status.get("disruptionsAllowed", 0) > 0
    ):
        return
    name = budget["metadata"]["name"]
    is_observed = status.get("observedGeneration", 0) >= budget["metadata"].get("generation", 0)
    if is_observed:
        why = (
            f"The disruption budget {name} needs {status.get('desiredHealthy', 0)} healthy pods and has "
            f"{status.get('currentHealthy', 0)} currently"
        )
        details: dict[str, Any] = {"causes": [{"reason": "DisruptionBudget", "message": why}]}
        headers: list[tuple[str, str]] = []
    else:
        why = f"The disruption budget {name} is still being processed by the server."
        details = {"causes": [{"reason": "DisruptionBudget", "message": why}], "retryAfterSeconds": 10}
        headers = [("Retry-After", "10")]
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    raise Refusal(429, "TooManyRequests", message, details=details, headers=headers)


_PARTS: Final[Mapping[str, Mapping[str, Verb]]] = {
    "scale": {"GET": get_scale, "PUT": update_scale, "PATCH": patch_scale},
    "binding": {"POST": bind_pod},
    "eviction": {"POST": evict_pod},
}
_WHOLE: Final[Mapping[str, tuple[str, Verb]]] = {
    "GET": ("get", get_object),
    "PUT": ("update", update_object),
    "PATCH": ("patch", patch_object),
}


def subresource_verb(method: str, name: str, part: Subresource) -> Verb | None:
    """The verb that a method means on a part, or None if it has none such."""
    own = _PARTS.get(name)
    if own is not None:
        return own.get(method)
    found = _WHOLE.get(method)
    return found[1] if found is not None and found[0] in part.verbs else None
