"""RuntimeClass: what the class of a pod adds to it: the overhead of the runtime, and where its nodes are."""

from __future__ import annotations

from typing import Final

from kubewright_apiserver.admission.attributes import Attributes, Object, Rule
from kubewright_apiserver.defaulting.parts import part
from kubewright_apiserver.golang import go_quoted

__all__ = ["RULES"]

_OTHER_OVERHEAD: Final = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_OWN_OVERHEAD: Final = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"


def _set_runtime_class(attributes: Attributes) -> None:
    found = _class_of(attributes)
    if found is not None:
        _set_overhead(attributes, found.get("overhead"))
        _set_scheduling(attributes, found.get("scheduling"))


def _check_overhead(attributes: Attributes) -> None:
    overhead, own = (_class_of(attributes) or {}).get("overhead"), (attributes.obj.get("spec") or {}).get("overhead")
    if overhead is None:
        if own is not None:
            raise attributes.refusal(_OWN_OVERHEAD)
    elif (own or {}) != (overhead.get("podFixed") or {}):
        raise attributes.refusal(_OTHER_OVERHEAD)


def _class_of(attributes: Attributes) -> Object | None:
    name = (attributes.obj.get("spec") or {}).get("runtimeClassName")
    if name is None:
        return None
    found = attributes.cluster.find("node.k8s.io/runtimeclasses", name)
    if found is None:
        raise attributes.refusal(f"pod rejected: RuntimeClass {go_quoted(name)} not found")
    return found


def _set_overhead(attributes: Attributes, overhead: Object | None) -> None:
    if overhead is None:
        return
    spec = part(attributes.obj, "spec")
    fixed, own = overhead.get("podFixed") or {}, spec.get("overhead")
    if own and own != fixed:
        raise attributes.refusal(_OTHER_OVERHEAD)
    spec.pop("overhead", None)
    if fixed:
        spec["overhead"] = dict(fixed)


def _set_scheduling(attributes: Attributes, scheduling: Object | None) -> None:
    if scheduling is None:
        return
    spec = part(attributes.obj, "spec")
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in sorted((scheduling.get("nodeSelector") or {}).items()):
        if selector.get(key, value) != value:
            where = f"runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}]"
            raise attributes.refusal(f"conflict: {where} = {selector[key]}")
        selector[key] = value
    if selector:
        spec["nodeSelector"] = selector
    tolerations = _merged([*(spec.get("tolerations") or ()), *(scheduling.get("tolerations") or ())])
    if tolerations:
        spec["tolerations"] = tolerations


def _merged(tolerations: list[Object]) -> list[Object]:
    """The tolerations without those that others among them cover."""
    merged: list[Object] = []
    for index, one in enumerate(tolerations):
        later = (other for other in tolerations[index + 1 :] if other != one)
        if not any(_covers(other, one) for other in (*merged, *later)):
            merged.append(one)
    return merged


def _covers(wide: Object, narrow: Object) -> bool:
    if wide == narrow:
        return True
    operator = wide.get("operator", "Equal")
    is_for_all = not wide.get("key") and operator == "Exists"
    if wide.get("key", "") != narrow.get("key", "") and not is_for_all:
        return False
    if wide.get("effect", "") not in ("", narrow.get("effect", "")):
        return False
    limit, asked = wide.get("tolerationSeconds"), narrow.get("tolerationSeconds")
    if wide.get("effect") == "NoExecute" and limit is not None and (asked is None or asked > limit):
        return False
    if operator == "Equal":
        is_equal = narrow.get("operator", "Equal") == "Equal" and wide.get("value", "") == narrow.get("value", "")
        return bool(is_equal)
    return bool(operator == "Exists")


RULES: Final = (
    Rule("RuntimeClass", ("CREATE",), "/pods", _set_runtime_class),
    Rule("RuntimeClass", ("CREATE",), "/pods", _check_overhead, validates=True),
)
