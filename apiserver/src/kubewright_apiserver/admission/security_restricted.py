"""The checks of PodSecurity at the level *restricted*: what a pod does without by today's best practice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kubewright_apiserver.admission.attributes import Object
from kubewright_apiserver.admission.security_baseline import has_seccomp, is_known_seccomp, proc_mount
from kubewright_apiserver.admission.security_subject import (
    Check,
    Container,
    Subject,
    Violation,
    blamed,
    counted,
    quoted,
)

__all__ = ["INSTEAD", "RESTRICTED"]

_VOLUMES: Final = (
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
)
_OTHER_VOLUMES: Final = (
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
)


def _unless_windows(check: Check) -> Check:
    return lambda subject: None if subject.is_windows else check(subject)


def _unless_own_users(check: Check) -> Check:
    return lambda subject: None if subject.has_own_users else check(subject)


def _escalation(subject: Subject) -> Violation | None:
    found = subject.named(lambda one: one.context.get("allowPrivilegeEscalation") is not False)
    detail = f"{counted(found)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", detail) if found else None


def _capabilities(subject: Subject) -> Violation | None:
    def added(one: Container) -> list[str]:
        return [name for name in (one.context.get("capabilities") or {}).get("add") or () if name != "NET_BIND_SERVICE"]

    keeping = subject.named(lambda one: "ALL" not in ((one.context.get("capabilities") or {}).get("drop") or ()))
    adding = subject.named(added)
    details = [f'{counted(keeping)} must set securityContext.capabilities.drop=["ALL"]'] if keeping else []
    if adding:
        names = sorted({name for one in subject.containers for name in added(one)})
        details.append(f"{counted(adding)} must not include {quoted(names)} in securityContext.capabilities.add")
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


def _volumes(subject: Subject) -> Violation | None:
    bad = [volume for volume in subject.spec.get("volumes") or () if not any(kind in volume for kind in _VOLUMES)]
    if not bad:
        return None
    kinds = sorted({next((kind for kind in _OTHER_VOLUMES if kind in volume), "unknown") for volume in bad})
    use = "uses" if len(bad) == 1 else "use"
    names = counted([volume.get("name", "") for volume in bad], "volume")
    return Violation("restricted volume types", f"{names} {use} {counted(kinds, 'restricted volume type')}")


def _not_root(subject: Subject) -> Violation | None:
    reason = "runAsNonRoot != true"
    own = subject.context.get("runAsNonRoot")
    setters = blamed(own is False, subject.named(lambda one: one.context.get("runAsNonRoot") is False))
    if setters:
        return Violation(reason, f"{setters} must not set securityContext.runAsNonRoot=false")
    silent = [] if own else subject.named(lambda one: one.context.get("runAsNonRoot") is None)
    detail = f"pod or {counted(silent)} must set securityContext.runAsNonRoot=true"
    return Violation(reason, detail) if silent else None


def _user(subject: Subject) -> Violation | None:
    def is_root(context: Object) -> bool:
        return context.get("runAsUser") == 0

    setters = blamed(is_root(subject.context), subject.named(lambda one: is_root(one.context)))
    return Violation("runAsUser=0", f"{setters} must not set runAsUser=0") if setters else None


def _seccomp(subject: Subject) -> Violation | None:
    def is_bad(context: Object) -> bool:
        return has_seccomp(context) and not is_known_seccomp(context)

    setters = blamed(is_bad(subject.context), subject.named(lambda one: is_bad(one.context)))
    if setters:
        contexts = [subject.context, *(one.context for one in subject.containers)]
        kinds = sorted({context["seccompProfile"].get("type", "") for context in contexts if is_bad(context)})
        detail = f"{setters} must not set securityContext.seccompProfile.type to {quoted(kinds)}"
        return Violation("seccompProfile", detail)
    silent = [] if has_seccomp(subject.context) else subject.named(lambda one: not has_seccomp(one.context))
    what = f'pod or {counted(silent)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Violation("seccompProfile", what) if silent else None


# By name, in the order in which they are told; each from a minor version of Kubernetes on.
RESTRICTED: Final[dict[str, dict[int, Check]]] = {
    "allowPrivilegeEscalation": {8: _escalation, 25: _unless_windows(_escalation)},
    "capabilities_restricted": {22: _capabilities, 25: _unless_windows(_capabilities)},
    "procMount_restricted": {35: proc_mount},
    "restrictedVolumes": {0: _volumes},
    "runAsNonRoot": {0: _not_root, 35: _unless_own_users(_not_root)},
    "runAsUser": {23: _user, 35: _unless_own_users(_user)},
    "seccompProfile_restricted": {19: _seccomp, 25: _unless_windows(_seccomp)},
}

INSTEAD: Final[Mapping[str, str]] = {
    "capabilities_restricted": "capabilities_baseline",
    "procMount_restricted": "procMount",
    "restrictedVolumes": "hostPathVolumes",
    "seccompProfile_restricted": "seccompProfile_baseline",
}
"""Which checks of the level *baseline* those of *restricted* stand for, once there are such."""
