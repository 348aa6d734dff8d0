"""What kube-apiserver's own admission plug-ins fill in: one function a plug-in, each on the object in place.

Those that need other objects are given them; what they refuse, they refuse in the plug-in's words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from kubewright_apiserver.defaulting.parts import part
from kubewright_apiserver.defaulting.runtime_class import set_runtime_class
from kubewright_apiserver.status import forbidden

__all__ = [
    "admit",
    "check_priority_class",
    "keep_priority",
    "protect_storage",
    "set_ingress_class",
    "set_priority",
    "set_storage_class",
    "taint_new_node",
    "tolerate_lost_nodes",
]

Object = dict[str, Any]
Listing = Callable[[str, str], Iterable[Object]]
"""The stored objects of a group and plural."""

_NOT_READY: Final = "node.kubernetes.io/not-ready"
_UNREACHABLE: Final = "node.kubernetes.io/unreachable"
_TOLERATED_SECONDS: Final = 300
_PROTECTION: Final = {
    ("", "PersistentVolume"): "kubernetes.io/pv-protection",
    ("", "PersistentVolumeClaim"): "kubernetes.io/pvc-protection",
    ("storage.k8s.io", "VolumeAttributesClass"): "kubernetes.io/vac-protection",
}
_DEFAULT_STORAGE: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def _nothing(group: str, plural: str) -> Iterable[Object]:
    return ()


def admit(group: str, kind: str, obj: Object, old: Object | None, listed: Listing = _nothing) -> None:
    """Let every plug-in of this module have its say on an object that is created (``old`` is None) or updated.

    Not for subresources. Raises a ``Refusal`` where a plug-in refuses.
    """
    if (group, kind) == ("", "Pod"):
        tolerate_lost_nodes(obj)
        if old is None:
            set_priority(obj, listed("scheduling.k8s.io", "priorityclasses"))
            set_runtime_class(obj, listed("node.k8s.io", "runtimeclasses"))
        else:
            keep_priority(obj, old)
    elif (group, kind) == ("scheduling.k8s.io", "PriorityClass"):
        check_priority_class(obj, listed(group, "priorityclasses"), is_new=old is None)
    elif old is None:
        _admit_new(group, kind, obj, listed)


def _admit_new(group: str, kind: str, obj: Object, listed: Listing) -> None:
    protect_storage(group, kind, obj)
    if (group, kind) == ("", "PersistentVolumeClaim"):
        set_storage_class(obj, listed("storage.k8s.io", "storageclasses"))
    elif (group, kind) == ("networking.k8s.io", "Ingress"):
        set_ingress_class(obj, listed("networking.k8s.io", "ingressclasses"))
    elif (group, kind) == ("", "Node"):
        taint_new_node(obj)


def tolerate_lost_nodes(pod: Object) -> None:
    """DefaultTolerationSeconds, on creating and updating a pod: five minutes on a node that is not ready or lost."""
    spec = part(pod, "spec")
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


def set_priority(pod: Object, classes: Iterable[Object]) -> None:
    """Priority, on creating a pod: the value and preemption policy of its class, or of the default one.

    Raises a ``Refusal`` for a class that is not among ``classes``, and for a value of the user's own.
    """
    spec = part(pod, "spec")
    name, value, policy = _priority(pod, spec.get("priorityClassName") or "", classes)
    if name:
        spec["priorityClassName"] = name
    if spec.get("priority") not in (None, value):
        why = (
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
            f"priority admission controller computed {value} from the given PriorityClass name"
        )
        raise forbidden("", "pods", _name(pod), why)
    spec["priority"] = value
    if policy is None:
        return
    if spec.get("preemptionPolicy") not in (None, policy):
        why = (
            f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be provided in pod spec; "
            f"priority admission controller computed {policy} from the given PriorityClass name"
        )
        raise forbidden("", "pods", _name(pod), why)
    spec["preemptionPolicy"] = policy


def _priority(pod: Object, name: str, classes: Iterable[Object]) -> tuple[str, int, str | None]:
    if name:
        found = next((one for one in classes if one["metadata"]["name"] == name), None)
        if found is None:
            raise forbidden("", "pods", _name(pod), f"no PriorityClass with name {name} was found")
    else:
        found = _default_priority_class(classes)
    if found is None:
        return "", 0, "PreemptLowerPriority"
    return found["metadata"]["name"], found.get("value", 0), found.get("preemptionPolicy")


def _default_priority_class(classes: Iterable[Object]) -> Object | None:
    defaults = (one for one in classes if one.get("globalDefault"))
    return min(defaults, key=lambda one: int(one.get("value", 0)), default=None)


def keep_priority(pod: Object, old: Object) -> None:
    """Priority, on updating a pod: what it was given on creation stays."""
    spec, before = part(pod, "spec"), old.get("spec") or {}
    for name in ("priority", "preemptionPolicy"):
        if spec.get(name) is None and before.get(name) is not None:
            spec[name] = before[name]


def check_priority_class(priority_class: Object, classes: Iterable[Object], *, is_new: bool) -> None:
    """Priority, on writing a PriorityClass. Raises a ``Refusal`` for a second default."""
    if not priority_class.get("globalDefault"):
        return
    found = _default_priority_class(classes)
    if found is not None and (is_new or found["metadata"]["name"] != _name(priority_class)):
        why = f"PriorityClass {found['metadata']['name']} is already marked as default. Only one default can exist"
        raise forbidden("scheduling.k8s.io", "priorityclasses", _name(priority_class), why)


def set_storage_class(claim: Object, classes: Iterable[Object]) -> None:
    """DefaultStorageClass, on creating a PersistentVolumeClaim: the newest default class, unless it names one."""
    spec = part(claim, "spec")
    annotations = (claim.get("metadata") or {}).get("annotations") or {}
    if spec.get("storageClassName") is None and "volume.beta.kubernetes.io/storage-class" not in annotations:
        found = _newest_default(classes, _DEFAULT_STORAGE)
        if found:
            spec["storageClassName"] = found


def set_ingress_class(ingress: Object, classes: Iterable[Object]) -> None:
    """DefaultIngressClass, on creating an Ingress: the newest default class, unless it names one."""
    spec = part(ingress, "spec")
    annotations = (ingress.get("metadata") or {}).get("annotations") or {}
    if spec.get("ingressClassName") is None and "kubernetes.io/ingress.class" not in annotations:
        found = _newest_default(classes, ("ingressclass.kubernetes.io/is-default-class",))
        if found:
            spec["ingressClassName"] = found


def _newest_default(classes: Iterable[Object], marks: tuple[str, ...]) -> str:
    marked = [
        one["metadata"]
        for one in classes
        if any((one["metadata"].get("annotations") or {}).get(mark) == "true" for mark in marks)
    ]
    by_name = sorted(marked, key=lambda metadata: str(metadata["name"]))
    newest = max(by_name, key=lambda metadata: str(metadata.get("creationTimestamp", "")), default={"name": ""})
    return str(newest["name"])


def protect_storage(group: str, kind: str, obj: Object) -> None:
    """StorageObjectInUseProtection, on creation: the finalizer that keeps storage in use from being deleted."""
    finalizer = _PROTECTION.get((group, kind))
    if finalizer is not None:
        finalizers = part(obj, "metadata").setdefault("finalizers", [])
        if finalizer not in finalizers:
            finalizers.append(finalizer)


def taint_new_node(node: Object) -> None:
    """TaintNodesByCondition, on creating a node: nothing is scheduled there before it is ready."""
    taints = part(node, "spec").setdefault("taints", [])
    if not any(taint.get("key") == _NOT_READY and taint.get("effect") == "NoSchedule" for taint in taints):
        taints.append({"key": _NOT_READY, "effect": "NoSchedule"})


def _name(obj: Object) -> str:
    metadata = obj.get("metadata") or {}
    return metadata.get("name") or metadata.get("generateName") or "Unknown"
