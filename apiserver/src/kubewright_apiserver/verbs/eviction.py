"""eviction: a pod is deleted, if its disruption budget allows it, and is told why."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.label_selectors import label_predicate, selector_text
from kubewright_apiserver.patch import track
from kubewright_apiserver.registry.behaviours import behaviour_of
from kubewright_apiserver.schema.identity import Identity
from kubewright_apiserver.status import Refusal, bad_request, forbidden, internal_error, not_found
from kubewright_apiserver.verbs.admission import admit_create
from kubewright_apiserver.verbs.call import Call, Reply
from kubewright_apiserver.verbs.deleting import DeleteOptions, check_preconditions, delete_row
from kubewright_apiserver.verbs.metadata import check_place
from kubewright_apiserver.verbs.parts import SUCCESS, read_part
from kubewright_apiserver.verbs.rendering import object_at
from kubewright_apiserver.verbs.updating import change_object

__all__ = ["evict_pod"]

_EVICTION: Final = "io.k8s.api.policy.v1.Eviction"
_IDENTITY: Final = Identity("policy", "v1", "Eviction")
_BUDGETS: Final = "policy/poddisruptionbudgets"
_MANAGER: Final = "kube-apiserver"
_MOST_DISRUPTED: Final = 2000
_REFUSED: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_TWO_BUDGETS: Final = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


async def evict_pod(call: Call) -> Reply:
    """Delete a pod, if its disruption budget allows it."""
    call.check_write_options("CreateOptions")
    eviction = read_part(call, _EVICTION, _IDENTITY, older="v1beta1")
    check_place(call, eviction, name="")
    if eviction["metadata"].get("name", "") != call.address.name:
        raise bad_request("name in URL does not match name in Eviction object")
    admit_create(call, eviction)
    options = _options(call, eviction.get("deleteOptions") or {})
    row = call.engine.table(call.served).get(call.key)
    if row is None:
        raise not_found(*call.conflict_name())
    pod = object_at(row, call.served)
    if not _is_over(pod):
        await _ask_budgets(call, pod, is_dry=bool(options.dry_run))
        if not options.dry_run:
            await _tell_pod(call, options)
            row = call.engine.table(call.served).get(call.key)
            if row is None:
                raise not_found(*call.conflict_name())
    await delete_row(call, row, options)
    return Reply(201, SUCCESS)


def _options(call: Call, document: dict[str, Any]) -> DeleteOptions:
    asked, said = list(call.query.get("dryRun", ())), document.get("dryRun") or []
    if asked and said and asked != said:
        raise bad_request(f"Non-matching dry-run options in request and content: {_go(asked)} and {_go(said)}")
    options = DeleteOptions({**document, "dryRun": said or asked})
    options.check()
    return options


def _go(words: list[str]) -> str:
    return f"[{' '.join(words)}]"


async def _tell_pod(call: Call, options: DeleteOptions) -> None:
    """Write into the pod's status why it goes."""

    def told(live: dict[str, Any] | None) -> dict[str, Any]:
        assert live is not None
        check_preconditions(options, "", "Pod", live["metadata"])
        status = live.setdefault("status", {})
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": call.engine.timestamp(),
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }
        others = [one for one in status.get("conditions", ()) if one["type"] != condition["type"]]
        status["conditions"] = [*others, condition]
        return live

    await change_object(call.at(call.address._replace(subresource="status")), told, insists=True)


def _is_over(pod: dict[str, Any]) -> bool:
    phase = pod.get("status", {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or "deletionTimestamp" in pod["metadata"]


def _is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


async def _ask_budgets(call: Call, pod: dict[str, Any], *, is_dry: bool) -> None:
    labels = pod["metadata"].get("labels") or {}
    budgets = [row.obj for row in call.engine.store.table(_BUDGETS).list(f"{call.address.namespace}/").rows]
    found = [budget for budget in budgets if _selects(budget["spec"].get("selector"), labels)]
    if len(found) > 1:
        raise internal_error(_TWO_BUDGETS)
    for budget in found:
        if _is_ready(pod) or not _lets_unready_go(budget):
            await _disrupt(call, budget["metadata"]["name"], is_dry=is_dry)


def _selects(selector: dict[str, Any] | None, labels: dict[str, str]) -> bool:
    """Whether a budget is for a pod with these labels: no selector is for none, an empty one for all."""
    if selector is None:
        return False
    matches = label_predicate(selector_text(selector))
    return matches is None or matches(labels)


def _lets_unready_go(budget: dict[str, Any]) -> bool:
    """Whether a pod that is not ready may go without being counted."""
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status", {})
    desired = status.get("desiredHealthy", 0)
    return bool(desired > 0 and status.get("currentHealthy", 0) >= desired)


async def _disrupt(call: Call, name: str, *, is_dry: bool) -> None:
    """Count the disruption in the budget's status, or refuse it."""
    budgets = call.engine.registry.find("policy", "v1", "poddisruptionbudgets")
    assert budgets is not None
    place = call.address._replace(group="policy", plural="poddisruptionbudgets", name=name, subresource="status")
    budget = call.at(place)
    budget.served = budgets

    def counted(live: dict[str, Any] | None) -> dict[str, Any]:
        assert live is not None
        before = object_at(row, budgets) if (row := call.engine.table(budgets).get(budget.key)) is not None else live
        _check_allowed(live)
        status = live["status"]
        status["disruptionsAllowed"] -= 1
        if not status["disruptionsAllowed"]:
            _tell_budget(status, call.engine.timestamp())
        status["disruptedPods"] = {**(status.get("disruptedPods") or {}), call.address.name: call.engine.timestamp()}
        endpoint = behaviour_of(budgets).endpoint("status")
        track(before, live, endpoint=endpoint, manager=_MANAGER, now=call.engine.timestamp())
        return live

    if is_dry:
        row = call.engine.table(budgets).get(budget.key)
        if row is not None:
            _check_allowed(row.obj)
        return
    await change_object(budget, counted, insists=True)


def _check_allowed(budget: dict[str, Any]) -> None:
    name, status = budget["metadata"]["name"], budget.get("status") or {}
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        why = f"The disruption budget {name} is still being processed by the server."
        details: dict[str, Any] = {"causes": [{"reason": "DisruptionBudget", "message": why}], "retryAfterSeconds": 10}
        raise Refusal(429, "TooManyRequests", _REFUSED, details=details, headers=[("Retry-After", "10")])
    allowed = status.get("disruptionsAllowed", 0)
    if allowed < 0:
        raise forbidden("policy", "poddisruptionbudget", name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or ()) > _MOST_DISRUPTED:
        raise forbidden(
            "policy",
            "poddisruptionbudget",
            name,
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        )
    if not allowed:
        why = (
            f"The disruption budget {name} needs {status.get('desiredHealthy', 0)} healthy pods and has "
            f"{status.get('currentHealthy', 0)} currently"
        )
        raise Refusal(
            429, "TooManyRequests", _REFUSED, details={"causes": [{"reason": "DisruptionBudget", "message": why}]}
        )


def _tell_budget(status: dict[str, Any], now: str) -> None:
    """Say in a budget's status that no further disruption is allowed."""
    condition = {
        "type": "DisruptionAllowed",
        "status": "False",
        "observedGeneration": status.get("observedGeneration", 0),
        "lastTransitionTime": now,
        "reason": "InsufficientPods",
        "message": "",
    }
    conditions = status.get("conditions") or []
    for index, one in enumerate(conditions):
        if one["type"] == condition["type"]:
            if one["status"] == condition["status"]:
                condition["lastTransitionTime"] = one["lastTransitionTime"]
            status["conditions"] = [*conditions[:index], condition, *conditions[index + 1 :]]
            return
    status["conditions"] = [*conditions, condition]
