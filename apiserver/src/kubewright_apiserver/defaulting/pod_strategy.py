"""What becomes of a pod when it is created or changed, beyond its defaults."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from kubewright_apiserver.defaulting.context import Context
from kubewright_apiserver.defaulting.disabled import drop_disabled_pod_fields, drop_disabled_pod_status_fields
from kubewright_apiserver.defaulting.parts import part
from kubewright_apiserver.defaulting.pod_resources import quality_of_service

__all__ = ["create_pod", "keep_all_but_ephemeral_containers", "keep_all_but_resources", "keep_pod_spec", "update_pod"]

_APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_LONGEST_PROFILE: Final = 4095
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_GATED: Final = "Scheduling is blocked due to non-empty scheduling gates"


def create_pod(pod: dict[str, Any], context: Context) -> None:
    """Give a new pod its first status, and its labels to the selectors that ask for them."""
    spec = part(pod, "spec")
    pod["status"] = {"phase": "Pending", "qosClass": quality_of_service(spec)}
    drop_disabled_pod_fields(spec, None)
    if spec.get("schedulingGates"):
        pod["status"]["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastTransitionTime": context.now,
                "reason": "SchedulingGated",
                "message": _GATED,
            }
        ]
    metadata = pod.get("metadata") or {}
    _apply_label_keys(spec, metadata.get("labels") or {})
    _apply_app_armor(spec, metadata.get("annotations") or {}, context.warnings)


def update_pod(pod: dict[str, Any], old: dict[str, Any]) -> None:
    """Keep the status of a pod."""
    pod["status"] = old.get("status", {})
    drop_disabled_pod_fields(pod.get("spec"), old.get("spec"))


def keep_pod_spec(pod: dict[str, Any], old: dict[str, Any]) -> None:
    """Keep what the status endpoint may not change, and what old kubelets forget to repeat."""
    pod["spec"] = old.get("spec", {})
    metadata, owners = part(pod, "metadata"), old["metadata"].get("ownerReferences")
    metadata.pop("ownerReferences", None)
    if owners:
        metadata["ownerReferences"] = owners
    status, before = part(pod, "status"), old.get("status") or {}
    for name in ("qosClass", "observedGeneration"):
        if not status.get(name) and before.get(name):
            status[name] = before[name]
    _keep_observed_generations(status, before)
    drop_disabled_pod_status_fields(status, before)


def _keep_observed_generations(status: dict[str, Any], old: dict[str, Any]) -> None:
    known: dict[str, list[int]] = {}
    for condition in old.get("conditions") or ():
        known.setdefault(condition.get("type", ""), []).append(condition.get("observedGeneration", 0))
    for condition in status.get("conditions") or ():
        generations = known.get(condition.get("type", ""))
        generation = generations.pop(0) if generations else 0
        if generation and not condition.get("observedGeneration"):
            condition["observedGeneration"] = generation


def keep_all_but_ephemeral_containers(pod: dict[str, Any], old: dict[str, Any]) -> None:
    """Keep everything of the spec that the endpoint for ephemeral containers may not change."""
    containers = (pod.get("spec") or {}).get("ephemeralContainers")
    pod["spec"] = {name: value for name, value in old["spec"].items() if name != "ephemeralContainers"}
    if containers:
        pod["spec"]["ephemeralContainers"] = containers
    pod["status"] = old.get("status", {})
    drop_disabled_pod_fields(pod["spec"], old["spec"])


def keep_all_but_resources(pod: dict[str, Any], old: dict[str, Any]) -> bool:
    """Keep everything of the spec that the endpoint for resizing may not change.

    False, and nothing kept, if containers were added or removed: validation says no to that.
    """
    spec, before = pod["spec"], old["spec"]
    groups = ("containers", "initContainers")
    if any(len(spec.get(name) or ()) != len(before.get(name) or ()) for name in groups):
        return False
    kept = {name: value for name, value in before.items() if name != "resources"}
    if spec.get("resources") is not None:
        kept["resources"] = spec["resources"]
    for name in groups:
        if spec.get(name):
            kept[name] = _resized(spec[name], before[name])
    pod["spec"], pod["status"] = kept, old.get("status", {})
    drop_disabled_pod_fields(kept, before)
    return True


def _resized(containers: list[dict[str, Any]], old: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if any(container.get("name") != before.get("name") for container, before in zip(containers, old, strict=True)):
        return containers
    return [
        {name: value for name, value in {**before, **_resizable(container)}.items() if value is not None}
        for container, before in zip(containers, old, strict=True)
    ]


def _resizable(container: dict[str, Any]) -> dict[str, Any]:
    return {"resources": container.get("resources") or {}, "resizePolicy": container.get("resizePolicy")}


def _apply_label_keys(spec: dict[str, Any], labels: Mapping[str, str]) -> None:
    for term in _affinity_terms(spec.get("affinity") or {}):
        _select(term, "matchLabelKeys", "In", labels)
        _select(term, "mismatchLabelKeys", "NotIn", labels)
    for constraint in spec.get("topologySpreadConstraints") or ():
        _select(constraint, "matchLabelKeys", "In", labels)


def _affinity_terms(affinity: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(name) or {}
        for weighted in terms.get(_PREFERRED) or ():
            yield weighted.get("podAffinityTerm") or {}
        yield from terms.get(_REQUIRED) or ()


def _select(term: dict[str, Any], keys: str, operator: str, labels: Mapping[str, str]) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    for key in term.get(keys) or ():
        if key in labels:
            expressions = selector.setdefault("matchExpressions", [])
            expressions.append({"key": key, "operator": operator, "values": [labels[key]]})


def _apply_app_armor(spec: dict[str, Any], annotations: Mapping[str, str], warnings: list[str]) -> None:
    if not any(name.startswith(_APP_ARMOR) for name in annotations):
        return
    if (spec.get("os") or {}).get("name") == "windows":
        return
    of_pod = (spec.get("securityContext") or {}).get("appArmorProfile")
    for container in _all_containers(spec):
        key = f"{_APP_ARMOR}{container.get('name')}"
        if key not in annotations or (container.get("securityContext") or {}).get("appArmorProfile") is not None:
            continue
        profile = _app_armor_profile(annotations[key])
        if profile is not None and profile == of_pod:
            continue
        if profile is not None:
            part(container, "securityContext")["appArmorProfile"] = profile
        use = 'deprecated since v1.30; use the "appArmorProfile" field instead'
        warnings.append(f"metadata.annotations[{key}]: {use}")


def _all_containers(spec: dict[str, Any]) -> Iterable[dict[str, Any]]:
    for name in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(name) or ()


def _app_armor_profile(annotation: str) -> dict[str, Any] | None:
    if annotation in ("unconfined", "runtime/default"):
        return {"type": "Unconfined" if annotation == "unconfined" else "RuntimeDefault"}
    profile = annotation.removeprefix("localhost/")
    if profile in ("", annotation) or profile != profile.strip() or len(profile.encode()) > _LONGEST_PROFILE:
        return None
    return {"type": "Localhost", "localhostProfile": profile}
