"""Security contexts of containers and pods: users, groups, profiles, sysctls, Windows options."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from kubewright_apiserver.schema.goprint import compact, printed
from kubewright_apiserver.status import duplicate, forbidden_field, invalid_field, not_supported, required, too_long
from kubewright_apiserver.validation.names import between, dns_subdomain
from kubewright_apiserver.validation.rules import Errors, Object, enumerated_if_set, named, relative_path

__all__ = ["all_containers", "container_security", "pod_security", "profile_annotations_match", "windows_host_process"]

_MOST_ID: Final = 2**31 - 1
_SECCOMP_TYPES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_PROC_MOUNTS: Final = ("Default", "Unmasked")
_SYSCTL_SEGMENT: Final = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL: Final = rf"^({_SYSCTL_SEGMENT}[\./])*{_SYSCTL_SEGMENT}$"
_IPC_SYSCTLS: Final = frozenset(
    f"kernel.{name}"
    for name in ("sem", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "shm", "msgmax", "msgmnb", "msgmni", "msg")
)
_NETBIOS: Final = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_DNS_LABEL: Final = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_USER_DOMAIN: Final = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*")
_BAD_USER: Final = re.compile(r'["/\\:;|=,+*?<>@\[\]]')
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
_APPARMOR_CONTAINER: Final = "container.apparmor.security.beta.kubernetes.io/"


def all_containers(spec: Object, path: str) -> Iterable[tuple[Object, str]]:
    """Every container of a pod with its path, in the order in which rules about all of them look."""
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            yield container, f"{path}.{field}[{index}]"


def _identity(value: int | None, path: str) -> Errors:
    if value is None or 0 <= value <= _MOST_ID:
        return []
    return [invalid_field(path, value, message) for message in between(value, 0, _MOST_ID)]


def container_security(context: Object, path: str, host_users: bool) -> Errors:
    """The errors of a container's security context."""
    errors = _identity(context.get("runAsUser"), f"{path}.runAsUser")
    errors += _identity(context.get("runAsGroup"), f"{path}.runAsGroup")
    if (mount := context.get("procMount")) is not None:
        errors += enumerated_if_set(f"{path}.procMount", mount, _PROC_MOUNTS)
        if host_users and mount == "Unmasked":
            errors.append(invalid_field(f"{path}.procMount", mount, "`hostUsers` must be false to use `Unmasked`"))
    errors += _seccomp(context.get("seccompProfile"), f"{path}.seccompProfile")
    if context.get("allowPrivilegeEscalation") is False:
        errors += _escalation(context, path)
    errors += _windows_options(context.get("windowsOptions"), f"{path}.windowsOptions")
    return errors + _apparmor(context.get("appArmorProfile"), f"{path}.appArmorProfile")


def _escalation(context: Object, path: str) -> Errors:
    told = "cannot set `allowPrivilegeEscalation` to false and"
    errors: Errors = []
    if context.get("privileged"):
        errors.append(invalid_field(path, printed("core.SecurityContext", context), f"{told} `privileged` to true"))
    for capability in (context.get("capabilities") or {}).get("add") or ():
        if capability == "CAP_SYS_ADMIN":
            detail = f"{told} `capabilities.Add` CAP_SYS_ADMIN"
            errors.append(invalid_field(path, printed("core.SecurityContext", context), detail))
    return errors


def pod_security(context: Object, spec: Object, path: str) -> Errors:
    """The errors of a pod's security context."""
    if not context and not spec.get("shareProcessNamespace"):
        return []
    errors: Errors = []
    for name in ("fsGroup", "runAsUser", "runAsGroup"):
        errors += _identity(context.get(name), f"{path}.{name}")
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        errors += _identity(group, f"{path}.supplementalGroups[{index}]")
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(invalid_field(f"{path}.shareProcessNamespace", True, detail))
    errors += _sysctls(context.get("sysctls") or (), spec, f"{path}.sysctls")
    policies = ("Always", "OnRootMismatch")
    errors += enumerated_if_set(f"{path}.fsGroupChangePolicy", context.get("fsGroupChangePolicy"), policies)
    errors += _seccomp(context.get("seccompProfile"), f"{path}.seccompProfile")
    errors += _windows_options(context.get("windowsOptions"), f"{path}.windowsOptions")
    errors += _apparmor(context.get("appArmorProfile"), f"{path}.appArmorProfile")
    merging = ("Merge", "Strict")
    errors += enumerated_if_set(f"{path}.supplementalGroupsPolicy", context.get("supplementalGroupsPolicy"), merging)
    return errors + enumerated_if_set(f"{path}.seLinuxChangePolicy", context.get("seLinuxChangePolicy"), ("Recursive",))


def _sysctls(sysctls: Iterable[Object], spec: Object, path: str) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        at, name = f"{path}[{index}].name", sysctl.get("name", "")
        if not name:
            errors.append(required(at))
        elif len(name) > 253 or not re.match(_SYSCTL, name):
            errors.append(invalid_field(at, name, f"must have at most 253 characters and match regex {_SYSCTL}"))
        elif name in seen:
            errors.append(duplicate(at, name))
        errors += _host_sysctl(name, spec, at)
        seen.add(name)
    return errors


def _host_sysctl(name: str, spec: Object, path: str) -> Errors:
    dotted = name.replace("/", ".").partition("*")[0]
    if spec.get("hostNetwork") and dotted.startswith("net."):
        return [invalid_field(path, name, "may not be specified when 'hostNetwork' is true")]
    if spec.get("hostIPC") and (dotted in _IPC_SYSCTLS or dotted.startswith("fs.mqueue.")):
        return [invalid_field(path, name, "may not be specified when 'hostIPC' is true")]
    return []


def _seccomp(profile: Object | None, path: str) -> Errors:
    if profile is None:
        return []
    kind, local = profile.get("type"), profile.get("localhostProfile")
    errors: Errors = []
    if not kind:
        errors.append(required(f"{path}.type", "type is required when seccompProfile is set"))
    elif kind not in _SECCOMP_TYPES:
        errors.append(not_supported(f"{path}.type", kind, _SECCOMP_TYPES))
    at = f"{path}.localhostProfile"
    if kind == "Localhost":
        if local is None:
            return [*errors, required(at, "must be set when seccomp type is Localhost")]
        return errors + relative_path(at, local)
    if local is not None:
        detail = "can only be set when seccomp type is Localhost"
        errors.append(invalid_field(at, printed("core.SeccompProfile", profile), detail))
    return errors


def _apparmor(profile: Object | None, path: str) -> Errors:
    if profile is None:
        return []
    kind, local, at = profile.get("type"), profile.get("localhostProfile"), f"{path}.localhostProfile"
    if kind == "Localhost":
        return _local_apparmor(local, at)
    if kind in ("RuntimeDefault", "Unconfined"):
        detail = "can only be set when AppArmor type is Localhost"
        return [] if local is None else [invalid_field(at, local, detail)]
    if not kind:
        return [required(f"{path}.type", "type is required when appArmorProfile is set")]
    return [not_supported(f"{path}.type", kind, _SECCOMP_TYPES)]


def _local_apparmor(local: str | None, path: str) -> Errors:
    missing = required(path, "must be set when AppArmor type is Localhost")
    if local is None:
        return [missing]
    errors: Errors = []
    if local.strip() != local:
        errors.append(invalid_field(path, local, "must not be padded with whitespace"))
    elif not local:
        errors.append(missing)
    return [*errors, too_long(path, 4095)] if len(local.encode()) > 4095 else errors


def _windows_options(options: Object | None, path: str) -> Errors:
    if not options:
        return []
    errors: Errors = []
    if (name := options.get("gmsaCredentialSpecName")) is not None:
        errors += named(dns_subdomain, f"{path}.gmsaCredentialSpecName", name)
    if (spec := options.get("gmsaCredentialSpec")) is not None:
        at = f"{path}.gmsaCredentialSpec"
        if not spec:
            errors.append(invalid_field(at, spec, "gmsaCredentialSpec cannot be an empty string"))
        elif len(spec.encode()) > 64 * 1024:
            errors.append(invalid_field(at, spec, "gmsaCredentialSpec size must be under 64 KiB"))
    if (user := options.get("runAsUserName")) is not None:
        details = _user_name_problems(user)
        errors += [
            invalid_field(f"{path}.runAsUserName", compact(user), f"runAsUserName{detail}") for detail in details
        ]
    return errors


def _user_name_problems(text: str) -> Iterable[str]:
    if not text:
        return [" cannot be an empty string"]
    if _CONTROL.search(text):
        return [" cannot contain control characters"]
    if text.count("\\") > 1:
        return [" cannot contain more than one backslash"]
    domain, backslash, user = text.rpartition("\\")
    problems = []
    if len(domain) >= 256:
        problems.append("'s Domain length must be under 256 characters")
    if backslash and not (_NETBIOS.fullmatch(domain) or _USER_DOMAIN.fullmatch(domain)):
        problems.append("'s Domain doesn't match the NetBios nor the DNS format")
    return problems + _user_problems(user)


def _user_problems(user: str) -> list[str]:
    problems = []
    if not user:
        problems.append("'s User cannot be empty")
    elif len(user) > 104:
        problems.append("'s User length must not be longer than 104 characters")
    if user and not user.strip(". "):
        problems.append("'s User cannot contain only periods or spaces")
    if _BAD_USER.search(user):
        problems.append("'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return problems


def windows_host_process(spec: Object, path: str) -> Errors:
    """The errors of pods in which some containers are processes of a Windows host."""
    of_pod = ((spec.get("securityContext") or {}).get("windowsOptions") or {}).get("hostProcess")
    errors: Errors = []
    count = on_host = 0
    for container, at in all_containers(spec, path):
        count += 1
        context = container.get("securityContext")
        own = (context.get("windowsOptions") or {}).get("hostProcess") if context else None
        if of_pod is not None and own is not None and of_pod != own:
            told = "true" if of_pod else "false"
            detail = f"pod hostProcess value must be identical if both are specified, was {told}"
            errors.append(invalid_field(f"{at}.securityContext.windowsOptions.hostProcess", own, detail))
        on_host += bool(of_pod if own is None else own)
    if not on_host:
        return errors
    if on_host != count:
        detail = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        errors.append(invalid_field(path, "", detail))
    if not spec.get("hostNetwork"):
        detail = "hostNetwork must be true if pod contains any hostProcess containers"
        errors.append(invalid_field(f"{path}.hostNetwork", False, detail))
    return errors


def profile_annotations_match(annotations: dict[str, str], spec: Object, path: str) -> Errors:
    """The errors of old annotations for profiles that contradict the fields that replaced them."""
    if not any("security." in key for key in annotations):
        return []
    errors: Errors = []
    of_pod = spec.get("securityContext") or {}
    if _SECCOMP_POD in annotations and (profile := of_pod.get("seccompProfile")):
        errors += _seccomp_matches(annotations[_SECCOMP_POD], profile, f"{path}.securityContext.seccompProfile")
    for container, at in all_containers(spec, path):
        profile = (container.get("securityContext") or {}).get("seccompProfile")
        annotation = annotations.get(_SECCOMP_CONTAINER + container.get("name", ""))
        if profile and annotation is not None:
            errors += _seccomp_matches(annotation, profile, f"{at}.securityContext.seccompProfile")
    if (spec.get("os") or {}).get("name") == "windows":
        return errors
    for container, at in all_containers(spec, path):
        profile = (container.get("securityContext") or {}).get("appArmorProfile") or of_pod.get("appArmorProfile")
        annotation = annotations.get(_APPARMOR_CONTAINER + container.get("name", ""))
        if profile and annotation is not None:
            errors += _matches(annotation, profile, f"{at}.securityContext.appArmorProfile", "apparmor")
    return errors


def _seccomp_matches(annotation: str, profile: Object, path: str) -> Errors:
    return _matches("runtime/default" if annotation == "docker/default" else annotation, profile, path, "seccomp")


def _matches(annotation: str, profile: Object, path: str, told: str) -> Errors:
    kind, local = profile.get("type"), profile.get("localhostProfile")
    wanted = {"Unconfined": "unconfined", "RuntimeDefault": "runtime/default"}.get(kind or "")
    differs = [forbidden_field(f"{path}.type", f"{told} type in annotation and field must match")]
    if wanted is not None:
        return [] if annotation == wanted else differs
    if kind != "Localhost":
        return []
    if not annotation.startswith("localhost/"):
        return differs
    if annotation.removeprefix("localhost/") == local:
        return []
    return [forbidden_field(f"{path}.localhostProfile", f"{told} profile in annotation and field must match")]
