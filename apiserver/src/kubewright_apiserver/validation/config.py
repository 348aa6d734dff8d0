"""ConfigMaps, Secrets and ServiceAccounts."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Final

from kubewright_apiserver.status import forbidden_field, invalid_field, required, too_long
from kubewright_apiserver.validation.metadata import created_metadata, updated_metadata
from kubewright_apiserver.validation.names import config_key, dns_subdomain
from kubewright_apiserver.validation.rules import Errors, Object, immutable, named

__all__ = [
    "created_config_map",
    "created_secret",
    "created_service_account",
    "updated_config_map",
    "updated_secret",
    "updated_service_account",
]

_MOST_BYTES: Final = 1024 * 1024
_FIXED: Final = "field is immutable when `immutable` is set"
_ACCOUNT: Final = "kubernetes.io/service-account.name"
_NEEDED: Final = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}


def created_config_map(obj: Object) -> Errors:
    """The errors of a new ConfigMap."""
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    errors = created_metadata(obj, True, dns_subdomain)
    size = 0
    for key, value in data.items():
        errors += named(config_key, f"data[{key}]", key)
        if key in binary:
            errors.append(invalid_field(f"data[{key}]", key, "duplicate of key present in binaryData"))
        size += len(value) if value.isascii() else len(value.encode())
    for key, value in binary.items():
        errors += named(config_key, f"binaryData[{key}]", key)
        size += _decoded_size(value)
    return [*errors, too_long("[]", _MOST_BYTES)] if size > _MOST_BYTES else errors


def _decoded_size(text: str) -> int:
    return len(text) // 4 * 3 - text.endswith("=") - text.endswith("==")


def updated_config_map(obj: Object, old: Object) -> Errors:
    """The errors of a ConfigMap that is written over an old one."""
    return updated_metadata(obj, old) + _frozen(obj, old, "data", "binaryData") + created_config_map(obj)


def _frozen(obj: Object, old: Object, *names: str) -> Errors:
    if not old.get("immutable"):
        return []
    errors = [] if obj.get("immutable") else [forbidden_field("immutable", _FIXED)]
    return errors + [forbidden_field(name, _FIXED) for name in names if obj.get(name) != old.get(name)]


def created_secret(obj: Object) -> Errors:
    """The errors of a new Secret."""
    data = obj.get("data") or {}
    errors = created_metadata(obj, True, dns_subdomain)
    for key in data:
        errors += named(config_key, f"data[{key}]", key)
    if sum(map(_decoded_size, data.values())) > _MOST_BYTES:
        errors.append(too_long("data", _MOST_BYTES))
    return errors + _by_type(obj.get("type", ""), obj, data)


def _by_type(kind: str, obj: Object, data: dict[str, str]) -> Errors:
    if kind == "kubernetes.io/service-account-token":
        account = (obj["metadata"].get("annotations") or {}).get(_ACCOUNT)
        return [] if account else [required(f"metadata.annotations[{_ACCOUNT}]")]
    if kind == "kubernetes.io/basic-auth":
        keys = ("username", "password")
        return [] if any(key in data for key in keys) else [required(f"data[{key}]") for key in keys]
    needed = _NEEDED.get(kind, ())
    missing = [required(f"data[{key}]") for key in needed if key not in data]
    if missing or not needed:
        return missing
    if kind == "kubernetes.io/ssh-auth":
        return [] if data["ssh-privatekey"] else [required("data[ssh-privatekey]")]
    return _json_errors(data[needed[0]], needed[0]) if needed[0].startswith(".docker") else []


def _json_errors(encoded: str, key: str) -> Errors:
    try:
        text = base64.b64decode(encoded)
        value = json.loads(text)
    except (binascii.Error, ValueError):
        value, text = None, text if encoded else b""
        detail = "unexpected end of JSON input" if not text.strip() else _go_syntax_error(text)
        return [invalid_field(f"data[{key}]", "<secret contents redacted>", detail)]
    if isinstance(value, dict) or value is None:
        return []
    told = {list: "array", str: "string", bool: "bool"}.get(type(value), "number")
    detail = f"json: cannot unmarshal {told} into Go value of type map[string]interface {{}}"
    return [invalid_field(f"data[{key}]", "<secret contents redacted>", detail)]


def _go_syntax_error(text: bytes) -> str:
    first = text.strip()[:1].decode(errors="replace")
    if first in '{["' or first.isdigit() or first == "-":
        return "unexpected end of JSON input"
    return f"invalid character '{first}' looking for beginning of value"


def updated_secret(obj: Object, old: Object) -> Errors:
    """The errors of a Secret that is written over an old one."""
    errors = updated_metadata(obj, old) + immutable("type", obj.get("type", ""), old.get("type", ""))
    return errors + _frozen(obj, old, "data") + created_secret(obj)


def created_service_account(obj: Object) -> Errors:
    """The errors of a new ServiceAccount."""
    return created_metadata(obj, True, dns_subdomain)


def updated_service_account(obj: Object, old: Object) -> Errors:
    """The errors of a ServiceAccount that is written over an old one."""
    return updated_metadata(obj, old) + created_service_account(obj)
