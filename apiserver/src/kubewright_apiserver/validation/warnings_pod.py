"""Warnings about pods and templates of pods: what is accepted, but does not do what its author may think."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubewright_apiserver.golang import go_quoted
from kubewright_apiserver.validation.names import label_value
from kubewright_apiserver.validation.rules import Object
from kubewright_apiserver.validation.warnings_address import ip_warnings
from kubewright_apiserver.validation.warnings_port import port_warnings
from kubewright_apiserver.validation.warnings_volume import fraction_warnings, overlap_warnings, plugin_warnings

__all__ = ["OLD_LABELS", "containers_of", "pod_warnings", "term_warnings"]

OLD_LABELS: Final = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": ('deprecated since v1.17; use "topology.kubernetes.io/region" instead'),
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
"""What is said of labels of nodes that have another name now."""

_OLD_ANNOTATIONS: Final = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_SECCOMP: Final = "seccomp.security.alpha.kubernetes.io/pod"
_CONTAINER_SECCOMP: Final = "container.seccomp.security.alpha.kubernetes.io/"
_APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_USE_SECCOMP: Final = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_NO_SELECTOR: Final = "a null labelSelector results in matching no pod"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def pod_warnings(obj: Object | None, path: str = "") -> Iterator[str]:
    """Warnings about a pod, or about a template at a path."""
    if obj is None:
        return
    prefix = f"{path}." if path else ""
    spec, where = obj["spec"], f"{prefix}spec"
    annotations: dict[str, str] = (obj.get("metadata") or {}).get("annotations") or {}
    about = f"{prefix}metadata.annotations"
    yield from _placement(spec, where)
    yield from (f"{about}[{key}]: {told}" for key, told in _OLD_ANNOTATIONS.items() if key in annotations)
    volumes = spec.get("volumes") or []
    yield from plugin_warnings(f"{where}.volumes", volumes)
    yield from overlap_warnings(volumes)
    yield from _repeated(f"{where}.hostAliases", spec.get("hostAliases"), "ip")
    yield from _repeated(f"{where}.imagePullSecrets", spec.get("imagePullSecrets"), "name")
    for index, secret in enumerate(spec.get("imagePullSecrets") or ()):
        if not secret.get("name"):
            yield f'{where}.imagePullSecrets[{index}].name: invalid empty name ""'
    yield from fraction_warnings(f"{where}.overhead", spec.get("overhead"), "memory", "ephemeral-storage")
    if _SECCOMP in annotations and not (spec.get("securityContext") or {}).get("seccompProfile"):
        yield f"{about}[{_SECCOMP}]: {_USE_SECCOMP}"
    for at, container in containers_of(spec, where):
        yield from _annotated(container, spec, annotations, about, is_template=bool(path))
        yield from _container(container, at)
    yield from port_warnings(containers_of(spec, where))
    yield from _ending(spec, where)


def containers_of(spec: Object, path: str) -> list[tuple[str, Object]]:
    """The containers of a pod with the path of each: those that come first, the lasting, the ephemeral."""
    kinds = ("initContainers", "containers", "ephemeralContainers")
    return [
        (f"{path}.{kind}[{index}]", container) for kind in kinds for index, container in enumerate(spec.get(kind) or ())
    ]


def _placement(spec: Object, path: str) -> Iterator[str]:
    """Warnings about the nodes that a pod wants."""
    for key in sorted(spec.get("nodeSelector") or ()):
        if key in OLD_LABELS:
            yield f"{path}.nodeSelector[{key}]: {OLD_LABELS[key]}"
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    at = f"{path}.affinity.nodeAffinity"
    for index, term in enumerate((affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()):
        yield from term_warnings(term, f"{at}.{_REQUIRED}.nodeSelectorTerms[{index}]")
    for index, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        where = f"{at}.{_PREFERRED}[{index}].preference"
        yield from term_warnings(weighted.get("preference") or {}, where, checks_values=True)
    for index, spread in enumerate(spec.get("topologySpreadConstraints") or ()):
        where, key = f"{path}.topologySpreadConstraints[{index}]", spread.get("topologyKey", "")
        if key in OLD_LABELS:
            yield f"{where}.topologyKey: {key} is {OLD_LABELS[key]}"
        if spread.get("labelSelector") is None:
            yield f"{where}.labelSelector: {_NO_SELECTOR}"


def term_warnings(term: Object, path: str, *, checks_values: bool = False) -> Iterator[str]:
    """Warnings about a term that selects nodes."""
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        at, key = f"{path}.matchExpressions[{index}]", expression.get("key", "")
        if key in OLD_LABELS:
            yield f"{at}.key: {key} is {OLD_LABELS[key]}"
        for place, value in enumerate(expression.get("values") or ()) if checks_values else ():
            yield from (f"{at}.values[{place}]: {value} is invalid, {wrong}" for wrong in label_value(value))


def _repeated(path: str, items: list[Object] | None, name: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, item in enumerate(items or ()):
        text = item.get(name, "")
        if text in seen:
            yield f"{path}[{index}].{name}: duplicate {name} {go_quoted(text)}"
        seen.add(text)


def _annotated(
    container: Object, spec: Object, annotations: dict[str, str], path: str, *, is_template: bool
) -> Iterator[str]:
    """Warnings about annotations that stood for fields of a container once."""
    context, name = container.get("securityContext") or {}, container.get("name", "")
    if f"{_CONTAINER_SECCOMP}{name}" in annotations and not context.get("seccompProfile"):
        yield f"{path}[{_CONTAINER_SECCOMP}{name}]: {_USE_SECCOMP}"
    key = f"{_APP_ARMOR}{name}"
    if not is_template or key not in annotations or context.get("appArmorProfile"):
        return
    of_pod = (spec.get("securityContext") or {}).get("appArmorProfile")
    if of_pod is None or of_pod != _app_armor(annotations[key]):
        yield f'{path}[{key}]: deprecated since v1.30; use the "appArmorProfile" field instead'


def _app_armor(annotation: str) -> Object | None:
    kinds = {"unconfined": "Unconfined", "runtime/default": "RuntimeDefault"}
    if annotation in kinds:
        return {"type": kinds[annotation]}
    profile = annotation.removeprefix("localhost/")
    return {"type": "Localhost", "localhostProfile": profile} if profile not in ("", annotation) else None


def _container(container: Object, path: str) -> Iterator[str]:
    resources = container.get("resources") or {}
    for name in ("memory", "ephemeral-storage"):
        for part in ("limits", "requests"):
            yield from fraction_warnings(f"{path}.resources.{part}", resources.get(part), name)
    seen: set[str] = set()
    for index, variable in enumerate(container.get("env") or ()):
        name, value = variable.get("name", ""), variable.get("value", "")
        if name in seen and (variable.get("valueFrom") is not None or not _builds_on(value, f"$({name})")):
            hidden = f"hides previous definition of {go_quoted(name)}, which may be dropped when using apply"
            yield f"{path}.env[{index}]: {hidden}"
        seen.add(name)


def _builds_on(value: str, reference: str) -> bool:
    return value != reference and reference in value


def _ending(spec: Object, path: str) -> Iterator[str]:
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        told = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{path}.terminationGracePeriodSeconds: {told}"
    for kind in ("podAffinity", "podAntiAffinity"):
        affinity, at = (spec.get("affinity") or {}).get(kind) or {}, f"{path}.affinity.{kind}"
        for index, term in enumerate(affinity.get(_REQUIRED) or ()):
            if term.get("labelSelector") is None:
                yield f"{at}.{_REQUIRED}[{index}].labelSelector: {_NO_SELECTOR}"
        for index, weighted in enumerate(affinity.get(_PREFERRED) or ()):
            if (weighted.get("podAffinityTerm") or {}).get("labelSelector") is None:
                yield f"{at}.{_PREFERRED}[{index}].podAffinityTerm.labelSelector: {_NO_SELECTOR}"
    for index, server in enumerate((spec.get("dnsConfig") or {}).get("nameservers") or ()):
        yield from ip_warnings(f"{path}.dnsConfig.nameservers[{index}]", server)
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        yield from ip_warnings(f"{path}.hostAliases[{index}].ip", alias.get("ip", ""))
