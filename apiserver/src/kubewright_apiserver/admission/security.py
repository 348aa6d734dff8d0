"""PodSecurity: pods keep to the level that the labels of their namespace ask for, or who makes them is warned."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from kubewright_apiserver.admission.attributes import Attributes, Object, Rule
from kubewright_apiserver.admission.security_baseline import BASELINE
from kubewright_apiserver.admission.security_restricted import INSTEAD, RESTRICTED
from kubewright_apiserver.admission.security_subject import Check, Subject, Violation, subject_of
from kubewright_apiserver.status import FieldError, invalid, invalid_field

__all__ = ["RULES"]

_PREFIX: Final = "pod-security.kubernetes.io/"
_LEVELS: Final = ("privileged", "baseline", "restricted")
_VERSION: Final = re.compile(r"v1\.(0|[1-9][0-9]*)")
_LATEST: Final = 2**63
_NEWEST: Final = 35
"""The last minor version of Kubernetes that changed a check."""
_MOST_PODS: Final = 3000
_TEMPLATES: Final = {
    "/replicationcontrollers": ("spec", "template"),
    "/podtemplates": ("template",),
    "apps/replicasets": ("spec", "template"),
    "apps/deployments": ("spec", "template"),
    "apps/statefulsets": ("spec", "template"),
    "apps/daemonsets": ("spec", "template"),
    "batch/jobs": ("spec", "template"),
    "batch/cronjobs": ("spec", "jobTemplate", "spec", "template"),
}


class _Level(NamedTuple):
    name: str = "privileged"
    minor: int = _LATEST

    def __str__(self) -> str:
        return f"{self.name}:{'latest' if self.minor == _LATEST else f'v1.{self.minor}'}"


class _Policy(NamedTuple):
    enforced: _Level
    warned: _Level
    errors: list[FieldError]


_FREE: Final = _Policy(_Level(), _Level(), [])


def _policy(labels: Mapping[str, str]) -> _Policy:
    """What the labels of a namespace ask for."""
    if not any(label.startswith(_PREFIX) for label in labels):
        return _FREE
    errors: list[FieldError] = []
    enforced = _level(labels, "enforce", "restricted", errors)
    _level(labels, "audit", "privileged", errors)
    warned = _level(labels, "warn", "privileged", errors)
    # Who is held to a level hears of it early: in the templates of pods too.
    is_meant = labels.get(f"{_PREFIX}enforce") in _LEVELS and f"{_PREFIX}warn" not in labels
    if is_meant and enforced.name != "privileged":
        has_version = f"{_PREFIX}warn-version" in labels
        warned = _Level(enforced.name, warned.minor if has_version else enforced.minor)
    return _Policy(enforced, warned, errors)


def _level(labels: Mapping[str, str], mode: str, otherwise: str, errors: list[FieldError]) -> _Level:
    name, version = labels.get(f"{_PREFIX}{mode}", "privileged"), labels.get(f"{_PREFIX}{mode}-version", "latest")
    if name not in _LEVELS:
        detail = f"must be one of {', '.join(_LEVELS)}"
        errors.append(invalid_field(f"metadata.labels[{_PREFIX}{mode}]", name, detail))
        name = otherwise
    match = _VERSION.fullmatch(version)
    minor = min(int(match[1]), _LATEST) if match else _LATEST
    if minor == _LATEST and version != "latest":
        detail = 'must be "latest" or "v1.x"'
        errors.append(invalid_field(f"metadata.labels[{_PREFIX}{mode}-version]", version, detail))
        minor = _LATEST
    return _Level(name, minor)


@lru_cache(maxsize=256)
def _checks(level: str, minor: int) -> tuple[Check, ...]:
    """The checks of a level at a version, in the order in which they are told."""
    found = {name: check for name, versions in BASELINE.items() if (check := _at(versions, minor)) is not None}
    if level == "restricted":
        more = {name: check for name, versions in RESTRICTED.items() if (check := _at(versions, minor)) is not None}
        replaced = {INSTEAD[name] for name in more if name in INSTEAD}
        found = {name: check for name, check in found.items() if name not in replaced} | more
    return tuple(found.values())


def _at(versions: dict[int, Check], minor: int) -> Check | None:
    return next((check for first, check in reversed(versions.items()) if first <= minor), None)


def _violations(level: _Level, subject: Subject) -> list[Violation]:
    if level.name == "privileged":
        return []
    results = (check(subject) for check in _checks(level.name, min(level.minor, _NEWEST)))
    return [violation for violation in results if violation is not None]


def _told(violations: Iterable[Violation]) -> str:
    return ", ".join(f"{one.reason} ({one.detail})" if one.detail else one.reason for one in violations)


def _policy_for(attributes: Attributes) -> _Policy:
    namespace = attributes.cluster.find("/namespaces", attributes.namespace) or {}
    return _policy((namespace.get("metadata") or {}).get("labels") or {})


def _check_pod(attributes: Attributes) -> None:
    policy = _policy_for(attributes)
    if policy is _FREE or (attributes.old is not None and not _is_significant(attributes.obj, attributes.old)):
        return
    subject = subject_of(attributes.obj)
    found = _violations(policy.enforced, subject)
    if found:
        raise attributes.refusal(f'violates PodSecurity "{policy.enforced}": {_told(found)}')
    _warn(attributes, policy.warned, subject)


def _warn(attributes: Attributes, level: _Level, subject: Subject) -> None:
    found = _violations(level, subject)
    if found:
        attributes.warnings.append(f'would violate PodSecurity "{level}": {_told(found)}')


def _is_significant(pod: Object, old: Object) -> bool:
    """Whether an update changes what containers run, the only thing about them that can change."""
    now, before = pod.get("spec") or {}, old.get("spec") or {}
    for kind in ("containers", "initContainers"):
        if _images(now.get(kind)) != _images(before.get(kind)):
            return True
    known = {one.get("name"): one.get("image") for one in before.get("ephemeralContainers") or ()}
    return any(
        one.get("name") not in known or one.get("image") != known[one.get("name")]
        for one in now.get("ephemeralContainers") or ()
    )


def _images(containers: list[Object] | None) -> list[object]:
    return [one.get("image") for one in containers or ()]


def _check_template(attributes: Attributes) -> None:
    policy = _policy_for(attributes)
    if policy is _FREE:
        return
    template: Object | None = attributes.obj
    for part in _TEMPLATES[attributes.resource]:
        template = (template or {}).get(part)
    if template is not None:
        _warn(attributes, policy.warned, subject_of(template))


def _check_namespace(attributes: Attributes) -> None:
    policy, before = _policy(_labels(attributes.obj)), _policy(_labels(attributes.old or {}))
    if policy.errors and policy.errors != before.errors:
        raise invalid("", "Namespace", attributes.known_as, policy.errors)
    level, old = policy.enforced, before.enforced
    if attributes.old is None or level == old or level.name == "privileged":
        return
    if level.minor == old.minor and _LEVELS.index(level.name) <= _LEVELS.index(old.name):
        return
    attributes.warnings += _warnings_of_pods(attributes, level)


def _labels(namespace: Object) -> Mapping[str, str]:
    return (namespace.get("metadata") or {}).get("labels") or {}


def _warnings_of_pods(attributes: Attributes, level: _Level) -> list[str]:
    """What there is to say of the pods that are there already."""
    name = attributes.known_as
    pods = _most_different(attributes.cluster.listed("/pods", f"{name}/"))
    names: dict[str, list[str]] = {}
    for pod in pods[:_MOST_PODS]:
        found = _violations(level, subject_of(pod))
        if found:
            names.setdefault(", ".join(one.reason for one in found), []).append(pod["metadata"]["name"])
    warnings = []
    if len(pods) > _MOST_PODS:
        many = f"the first {_MOST_PODS} of {len(pods)} existing pods"
        warnings.append(f"new PodSecurity enforce level only checked against {many}")
    if names:
        warnings.append(f'existing pods in namespace "{name}" violate the new PodSecurity enforce level "{level}"')
    return warnings + sorted(f"{_pods(bad)}: {what}" for what, bad in names.items())


def _most_different(pods: Iterable[Object]) -> list[Object]:
    """The pods with one of each controller before the others like it."""
    firsts: list[Object] = []
    others: list[Object] = []
    seen: set[str] = set()
    for pod in pods:
        owners = pod["metadata"].get("ownerReferences") or ()
        uid = next((owner.get("uid", "") for owner in owners if owner.get("controller")), None)
        (others if uid in seen else firsts).append(pod)
        if uid is not None:
            seen.add(uid)
    return firsts + others


def _pods(names: list[str]) -> str:
    first, others = min(names), len(names) - 1
    if not others:
        return first
    return f"{first} (and {others} other {'pod' if others == 1 else 'pods'})"


_WRITES: Final = ("CREATE", "UPDATE")
RULES: Final = (
    *(Rule("PodSecurity", _WRITES, resource, _check_template, validates=True) for resource in _TEMPLATES),
    *(
        Rule("PodSecurity", _WRITES, "/pods", _check_pod, subresource=part, validates=True)
        for part in ("", "ephemeralcontainers", "resize")
    ),
    Rule("PodSecurity", _WRITES, "/namespaces", _check_namespace, validates=True),
)
