"""CustomResourceDefinitions as objects: their defaults, what a write does to them, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kubewright_apiserver.golang import go_json
from kubewright_apiserver.registry.crd_approval import approval_errors
from kubewright_apiserver.registry.crd_conversion import conversion_errors, has_invalid_ca
from kubewright_apiserver.registry.crd_names import is_true, name_errors
from kubewright_apiserver.registry.crd_versions import (
    Parts,
    column_errors,
    parts_of,
    selectable_errors,
    subresource_errors,
    version_schema_errors,
)
from kubewright_apiserver.schema.formats import is_recognised_format
from kubewright_apiserver.schema.gostruct import versions_struct
from kubewright_apiserver.schema.structural import inner_schemas
from kubewright_apiserver.status import (
    FieldError,
    Printed,
    invalid_field,
    not_supported,
    required,
)
from kubewright_apiserver.validation.metadata import generic_metadata, generic_update
from kubewright_apiserver.validation.names import dns1035_label, dns_subdomain, path_segment

__all__ = [
    "crd_errors",
    "crd_status_errors",
    "crd_warnings",
    "default_crd",
    "embedded_metadata_errors",
    "prepare_crd_create",
    "prepare_crd_update",
]

_IMMUTABLE: Final = "field is immutable"


def default_crd(crd: dict[str, Any]) -> None:
    """Fill in the names, the conversion and the stored version that the server fills in, in place."""
    spec = crd.setdefault("spec", {})
    names = spec.setdefault("names", {})
    if not names.get("singular"):
        names["singular"] = names.get("kind", "").lower()
    if not names.get("listKind") and names.get("kind"):
        names["listKind"] = f"{names['kind']}List"
    if spec.get("conversion") is None:
        spec["conversion"] = {"strategy": "None"}
    service = ((spec["conversion"].get("webhook") or {}).get("clientConfig") or {}).get("service")
    if service is not None and service.get("port") is None:
        service["port"] = 443
    status = crd.setdefault("status", {})
    if not status.get("storedVersions"):
        status["storedVersions"] = _storage_versions(spec)[:1]


def prepare_crd_create(crd: dict[str, Any]) -> None:
    """Make the status of a new CRD: nothing but the version that its objects are stored at."""
    stored = _storage_versions(crd.get("spec") or {})[:1]
    crd["status"] = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored}


def prepare_crd_update(crd: dict[str, Any], old: dict[str, Any]) -> None:
    """Keep the status of a CRD that is written over an old one, a new storage version added to the stored ones."""
    status = dict(old.get("status") or {})
    stored = list(status.get("storedVersions") or ())
    stored += [name for name in _storage_versions(crd.get("spec") or {})[:1] if name not in stored]
    crd["status"] = {**status, "storedVersions": stored}


def _storage_versions(spec: dict[str, Any]) -> list[str]:
    return [version.get("name", "") for version in spec.get("versions") or () if version.get("storage")]


def embedded_metadata_errors(metadata: dict[str, Any]) -> list[FieldError]:
    """What is wrong with the metadata of a resource inside of a custom one, at ``metadata.…``."""
    return generic_metadata({"metadata": metadata}, bool(metadata.get("namespace")), path_segment)


def crd_errors(crd: dict[str, Any], old: dict[str, Any] | None = None) -> list[FieldError]:
    """All that is wrong with a CRD that is created, or written over an old one.

    It must have gone through ``default_crd`` and ``prepare_crd_create`` or ``prepare_crd_update``.
    """
    spec: dict[str, Any] = crd.get("spec") or {}
    errors = _name_errors(crd, spec) if old is None else generic_update(crd, old)
    errors += _spec_errors(spec, checks_ca=old is not None and _checks_ca(old))
    if old is not None:
        errors += _change_errors(spec, old)
    errors += _accepted_name_errors(crd)
    errors += _stored_version_errors(crd, spec)
    errors += approval_errors(crd, old)
    return errors + _unknown_field_errors(spec)


def crd_status_errors(crd: dict[str, Any], old: dict[str, Any]) -> list[FieldError]:
    """What is wrong with a CRD whose status is written over that of an old one."""
    return generic_update(crd, old) + _accepted_name_errors(crd)


def _accepted_name_errors(crd: dict[str, Any]) -> list[FieldError]:
    status: dict[str, Any] = crd.get("status") or {}
    return list(name_errors(status.get("acceptedNames") or {}, "status.acceptedNames"))


def crd_warnings(crd: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    """Warnings about formats in schemas that the server does not check, each new one."""
    known = {*_unrecognised(old)} if old is not None else set()
    return [f'unrecognized format "{name}"' for name in _unrecognised(crd) if name not in known]


def _unrecognised(crd: dict[str, Any]) -> Iterator[str]:
    common, versions = parts_of(crd.get("spec") or {})
    for part in (common, *versions):
        schema = (part.get("schema") or {}).get("openAPIV3Schema")
        if schema is not None:
            yield from _unrecognised_formats(schema)


def _unrecognised_formats(schema: dict[str, Any]) -> Iterator[str]:
    name = schema.get("format")
    if name and not is_recognised_format(schema.get("type", ""), name):
        yield name
    for inner in inner_schemas(schema):
        yield from _unrecognised_formats(inner)


def _name_errors(crd: dict[str, Any], spec: dict[str, Any]) -> list[FieldError]:
    wanted = f"{(spec.get('names') or {}).get('plural', '')}.{spec.get('group', '')}"

    def rule(name: str) -> tuple[str, ...]:
        wrong = dns_subdomain(name)
        return wrong if name == wanted else (*wrong, 'must be spec.names.plural+"."+spec.group')

    return generic_metadata({"metadata": crd.get("metadata") or {}}, False, rule)


def _spec_errors(spec: dict[str, Any], *, checks_ca: bool) -> Iterator[FieldError]:
    parts = parts_of(spec)
    yield from _group_errors(spec.get("group", ""))
    scope = spec.get("scope", "")
    if scope not in ("Cluster", "Namespaced"):
        yield not_supported("spec.scope", scope, ("Cluster", "Namespaced")) if scope else required("spec.scope")
    for index, version in enumerate(spec.get("versions") or ()):
        if (version.get("schema") or {}).get("openAPIV3Schema") is None:
            yield required(f"spec.versions[{index}].schema.openAPIV3Schema")
    if spec.get("preserveUnknownFields") and any(map(_has_default, _schemas(spec))):
        detail = "must be false in order to use defaults in the schema"
        yield invalid_field("spec.preserveUnknownFields", True, detail)
    yield from _version_errors(spec, parts)
    names: dict[str, Any] = spec.get("names") or {}
    for name in ("plural", "singular", "kind", "listKind"):
        if not names.get(name):
            yield required(f"spec.names.{name}")
    yield from name_errors(names, "spec.names")
    yield from _common_errors(parts)
    yield from _conversion_errors(spec, checks_ca)


def _group_errors(group: str) -> Iterator[FieldError]:
    if not group:
        yield required("spec.group")
    elif wrong := dns_subdomain(group):
        yield invalid_field("spec.group", group, ",".join(wrong))
    elif "." not in group:
        yield invalid_field("spec.group", group, "should be a domain with at least one dot")


def _schemas(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for version in spec.get("versions") or ():
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is not None:
            yield schema


def _has_default(schema: dict[str, Any]) -> bool:
    return schema.get("default") is not None or any(map(_has_default, inner_schemas(schema)))


def _version_errors(spec: dict[str, Any], parts: Parts) -> Iterator[FieldError]:
    versions: list[dict[str, Any]] = spec.get("versions") or []
    names = [version.get("name", "") for version in versions]
    for index, version in enumerate(parts.versions):
        path = f"spec.versions[{index}]"
        if wrong := dns1035_label(names[index]):
            yield invalid_field(f"{path}.name", names[index], ",".join(wrong))
        yield from _deprecation_errors(version, f"{path}.deprecationWarning")
        subresources = parts.subresources_of(names[index])
        yield from _separate_errors(version, path, has_status=subresources.get("status") is not None)
    shown = Printed("null" if spec.get("versions") is None else versions_struct(versions, parts.hoisted))
    if len(set(names)) != len(names):
        yield invalid_field("spec.versions", shown, "must contain unique version names")
    if len(_storage_versions(spec)) != 1:
        yield invalid_field("spec.versions", shown, "must have exactly one version marked as storage version")
    if names and names[0] and (wrong := dns1035_label(names[0])):
        yield invalid_field("spec.version", names[0], ",".join(wrong))


def _deprecation_errors(version: dict[str, Any], path: str) -> Iterator[FieldError]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    shown, wrong = Printed(go_json(warning)), []
    if not version.get("deprecated"):
        wrong = ["can only be set for deprecated versions"]
    else:
        if len(warning.encode()) > 256:
            wrong.append("must be <= 256 characters long")
        if not warning:
            wrong.append("must not be an empty string")
        place = next((index for index, letter in enumerate(warning) if not letter.isprintable()), None)
        if place is not None:
            found = f"non-printable character found at index {len(warning[:place].encode())}"
            wrong.append(f"must only contain printable UTF-8 characters; {found}")
    for message in wrong:
        yield invalid_field(path, shown, message)


def _separate_errors(version: dict[str, Any], path: str, *, has_status: bool) -> Iterator[FieldError]:
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    yield from version_schema_errors(schema, f"{path}.schema", embedded_metadata_errors, has_status=has_status)
    yield from subresource_errors(version.get("subresources"), f"{path}.subresources")
    yield from column_errors(version.get("additionalPrinterColumns"), f"{path}.additionalPrinterColumns")
    fields = version.get("selectableFields")
    if not fields:
        return
    if schema is None:
        detail = "may only be set when `version.schema.openAPIV3Schema` is not included"
        yield invalid_field(f"{path}.selectableFields", "", detail)
    else:
        yield from selectable_errors(fields, schema, f"{path}.selectableFields")


def _common_errors(parts: Parts) -> Iterator[FieldError]:
    common = parts.common
    found = (common.get("subresources"), *(version.get("subresources") for version in parts.versions))
    has_status = any((subresources or {}).get("status") is not None for subresources in found)
    schema = (common.get("schema") or {}).get("openAPIV3Schema")
    yield from version_schema_errors(schema, "spec.validation", embedded_metadata_errors, has_status=has_status)
    yield from subresource_errors(common.get("subresources"), "spec.subresources")
    yield from column_errors(common.get("additionalPrinterColumns"), "spec.additionalPrinterColumns")
    fields = common.get("selectableFields")
    if fields and common.get("schema") is None:
        yield invalid_field("spec.selectableFields", "", "may only be set when validations.schema is included")
    elif fields:
        yield from selectable_errors(fields, schema or {}, "spec.selectableFields")


def _conversion_errors(spec: dict[str, Any], checks_ca: bool) -> Iterator[FieldError]:
    conversion: dict[str, Any] = spec.get("conversion") or {}
    strategy = conversion.get("strategy", "")
    if strategy != "None" and spec.get("preserveUnknownFields"):
        detail = "must be None if spec.preserveUnknownFields is true"
        yield invalid_field("spec.conversion.strategy", strategy, detail)
    yield from conversion_errors(conversion, "spec.conversion", checks_ca=checks_ca)


def _checks_ca(old: dict[str, Any]) -> bool:
    """Whether the certificates of a webhook must be good: objects are served, and they were not bad before."""
    webhook = ((old.get("spec") or {}).get("conversion") or {}).get("webhook") or {}
    return is_true(old, "Established") and not has_invalid_ca(webhook.get("clientConfig") or {})


def _change_errors(spec: dict[str, Any], old: dict[str, Any]) -> Iterator[FieldError]:
    before: dict[str, Any] = old.get("spec") or {}
    names, old_names = spec.get("names") or {}, before.get("names") or {}
    if is_true(old, "Established"):
        if spec.get("scope") != before.get("scope"):
            yield invalid_field("spec.scope", spec.get("scope", ""), _IMMUTABLE)
        if names.get("kind") != old_names.get("kind"):
            yield invalid_field("spec.names.kind", names.get("kind", ""), _IMMUTABLE)
    if spec.get("group") != before.get("group"):
        yield invalid_field("spec.group", spec.get("group", ""), _IMMUTABLE)
    if names.get("plural") != old_names.get("plural"):
        yield invalid_field("spec.names.plural", names.get("plural", ""), _IMMUTABLE)


def _stored_version_errors(crd: dict[str, Any], spec: dict[str, Any]) -> Iterator[FieldError]:
    stored: list[str] = (crd.get("status") or {}).get("storedVersions") or []
    path = "status.storedVersions"
    if not stored:
        yield invalid_field(path, Printed("null"), "must have at least one stored version")
        return
    for version in spec.get("versions") or ():
        if version.get("storage") and version.get("name") not in stored:
            yield invalid_field(path, stored, f"must have the storage version {version.get('name', '')}")
    names = {version.get("name") for version in spec.get("versions") or ()}
    for index, name in enumerate(stored):
        if name not in names:
            detail = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions"
                f" until a storage migration ensures no data remains persisted in {name} and removes {name} from"
                " status.storedVersions"
            )
            yield invalid_field(f"{path}[{index}]", name, detail)


def _unknown_field_errors(spec: dict[str, Any]) -> list[FieldError]:
    if not spec.get("preserveUnknownFields"):
        return []
    detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
    return [invalid_field("spec.preserveUnknownFields", True, detail)]
