"""Resizing pods in place: CPU and memory may change, and nothing else."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.status import forbidden_field, invalid_field
from kubewright_apiserver.validation.equality import same
from kubewright_apiserver.validation.metadata import updated_metadata
from kubewright_apiserver.validation.pod import MIRROR, pod_metadata_and_spec
from kubewright_apiserver.validation.pod_resources import quality_of_service
from kubewright_apiserver.validation.rules import Errors, Object

__all__ = ["resized_pod"]

_CONTAINER: Final = "io.k8s.api.core.v1.Container"
_REQUIREMENTS: Final = "io.k8s.api.core.v1.ResourceRequirements"
_SPEC: Final = "io.k8s.api.core.v1.PodSpec"
_ONLY: Final = "only cpu and memory resources are mutable"
_RESIZED: Final = ("cpu", "memory")


def resized_pod(pod: Object, old: Object) -> Errors:
    """The errors of a pod that gets other resources."""
    if MIRROR in (old["metadata"].get("annotations") or {}):
        return [forbidden_field("[]", "static pods cannot be resized")]
    if (old["spec"].get("os") or {}).get("name") == "windows":
        return [forbidden_field("[]", "windows pods cannot be resized")]
    new_spec, old_spec, status = pod["spec"], old["spec"], old.get("status") or {}
    errors = updated_metadata(pod, old) + pod_metadata_and_spec(pod)
    quality = status.get("qosClass") or quality_of_service(old)
    if quality != quality_of_service(pod):
        detail = "Pod QOS Class may not change as a result of resizing"
        errors.append(invalid_field("spec", (pod.get("status") or {}).get("qosClass", ""), detail))
    if not _can_be_resized(status):
        errors.append(forbidden_field("spec", "Pod running on node without support for resize"))
    if _has_resources(old_spec) or _has_resources(new_spec):
        errors += _pod_level(new_spec, old_spec)
    if status.get("nodeAllocatableResourceClaimStatuses"):
        errors.append(forbidden_field("spec", "pods with node allocatable resource claims cannot be resized"))
    if moved := _order(new_spec, old_spec):
        return errors + moved
    return errors + _containers(new_spec, old_spec, found=bool(errors))


def _can_be_resized(status: Object) -> bool:
    for container in status.get("containerStatuses") or ():
        if (container.get("state") or {}).get("running") is not None:
            return container.get("resources") is not None
    return True


def _has_resources(spec: Object) -> bool:
    resources = spec.get("resources") or {}
    return bool(resources.get("requests") or resources.get("limits"))


def _pod_level(new: Object, old: Object) -> Errors:
    after, before = new.get("resources"), old.get("resources")
    if before is not None and after is None:
        return [forbidden_field("spec.resources", "pod-level resources cannot be removed")]
    errors: Errors = []
    for part in ("requests", "limits"):
        if _is_removed(after or {}, before or {}, part):
            errors.append(forbidden_field(f"spec.resources.{part}", f"pod-level resource {part} cannot be removed"))
    kept = _with_old_size(after or {}, before or {})
    if not same(_REQUIREMENTS, kept, before or {}):
        errors.append(forbidden_field("spec", f"{_ONLY} at pod-level"))
    return errors


def _is_removed(new: Object, old: Object, part: str) -> bool:
    return not (old.get(part) or {}).keys() <= (new.get(part) or {}).keys()


def _with_old_size(new: Object, old: Object) -> Object:
    """New requirements with the CPU and memory of the old ones."""
    parts: dict[str, Any] = {}
    for part in ("limits", "requests"):
        others = {name: amount for name, amount in (new.get(part) or {}).items() if name not in _RESIZED}
        parts[part] = others | {name: old[part][name] for name in _RESIZED if name in (old.get(part) or {})}
    return parts


def _order(new: Object, old: Object) -> Errors:
    errors: Errors = []
    for field in ("containers", "initContainers"):
        after, before = new.get(field) or (), old.get(field) or ()
        if len(after) != len(before):
            errors.append(forbidden_field(f"spec.{field}", f"{field} may not be added or removed on resize"))
            continue
        errors += [
            forbidden_field(f"spec.{field}[{index}].name", f"{field} may not be renamed or reordered on resize")
            for index, (container, was) in enumerate(zip(after, before, strict=True))
            if container.get("name") != was.get("name")
        ]
    return errors


def _containers(new: Object, old: Object, *, found: bool) -> Errors:
    errors: Errors = []
    for field in ("initContainers", "containers"):
        for index, (container, was) in enumerate(zip(new.get(field) or (), old.get(field) or (), strict=True)):
            errors += _removed(container, was, f"spec.{field}[{index}].resources")
    for container, was in zip(new.get("containers") or (), old.get("containers") or (), strict=True):
        if not same(_CONTAINER, _kept(container, was), was):
            errors.append(forbidden_field("spec", _ONLY))
    for index, (container, was) in enumerate(
        zip(new.get("initContainers") or (), old.get("initContainers") or (), strict=True)
    ):
        errors += _init_container(container, was, f"spec.initContainers[{index}]")
    if found or errors or same(_SPEC, _kept_spec(new, old), old):
        return errors
    return [forbidden_field("spec", _ONLY)]


def _removed(container: Object, was: Object, path: str) -> Errors:
    after, before = container.get("resources") or {}, was.get("resources") or {}
    return [
        forbidden_field(f"{path}.{part}", f"resource {part} cannot be removed")
        for part in ("requests", "limits")
        if _is_removed(after, before, part)
    ]


def _kept(container: Object, was: Object) -> Object:
    return {**container, "resources": _with_old_size(container.get("resources") or {}, was.get("resources") or {})}


def _init_container(container: Object, was: Object, path: str) -> Errors:
    errors: Errors = []
    if not same(_CONTAINER, _kept(container, was), was):
        detail = "only cpu and memory resources for init or sidecar containers are mutable"
        errors.append(forbidden_field(path, detail))
    if container.get("restartPolicy") == "Always" or same(_CONTAINER, container, was):
        return errors
    detail = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
    policies = container.get("resizePolicy") or ()
    return errors + [
        forbidden_field(path, detail) for policy in policies if policy.get("restartPolicy") == "RestartContainer"
    ]


def _kept_spec(new: Object, old: Object) -> Object:
    kept = dict(new)
    for field in ("containers", "initContainers"):
        if new.get(field):
            kept[field] = [_kept(*pair) for pair in zip(new[field], old[field], strict=True)]
    if new.get("resources") is not None:
        sizes = _with_old_size(new["resources"], old.get("resources") or {})
        kept["resources"] = sizes if old.get("resources") is not None or any(sizes.values()) else None
    return kept
