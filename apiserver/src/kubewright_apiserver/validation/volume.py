"""Volumes of pods: exactly one source each, and what each source needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from kubewright_apiserver.data import go_fields
from kubewright_apiserver.schema.amount import nanos
from kubewright_apiserver.status import (
    duplicate,
    forbidden_field,
    invalid_field,
    not_supported,
    required,
    too_long,
)
from kubewright_apiserver.validation.claim import claim_spec
from kubewright_apiserver.validation.container import PULL_POLICIES
from kubewright_apiserver.validation.labels import label_errors
from kubewright_apiserver.validation.metadata import annotation_errors
from kubewright_apiserver.validation.names import between, dns_subdomain
from kubewright_apiserver.validation.projection import downward_files, key_to_path, mode, projected
from kubewright_apiserver.validation.rules import (
    Errors,
    Object,
    backsteps,
    dns_label_errors,
    enumerated,
    enumerated_if_set,
    named,
    needed,
    relative_path,
)

__all__ = ["ONE_VOLUME_TYPE", "csi_driver_name", "volume_sources", "volumes"]

ONE_VOLUME_TYPE: Final = "may not specify more than 1 volume type"
_HOST_PATH_TYPES: Final = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_ISCSI_NAMES: Final = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9.-]+)(:[^,;*&$|\s]+)$", re.ASCII),
    "eui": re.compile(r"^eui.[A-Za-z0-9]{16}$"),
    "naa": re.compile(r"^naa.[A-Za-z0-9]{32}$"),
}
Rule = Callable[[Object, str], Errors]


def volumes(found: Sequence[Object], path: str, pod_name: str, *, in_pod: bool) -> tuple[dict[str, Object], Errors]:
    """The valid volumes by name, and the errors of the others; a template has no ``pod_name``."""
    errors: Errors = []
    valid: dict[str, Object] = {}
    made = {f"{pod_name}-{volume.get('name', '')}" for volume in found if volume.get("ephemeral") is not None}
    for index, volume in enumerate(found):
        at, name = f"{path}[{index}]", volume.get("name", "")
        wrong = _volume_source(volume, at, pod_name, in_pod)
        wrong += dns_label_errors(f"{at}.name", name) if name else [required(f"{at}.name")]
        if name in valid:
            wrong.append(duplicate(f"{at}.name", name))
        if wrong:
            errors += wrong
        else:
            valid[name] = volume
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if pod_name and claim in made:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(invalid_field(f"{at}.persistentVolumeClaim.claimName", claim, detail))
    return valid, errors


def _volume_source(volume: Object, path: str, pod_name: str, in_pod: bool) -> Errors:
    errors = volume_sources(volume, path, _POD_SOURCES if in_pod else _SOURCES)
    if (iscsi := volume.get("iscsi")) and iscsi.get("initiatorName") is not None:
        name = volume.get("name", "")
        if len(f"{name}:{iscsi.get('targetPortal', '')}") > 64:
            errors.append(invalid_field(f"{path}.name", name, INITIATOR_NAME_LENGTH))
    if pod_name and volume.get("name") and volume.get("ephemeral") is not None:
        claim = f"{pod_name}-{volume['name']}"
        for message in dns_subdomain(claim):
            errors.append(invalid_field(f"{path}.name", volume["name"], f'PVC name "{claim}": {message}'))
    return errors


INITIATOR_NAME_LENGTH: Final = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is"
    " specified."
)


def volume_sources(volume: Object, path: str, rules: dict[str, Rule]) -> Errors:
    """The errors of the one source that a volume must have, by the rules for each sort of source."""
    present = [kind for kind in volume if kind in rules and volume[kind] is not None]
    if not present:
        return [required(path, "must specify a volume type")]
    first, *others = present if len(present) == 1 else sorted(present, key=[*rules].index)
    errors = rules[first](volume[first], f"{path}.{_TOLD_INSIDE.get(first, first)}")
    return errors + [forbidden_field(f"{path}.{_TOLD_BESIDE.get(kind, kind)}", ONE_VOLUME_TYPE) for kind in others]


_TOLD_INSIDE: Final = {"gcePersistentDisk": "persistentDisk"}
_TOLD_BESIDE: Final = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}


def _empty_dir(source: Object, path: str) -> Errors:
    if nanos(source.get("sizeLimit")) >= 0:
        return []
    return [forbidden_field(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")]


def host_path(source: Object, path: str) -> Errors:
    """The errors of a path on the node."""
    if not source.get("path"):
        return [required(f"{path}.path")]
    errors = backsteps(f"{path}.path", source["path"])
    return errors + enumerated_if_set(f"{path}.type", source.get("type"), _HOST_PATH_TYPES)


def _git_repo(source: Object, path: str) -> Errors:
    errors = needed(source, path, "repository")
    return errors + relative_path(f"{path}.directory", source.get("directory", ""))


def gce_disk(source: Object, path: str) -> Errors:
    """The errors of a disk of Google's cloud."""
    return needed(source, path, "pdName") + _partition(source, path)


def aws_store(source: Object, path: str) -> Errors:
    """The errors of a block store of Amazon's cloud."""
    return needed(source, path, "volumeID") + _partition(source, path)


def _partition(source: Object, path: str) -> Errors:
    number = source.get("partition", 0)
    return [] if 0 <= number <= 255 else [invalid_field(f"{path}.partition", number, between(0, 1, 255)[0])]


def _secret(source: Object, path: str) -> Errors:
    return needed(source, path, "secretName") + _keys(source, path)


def _config_map(source: Object, path: str) -> Errors:
    return needed(source, path, "name") + _keys(source, path)


def _keys(source: Object, path: str) -> Errors:
    errors = mode(source.get("defaultMode"), f"{path}.defaultMode")
    for index, item in enumerate(source.get("items") or ()):
        errors += key_to_path(item, f"{path}.items[{index}]")
    return errors


def nfs(source: Object, path: str) -> Errors:
    """The errors of a network file system."""
    errors = needed(source, path, "server", "path")
    if not source.get("path", "").startswith("/"):
        errors.append(invalid_field(f"{path}.path", source.get("path", ""), "must be an absolute path"))
    return errors


def _iscsi(source: Object, path: str) -> Errors:
    errors = needed(source, path, "targetPortal")
    told = "must be valid format starting with iqn, eui, or naa"
    return errors + iscsi_rest(source, path, told)


def iscsi_rest(source: Object, path: str, told: str) -> Errors:
    """The errors of an iSCSI disk after its portal; ``told`` says what its name must start with."""
    iqn = source.get("iqn")
    errors = _iscsi_name(iqn, f"{path}.iqn", told) if iqn else [required(f"{path}.iqn")]
    lun = source.get("lun", 0)
    errors += [invalid_field(f"{path}.lun", lun, message) for message in between(lun, 0, 255)]
    secret = source.get("secretRef")
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and secret is None:
        errors.append(required(f"{path}.secretRef"))
    if secret is not None and told == "must be valid format":
        errors += needed(secret, f"{path}.secretRef", "name")
    if (initiator := source.get("initiatorName")) is not None:
        errors += _iscsi_name(initiator, f"{path}.initiatorname", told)
    return errors


def _iscsi_name(name: str, path: str, told: str) -> Errors:
    pattern = _ISCSI_NAMES.get(name[:3])
    if pattern is None:
        return [invalid_field(path, name, told)]
    return [] if pattern.search(name) else [invalid_field(path, name, "must be valid format")]


def fibre_channel(source: Object, path: str) -> Errors:
    """The errors of a disk behind fibre channel."""
    names, ids, lun = source.get("targetWWNs"), source.get("wwids"), source.get("lun")
    errors: Errors = []
    if not names and not ids:
        errors.append(required(f"{path}.targetWWNs", "must specify either targetWWNs or wwids, but not both"))
    if names and ids:
        detail = "targetWWNs and wwids can not be specified simultaneously"
        errors.append(invalid_field(f"{path}.targetWWNs", names, detail))
    if names and lun is None:
        errors.append(required(f"{path}.lun", "lun is required if targetWWNs is specified"))
    elif names:
        errors += [invalid_field(f"{path}.lun", lun, message) for message in between(lun or 0, 0, 255)]
    return errors


def quobyte(source: Object, path: str) -> Errors:
    """The errors of a Quobyte volume."""
    told = "must be a host:port pair or multiple pairs separated by commas"
    registry = source.get("registry", "")
    errors: Errors = []
    if not registry:
        errors.append(required(f"{path}.registry", told))
    elif len(source.get("tenant", "")) >= 65:
        detail = "must be a UUID and may not exceed a length of 64 characters"
        errors.append(required(f"{path}.tenant", detail))
    else:
        bad = [pair for pair in registry.split(",") if not re.fullmatch(r"(\[[^\[\]]*\]|[^:\[\]]*):[^:\[\]]*", pair)]
        errors += [invalid_field(f"{path}.registry", registry, told) for _ in bad]
    return errors + needed(source, path, "volume")


def flocker(source: Object, path: str) -> Errors:
    """The errors of a Flocker volume."""
    name, uuid = source.get("datasetName", ""), source.get("datasetUUID")
    errors: Errors = []
    if not name and not uuid:
        errors.append(required(path, "one of datasetName and datasetUUID is required"))
    if name and uuid:
        detail = "datasetName and datasetUUID can not be specified simultaneously"
        errors.append(invalid_field(path, "resource", detail))
    if "/" in name:
        errors.append(invalid_field(f"{path}.datasetName", name, "must not contain '/'"))
    return errors


def _cinder(source: Object, path: str) -> Errors:
    errors = needed(source, path, "volumeID")
    secret = source.get("secretRef")
    return errors if secret is None else errors + needed(secret, f"{path}.secretRef", "name")


def flex_volume(source: Object, path: str) -> Errors:
    """The errors of a Flex volume."""
    errors = needed(source, path, "driver")
    for key in source.get("options") or {}:
        domain = f".{key.partition('/')[0].lower()}"
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            detail = "kubernetes.io and k8s.io namespaces are reserved"
            errors.append(invalid_field(f"{path}.options[{key}]", key, detail))
    return errors


def azure_disk(source: Object, path: str) -> Errors:
    """The errors of a disk of Microsoft's cloud."""
    errors = needed(source, path, "diskName", "diskURI")
    uri, kind = source.get("diskURI", ""), source.get("kind")
    modes = ("None", "ReadOnly", "ReadWrite")
    errors += enumerated_if_set(f"{path}.cachingMode", source.get("cachingMode"), modes)
    errors += enumerated_if_set(f"{path}.kind", kind, ("Dedicated", "Managed", "Shared"))
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        form = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
        errors.append(not_supported(f"{path}.diskURI", uri, (form,)))
    if kind not in (None, "Managed") and not uri.startswith("https://"):
        form = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
        errors.append(not_supported(f"{path}.diskURI", uri, (form,)))
    return errors


def _storage_os(source: Object, path: str) -> Errors:
    errors = storage_os_names(source, path)
    secret = source.get("secretRef")
    return errors if secret is None else errors + needed(secret, f"{path}.secretRef", "name")


def storage_os_names(source: Object, path: str) -> Errors:
    """The errors of the names of a StorageOS volume."""
    name, namespace = source.get("volumeName"), source.get("volumeNamespace")
    errors = dns_label_errors(f"{path}.volumeName", name) if name else [required(f"{path}.volumeName")]
    return errors + (dns_label_errors(f"{path}.volumeNamespace", namespace) if namespace else [])


def csi_driver_name(name: str | None, path: str) -> Errors:
    """The errors of the name of a CSI driver."""
    if not name:
        return [required(path)]
    errors = [too_long(path, 63)] if len(name) > 63 else []
    return errors + [invalid_field(path, name, message) for message in dns_subdomain(name.lower())]


def _csi(source: Object, path: str) -> Errors:
    errors = csi_driver_name(source.get("driver"), f"{path}.driver")
    if (secret := source.get("nodePublishSecretRef")) is None:
        return errors
    if not secret.get("name"):
        return [*errors, required(f"{path}.nodePublishSecretRef.name")]
    return errors + named(dns_subdomain, f"{path}.name", secret["name"])


def _ephemeral(source: Object, path: str) -> Errors:
    template, at = source.get("volumeClaimTemplate"), f"{path}.volumeClaimTemplate"
    if template is None:
        return [required(at)]
    metadata = template.get("metadata") or {}
    errors = annotation_errors(metadata.get("annotations") or {}, f"{at}.metadata.annotations")
    errors += label_errors(metadata.get("labels") or {}, f"{at}.metadata.labels")
    errors += [
        forbidden_field(f"{at}.metadata.{name}", "cannot be set")
        for name in go_fields()["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]
        if name not in ("annotations", "labels") and metadata.get(name)
    ]
    return errors + claim_spec(template.get("spec") or {}, f"{at}.spec")


def _image(source: Object, path: str) -> Errors:
    return enumerated(f"{path}.pullPolicy", source.get("pullPolicy"), PULL_POLICIES)


def _pod_image(source: Object, path: str) -> Errors:
    return needed(source, path, "reference") + _image(source, path)


def _downward_api(source: Object, path: str) -> Errors:
    errors = mode(source.get("defaultMode"), f"{path}.defaultMode")
    return errors + downward_files(source.get("items") or (), path)


def needing(*names: str) -> Rule:
    """The rule that these fields must be there."""
    return lambda source, path: needed(source, path, *names)


# In the order in which kube-apiserver looks at them.
_SOURCES: Final[dict[str, Rule]] = {
    "emptyDir": _empty_dir,
    "hostPath": host_path,
    "gitRepo": _git_repo,
    "gcePersistentDisk": gce_disk,
    "awsElasticBlockStore": aws_store,
    "secret": _secret,
    "nfs": nfs,
    "iscsi": _iscsi,
    "glusterfs": needing("endpoints", "path"),
    "flocker": flocker,
    "persistentVolumeClaim": needing("claimName"),
    "rbd": needing("monitors", "image"),
    "cinder": _cinder,
    "cephfs": needing("monitors"),
    "quobyte": quobyte,
    "downwardAPI": _downward_api,
    "fc": fibre_channel,
    "flexVolume": flex_volume,
    "configMap": _config_map,
    "azureFile": needing("secretName", "shareName"),
    "vsphereVolume": needing("volumePath"),
    "photonPersistentDisk": needing("pdID"),
    "portworxVolume": needing("volumeID"),
    "azureDisk": azure_disk,
    "storageos": _storage_os,
    "projected": projected,
    "scaleIO": needing("gateway", "system", "volumeName"),
    "csi": _csi,
    "ephemeral": _ephemeral,
    "image": _image,
}
_POD_SOURCES: Final = _SOURCES | {"image": _pod_image}
