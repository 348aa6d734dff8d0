"""What volumes project into files: keys of ConfigMaps and Secrets, fields of the pod, tokens, certificates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubewright_apiserver.schema.goprint import printed
from kubewright_apiserver.status import forbidden_field, invalid_field, not_supported, required, too_long
from kubewright_apiserver.validation.environment import VOLUME_FIELDS, field_reference, resource_reference
from kubewright_apiserver.validation.labels import printed_selector, selector_errors
from kubewright_apiserver.validation.names import qualified_name
from kubewright_apiserver.validation.rules import Errors, Object, local_path, named, needed
from kubewright_apiserver.validation.signer import is_kubernetes_signer, signer_name, trust_bundle_name

__all__ = ["downward_files", "key_to_path", "mode", "projected", "user_annotations"]

_FILE_MODE: Final = "must be a number between 0 and 0777 (octal), both inclusive"
_KEY_TYPES: Final = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
_CERTIFICATE_PATHS: Final = ("credentialBundlePath", "keyPath", "certificateChainPath")
_ANNOTATION_BYTES: Final = 256 * 1024


def mode(value: int | None, path: str) -> Errors:
    """The error of a file mode that is none."""
    return [] if value is None or 0 <= value <= 0o777 else [invalid_field(path, value, _FILE_MODE)]


def key_to_path(item: Object, path: str) -> Errors:
    """The errors of a key that becomes a file."""
    errors = needed(item, path, "key", "path")
    errors += local_path(f"{path}.path", item.get("path", ""))
    return errors + mode(item.get("mode"), f"{path}.mode")


def downward_files(files: Sequence[Object], path: str) -> Errors:
    """The errors of the fields of a pod that become files; kube-apiserver does not tell which file it means."""
    errors: Errors = []
    for file in files:
        errors += _downward_file(file, path)
    return errors


def _downward_file(file: Object, path: str) -> Errors:
    errors = needed(file, path, "path") + local_path(f"{path}.path", file.get("path", ""))
    field, resource = file.get("fieldRef"), file.get("resourceFieldRef")
    if field is not None:
        errors += field_reference(field, f"{path}.fieldRef", VOLUME_FIELDS)
        if resource is not None:
            detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(invalid_field(path, "resource", detail))
    elif resource is not None:
        errors += resource_reference(resource, f"{path}.resourceFieldRef", volume=True)
    else:
        errors.append(required(path, "one of fieldRef and resourceFieldRef is required"))
    return errors + mode(file.get("mode"), f"{path}.mode")


def projected(source: Object, path: str) -> Errors:
    """The errors of a volume made of several sources."""
    errors = mode(source.get("defaultMode"), f"{path}.defaultMode")
    taken: set[str] = set()
    for index, part in enumerate(source.get("sources") or ()):
        at = f"{path}.sources[{index}]"
        present = 0
        for kind, rule in _PARTS.items():
            if part.get(kind) is not None:
                present += 1
                errors += rule(part[kind], f"{at}.{kind}", path, taken)
        if present > 1:
            errors.append(forbidden_field(at, "may not specify more than 1 volume type per source"))
    return errors


def _keys(part: Object, at: str, path: str, taken: set[str]) -> Errors:
    errors = needed(part, at, "name")
    for index, item in enumerate(part.get("items") or ()):
        errors += key_to_path(item, f"{at}.items[{index}]")
        if item.get("path"):
            errors += _claimed(item["path"], path, taken, part.get("name", ""))
    return errors


def _claimed(file: str, path: str, taken: set[str], told: str) -> Errors:
    if file in taken:
        return [invalid_field(path, told, "conflicting duplicate paths")]
    taken.add(file)
    return []


def _downward(part: Object, at: str, path: str, taken: set[str]) -> Errors:
    errors: Errors = []
    for file in part.get("items") or ():
        errors += _downward_file(file, at)
        if file.get("path"):
            errors += _claimed(file["path"], path, taken, file["path"])
    return errors


def _token(part: Object, at: str, path: str, taken: set[str]) -> Errors:
    seconds = part.get("expirationSeconds", 0)
    errors: Errors = []
    if seconds < 600:
        detail = "may not specify a duration less than 10 minutes"
        errors.append(invalid_field(f"{at}.expirationSeconds", seconds, detail))
    if seconds > 1 << 32:
        detail = "may not specify a duration larger than 2^32 seconds"
        errors.append(invalid_field(f"{at}.expirationSeconds", seconds, detail))
    if not part.get("path"):
        return [*errors, required(f"{path}.path")]
    return errors + local_path(f"{path}.path", part["path"])


def _trust_bundle(part: Object, at: str, path: str, taken: set[str]) -> Errors:
    name, signer, selector = part.get("name"), part.get("signerName"), part.get("labelSelector")
    errors: Errors = []
    if name is not None and signer is not None:
        value = printed("core.ClusterTrustBundleProjection", part)
        errors.append(invalid_field(at, value, "only one of name and signerName may be used"))
    elif name is not None:
        errors += _bundle_name(name, f"{at}.name")
        if selector is not None:
            detail = "labelSelector must be unset if name is specified"
            errors.append(invalid_field(f"{at}.labelSelector", printed_selector(selector), detail))
    elif signer is not None:
        if not signer:
            errors.append(required(f"{at}.signerName", "must be a valid signer name"))
        errors += signer_name(signer, f"{at}.signerName") + selector_errors(selector, f"{at}.labelSelector")
    else:
        errors.append(required(at, "either name or signerName must be specified"))
    file = part.get("path", "")
    errors += needed(part, at, "path") + local_path(f"{at}.path", file)
    return errors + _claimed(file, path, taken, file)


def _bundle_name(name: str, path: str) -> Errors:
    errors = [] if name else [required(path, "must be a valid object name")]
    signer = name.rpartition(":")[0].replace(":", "/")
    told = "not a valid clustertrustbundlename: "
    return errors + [invalid_field(path, name, told + message) for message in trust_bundle_name(signer, name)]


def _certificate(part: Object, at: str, path: str, taken: set[str]) -> Errors:
    signer, key_type = part.get("signerName", ""), part.get("keyType", "")
    errors = signer_name(signer, f"{at}.signerName")
    errors += user_annotations(part.get("userAnnotations") or {}, f"{at}.userAnnotations")
    if key_type not in _KEY_TYPES:
        errors.append(not_supported(f"{at}.keyType", key_type, _KEY_TYPES))
    if (seconds := part.get("maxExpirationSeconds")) is not None:
        errors += _longest_life(seconds, 86400 if is_kubernetes_signer(signer) else 7862400, at)
    files = [name for name in _CERTIFICATE_PATHS if part.get(name)]
    for name in files:
        errors += local_path(f"{at}.{name}", part[name]) + _claimed(part[name], path, taken, part[name])
    if not files:
        detail = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"
        errors.append(required(at, detail))
    return errors


def _longest_life(seconds: int, most: int, path: str) -> Errors:
    told = "if provided, maxExpirationSeconds must be"
    at = f"{path}.maxExpirationSeconds"
    errors = [invalid_field(at, seconds, f"{told} >= 3600")] if seconds < 3600 else []
    return [*errors, invalid_field(at, seconds, f"{told} <= {most}")] if seconds > most else errors


def user_annotations(annotations: dict[str, str], path: str) -> Errors:
    """The errors of annotations that a pod asks a signer to put into its certificate."""
    errors: Errors = []
    size = 0
    for name, value in annotations.items():
        key = name.lower()
        size += len(name.encode()) + len(value.encode())
        if not key:
            errors.append(required(path))
        elif wrong := named(qualified_name, path, key):
            errors += wrong
        elif "/" not in key:
            detail = 'must be a domain-prefixed key (such as "acme.io/foo")'
            errors.append(invalid_field(path, key, detail))
    return [*errors, too_long(path, _ANNOTATION_BYTES)] if size > _ANNOTATION_BYTES else errors


_PARTS: Final = {
    "secret": _keys,
    "configMap": _keys,
    "downwardAPI": _downward,
    "serviceAccountToken": _token,
    "clusterTrustBundle": _trust_bundle,
    "podCertificate": _certificate,
}
