"""Containers of every sort: regular ones, those that run before, and those that are added for debugging."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, NamedTuple

from kubewright_apiserver.status import (
    FieldError,
    duplicate,
    forbidden_field,
    invalid_field,
    not_supported,
    required,
    too_many,
)
from kubewright_apiserver.validation.environment import environment, environment_sources
from kubewright_apiserver.validation.handler import lifecycle, probes
from kubewright_apiserver.validation.names import dns_label, port_name, port_number
from kubewright_apiserver.validation.resources import requirements
from kubewright_apiserver.validation.rules import (
    Errors,
    Object,
    dns_label_errors,
    enumerated,
    enumerated_if_set,
    named,
    relative_path,
)
from kubewright_apiserver.validation.security import container_security

__all__ = [
    "PROTOCOLS",
    "PULL_POLICIES",
    "Surroundings",
    "containers",
    "ephemeral_containers",
    "init_containers",
    "padded_images",
]

PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
_RESTART_POLICIES: Final = ("Always", "Never", "OnFailure")
_RESTART_ACTIONS: Final = ("Restart", "RestartAllContainers")
_NOT_FOR_EPHEMERAL: Final[tuple[tuple[str, Any], ...]] = (
    ("ports", []),
    ("resources", {}),
    ("resizePolicy", []),
    ("restartPolicy", None),
    ("restartPolicyRules", []),
    ("livenessProbe", None),
    ("readinessProbe", None),
    ("startupProbe", None),
    ("lifecycle", None),
)
_HOOKS: Final = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
_POLICY_FOR_RULES: Final = "must specify restartPolicy when restart rules are used"


class Surroundings(NamedTuple):
    """What the rules for a container must know of its pod."""

    volumes: dict[str, Object]
    """The valid ones, by name."""
    claims: Collection[str]
    restart_policy: str
    grace: int | None
    host_users: bool


def containers(found: Sequence[Object], path: str, pod: Surroundings) -> Errors:
    """The errors of a pod's regular containers."""
    if not found:
        return [required(path)]
    errors: Errors = []
    names: set[str] = set()
    for index, container in enumerate(found):
        at = f"{path}[{index}]"
        errors += _container(container, at, pod)
        name = container.get("name", "")
        if name in names:
            errors.append(duplicate(f"{at}.name", name))
        names.add(name)
        if (hooks := container.get("lifecycle")) is not None:
            errors += lifecycle(hooks, f"{at}.lifecycle", pod.grace)
        errors += probes(container, at)
        if "restartPolicy" in container or "restartPolicyRules" in container:
            errors += _restart_policy(container, at)
    return errors + _host_ports(found, path)


def init_containers(found: Sequence[Object], regular: Iterable[Object], path: str, pod: Surroundings) -> Errors:
    """The errors of the containers that run before the regular ones, or beside them if they always restart."""
    errors: Errors = []
    names = {container.get("name", "") for container in regular}
    for index, container in enumerate(found):
        at, name = f"{path}[{index}]", container.get("name", "")
        errors += _container(container, at, pod)
        if "restartPolicy" in container:
            errors += _restart_policy(container, at)
        elif container.get("restartPolicyRules"):
            errors.append(required(f"{at}.restartPolicy", _POLICY_FOR_RULES))
        if name in names:
            errors.append(duplicate(f"{at}.name", name))
        names.add(name)
        errors += _host_ports([container], path)
        errors += _init_hooks(container, at, pod)
    return errors


def _init_hooks(container: Object, path: str, pod: Surroundings) -> Errors:
    if container.get("restartPolicy") == "Always":
        hooks = container.get("lifecycle")
        errors = [] if hooks is None else lifecycle(hooks, f"{path}.lifecycle", pod.grace)
        return errors + probes(container, path)
    detail = "may not be set for init containers without restartPolicy=Always"
    errors = [forbidden_field(f"{path}.{hook}", detail) for hook in _HOOKS if container.get(hook) is not None]
    for index, policy in enumerate(container.get("resizePolicy") or ()):
        if policy.get("restartPolicy") == "RestartContainer":
            told = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            at = f"{path}.resizePolicy[{index}].restartPolicy"
            errors.append(invalid_field(at, "RestartContainer", told))
    return errors


def ephemeral_containers(found: Sequence[Object], spec: Object, path: str, pod: Surroundings) -> Errors:
    """The errors of the containers that are added to a running pod."""
    others = {
        container.get("name", "")
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
    }
    names, errors = {*others}, list[FieldError]()
    for index, container in enumerate(found):
        at, name = f"{path}[{index}]", container.get("name", "")
        errors += _container(container, at, pod) + padded_images([container], path, index)
        if name in names:
            errors.append(duplicate(f"{at}.name", name))
        names.add(name)
        target = container.get("targetContainerName")
        if target and target not in others:
            errors.append(FieldError("Not found", f"{at}.targetContainerName", "", target))
        errors += _not_for_ephemeral(container, at)
    return errors


def _not_for_ephemeral(container: Object, path: str) -> Errors:
    detail = "cannot be set for an Ephemeral Container"
    errors = [
        forbidden_field(f"{path}.{name}", detail)
        for name, empty in _NOT_FOR_EPHEMERAL
        if container.get(name, empty) != empty
    ]
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        at = f"{path}.volumeMounts[{index}]"
        errors += [forbidden_field(f"{at}.{name}", detail) for name in ("subPath", "subPathExpr") if mount.get(name)]
    return errors


def padded_images(found: Sequence[Object], path: str, start: int = 0) -> Errors:
    """The errors of images with white space around them, which only pods are refused for, not templates."""
    return [
        invalid_field(f"{path}[{index}].image", image, "must not have leading or trailing whitespace")
        for index, image in enumerate((container.get("image", "") for container in found), start)
        if image != image.strip()
    ]


def _container(container: Object, path: str, pod: Surroundings) -> Errors:
    get = container.get
    name = get("name")
    errors = [required(f"{path}.name")] if not name else []
    if name and dns_label(name):
        errors += dns_label_errors(f"{path}.name", name)
    if not get("image"):
        errors.append(required(f"{path}.image"))
    errors += enumerated(f"{path}.terminationMessagePolicy", get("terminationMessagePolicy"), _MESSAGE_POLICIES)
    if ports := get("ports"):
        errors += _ports(ports, f"{path}.ports")
    if variables := get("env"):
        errors += environment(variables, f"{path}.env")
    if sources := get("envFrom"):
        errors += environment_sources(sources, f"{path}.envFrom")
    errors += _storage(container, path, pod)
    errors += enumerated(f"{path}.imagePullPolicy", get("imagePullPolicy"), PULL_POLICIES)
    if resources := get("resources"):
        errors += requirements(resources, f"{path}.resources", pod.claims)
    if policies := get("resizePolicy"):
        errors += _resize_policy(policies, f"{path}.resizePolicy", pod.restart_policy)
    if context := get("securityContext"):
        errors += container_security(context, f"{path}.securityContext", pod.host_users)
    return errors


def _ports(ports: Sequence[Object], path: str) -> Errors:
    errors: Errors = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        at = f"{path}[{index}]"
        if name := port.get("name"):
            errors += _port_name(name, names, at)
        if number := port.get("containerPort"):
            errors += [invalid_field(f"{at}.containerPort", number, message) for message in port_number(number)]
        else:
            errors.append(required(f"{at}.containerPort"))
        if number := port.get("hostPort"):
            errors += [invalid_field(f"{at}.hostPort", number, message) for message in port_number(number)]
        errors += enumerated(f"{at}.protocol", port.get("protocol"), PROTOCOLS)
    return errors


def _port_name(name: str, names: set[str], path: str) -> Errors:
    if errors := named(port_name, f"{path}.name", name):
        return errors
    if name in names:
        return [duplicate(f"{path}.name", name)]
    names.add(name)
    return []


def _host_ports(found: Sequence[Object], path: str) -> Errors:
    errors: Errors = []
    taken: set[str] = set()
    for index, container in enumerate(found):
        for place, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if key in taken:
                errors.append(duplicate(f"{path}[{index}].ports[{place}].hostPort", key))
            taken.add(key)
    return errors


def _storage(container: Object, path: str, pod: Surroundings) -> Errors:
    mounts, devices = container.get("volumeMounts") or (), container.get("volumeDevices") or ()
    errors: Errors = []
    if mounts:
        taken = {device.get("name", ""): device.get("devicePath", "") for device in devices}
        privileged = bool((container.get("securityContext") or {}).get("privileged"))
        errors += _mounts(mounts, f"{path}.volumeMounts", taken, pod.volumes, privileged)
    if devices:
        taken = {mount.get("name", ""): mount.get("mountPath", "") for mount in mounts}
        errors += _devices(devices, f"{path}.volumeDevices", taken, pod.volumes)
    return errors


def _mounts(
    mounts: Sequence[Object], path: str, devices: dict[str, str], volumes: dict[str, Object], privileged: bool
) -> Errors:
    errors: Errors = []
    places: set[str] = set()
    for index, mount in enumerate(mounts):
        at, name, place = f"{path}[{index}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            errors.append(required(f"{at}.name"))
        if name not in volumes:
            errors.append(FieldError("Not found", f"{at}.name", "", name))
        if not place:
            errors.append(required(f"{at}.mountPath"))
        if place in places:
            errors.append(invalid_field(f"{at}.mountPath", place, "must be unique"))
        places.add(place)
        errors += _taken_by_device(name, place, devices, at) if devices else []
        errors += _mount_options(mount, at, path, privileged)
    return errors


def _taken_by_device(name: str, place: str, devices: dict[str, str], path: str) -> Errors:
    errors: Errors = []
    if name in devices:
        errors.append(invalid_field(f"{path}.name", name, "must not already exist in volumeDevices"))
    if place in devices.values():
        errors.append(invalid_field(f"{path}.mountPath", place, "must not already exist as a path in volumeDevices"))
    return errors


def _mount_options(mount: Object, at: str, path: str, privileged: bool) -> Errors:
    errors: Errors = []
    if inner := mount.get("subPath"):
        errors += relative_path(f"{path}.subPath", inner)
    if expression := mount.get("subPathExpr"):
        if inner:
            detail = "subPathExpr and subPath are mutually exclusive"
            errors.append(invalid_field(f"{at}.subPathExpr", expression, detail))
        errors += relative_path(f"{path}.subPathExpr", expression)
    propagation = mount.get("mountPropagation")
    modes = ("Bidirectional", "HostToContainer", "None")
    errors += enumerated_if_set(f"{path}.mountPropagation", propagation, modes)
    if propagation == "Bidirectional" and not privileged:
        detail = "Bidirectional mount propagation is available only to privileged containers"
        errors.append(forbidden_field(f"{path}.mountPropagation", detail))
    return errors + _recursive_read_only(mount, f"{path}.recursiveReadOnly")


def _recursive_read_only(mount: Object, path: str) -> Errors:
    mode = mount.get("recursiveReadOnly")
    if mode is None or mode == "Disabled":
        return []
    if mode not in ("Enabled", "IfPossible"):
        return [not_supported(path, mode, ("Disabled", "Enabled", "IfPossible"))]
    errors: Errors = []
    if not mount.get("readOnly"):
        errors.append(forbidden_field(path, "may only be specified when readOnly is true"))
    if mount.get("mountPropagation", "None") != "None":
        errors.append(forbidden_field(path, "may only be specified when mountPropagation is None or not specified"))
    return errors


def _devices(devices: Sequence[Object], path: str, mounts: dict[str, str], volumes: dict[str, Object]) -> Errors:
    errors: Errors = []
    names: set[str] = set()
    places: set[str] = set()
    for index, device in enumerate(devices):
        at, name, place = f"{path}[{index}]", device.get("name", ""), device.get("devicePath", "")
        errors += _device_name(name, names, volumes, f"{at}.name")
        errors += _device_path(place, places, f"{at}.devicePath")
        if name in mounts:
            errors.append(invalid_field(f"{at}.name", name, "must not already exist in volumeMounts"))
        if place in mounts.values():
            detail = "must not already exist as a path in volumeMounts"
            errors.append(invalid_field(f"{at}.devicePath", place, detail))
        names.update(filter(None, (name,)))
    return errors


def _device_name(name: str, names: set[str], volumes: dict[str, Object], path: str) -> Errors:
    errors = [] if name else [required(path)]
    if name in names:
        errors.append(invalid_field(path, name, "must be unique"))
    volume = volumes.get(name)
    if volume is None:
        errors.append(FieldError("Not found", path, "", name))
    elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
        detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        errors.append(invalid_field(path, name, detail))
    return errors


def _device_path(place: str, places: set[str], path: str) -> Errors:
    errors = [] if place else [required(path)]
    if place in places:
        errors.append(invalid_field(path, place, "must be unique"))
    if ".." in place.split("/"):
        return [*errors, invalid_field(path, place, "can not contain backsteps ('..')")]
    places.add(place)
    return errors


def _resize_policy(policies: Sequence[Object], path: str, restart_policy: str) -> Errors:
    errors: Errors = []
    names: set[str] = set()
    for index, policy in enumerate(policies):
        name, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if name in names:
            errors.append(duplicate(f"{path}[{index}]", name))
        names.add(name)
        errors += enumerated(path, name, ("cpu", "memory"))
        errors += enumerated(path, restart, ("NotRequired", "RestartContainer"))
        if restart_policy == "Never" and restart != "NotRequired":
            detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            errors.append(invalid_field(path, restart, detail))
    return errors


def _restart_policy(container: Object, path: str) -> Errors:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    errors: Errors = []
    if policy is None and rules:
        errors.append(required(f"{path}.restartPolicy", _POLICY_FOR_RULES))
    errors += enumerated_if_set(f"{path}.restartPolicy", policy, _RESTART_POLICIES)
    if len(rules) > 20:
        errors.append(too_many(f"{path}.restartPolicyRules", len(rules), 20))
    for index, rule in enumerate(rules):
        errors += _restart_rule(rule, f"{path}.restartPolicyRules[{index}]")
    return errors


def _restart_rule(rule: Object, path: str) -> Errors:
    errors = enumerated_if_set(f"{path}.action", rule.get("action", ""), _RESTART_ACTIONS)
    codes = rule.get("exitCodes")
    if codes is None:
        return [*errors, required(f"{path}.exitCodes", "must be specified")]
    errors += enumerated_if_set(f"{path}.exitCodes.operator", codes.get("operator", ""), ("In", "NotIn"))
    if len(codes.get("values") or ()) > 255:
        errors.append(too_many(f"{path}.exitCodes.values", len(codes["values"]), 255))
    return errors
