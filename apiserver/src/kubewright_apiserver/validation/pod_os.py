"""What pods of one operating system may not have from the other."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.status import forbidden_field, not_supported, required
from kubewright_apiserver.validation.rules import Errors, Object
from kubewright_apiserver.validation.security import all_containers

__all__ = ["operating_system"]

_NOT_ON_WINDOWS: Final[dict[str, Any]] = {
    "securityContext.appArmorProfile": None,
    "securityContext.seLinuxOptions": None,
    "hostUsers": None,
    "hostPID": False,
    "hostIPC": False,
    "securityContext.seccompProfile": None,
    "securityContext.fsGroup": None,
    "securityContext.fsGroupChangePolicy": None,
    "securityContext.sysctls": [],
    "shareProcessNamespace": None,
    "securityContext.runAsUser": None,
    "securityContext.runAsGroup": None,
    "securityContext.supplementalGroups": None,
    "securityContext.supplementalGroupsPolicy": None,
    "securityContext.seLinuxChangePolicy": None,
}
_NOT_IN_WINDOWS_CONTAINERS: Final = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)


def operating_system(os: Object, spec: Object, path: str) -> Errors:
    """The errors of the operating system that a pod names."""
    name = os.get("name")
    if not name:
        return [required(f"{path}.os.name")]
    if name not in ("linux", "windows"):
        return [not_supported(f"{path}.os", name, ("linux", "windows"))]
    return _linux(spec, path) if name == "linux" else _windows(spec, path)


def _linux(spec: Object, path: str) -> Errors:
    holders = [(spec, path), *all_containers(spec, path)]
    return [
        forbidden_field(f"{at}.securityContext.windowsOptions", "windows options cannot be set for a linux pod")
        for holder, at in holders
        if (holder.get("securityContext") or {}).get("windowsOptions") is not None
    ]


def _windows(spec: Object, path: str) -> Errors:
    detail = "cannot be set for a windows pod"
    errors: Errors = []
    for field, empty in _NOT_ON_WINDOWS.items():
        outer, _, inner = field.rpartition(".")
        holder = spec.get(outer) or {} if outer else spec
        if holder.get(inner, empty) != empty:
            errors.append(forbidden_field(f"{path}.{field}", detail))
    for container, at in all_containers(spec, path):
        context = container.get("securityContext") or {}
        errors += [
            forbidden_field(f"{at}.securityContext.{name}", detail)
            for name in _NOT_IN_WINDOWS_CONTAINERS
            if context.get(name) is not None
        ]
    return errors
