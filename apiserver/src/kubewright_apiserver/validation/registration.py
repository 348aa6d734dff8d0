"""APIServices and StorageVersionMigrations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubewright_apiserver.schema.goprint import compact, printed
from kubewright_apiserver.status import invalid_field, not_supported, required
from kubewright_apiserver.validation.metadata import (
    created_metadata,
    generic_metadata,
    generic_update,
    updated_metadata,
)
from kubewright_apiserver.validation.names import dns1035_label, dns_subdomain, path_segment, port_number
from kubewright_apiserver.validation.rules import IMMUTABLE, Errors, Object, named
from kubewright_apiserver.validation.statuses import condition_errors, printed_condition

__all__ = [
    "created_api_service",
    "created_migration",
    "updated_api_service",
    "updated_api_service_status",
    "updated_migration",
    "updated_migration_status",
]

_CONDITIONS: Final = "status.conditions"


def created_api_service(obj: Object) -> Errors:
    """The errors of a new APIService."""
    spec = obj.get("spec") or {}
    group, version, service = spec.get("group", ""), spec.get("version", ""), spec.get("service")
    wanted = f"{version}.{group}"

    def name_rule(name: str) -> Sequence[str]:
        told = f'must be `spec.version+"."+spec.group`: "{wanted}"'
        return path_segment(name) or (() if name == wanted else (told,))

    errors = generic_metadata(obj, False, name_rule)
    if not group and version != "v1":
        detail = "only v1 may have an empty group and it better be legacy kube"
        errors.append(required("spec.group", detail))
    errors += named(dns_subdomain, "spec.group", group) if group else []
    errors += named(dns1035_label, "spec.version", version)
    for name, most in (("groupPriorityMinimum", 20000), ("versionPriority", 1000)):
        if not 0 < spec.get(name, 0) <= most:
            errors.append(invalid_field(f"spec.{name}", spec.get(name, 0), f"must be positive and less than {most}"))
    return errors + (_local(spec) if service is None else _service(service, spec))


def _local(spec: Object) -> Errors:
    errors: Errors = []
    if bundle := spec.get("caBundle"):
        size = len(bundle) // 4 * 3 - bundle.count("=")
        errors.append(invalid_field("spec.caBundle", f"{size} bytes", "local APIServices may not have a caBundle"))
    if spec.get("insecureSkipTLSVerify"):
        detail = "local APIServices may not have insecureSkipTLSVerify"
        errors.append(invalid_field("spec.insecureSkipTLSVerify", True, detail))
    return errors


def _service(service: Object, spec: Object) -> Errors:
    errors = [required(f"spec.service.{name}") for name in ("namespace", "name") if not service.get(name)]
    port = service.get("port", 0)
    if messages := port_number(port):
        errors.append(invalid_field("spec.service.port", port, f"port is not valid: {', '.join(messages)}"))
    if spec.get("insecureSkipTLSVerify") and spec.get("caBundle"):
        detail = "may not be true if caBundle is present"
        errors.append(invalid_field("spec.insecureSkipTLSVerify", True, detail))
    return errors


def updated_api_service(obj: Object, old: Object) -> Errors:
    """The errors of an APIService that is written over an old one."""
    return generic_update(obj, old) + created_api_service(obj)


def updated_api_service_status(obj: Object, old: Object) -> Errors:
    """The errors of an APIService whose status is written."""
    errors = generic_update(obj, old)
    for index, condition in enumerate((obj.get("status") or {}).get("conditions") or ()):
        state = condition.get("status", "")
        if state not in ("True", "False", "Unknown"):
            errors.append(not_supported(f"{_CONDITIONS}[{index}].status", state, ("True", "False", "Unknown")))
    return errors


def created_migration(obj: Object) -> Errors:
    """The errors of a new StorageVersionMigration."""
    resource = (obj.get("spec") or {}).get("resource") or {}
    name, group = resource.get("resource", ""), resource.get("group", "")
    errors = created_metadata(obj, False, dns_subdomain)
    if not name:
        errors.append(required("spec.resource.resource", "resource is required to be set"))
    elif messages := dns1035_label(name):
        errors.append(invalid_field("spec.resource.resource", name, ",".join(messages)))
    if group and (messages := dns_subdomain(group)):
        errors.append(invalid_field("spec.resource.group", group, ",".join(messages)))
    return errors


def updated_migration(obj: Object, old: Object) -> Errors:
    """The errors of a StorageVersionMigration that is written over an old one."""
    errors = created_migration(obj) + updated_metadata(obj, old)
    if obj.get("spec") == old.get("spec"):
        return errors
    return [
        *errors,
        invalid_field("spec", printed("storagemigration.StorageVersionMigrationSpec", obj["spec"]), IMMUTABLE),
    ]


def _is_true(status: Object, kind: str) -> bool:
    conditions = status.get("conditions") or ()
    return any(condition.get("type") == kind and condition.get("status") == "True" for condition in conditions)


def updated_migration_status(obj: Object, old: Object) -> Errors:
    """The errors of a StorageVersionMigration whose status is written."""
    new, before = obj.get("status") or {}, old.get("status") or {}
    conditions, revision = new.get("conditions") or [], new.get("resourceVersion", "")
    errors = updated_metadata(obj, old) + condition_errors(conditions, _CONDITIONS)
    shown = compact([printed_condition(condition) for condition in conditions])
    if before.get("resourceVersion") and before["resourceVersion"] != revision:
        errors.append(invalid_field("status.resourceVersion", revision, IMMUTABLE))
    if _is_true(new, "Succeeded") and _is_true(new, "Failed"):
        detail = "Both success and failed conditions cannot be true at the same time"
        errors.append(invalid_field(_CONDITIONS, shown, detail))
    for kind, told in (("Succeeded", "Success"), ("Failed", "Failed")):
        if _is_true(before, kind) and not _is_true(new, kind):
            detail = f"{told} condition cannot be set to false once it is true"
            errors.append(invalid_field(_CONDITIONS, shown, detail))
    return errors
