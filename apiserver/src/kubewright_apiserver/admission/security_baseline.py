"""The checks of PodSecurity at the level *baseline*: nothing that gives a pod known ways to power over its node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubewright_apiserver.admission.attributes import Object
from kubewright_apiserver.admission.security_subject import (
    Check,
    Container,
    Subject,
    Violation,
    blamed,
    counted,
    quoted,
)
from kubewright_apiserver.golang import go_quoted

__all__ = ["BASELINE", "has_seccomp", "is_known_seccomp", "proc_mount"]

_APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
_CAPABILITIES: Final = frozenset(
    (
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    )
)
_SELINUX: Final = ("", "container_t", "container_init_t", "container_kvm_t")
_SYSCTLS: Final = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start",
)
_SYSCTLS_27: Final = (*_SYSCTLS, "net.ipv4.ip_local_reserved_ports")
_SYSCTLS_29: Final = (
    *_SYSCTLS_27,
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
)
_SYSCTLS_32: Final = (*_SYSCTLS_29, "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")


def _app_armor(subject: Subject) -> Violation | None:
    pod = _bad_app_armor(subject.context)
    containers = subject.named(lambda one: _bad_app_armor(one.context))
    bad = sorted(filter(None, {pod, *(_bad_app_armor(one.context) for one in subject.containers)}))
    annotations = sorted(
        f"{name}={go_quoted(value)}"
        for name, value in subject.annotations.items()
        if name.startswith(_APP_ARMOR) and value and value != "runtime/default" and not value.startswith("localhost/")
    )
    setters = [blamed(pod, containers)] if pod or containers else []
    if annotations:
        setters.append("annotation" if len(annotations) == 1 else "annotations")
    if not setters:
        return None
    values = [*bad, *annotations]
    reason = "forbidden AppArmor profile" if len(values) == 1 else "forbidden AppArmor profiles"
    return Violation(reason, f"{' and '.join(setters)} must not set AppArmor profile type to {quoted(values)}")


def _bad_app_armor(context: Object) -> str:
    profile = context.get("appArmorProfile")
    kind = "" if profile is None else str(profile.get("type", ""))
    return "" if kind in ("RuntimeDefault", "Localhost") else kind


def _capabilities(subject: Subject) -> Violation | None:
    def added(one: Container) -> list[str]:
        return [name for name in (one.context.get("capabilities") or {}).get("add") or () if name not in _CAPABILITIES]

    containers = subject.named(added)
    if not containers:
        return None
    names = sorted({name for one in subject.containers for name in added(one)})
    detail = f"{counted(containers)} must not include {quoted(names)} in securityContext.capabilities.add"
    return Violation("non-default capabilities", detail)


def _host_namespaces(subject: Subject) -> Violation | None:
    found = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if subject.spec.get(name)]
    return Violation("host namespaces", ", ".join(found)) if found else None


def _host_paths(subject: Subject) -> Violation | None:
    volumes = subject.spec.get("volumes") or ()
    found = [volume.get("name", "") for volume in volumes if volume.get("hostPath") is not None]
    return Violation("hostPath volumes", counted(found, "volume")) if found else None


def _host_ports(subject: Subject) -> Violation | None:
    def taken(one: Container) -> list[str]:
        return [str(port["hostPort"]) for port in one.fields.get("ports") or () if port.get("hostPort")]

    containers = subject.named(taken)
    if not containers:
        return None
    ports = sorted({port for one in subject.containers for port in taken(one)})
    what = "hostPort" if len(ports) == 1 else "hostPorts"
    return Violation("hostPort", f"{counted(containers)} {_use(containers)} {what} {', '.join(ports)}")


def _use(names: list[str]) -> str:
    return "uses" if len(names) == 1 else "use"


def _hosts(subject: Subject) -> Violation | None:
    containers = sorted({*subject.named(lambda one: any(_hosts_of(one.fields)))})
    if not containers:
        return None
    hosts = sorted({host for one in subject.containers for host in _hosts_of(one.fields)})
    what = "probe or lifecycle host" if len(hosts) == 1 else "probe or lifecycle hosts"
    return Violation("probe or lifecycle host", f"{counted(containers)} {_use(containers)} {what} {quoted(hosts)}")


def _hosts_of(container: Object) -> Iterator[str]:
    """The hosts that a container has somebody ask."""
    lifecycle = container.get("lifecycle") or {}
    probes = [container.get(name) for name in ("livenessProbe", "readinessProbe", "startupProbe")]
    for handler in (*probes, lifecycle.get("postStart"), lifecycle.get("preStop")):
        for kind in ("httpGet", "tcpSocket"):
            host = ((handler or {}).get(kind) or {}).get("host")
            if host:
                yield host


def _privileged(subject: Subject) -> Violation | None:
    found = subject.named(lambda one: one.context.get("privileged"))
    detail = f"{counted(found)} must not set securityContext.privileged=true"
    return Violation("privileged", detail) if found else None


def proc_mount(subject: Subject) -> Violation | None:
    """Refuse to show containers more of their kernel than they usually see."""

    def other(one: Container) -> str:
        kind = one.context.get("procMount")
        return "" if kind is None or kind == "Default" else str(kind)

    containers = subject.named(other)
    if not containers:
        return None
    kinds = sorted(filter(None, {other(one) for one in subject.containers}))
    return Violation("procMount", f"{counted(containers)} must not set securityContext.procMount to {quoted(kinds)}")


def _proc_mount_35(subject: Subject) -> Violation | None:
    return None if subject.has_own_users else proc_mount(subject)


def _selinux(*more: str) -> Check:
    allowed = (*_SELINUX, *more)

    def faults(context: Object) -> list[str]:
        options = context.get("seLinuxOptions") or {}
        kind = options.get("type", "")
        bad = [f"type {kind}"] if kind not in allowed else []
        return [*bad, *(f"{name} may not be set" for name in ("user", "role") if options.get(name))]

    def check(subject: Subject) -> Violation | None:
        contexts = [subject.context, *(one.context for one in subject.containers)]
        found = {fault for context in contexts for fault in faults(context)}
        if not found:
            return None
        kinds = sorted(fault.removeprefix("type ") for fault in found if fault.startswith("type "))
        data = [counted(kinds, "type")] if kinds else []
        data += [fault for fault in ("user may not be set", "role may not be set") if fault in found]
        setters = blamed(faults(subject.context), subject.named(lambda one: faults(one.context)))
        return Violation("seLinuxOptions", f"{setters} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}")

    return check


def _seccomp_annotations(subject: Subject) -> Violation | None:
    names = {_SECCOMP_POD, *(f"{_SECCOMP_CONTAINER}{one.name}" for one in subject.containers)}
    found = sorted(
        f"{name}={go_quoted(subject.annotations[name])}"
        for name in names
        if name in subject.annotations and not _is_known_annotation(subject.annotations[name])
    )
    what = "annotation" if len(found) == 1 else "annotations"
    return Violation("seccompProfile", f"forbidden {what} {', '.join(found)}") if found else None


def _is_known_annotation(value: str) -> bool:
    return value in ("runtime/default", "docker/default") or value.startswith("localhost/")


def has_seccomp(context: Object) -> bool:
    """Whether a security context says which profile is used."""
    return context.get("seccompProfile") is not None


def is_known_seccomp(context: Object) -> bool:
    """Whether the profile is one that is allowed."""
    return context["seccompProfile"].get("type", "") in ("Localhost", "RuntimeDefault")


def _seccomp(subject: Subject) -> Violation | None:
    def is_bad(context: Object) -> bool:
        return has_seccomp(context) and not is_known_seccomp(context)

    setters = blamed(is_bad(subject.context), subject.named(lambda one: is_bad(one.context)))
    if not setters:
        return None
    contexts = [subject.context, *(one.context for one in subject.containers)]
    kinds = sorted({context["seccompProfile"].get("type", "") for context in contexts if is_bad(context)})
    detail = f"{setters} must not set securityContext.seccompProfile.type to {quoted(kinds)}"
    return Violation("seccompProfile", detail)


def _sysctls(allowed: tuple[str, ...]) -> Check:
    def check(subject: Subject) -> Violation | None:
        names = [one.get("name", "") for one in subject.context.get("sysctls") or ()]
        found = [name for name in names if name not in allowed]
        return Violation("forbidden sysctls", ", ".join(found)) if found else None

    return check


def _host_process(subject: Subject) -> Violation | None:
    def is_set(context: Object) -> bool:
        return bool((context.get("windowsOptions") or {}).get("hostProcess"))

    setters = blamed(is_set(subject.context), subject.named(lambda one: is_set(one.context)))
    detail = f"{setters} must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", detail) if setters else None


# By name, in the order in which they are told; each from a minor version of Kubernetes on.
BASELINE: Final[dict[str, dict[int, Check]]] = {
    "appArmorProfile": {0: _app_armor},
    "capabilities_baseline": {0: _capabilities},
    "hostNamespaces": {0: _host_namespaces},
    "hostPathVolumes": {0: _host_paths},
    "hostPorts": {0: _host_ports},
    "hostProbesAndHostLifecycle": {34: _hosts},
    "privileged": {0: _privileged},
    "procMount": {0: proc_mount, 35: _proc_mount_35},
    "seLinuxOptions": {0: _selinux(), 31: _selinux("container_engine_t")},
    "seccompProfile_baseline": {0: _seccomp_annotations, 19: _seccomp},
    "sysctls": {0: _sysctls(_SYSCTLS), 27: _sysctls(_SYSCTLS_27), 29: _sysctls(_SYSCTLS_29), 32: _sysctls(_SYSCTLS_32)},
    "windowsHostProcess": {0: _host_process},
}
