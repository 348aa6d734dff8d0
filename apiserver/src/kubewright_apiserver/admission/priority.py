"""Priority: pods get the value and the preemption policy of their class; only one class is everybody's."""

from __future__ import annotations

from typing import Final

from kubewright_apiserver.admission.attributes import Attributes, Cluster, Object, Rule
from kubewright_apiserver.defaulting.parts import part

__all__ = ["RULES"]

_CLASSES: Final = "scheduling.k8s.io/priorityclasses"


def _set_priority(attributes: Attributes) -> None:
    spec = part(attributes.obj, "spec")
    name, value, policy = _priority(attributes, spec.get("priorityClassName") or "")
    if name:
        spec["priorityClassName"] = name
    if spec.get("priority") not in (None, value):
        why = (
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
            f"priority admission controller computed {value} from the given PriorityClass name"
        )
        raise attributes.refusal(why)
    spec["priority"] = value
    if policy is None:
        return
    if spec.get("preemptionPolicy") not in (None, policy):
        why = (
            f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be provided in pod spec; "
            f"priority admission controller computed {policy} from the given PriorityClass name"
        )
        raise attributes.refusal(why)
    spec["preemptionPolicy"] = policy


def _priority(attributes: Attributes, name: str) -> tuple[str, int, str | None]:
    if name:
        found = attributes.cluster.find(_CLASSES, name)
        if found is None:
            raise attributes.refusal(f"no PriorityClass with name {name} was found")
    else:
        found = _default_class(attributes.cluster)
    if found is None:
        return "", 0, "PreemptLowerPriority"
    return found["metadata"]["name"], found.get("value", 0), found.get("preemptionPolicy")


def _default_class(cluster: Cluster) -> Object | None:
    defaults = [one for one in cluster.listed(_CLASSES) if one.get("globalDefault")]
    return min(defaults, key=lambda one: int(one.get("value", 0)), default=None)


def _keep_priority(attributes: Attributes) -> None:
    spec, before = part(attributes.obj, "spec"), (attributes.old or {}).get("spec") or {}
    for name in ("priority", "preemptionPolicy"):
        if spec.get(name) is None and before.get(name) is not None:
            spec[name] = before[name]


def _check_class(attributes: Attributes) -> None:
    if not attributes.obj.get("globalDefault"):
        return
    found = _default_class(attributes.cluster)
    if found is None:
        return
    name = found["metadata"]["name"]
    if attributes.operation == "CREATE" or name != attributes.obj["metadata"]["name"]:
        raise attributes.refusal(f"PriorityClass {name} is already marked as default. Only one default can exist")


RULES: Final = (
    Rule("Priority", ("CREATE",), "/pods", _set_priority),
    Rule("Priority", ("UPDATE",), "/pods", _keep_priority),
    Rule("Priority", ("CREATE", "UPDATE"), _CLASSES, _check_class, validates=True),
)
