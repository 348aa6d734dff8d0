"""What may change in a pod: its images, a deadline, more tolerations; debugging containers and sizes have own ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kubewright_apiserver.schema.goprint import difference, printed
from kubewright_apiserver.status import FieldError, forbidden_field, invalid_field, required
from kubewright_apiserver.validation.equality import same
from kubewright_apiserver.validation.metadata import updated_metadata
from kubewright_apiserver.validation.names import between
from kubewright_apiserver.validation.pod import MIRROR, pod_metadata_and_spec, specific_annotations
from kubewright_apiserver.validation.rules import Errors, Object
from kubewright_apiserver.validation.scheduling import tolerations

__all__ = ["updated_annotations", "updated_ephemeral_containers", "updated_pod"]

_SPEC: Final = "io.k8s.api.core.v1.PodSpec"
_AFFINITY: Final = "io.k8s.api.core.v1.NodeAffinity"
_TOLERATION: Final = "io.k8s.api.core.v1.Toleration"
_EPHEMERAL: Final = "io.k8s.api.core.v1.EphemeralContainer"
_REQUIREMENT: Final = "io.k8s.api.core.v1.NodeSelectorRequirement"
_APPARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_CHANGEABLE: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_MOST_SECONDS: Final = 2**31 - 1


def updated_pod(pod: Object, old: Object) -> Errors:
    """The errors of a pod that is written over an old one."""
    new_spec, old_spec = pod["spec"], old["spec"]
    errors = updated_metadata(pod, old) + pod_metadata_and_spec(pod) + updated_annotations(pod, old)
    for field in ("containers", "initContainers"):
        before, after = old_spec.get(field) or (), new_spec.get(field) or ()
        if len(before) != len(after):
            return [*errors, forbidden_field(f"spec.{field}", "pod updates may not add or remove containers")]
        errors += _images(after, f"spec.{field}")
    deadline, stops = _deadline(new_spec.get("activeDeadlineSeconds"), old_spec.get("activeDeadlineSeconds"))
    errors += deadline
    if stops:
        return errors
    errors += _more_tolerations(new_spec.get("tolerations") or (), old_spec.get("tolerations") or ())
    errors += _fewer_gates(new_spec.get("schedulingGates") or (), old_spec.get("schedulingGates") or ())
    return errors + _rest_is_kept(new_spec, old_spec)


def _images(containers: Sequence[Object], path: str) -> Errors:
    errors: Errors = []
    for index, container in enumerate(containers):
        image, at = container.get("image", ""), f"{path}[{index}].image"
        if not image:
            errors.append(required(at))
        if image != image.strip():
            errors.append(invalid_field(at, image, "must not have leading or trailing whitespace"))
    return errors


def _deadline(new: int | None, old: int | None) -> tuple[Errors, bool]:
    """The errors of the deadline, and whether they keep the rest from being looked at."""
    at = "spec.activeDeadlineSeconds"
    if new is None:
        detail = "must not update from a positive integer to nil value"
        return ([] if old is None else [invalid_field(at, None, detail)]), False
    errors = [invalid_field(at, new, message) for message in between(new, 0, _MOST_SECONDS)]
    if not errors and old is not None and old < new:
        errors = [invalid_field(at, new, "must be less than or equal to previous value")]
    return errors, bool(errors)


def _more_tolerations(new: Sequence[Object], old: Sequence[Object]) -> Errors:
    for toleration in old:
        if not any(_same_but_seconds(toleration, other) for other in new):
            detail = "existing toleration can not be modified except its tolerationSeconds"
            return [forbidden_field("spec.tolerations", detail)]
    return tolerations(new, "spec.tolerations")


def _same_but_seconds(left: Object, right: Object) -> bool:
    seconds = {"tolerationSeconds": None}
    return same(_TOLERATION, {**left, **seconds}, {**right, **seconds})


def _fewer_gates(new: Sequence[Object], old: Sequence[Object]) -> Errors:
    known = {gate.get("name", "") for gate in old}
    return [
        forbidden_field(
            f"spec.schedulingGates[{index}].name",
            f"only deletion is allowed, but found new scheduling gate '{gate.get('name', '')}'",
        )
        for index, gate in enumerate(new)
        if gate.get("name", "") not in known
    ]


def _rest_is_kept(new: Object, old: Object) -> Errors:
    if same(_SPEC, new, old):
        return []
    kept = dict(new)
    for field in ("containers", "initContainers"):
        if new.get(field):
            pairs = zip(new[field], old[field], strict=True)
            kept[field] = [{**container, "image": before.get("image", "")} for container, before in pairs]
    for field in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        _put(kept, field, old.get(field))
    before = old.get("terminationGracePeriodSeconds")
    if before is not None and before < 0 and kept.get("terminationGracePeriodSeconds") == 1:
        kept["terminationGracePeriodSeconds"] = before
    errors = _gated(kept, old) if old.get("schedulingGates") else []
    if same(_SPEC, kept, old):
        return errors
    return [*errors, forbidden_field("spec", f"{_CHANGEABLE}\n{difference('core.PodSpec', old, kept)}")]


def _put(holder: Object, field: str, value: Any) -> None:
    if value is None:
        holder.pop(field, None)
    else:
        holder[field] = value


def _gated(kept: Object, old: Object) -> Errors:
    """The errors of where a pod may run, which may be narrowed while it is held back; ``kept`` gets the old places."""
    errors = _narrower_selector(kept.get("nodeSelector"), old.get("nodeSelector") or {})
    _put(kept, "nodeSelector", old.get("nodeSelector"))
    new_affinity, old_affinity = kept.get("affinity"), old.get("affinity")
    new_nodes, old_nodes = ((holder or {}).get("nodeAffinity") for holder in (new_affinity, old_affinity))
    if new_nodes == old_nodes or same(_AFFINITY, new_nodes, old_nodes):
        return errors
    errors += _narrower_affinity(new_nodes, old_nodes)
    if new_affinity is None:
        _put(kept, "affinity", {"nodeAffinity": old_nodes} if old_nodes else None)
    elif old_affinity is None and not (new_affinity.get("podAffinity") or new_affinity.get("podAntiAffinity")):
        del kept["affinity"]
    else:
        kept["affinity"] = {name: part for name, part in new_affinity.items() if name != "nodeAffinity"}
        _put(kept["affinity"], "nodeAffinity", old_nodes)
    return errors


def _narrower_selector(new: dict[str, str] | None, old: dict[str, str]) -> Errors:
    if all((new or {}).get(key) == value for key, value in old.items()):
        return []
    detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
    return [invalid_field("spec.nodeSelector", new, detail)]


def _terms(nodes: Object | None) -> list[Object] | None:
    terms: list[Object] | None = ((nodes or {}).get(_REQUIRED) or {}).get("nodeSelectorTerms")
    return terms


def _narrower_affinity(new: Object | None, old: Object | None) -> Errors:
    path = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    before, after = _terms(old), _terms(new)
    if before and len(before) != len(after or ()):
        detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        return [invalid_field(path, printed("[]core.NodeSelectorTerm", after), detail)]
    detail = "only additions are allowed (no mutations or deletions)"
    return [
        invalid_field(f"{path}[{index}]", printed("core.NodeSelectorTerm", term), detail)
        for index, (term, was) in enumerate(zip(after or (), before or (), strict=False))
        if not _only_more(term, was)
    ]


def _only_more(new: Object, old: Object) -> bool:
    parts = [(new.get(name) or [], old.get(name) or []) for name in ("matchExpressions", "matchFields")]
    if not any(before for _, before in parts):
        return not any(after for after, _ in parts)
    return all(
        len(after) >= len(before) and all(same(_REQUIREMENT, *pair) for pair in zip(after, before, strict=False))
        for after, before in parts
    )


def updated_annotations(pod: Object, old: Object) -> Errors:
    """The errors of annotations that may not change in a pod."""
    new_notes, old_notes = ((holder["metadata"].get("annotations") or {}) for holder in (pod, old))
    if not new_notes and not old_notes:
        return []
    errors: Errors = []
    for key, value in old_notes.items():
        if new_notes.get(key) != value:
            errors += _fixed_annotation(key, "may not remove or update")
    for key in new_notes:
        if key not in old_notes:
            errors += _fixed_annotation(key, "may not add")
    return errors + specific_annotations(new_notes, pod["spec"], "metadata.annotations")


def _fixed_annotation(key: str, told: str) -> Errors:
    at = f"metadata.annotations[{key}]"
    if key.startswith(_APPARMOR):
        return [forbidden_field(at, f"{told} AppArmor annotations")]
    return [forbidden_field(at, f"{told} mirror pod annotation")] if key == MIRROR else []


def updated_ephemeral_containers(pod: Object, old: Object) -> Errors:
    """The errors of a pod to which containers for debugging are added."""
    if MIRROR in (old["metadata"].get("annotations") or {}):
        return [forbidden_field("[]", "static pods do not support ephemeral containers")]
    errors = updated_metadata(pod, old) + pod_metadata_and_spec(pod) + updated_annotations(pod, old)
    added = {container.get("name", ""): container for container in pod["spec"].get("ephemeralContainers") or ()}
    for container in old["spec"].get("ephemeralContainers") or ():
        errors += _ephemeral_is_kept(container, added.get(container["name"]))
    return errors


def _ephemeral_is_kept(old: Object, new: Object | None) -> list[FieldError]:
    told = f'existing ephemeral containers "{old["name"]}" may not be'
    if new is None:
        return [forbidden_field("spec.ephemeralContainers", f"{told} removed\n")]
    if same(_EPHEMERAL, new, old):
        return []
    changes = difference("core.EphemeralContainer", old, new)
    return [forbidden_field("spec.ephemeralContainers", f"{told} changed\n{changes}")]
