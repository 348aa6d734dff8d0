"""StorageClasses, VolumeAttributesClasses, VolumeAttachments and what CSI drivers say of themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubewright_apiserver.schema.goprint import printed
from kubewright_apiserver.status import duplicate, forbidden_field, invalid_field, not_supported, required, too_long
from kubewright_apiserver.validation.labels import printed_selector, same_selector, selector_errors
from kubewright_apiserver.validation.metadata import created_metadata, updated_metadata
from kubewright_apiserver.validation.names import dns_subdomain, qualified_name
from kubewright_apiserver.validation.persistent_volume import inline_volume
from kubewright_apiserver.validation.resources import non_negative_quantity
from kubewright_apiserver.validation.rules import (
    IMMUTABLE,
    Errors,
    Object,
    enumerated_if_set,
    immutable,
    named,
    non_negative,
    qualified_errors,
    unchangeable,
)
from kubewright_apiserver.validation.volume import csi_driver_name

__all__ = [
    "created_attachment",
    "created_attributes_class",
    "created_csi_driver",
    "created_csi_node",
    "created_storage_capacity",
    "created_storage_class",
    "updated_attachment",
    "updated_attributes_class",
    "updated_csi_driver",
    "updated_csi_node",
    "updated_storage_capacity",
    "updated_storage_class",
]

_MOST_BYTES: Final = 256 * 1024
_MOST_PARAMETERS: Final = 512


def created_storage_class(obj: Object) -> Errors:
    """The errors of a new StorageClass."""
    errors = created_metadata(obj, False, dns_subdomain) + _provisioner(obj.get("provisioner", ""), "provisioner")
    errors += _parameters(obj.get("parameters") or {}, needs_some=False)
    errors += enumerated_if_set("reclaimPolicy", obj.get("reclaimPolicy") or None, ("Delete", "Retain"))
    mode = obj.get("volumeBindingMode")
    if mode is None:
        errors.append(required("volumeBindingMode"))
    errors += enumerated_if_set("volumeBindingMode", mode, ("Immediate", "WaitForFirstConsumer"))
    return errors + _topologies(obj.get("allowedTopologies") or (), "allowedTopologies")


def updated_storage_class(obj: Object, old: Object) -> Errors:
    """The errors of a StorageClass that is written over an old one."""
    errors = created_storage_class(obj) + updated_metadata(obj, old)
    errors += immutable("parameters", obj.get("parameters"), old.get("parameters"))
    for name in ("provisioner", "reclaimPolicy", "volumeBindingMode"):
        errors += immutable(name, obj.get(name), old.get(name))
    return errors


def _provisioner(name: str, path: str) -> Errors:
    return [invalid_field(path, name.lower(), m) for m in qualified_name(name.lower())] if name else [required(path)]


def _parameters(parameters: dict[str, str], *, needs_some: bool) -> Errors:
    path = "parameters"
    if len(parameters) > _MOST_PARAMETERS:
        return [too_long(path, _MOST_PARAMETERS)]
    errors = [invalid_field(path, "", "field can not be empty.")] if "" in parameters else []
    if sum(len(text.encode()) for pair in parameters.items() for text in pair) > _MOST_BYTES:
        errors.append(too_long(path, _MOST_BYTES))
    if needs_some and not parameters:
        errors.append(required(path, "must contain at least one key/value pair"))
    return errors


def _topologies(terms: Sequence[Object], path: str) -> Errors:
    errors: Errors = []
    seen: list[dict[str, set[str]]] = [{} for _ in terms]
    for index, term in enumerate(terms):
        found: dict[str, set[str]] = {}
        at = f"{path}[{index}].matchLabelExpressions"
        for place, requirement in enumerate(term.get("matchLabelExpressions") or ()):
            key, values = requirement.get("key", ""), requirement.get("values") or []
            errors += _topology(key, values, f"{at}[{place}]")
            if key in found:
                errors.append(duplicate(f"{at}[{place}].key", key))
            found[key] = {*values}
        errors += [duplicate(at, "") for other in seen if other == found]
        seen.append(found)
    return errors


def _topology(key: str, values: Sequence[str], path: str) -> Errors:
    errors = [] if values else [required(f"{path}.values")]
    errors += [
        duplicate(f"{path}.values[{index}]", value) for index, value in enumerate(values) if value in values[:index]
    ]
    return errors + qualified_errors(f"{path}.key", key)


def created_attributes_class(obj: Object) -> Errors:
    """The errors of a new VolumeAttributesClass."""
    errors = created_metadata(obj, False, dns_subdomain) + _provisioner(obj.get("driverName", ""), "driverName")
    return errors + _parameters(obj.get("parameters") or {}, needs_some=True)


def updated_attributes_class(obj: Object, old: Object) -> Errors:
    """The errors of a VolumeAttributesClass that is written over an old one."""
    errors = updated_metadata(obj, old)
    for name in ("driverName", "parameters"):
        errors += unchangeable(name, obj.get(name), old.get(name), f"updates to {name} are forbidden.")
    return errors + created_attributes_class(obj)


def created_attachment(obj: Object) -> Errors:
    """The errors of a new VolumeAttachment."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    volume = (spec.get("source") or {}).get("persistentVolumeName")
    errors = created_metadata(obj, False, dns_subdomain)
    errors += csi_driver_name(spec.get("attacher"), "spec.attacher")
    errors += _attached(spec.get("source") or {}, "spec.source")
    errors += named(dns_subdomain, "spec.nodeName", spec.get("nodeName", ""))
    metadata = status.get("attachmentMetadata") or {}
    if sum(len(text.encode()) for pair in metadata.items() for text in pair) > _MOST_BYTES:
        errors.append(too_long("status.attachmentMetadata", _MOST_BYTES))
    for name in ("attachError", "detachError"):
        errors += _volume_error(status.get(name) or {}, f"status.{name}")
    return errors + (named(dns_subdomain, "spec.source.persistentVolumeName", volume) if volume is not None else [])


def _attached(source: Object, path: str) -> Errors:
    inline, volume = source.get("inlineVolumeSpec"), source.get("persistentVolumeName")
    detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    if inline is None and volume is None:
        return [required(path, detail)]
    if inline is not None and volume is not None:
        return [forbidden_field(path, detail)]
    if inline is not None:
        return inline_volume(inline, f"{path}.inlineVolumeSpec")
    told = "must specify non empty persistentVolumeName"
    return [] if volume else [required(f"{path}.persistentVolumeName", told)]


def _volume_error(error: Object, path: str) -> Errors:
    code = error.get("errorCode", 0)
    errors = [too_long(f"{path}.message", _MOST_BYTES)] if len(error.get("message", "").encode()) > 1024 else []
    if code < 0:
        errors.append(invalid_field(f"{path}.errorCode", code, "must be between 0 and 2147483647, inclusive"))
    return errors


def updated_attachment(obj: Object, old: Object) -> Errors:
    """The errors of a VolumeAttachment that is written over an old one, or whose status is."""
    new, before = (printed("storage.VolumeAttachmentSpec", holder.get("spec") or {}) for holder in (obj, old))
    errors = created_attachment(obj)
    return errors if new == before else [*errors, invalid_field("spec", new, IMMUTABLE)]


def created_csi_node(obj: Object) -> Errors:
    """The errors of a new CSINode."""
    errors = created_metadata(obj, False, dns_subdomain)
    drivers = (obj.get("spec") or {}).get("drivers") or ()
    for index, driver in enumerate(drivers):
        path, name = f"spec.drivers[{index}]", driver.get("name", "")
        errors += csi_driver_name(name, f"{path}.name") + _node_id(driver.get("nodeID", ""), f"{path}.nodeID")
        errors += non_negative(f"{path}.allocatable.count", (driver.get("allocatable") or {}).get("count"))
        if name in [other.get("name", "") for other in drivers[:index]]:
            errors.append(duplicate(f"{path}.name", name))
        errors += _topology_keys(driver.get("topologyKeys") or (), path)
    return errors


def _node_id(name: str, path: str) -> Errors:
    if not name:
        return [required(path)]
    return [invalid_field(path, name, "must be 256 characters or less")] if len(name.encode()) > 256 else []


def _topology_keys(keys: Sequence[str], path: str) -> Errors:
    errors: Errors = []
    for index, key in enumerate(keys):
        if not key:
            errors.append(required(path))
        if key in keys[:index]:
            errors.append(duplicate(path, key))
        errors += qualified_errors(path, key)
    return errors


def updated_csi_node(obj: Object, old: Object) -> Errors:
    """The errors of a CSINode that is written over an old one."""
    errors = created_csi_node(obj)
    drivers = (obj.get("spec") or {}).get("drivers") or ()
    for before in (old.get("spec") or {}).get("drivers") or ():
        for driver in drivers:
            if driver.get("name") != before.get("name"):
                continue
            new, was = (printed("storage.CSINodeDriver", {**one, "allocatable": None}) for one in (driver, before))
            errors += [] if new == was else [invalid_field("spec.drivers", new, IMMUTABLE)]
    return errors


def created_csi_driver(obj: Object) -> Errors:
    """The errors of a new CSIDriver."""
    return created_metadata(obj, False, dns_subdomain) + _driver(obj.get("spec") or {})


def updated_csi_driver(obj: Object, old: Object) -> Errors:
    """The errors of a CSIDriver that is written over an old one."""
    new, before = obj.get("spec") or {}, old.get("spec") or {}
    errors = updated_metadata(obj, old) + _driver(new)
    errors += immutable("spec.attachedRequired", new.get("attachRequired"), before.get("attachRequired"))
    modes = "volumeLifecycleModes"
    return errors + immutable(f"spec.{modes}", new.get(modes), before.get(modes))


def _driver(spec: Object) -> Errors:
    names = (
        ("attachRequired", "attachedRequired"),
        ("podInfoOnMount", "podInfoOnMount"),
        ("storageCapacity", "storageCapacity"),
    )
    errors = [required(f"spec.{told}") for name, told in names if spec.get(name) is None]
    policies = ("File", "None", "ReadWriteOnceWithFSType")
    errors += enumerated_if_set("spec.fsGroupPolicy", spec.get("fsGroupPolicy"), policies)
    errors += _token_requests(spec.get("tokenRequests") or (), "spec.tokenRequests")
    for mode in spec.get("volumeLifecycleModes") or ():
        if mode not in ("Persistent", "Ephemeral"):
            errors.append(not_supported("spec.volumeLifecycleModes", mode, ("Persistent", "Ephemeral")))
    if spec.get("seLinuxMount") is None:
        errors.append(required("spec.seLinuxMount"))
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < 10:
        detail = "must be greater than or equal to 10 seconds"
        errors.append(invalid_field("spec.nodeAllocatableUpdatePeriodSeconds", period, detail))
    secrets = spec.get("serviceAccountTokenInSecrets")
    if secrets is not None and not spec.get("tokenRequests"):
        detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        errors.append(invalid_field("spec.serviceAccountTokenInSecrets", secrets, detail))
    return errors


def _token_requests(requests: Sequence[Object], path: str) -> Errors:
    errors: Errors = []
    audiences: set[str] = set()
    for index, request in enumerate(requests):
        audience, seconds = request.get("audience", ""), request.get("expirationSeconds")
        if audience in audiences:
            errors.append(duplicate(f"{path}[{index}].audience", audience))
            continue
        audiences.add(audience)
        at = f"{path}[{index}].expirationSeconds"
        if seconds is not None and seconds < 600:
            errors.append(invalid_field(at, seconds, "may not specify a duration less than 10 minutes"))
        if seconds is not None and seconds > 1 << 32:
            errors.append(invalid_field(at, seconds, "may not specify a duration larger than 2^32 seconds"))
    return errors


def created_storage_capacity(obj: Object) -> Errors:
    """The errors of a new CSIStorageCapacity."""
    errors = created_metadata(obj, True, dns_subdomain) + selector_errors(obj.get("nodeTopology"), "nodeTopology")
    errors += named(dns_subdomain, "storageClassName", obj.get("storageClassName", ""))
    capacity = obj.get("capacity")
    return errors if capacity is None else errors + non_negative_quantity(capacity, "capacity")


def updated_storage_capacity(obj: Object, old: Object) -> Errors:
    """The errors of a CSIStorageCapacity that is written over an old one."""
    errors = created_storage_capacity(obj) + updated_metadata(obj, old)
    topology, name = obj.get("nodeTopology"), obj.get("storageClassName", "")
    if not same_selector(topology, old.get("nodeTopology")):
        errors.append(invalid_field("nodeTopology", printed_selector(topology), IMMUTABLE))
    return errors + immutable("storageClassName", name, old.get("storageClassName", ""))
