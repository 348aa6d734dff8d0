"""DefaultTolerationSeconds, TaintNodesByCondition and PodTopologyLabels: what pods and nodes know of each other."""

from __future__ import annotations

from typing import Final

from kubewright_apiserver.admission.attributes import Attributes, Object, Rule
from kubewright_apiserver.defaulting.parts import part

__all__ = ["RULES"]

_NOT_READY: Final = "node.kubernetes.io/not-ready"
_UNREACHABLE: Final = "node.kubernetes.io/unreachable"
_TOLERATED_SECONDS: Final = 300
_TOPOLOGY: Final = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")


def _tolerate_lost_nodes(attributes: Attributes) -> None:
    """Give a pod five minutes on a node that is not ready or lost, unless it says what it tolerates."""
    spec = part(attributes.obj, "spec")
    tolerations = spec.get("tolerations") or []
    missing = [taint for taint in (_NOT_READY, _UNREACHABLE) if not _is_tolerated(tolerations, taint)]
    if missing:
        own = [
            {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _TOLERATED_SECONDS}
            for taint in missing
        ]
        spec["tolerations"] = [*tolerations, *own]


def _is_tolerated(tolerations: list[Object], taint: str) -> bool:
    return any(
        toleration.get("key", "") in ("", taint) and toleration.get("effect", "") in ("", "NoExecute")
        for toleration in tolerations
    )


def _taint_new_node(attributes: Attributes) -> None:
    """Let nothing be scheduled to a node before it is ready."""
    taints = part(attributes.obj, "spec").setdefault("taints", [])
    if not any(taint.get("key") == _NOT_READY and taint.get("effect") == "NoSchedule" for taint in taints):
        taints.append({"key": _NOT_READY, "effect": "NoSchedule"})


def _label_bound(attributes: Attributes) -> None:
    target = attributes.obj.get("target") or {}
    if target.get("kind") == "Node":
        _label(attributes, target.get("name", ""))


def _label_placed(attributes: Attributes) -> None:
    name = (attributes.obj.get("spec") or {}).get("nodeName")
    if name:
        _label(attributes, name)


def _label(attributes: Attributes, node_name: str) -> None:
    """Let what is placed on a node have the labels that say where that is."""
    node = attributes.cluster.find("/nodes", node_name) or {}
    labels = (node.get("metadata") or {}).get("labels") or {}
    found = {name: labels[name] for name in _TOPOLOGY if name in labels}
    if found:
        metadata = part(attributes.obj, "metadata")
        metadata["labels"] = {**(metadata.get("labels") or {}), **found}


RULES: Final = (
    Rule("DefaultTolerationSeconds", ("CREATE", "UPDATE"), "/pods", _tolerate_lost_nodes),
    Rule("TaintNodesByCondition", ("CREATE",), "/nodes", _taint_new_node),
    Rule("PodTopologyLabels", ("CREATE",), "/pods", _label_placed),
    Rule("PodTopologyLabels", ("CREATE",), "/pods", _label_bound, subresource="binding"),
)
