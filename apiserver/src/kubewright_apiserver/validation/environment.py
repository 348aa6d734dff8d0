"""The environment of containers: variables and where their values come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from kubewright_apiserver.schema.amount import canonical, nanos
from kubewright_apiserver.status import FieldError, invalid_field, not_supported, required
from kubewright_apiserver.validation.names import config_key, dns_subdomain, environment_name, masked, qualified_name
from kubewright_apiserver.validation.rules import (
    Errors,
    Object,
    backsteps,
    dns_label_errors,
    named,
    named_required,
)

__all__ = ["VOLUME_FIELDS", "environment", "environment_sources", "field_reference", "resource_reference"]

VOLUME_FIELDS: Final = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
"""What a downward API volume may show of its pod."""

_VARIABLE_FIELDS: Final = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_KNOWN_FIELDS: Final = frozenset(
    (*VOLUME_FIELDS, *_VARIABLE_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase", "spec.host")
)
_RESOURCES: Final = tuple(
    f"{part}.{name}" for part in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_HUGE_PAGES: Final = ("limits.hugepages-", "requests.hugepages-")
_SIZES: Final = ("1", *(f"1{suffix}" for suffix in ("k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")))
_DIVIDED: Final = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}


def environment(variables: Sequence[Object], path: str) -> Errors:
    """The errors of a container's variables."""
    errors: Errors = []
    for index, variable in enumerate(variables):
        if not variable.get("name") or environment_name(variable["name"]):
            errors += named_required(environment_name, f"{path}[{index}].name", variable.get("name"))
        if (source := variable.get("valueFrom")) is not None:
            errors += _value_source(source, bool(variable.get("value")), f"{path}[{index}].valueFrom")
    return errors


def _value_source(source: Object, has_value: bool, path: str) -> Errors:
    errors: Errors = []
    present = [kind for kind in _SOURCES if source.get(kind) is not None]
    for kind in present:
        errors += _SOURCES[kind](source[kind], f"{path}.{kind}")
    if not present:
        detail = (
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        )
        errors.append(invalid_field(path, "", detail))
    elif has_value:
        errors.append(invalid_field(path, "", "may not be specified when `value` is not empty"))
    elif len(present) > 1:
        errors.append(invalid_field(path, "", "may not have more than one field specified at a time"))
    return errors


def field_reference(reference: Object, path: str, known: Sequence[str] = _VARIABLE_FIELDS) -> Errors:
    """The errors of a reference to a field of the pod."""
    for name in ("apiVersion", "fieldPath"):
        if not reference.get(name):
            return [required(f"{path}.{name}")]
    text = reference["fieldPath"]
    field, subscript = _subscripted(text)
    if problem := _conversion_problem(reference["apiVersion"], text, field, subscript):
        return [invalid_field(f"{path}.fieldPath", text, f"error converting fieldPath: {problem}")]
    if subscript is not None:
        return named(qualified_name, path, subscript.lower() if field.endswith("annotations") else subscript)
    field = "spec.nodeName" if field == "spec.host" else field
    return [] if field in known else [not_supported(f"{path}.fieldPath", field, known)]


def _subscripted(text: str) -> tuple[str, str | None]:
    field, bracket, subscript = text.removesuffix("']").partition("['")
    return (field, subscript) if text.endswith("']") and bracket and field else (text, None)


def _conversion_problem(version: str, text: str, field: str, subscript: str | None) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscript is not None:
        known = field in ("metadata.annotations", "metadata.labels")
        return "" if known else f"field label does not support subscript: {text}"
    return "" if text in _KNOWN_FIELDS else f"field label not supported: {text}"


def resource_reference(reference: Object, path: str, *, volume: bool = False) -> Errors:
    """The errors of a reference to what a container asks for; a volume must name the container."""
    resource, errors = reference.get("resource", ""), list[FieldError]()
    if volume and not reference.get("containerName"):
        errors.append(required(f"{path}.containerName"))
    elif not resource:
        errors.append(required(f"{path}.resource"))
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        errors.append(not_supported(f"{path}.resource", resource, _RESOURCES))
    return errors + _divisor(resource, reference.get("divisor"), f"{path}.divisor")


def _divisor(resource: str, divisor: str | None, path: str) -> Errors:
    if not nanos(divisor):
        return []
    text, kind = canonical(divisor or "0"), resource.partition(".")[2]
    if kind == "cpu":
        detail = "only divisor's values 1m and 1 are supported with the cpu resource"
        return [] if text in ("1m", "1") else [invalid_field(path, resource, detail)]
    told = "hugepages" if resource.startswith(_HUGE_PAGES) else _DIVIDED.get(kind)
    if told is None or text in _SIZES:
        return []
    detail = f"only divisor's values {', '.join(_SIZES)} are supported with the {told} resource"
    return [invalid_field(path, resource, detail)]


def _key_reference(reference: Object, path: str) -> Errors:
    errors = named(dns_subdomain, f"{path}.name", reference.get("name", ""))
    return errors + named_required(config_key, f"{path}.key", reference.get("key"))


def _file_reference(reference: Object, path: str) -> Errors:
    errors = named_required(environment_name, f"{path}.key", reference.get("key"))
    if volume := reference.get("volumeName"):
        errors += dns_label_errors(f"{path}.volumeName", volume)
    else:
        errors.append(required(f"{path}.volumeName"))
    if file := reference.get("path"):
        return errors + backsteps(f"{path}.path", file)
    return [*errors, required(f"{path}.path")]


_SOURCES: Final[dict[str, Callable[[Object, str], Errors]]] = {
    "fieldRef": field_reference,
    "resourceFieldRef": resource_reference,
    "configMapKeyRef": _key_reference,
    "secretKeyRef": _key_reference,
    "fileKeyRef": _file_reference,
}


def environment_sources(sources: Sequence[Object], path: str) -> Errors:
    """The errors of the ConfigMaps and Secrets that a container takes all variables from."""
    errors: Errors = []
    for index, source in enumerate(sources):
        at = f"{path}[{index}]"
        if prefix := source.get("prefix"):
            errors += named(environment_name, f"{at}.prefix", prefix)
        present = [kind for kind in ("configMapRef", "secretRef") if source.get(kind) is not None]
        for kind in present:
            errors += _source_name(source[kind], f"{at}.{kind}.name")
        if not present:
            errors.append(invalid_field(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(present) > 1:
            errors.append(invalid_field(path, "", "may not have more than one field specified at a time"))
    return errors


def _source_name(reference: Object, path: str) -> Errors:
    name = reference.get("name")
    if not name:
        return [required(path)]
    return [invalid_field(path, name, message) for message in dns_subdomain(masked(name))]
