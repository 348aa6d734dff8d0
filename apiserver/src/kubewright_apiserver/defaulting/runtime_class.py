"""What the RuntimeClass of a pod adds to it: the overhead of the runtime, and where its nodes are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubewright_apiserver.defaulting.parts import part
from kubewright_apiserver.golang import go_quoted
from kubewright_apiserver.status import Refusal, forbidden

__all__ = ["set_runtime_class"]

Object = dict[str, Any]


def set_runtime_class(pod: Object, classes: Iterable[Object]) -> None:
    """RuntimeClass, on creating a pod: the overhead, node selector and tolerations of its class.

    Raises a ``Refusal`` for a class that is not among ``classes``, and for an overhead or a selector of the user's own
    that is not that of the class.
    """
    spec = part(pod, "spec")
    name = spec.get("runtimeClassName")
    found: Object | None = None
    if name is not None:
        found = next((one for one in classes if one["metadata"]["name"] == name), None)
        if found is None:
            raise _refusal(pod, f"pod rejected: RuntimeClass {go_quoted(name)} not found")
    _set_overhead(pod, spec, (found or {}).get("overhead"))
    _set_scheduling(pod, spec, (found or {}).get("scheduling"))


def _set_overhead(pod: Object, spec: Object, overhead: Object | None) -> None:
    own = spec.get("overhead")
    if overhead is None:
        if own:
            raise _refusal(pod, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
        return
    fixed = overhead.get("podFixed") or {}
    if own and own != fixed:
        raise _refusal(pod, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
    if fixed:
        spec["overhead"] = dict(fixed)


def _set_scheduling(pod: Object, spec: Object, scheduling: Object | None) -> None:
    if scheduling is None:
        return
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in sorted((scheduling.get("nodeSelector") or {}).items()):
        if selector.get(key, value) != value:
            where = f"runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}]"
            raise _refusal(pod, f"conflict: {where} = {selector[key]}")
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


def _refusal(pod: Object, why: str) -> Refusal:
    metadata = pod.get("metadata") or {}
    return forbidden("", "pods", metadata.get("name") or metadata.get("generateName") or "", why)
