"""Pods and pod templates: what holds for a pod as a whole, and for a new one."""

from __future__ import annotations

import re
from typing import Final

from kubewright_apiserver.status import forbidden_field, invalid_field
from kubewright_apiserver.validation.container import padded_images
from kubewright_apiserver.validation.labels import label_errors
from kubewright_apiserver.validation.metadata import annotation_errors, created_metadata
from kubewright_apiserver.validation.names import dns_subdomain
from kubewright_apiserver.validation.pod_spec import MIRROR, pod_spec
from kubewright_apiserver.validation.rules import Errors, Object, relative_path
from kubewright_apiserver.validation.security import all_containers, profile_annotations_match

__all__ = [
    "MIRROR",
    "created_pod",
    "pod_metadata_and_spec",
    "pod_template",
    "specific_annotations",
    "template_metadata",
]

_APPARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_SECCOMP: Final = ("seccomp.security.alpha.kubernetes.io/pod", "container.seccomp.security.alpha.kubernetes.io/")


def created_pod(pod: Object) -> Errors:
    """The errors of a new pod."""
    errors = pod_metadata_and_spec(pod)
    spec = pod.get("spec") or {}
    if spec.get("ephemeralContainers"):
        errors.append(forbidden_field("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        detail = "cannot be set until all schedulingGates have been cleared"
        errors.append(forbidden_field("spec.nodeName", detail))
    return errors + profile_annotations_match(pod["metadata"].get("annotations") or {}, spec, "spec")


def pod_metadata_and_spec(pod: Object) -> Errors:
    """The errors of a pod, new or not."""
    metadata, spec = pod["metadata"], pod.get("spec") or {}
    errors = created_metadata(pod, True, dns_subdomain)
    if annotations := metadata.get("annotations"):
        errors += specific_annotations(annotations, spec, "metadata.annotations")
    errors += pod_spec(spec, "spec", metadata)
    if not spec.get("serviceAccountName"):
        errors += _tokens_without_account(spec)
    errors += padded_images(spec.get("containers") or (), "spec.containers")
    return errors + padded_images(spec.get("initContainers") or (), "spec.initContainers")


def _tokens_without_account(spec: Object) -> Errors:
    detail = "must not be specified when serviceAccountName is not set"
    return [
        forbidden_field(f"spec.volumes[{index}].projected.sources[{place}].serviceAccountToken", detail)
        for index, volume in enumerate(spec.get("volumes") or ())
        for place, source in enumerate((volume.get("projected") or {}).get("sources") or ())
        if source.get("serviceAccountToken") is not None
    ]


def pod_template(template: Object, path: str) -> Errors:
    """The errors of a template of pods."""
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    errors = template_metadata(template, path) + pod_spec(spec, f"{path}.spec", None)
    errors += profile_annotations_match(metadata.get("annotations") or {}, spec, f"{path}.spec")
    if spec.get("ephemeralContainers"):
        detail = "ephemeral containers not allowed in pod template"
        errors.append(forbidden_field(f"{path}.spec.ephemeralContainers", detail))
    return errors


def template_metadata(template: Object, path: str) -> Errors:
    """The errors of the labels and annotations in a template of pods."""
    metadata = template.get("metadata") or {}
    errors = label_errors(metadata.get("labels") or {}, f"{path}.labels")
    if annotations := metadata.get("annotations"):
        errors += annotation_errors(annotations, f"{path}.annotations")
        errors += specific_annotations(annotations, template.get("spec") or {}, f"{path}.annotations")
    return errors


def specific_annotations(annotations: dict[str, str], spec: Object, path: str) -> Errors:
    """The errors of annotations that mean something for pods."""
    errors: Errors = []
    if MIRROR in annotations and not spec.get("nodeName"):
        detail = "must set spec.nodeName if mirror pod annotation is set"
        errors.append(invalid_field(f"{path}[{MIRROR}]", annotations[MIRROR], detail))
    cost = annotations.get(_DELETION_COST)
    if cost is not None and not _is_int32(cost):
        errors.append(invalid_field(f"{path}[{_DELETION_COST}]", cost, "must be a 32bit integer"))
    for key, profile in annotations.items():
        if key == _SECCOMP[0] or key.startswith(_SECCOMP[1]):
            errors += _seccomp_profile(profile, f"{path}.{key}")
    for key, profile in annotations.items():
        if key.startswith(_APPARMOR):
            errors += _apparmor_annotation(key, profile, spec, f"{path}[{key}]")
    return errors


def _is_int32(text: str) -> bool:
    return bool(re.fullmatch(r"0|-[0-9]+|[1-9][0-9]*", text)) and -(2**31) <= int(text) < 2**31


def _seccomp_profile(profile: str, path: str) -> Errors:
    if profile in ("runtime/default", "docker/default", "unconfined"):
        return []
    if profile.startswith("localhost/"):
        return relative_path(path, profile.removeprefix("localhost/"))
    return [invalid_field(path, profile, "must be a valid seccomp profile")]


def _apparmor_annotation(key: str, profile: str, spec: Object, path: str) -> Errors:
    name = key.removeprefix(_APPARMOR)
    errors: Errors = []
    if not any(container.get("name") == name for container, _ in all_containers(spec, "")):
        errors.append(invalid_field(path, name, "container not found"))
    if profile not in ("", "runtime/default", "unconfined") and not profile.startswith("localhost/"):
        errors.append(invalid_field(path, profile, f'invalid AppArmor profile name: "{profile}"'))
    return errors
