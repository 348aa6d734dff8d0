"""PodResizeValidator: a pod that runs somewhere does not grow beyond its node."""

from __future__ import annotations

from typing import Final

from kubewright_apiserver.admission.attributes import Attributes, Object, Rule
from kubewright_apiserver.admission.quota_usage import needs_of
from kubewright_apiserver.golang import go_quoted
from kubewright_apiserver.schema.amount import ZERO, millis, printed, whole

__all__ = ["RULES"]


def _check_resize(attributes: Attributes) -> None:
    pod, old = attributes.obj, attributes.old or {}
    name = (pod.get("spec") or {}).get("nodeName")
    if not name or pod["metadata"].get("generation") == old["metadata"].get("generation"):
        return
    node = attributes.cluster.find("/nodes", name)
    if node is None:
        raise attributes.refusal(f"node {go_quoted(name)} not found")
    system = (node["metadata"].get("labels") or {}).get("kubernetes.io/os", "linux")
    if system != "linux":
        why = f"pod resize is only supported on linux nodes, node {go_quoted(name)} is {go_quoted(system)}"
        raise attributes.refusal(why, [{"reason": "UnsupportedPlatform"}])
    lacking = _lacking(pod["spec"], (node.get("status") or {}).get("allocatable") or {})
    if lacking:
        why = f"node didn't have enough allocatable resources: {'; '.join(lacking)}"
        raise attributes.refusal(why, [{"reason": "NodeCapacity"}])


def _lacking(spec: Object, allocatable: Object) -> list[str]:
    requests, _ = needs_of(spec)
    told = []
    for name, shown in (("cpu", millis), ("memory", whole)):
        wanted, there = printed(requests.get(name, ZERO)), allocatable.get(name, "0")
        if requests.get(name, ZERO).nanos > millis(there) * 10**6:
            told.append(f"{name}, requested: {shown(wanted)}, allocatable: {shown(there)}")
    return told


RULES: Final = (Rule("PodResizeValidator", ("UPDATE",), "/pods", _check_resize, subresource="resize", validates=True),)
