"""PersistentVolumes: exactly one source, which stays."""

from __future__ import annotations

import posixpath
from typing import Final

from kubewright_apiserver.data import internal_types
from kubewright_apiserver.schema.goprint import difference, printed
from kubewright_apiserver.status import forbidden_field, invalid_field, not_supported, required
from kubewright_apiserver.validation.claim import VOLUME_MODES, access_modes
from kubewright_apiserver.validation.equality import same
from kubewright_apiserver.validation.metadata import created_metadata, updated_metadata
from kubewright_apiserver.validation.names import dns_label, dns_subdomain
from kubewright_apiserver.validation.resources import basic_quantity, positive_quantity
from kubewright_apiserver.validation.rules import (
    IMMUTABLE,
    Errors,
    Object,
    backsteps,
    dns_label_errors,
    dns_subdomain_errors,
    enumerated_if_set,
    immutable,
    named,
    named_if_set,
    needed,
)
from kubewright_apiserver.validation.scheduling import node_selector
from kubewright_apiserver.validation.volume import (
    INITIATOR_NAME_LENGTH,
    ONE_VOLUME_TYPE,
    Rule,
    aws_store,
    azure_disk,
    csi_driver_name,
    fibre_channel,
    flex_volume,
    flocker,
    gce_disk,
    host_path,
    iscsi_rest,
    needing,
    nfs,
    quobyte,
    storage_os_names,
    volume_sources,
)

__all__ = ["created_volume", "inline_volume", "updated_volume", "updated_volume_status"]

_SOURCE: Final = "io.k8s.api.core.v1.PersistentVolumeSpec"
_MOUNT_OPTIONS: Final = "volume.beta.kubernetes.io/mount-options"
_INLINE: Final = "in the context of inline volumes"
_WITH_MOUNT_OPTIONS: Final = (
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "nfs",
    "rbd",
    "quobyte",
    "iscsi",
    "cinder",
    "cephfs",
    "azureFile",
    "vsphereVolume",
    "azureDisk",
    "photonPersistentDisk",
)


def _glusterfs(source: Object, path: str) -> Errors:
    errors = needed(source, path, "endpoints", "path")
    namespace, at = source.get("endpointsNamespace"), f"{path}.endpointsNamespace"
    if namespace is None:
        return errors
    if not namespace:
        detail = "if the endpointnamespace is set, it must be a valid namespace name"
        return [*errors, invalid_field(at, namespace, detail)]
    return errors + named(dns_label, at, namespace)


def _iscsi(source: Object, path: str) -> Errors:
    return needed(source, path, "targetPortal") + iscsi_rest(source, path, "must be valid format")


def _cinder(source: Object, path: str) -> Errors:
    errors, secret = needed(source, path, "volumeID"), source.get("secretRef")
    return errors if secret is None else errors + needed(secret, f"{path}.secretRef", "name", "namespace")


def _azure_file(source: Object, path: str) -> Errors:
    errors = needed(source, path, "secretName", "shareName")
    return [*errors, required(f"{path}.secretNamespace")] if source.get("secretNamespace") == "" else errors


def _local(source: Object, path: str) -> Errors:
    if not source.get("path"):
        return [required(f"{path}.path")]
    return backsteps(f"{path}.path", source["path"])


def _storage_os(source: Object, path: str) -> Errors:
    errors, secret = storage_os_names(source, path), source.get("secretRef")
    return errors if secret is None else errors + needed(secret, f"{path}.secretRef", "name", "namespace")


def _csi(source: Object, path: str) -> Errors:
    errors = csi_driver_name(source.get("driver"), f"{path}.driver") + needed(source, path, "volumeHandle")
    for name in ("controllerPublish", "controllerExpand", "nodePublish", "nodeExpand"):
        if (secret := source.get(f"{name}SecretRef")) is not None:
            errors += _secret(secret, f"{path}.{name}SecretRef")
    return errors


def _secret(secret: Object, path: str) -> Errors:
    name, namespace = secret.get("name"), secret.get("namespace")
    errors = dns_subdomain_errors(f"{path}.name", name) if name else [required(f"{path}.name")]
    return errors + (dns_label_errors(f"{path}.namespace", namespace) if namespace else [required(f"{path}.namespace")])


# In the order in which kube-apiserver looks at them.
_SOURCES: Final[dict[str, Rule]] = {
    "hostPath": host_path,
    "gcePersistentDisk": gce_disk,
    "awsElasticBlockStore": aws_store,
    "glusterfs": _glusterfs,
    "flocker": flocker,
    "nfs": nfs,
    "rbd": needing("monitors", "image"),
    "quobyte": quobyte,
    "cephfs": needing("monitors"),
    "iscsi": _iscsi,
    "cinder": _cinder,
    "fc": fibre_channel,
    "flexVolume": flex_volume,
    "azureFile": _azure_file,
    "vsphereVolume": needing("volumePath"),
    "photonPersistentDisk": needing("pdID"),
    "portworxVolume": needing("volumeID"),
    "azureDisk": azure_disk,
    "scaleIO": needing("gateway", "system", "volumeName"),
    "local": _local,
    "storageos": _storage_os,
    "csi": _csi,
}


def created_volume(obj: Object) -> Errors:
    """The errors of a new PersistentVolume."""
    return _volume(obj) + _mount_options(obj)


def _volume(obj: Object) -> Errors:
    return created_metadata(obj, False, dns_subdomain) + _spec(obj["spec"], obj["metadata"].get("name", ""))


def _mount_options(obj: Object) -> Errors:
    if _MOUNT_OPTIONS not in (obj["metadata"].get("annotations") or {}):
        return []
    if any(obj["spec"].get(kind) is not None for kind in _WITH_MOUNT_OPTIONS):
        return []
    detail = "may not specify mount options for this volume type"
    return [forbidden_field(f"metadata.annotations.{_MOUNT_OPTIONS}", detail)]


def _spec(spec: Object, name: str) -> Errors:
    modes = spec.get("accessModes") or []
    errors = [] if modes else [required("spec.accessModes")]
    errors += access_modes(modes, "spec.accessModes") + _capacity(spec.get("capacity"), "spec.capacity")
    policies, policy = ("Delete", "Recycle", "Retain"), spec.get("persistentVolumeReclaimPolicy")
    errors += enumerated_if_set("spec.persistentVolumeReclaimPolicy", policy or None, policies)
    if (affinity := spec.get("nodeAffinity")) is not None:
        errors += _node_affinity(affinity, "spec.nodeAffinity")
    errors += _source(spec, name)
    host = spec.get("hostPath")
    if host is not None and policy == "Recycle" and posixpath.normpath(host.get("path") or ".") in ("/", "//"):
        detail = "may not be 'recycle' for a hostPath mount of '/'"
        errors.append(forbidden_field("spec.persistentVolumeReclaimPolicy", detail))
    errors += named_if_set(dns_subdomain, "spec.storageClassName", spec.get("storageClassName"))
    errors += enumerated_if_set("spec.volumeMode", spec.get("volumeMode"), VOLUME_MODES)
    return errors + _attributes_class(spec)


def _capacity(capacity: dict[str, str] | None, path: str) -> Errors:
    errors = [] if capacity else [required(path)]
    if [*(capacity or ())] != ["storage"]:
        errors.append(not_supported(path, capacity, ("storage",)))
    for name, quantity in (capacity or {}).items():
        at = f"{path}[{name}]"
        errors += basic_quantity(quantity, at) + positive_quantity(quantity, at)
    return errors


def _node_affinity(affinity: Object, path: str) -> Errors:
    if affinity.get("required") is None:
        return [required(f"{path}.required", "must specify required node constraints")]
    return node_selector(affinity["required"], f"{path}.required")


def _source(spec: Object, name: str) -> Errors:
    errors = volume_sources(spec, "spec", _SOURCES)
    beside = forbidden_field("spec.flexVolume", ONE_VOLUME_TYPE)
    if beside in errors:
        # The one source that kube-apiserver looks at although there is another.
        place = errors.index(beside)
        errors[place : place + 1] = flex_volume(spec["flexVolume"], "spec.flexVolume")
    iscsi = spec.get("iscsi")
    if iscsi is not None and iscsi.get("initiatorName") is not None:
        portal = iscsi.get("targetPortal", "")
        if len(f"{name}:{portal}") > 64:
            errors.append(invalid_field("spec.iscsi.targetportal", portal, INITIATOR_NAME_LENGTH))
    if spec.get("local") is not None and spec.get("nodeAffinity") is None:
        errors.append(required("spec.nodeAffinity", "Local volume requires node affinity"))
    return errors


def _attributes_class(spec: Object) -> Errors:
    name, at = spec.get("volumeAttributesClassName"), "spec.volumeAttributesClassName"
    if name is None:
        return []
    errors = named(dns_subdomain, at, name) if name else [required(at, "an empty string is disallowed")]
    if spec.get("csi") is None:
        errors.append(required("spec.csi", "has to be specified when using volumeAttributesClassName"))
    return errors


def updated_volume(obj: Object, old: Object) -> Errors:
    """The errors of a PersistentVolume that is written over an old one."""
    errors = _volume(obj) + _mount_options(obj) + _volume(obj)
    new, before = _sources_of(obj["spec"]), _sources_of(old["spec"])
    expands = "controllerExpandSecretRef"
    if "csi" in new and "csi" in before and expands in new["csi"] and expands not in before["csi"]:
        new["csi"] = {name: value for name, value in new["csi"].items() if name != expands}
    if not same(_SOURCE, new, before):
        changes = difference("core.PersistentVolumeSource", before, new)
        detail = f"spec.persistentvolumesource is immutable after creation\n{changes}"
        errors.append(forbidden_field("spec.persistentvolumesource", detail))
    errors += immutable("volumeMode", obj["spec"].get("volumeMode"), old["spec"].get("volumeMode"))
    errors += _kept_affinity(obj["spec"].get("nodeAffinity"), old["spec"].get("nodeAffinity"))
    after, name = obj["spec"].get("volumeAttributesClassName"), old["spec"].get("volumeAttributesClassName")
    if name is not None and after is None:
        detail = "update from non-nil value to nil is forbidden"
        errors.append(forbidden_field("spec.volumeAttributesClassName", detail))
    return errors


def _sources_of(spec: Object) -> Object:
    kinds = (wire for _, wire, _ in internal_types()["core.PersistentVolumeSource"])
    return {kind: spec[kind] for kind in kinds if spec.get(kind) is not None}


def _kept_affinity(new: Object | None, old: Object | None) -> Errors:
    if old is None or same("io.k8s.api.core.v1.VolumeNodeAffinity", new, old):
        return []
    value = printed("*core.VolumeNodeAffinity", new)
    return [invalid_field("nodeAffinity", value, f"{IMMUTABLE}, except for updating from beta label to GA")]


def updated_volume_status(obj: Object, old: Object) -> Errors:
    """The errors of a PersistentVolume whose status is written."""
    errors = updated_metadata(obj, old)
    return errors if obj["metadata"].get("resourceVersion") else [*errors, required("resourceVersion")]


def inline_volume(spec: Object, path: str) -> Errors:
    """The errors of a volume that is told inside a VolumeAttachment."""
    told = f"may not be specified {_INLINE}"
    errors = [forbidden_field(f"{path}.{name}", told) for name in ("claimRef", "capacity") if spec.get(name)]
    if spec.get("csi") is None:
        errors.append(required(f"{path}.csi", f"has to be specified {_INLINE}"))
    modes = spec.get("accessModes") or []
    errors += [] if modes else [required(f"{path}.accessModes")]
    errors += access_modes(modes, f"{path}.accessModes")
    if spec.get("persistentVolumeReclaimPolicy", "Retain") != "Retain":
        errors.append(forbidden_field(f"{path}.persistentVolumeReclaimPolicy", f"may only be Retain {_INLINE}"))
    if spec.get("nodeAffinity") is not None:
        errors.append(forbidden_field(f"{path}.nodeAffinity", told))
    errors += volume_sources(spec, path, _SOURCES)
    if spec.get("storageClassName"):
        errors.append(forbidden_field(f"{path}.storageClassName", told))
    if spec.get("volumeMode", "Filesystem") != "Filesystem":
        detail = f"may not specify volumeMode other than Filesystem {_INLINE}"
        errors.append(forbidden_field(f"{path}.volumeMode", detail))
    return errors
