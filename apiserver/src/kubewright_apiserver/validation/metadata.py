"""What holds for the metadata of every object: names, namespace, labels, annotations, owners, finalizers."""

from __future__ import annotations

from typing import Final

from kubewright_apiserver.schema.goprint import compact
from kubewright_apiserver.status import forbidden_field, invalid_field, required, too_long
from kubewright_apiserver.validation.labels import label_errors
from kubewright_apiserver.validation.names import NameRule, dns_label, generated, path_segment, qualified_name
from kubewright_apiserver.validation.rules import Errors, Object, immutable, named, non_negative

__all__ = [
    "annotation_errors",
    "common_errors",
    "created_metadata",
    "finalizer_errors",
    "generic_metadata",
    "generic_update",
    "updated_metadata",
]

_STANDARD_FINALIZERS: Final = frozenset(("kubernetes", "orphan", "foregroundDeletion"))
_ANNOTATION_BYTES: Final = 256 * 1024
_FIXED: Final = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


def created_metadata(obj: Object, namespaced: bool, rule: NameRule) -> Errors:
    """The errors of a new object's metadata, by the rule of its kind for names."""
    return generic_metadata(obj, namespaced, rule) + _kubernetes_finalizers(obj["metadata"])


def generic_metadata(obj: Object, namespaced: bool, rule: NameRule) -> Errors:
    """The same, without the rule that a finalizer of a built-in kind has a prefix."""
    metadata = obj["metadata"]
    errors: Errors = []
    if prefix := metadata.get("generateName"):
        errors += named(generated(rule), "metadata.generateName", prefix)
    if name := metadata.get("name"):
        errors += named(rule, "metadata.name", name)
    else:
        errors.append(required("metadata.name", "name or generateName is required"))
    errors += _namespace_errors(metadata.get("namespace"), namespaced)
    errors += non_negative("metadata.generation", metadata.get("generation"))
    errors += _map_errors(metadata)
    errors += finalizer_errors(metadata)
    return errors + _managed_fields(metadata)


def updated_metadata(obj: Object, old: Object) -> Errors:
    """The errors of the metadata of an object that is written over an old one."""
    return generic_update(obj, old) + _kubernetes_finalizers(obj["metadata"])


def common_errors(obj: Object, old: Object, namespaced: bool) -> Errors:
    """What every update is checked for before the rules of its kind."""
    return generic_metadata(obj, namespaced, path_segment) + generic_update(obj, old)


def generic_update(obj: Object, old: Object) -> Errors:
    """The same as ``updated_metadata``, without the rule that a finalizer of a built-in kind has a prefix."""
    new_meta, old_meta = obj["metadata"], old["metadata"]
    errors = _new_finalizers(new_meta, old_meta) if old_meta.get("deletionTimestamp") else []
    if not new_meta.get("resourceVersion"):
        errors.append(invalid_field("metadata.resourceVersion", "", "must be specified for an update"))
    generation = new_meta.get("generation", 0)
    if generation < old_meta.get("generation", 0):
        errors.append(invalid_field("metadata.generation", generation, "must not be decremented"))
    for name in _FIXED:
        errors += immutable(f"metadata.{name}", new_meta.get(name), old_meta.get(name))
    return errors + _map_errors(new_meta) + _managed_fields(new_meta)


def _namespace_errors(namespace: str | None, namespaced: bool) -> Errors:
    if not namespaced:
        return [forbidden_field("metadata.namespace", "not allowed on this type")] if namespace else []
    return named(dns_label, "metadata.namespace", namespace) if namespace else [required("metadata.namespace")]


def _map_errors(metadata: Object) -> Errors:
    errors = label_errors(metadata["labels"], "metadata.labels") if metadata.get("labels") else []
    if annotations := metadata.get("annotations"):
        errors += annotation_errors(annotations, "metadata.annotations")
    if owners := metadata.get("ownerReferences"):
        errors += _owner_errors(owners)
    return errors


def annotation_errors(annotations: dict[str, str], path: str) -> Errors:
    """The errors of annotations: their keys, and their size together."""
    errors: Errors = []
    size = 0
    for key, value in annotations.items():
        errors += [invalid_field(path, key, message) for message in qualified_name(key.lower())]
        size += len(key.encode()) + len(value.encode())
    return [*errors, too_long(path, _ANNOTATION_BYTES)] if size > _ANNOTATION_BYTES else errors


def _owner_errors(owners: list[Object]) -> Errors:
    path = "metadata.ownerReferences"
    errors: Errors = []
    controller = ""
    for owner in owners:
        errors += _reference_errors(owner, path)
        if not owner.get("controller"):
            continue
        name = f"{owner.get('kind', '')}/{owner.get('name', '')}"
        if controller:
            detail = (
                "Only one reference can have Controller set to true."
                f' Found "true" in references for {controller} and {name}'
            )
            errors.append(invalid_field(path, compact([*map(_owner_struct, owners)]), detail))
        else:
            controller = name
    return errors


def _reference_errors(owner: Object, path: str) -> Errors:
    api_version = owner.get("apiVersion", "")
    errors: Errors = []
    if not api_version.rpartition("/")[2] or api_version.count("/") > 1:
        errors.append(invalid_field(f"{path}.apiVersion", api_version, "version must not be empty"))
    errors += [
        invalid_field(f"{path}.{name}", "", "must not be empty")
        for name in ("kind", "name", "uid")
        if not owner.get(name)
    ]
    if api_version == "v1" and owner.get("kind") == "Event":
        detail = "/v1, Kind=Event is disallowed from being an owner"
        errors.append(invalid_field(path, compact(_owner_struct(owner)), detail))
    return errors


def _owner_struct(owner: Object) -> Object:
    always = {name: owner.get(name, "") for name in ("apiVersion", "kind", "name", "uid")}
    return always | {name: owner[name] for name in ("controller", "blockOwnerDeletion") if name in owner}


def finalizer_errors(metadata: Object) -> Errors:
    """The errors of finalizers: their names, and the two that exclude each other."""
    path, finalizers = "metadata.finalizers", metadata.get("finalizers", ())
    errors: Errors = []
    for finalizer in finalizers:
        errors += named(qualified_name, path, finalizer)
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        detail = "finalizer orphan and foregroundDeletion cannot be both set"
        errors.append(invalid_field(path, finalizers, detail))
    return errors


def _kubernetes_finalizers(metadata: Object) -> Errors:
    detail = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid_field(f"metadata.finalizers[{index}]", finalizer, detail)
        for index, finalizer in enumerate(metadata.get("finalizers", ()))
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS
    ]


def _new_finalizers(new_meta: Object, old_meta: Object) -> Errors:
    extra = sorted({*new_meta.get("finalizers", ())} - {*old_meta.get("finalizers", ())})
    if not extra:
        return []
    listed = ", ".join(f'"{finalizer}"' for finalizer in extra)
    detail = f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{listed}}}"
    return [forbidden_field("metadata.finalizers", detail)]


def _managed_fields(metadata: Object) -> Errors:
    errors: Errors = []
    for index, entry in enumerate(metadata.get("managedFields", ())):
        path = f"metadata.managedFields[{index}]"
        if entry.get("operation") not in ("Apply", "Update"):
            errors.append(invalid_field(f"{path}.operation", entry.get("operation", ""), "must be `Apply` or `Update`"))
        if entry.get("fieldsType", "FieldsV1") != "FieldsV1":
            errors.append(invalid_field(f"{path}.fieldsType", entry["fieldsType"], "must be `FieldsV1`"))
        if len(entry.get("manager", "").encode()) > 128:
            errors.append(too_long(f"{path}.manager", 128))
        if len(entry.get("subresource", "").encode()) > 256:
            errors.append(too_long(f"{path}.subresource", 256))
    return errors
