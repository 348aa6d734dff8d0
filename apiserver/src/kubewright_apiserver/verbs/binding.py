"""binding: a pod is placed on a node, once."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.schema.identity import Identity
from kubewright_apiserver.status import bad_request, conflict, internal_error, not_supported, required
from kubewright_apiserver.verbs.admission import admit_create
from kubewright_apiserver.verbs.call import Call, Reply
from kubewright_apiserver.verbs.metadata import check_place
from kubewright_apiserver.verbs.parts import SUCCESS, other_uid, read_part
from kubewright_apiserver.verbs.updating import change_object

__all__ = ["bind_pod"]

_BINDING: Final = "io.k8s.api.core.v1.Binding"
_IDENTITY: Final = Identity("", "v1", "Binding")


async def bind_pod(call: Call) -> Reply:
    """Place the pod that the address or the binding names on a node."""
    call.check_write_options("CreateOptions")
    binding = read_part(call, _BINDING, _IDENTITY)
    pod = _pod_of(call, binding)
    check_place(pod, binding, name="")
    if call.address.name and binding["metadata"].get("name", "") != call.address.name:
        raise bad_request("name in URL does not match name in Binding object")
    admit_create(pod, binding)
    _check_target(binding.get("target") or {})
    await change_object(pod, lambda live: _bound(pod, live, binding), insists=True)
    return Reply(201, SUCCESS)


def _check_target(target: dict[str, Any]) -> None:
    kind = target.get("kind", "")
    if kind not in ("", "Node"):
        raise internal_error(not_supported("target.kind", kind, ["Node", "<empty>"]).message)
    if not target.get("name"):
        raise internal_error(required("target.name").message)


def _pod_of(call: Call, binding: dict[str, Any]) -> Call:
    """The same call to the pod that is to be bound."""
    name = call.address.name or binding["metadata"].get("name", "")
    if not name:
        raise bad_request("Name parameter required.")
    pods = call.engine.registry.find("", "v1", "pods")
    assert pods is not None
    pod = call.at(call.address._replace(plural="pods", name=name, subresource="binding"))
    pod.served = pods
    return pod


def _bound(call: Call, live: dict[str, Any] | None, binding: dict[str, Any]) -> dict[str, Any]:
    assert live is not None
    name, metadata, wanted = call.address.name, live["metadata"], binding["metadata"]
    if wanted.get("uid") and wanted["uid"] != metadata["uid"]:
        raise other_uid(call, wanted["uid"], metadata["uid"])
    why = _obstacle(name, live)
    if why:
        raise conflict("", "pods/binding", name, why)
    live["spec"]["nodeName"] = binding["target"]["name"]
    for part in ("annotations", "labels"):
        if wanted.get(part):
            metadata[part] = {**metadata.get(part, {}), **wanted[part]}
    status = live.setdefault("status", {})
    conditions = [c for c in status.get("conditions", ()) if c["type"] != "PodScheduled"]
    condition = {"type": "PodScheduled", "status": "True", "lastProbeTime": None}
    condition["lastTransitionTime"] = call.engine.timestamp()
    status["conditions"] = [*conditions, condition]
    status.pop("nominatedNodeName", None)
    return live


def _obstacle(name: str, pod: dict[str, Any]) -> str:
    """Why a pod cannot be bound, if it cannot."""
    if pod["metadata"].get("deletionTimestamp"):
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if pod["spec"].get("nodeName"):
        return f'pod {name} is already assigned to node "{pod["spec"]["nodeName"]}"'
    if pod["spec"].get("schedulingGates"):
        return f"pod {name} has non-empty .spec.schedulingGates"
    return ""
