"""From flags to the options of ``ApiServer`` that tell who may ask what."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from cryptography import x509

from kubewright_apiserver.access import (
    MODES,
    FrontProxy,
    User,
    check_policy,
    new_signing_key,
    public_keys,
    read_token_file,
    write_private,
)
from kubewright_apiserver.golang import go_quoted
from kubewright_apiserver.process.flags import Flags
from kubewright_apiserver.process.reading import Unusable, read_file
from kubewright_apiserver.yaml_body import MalformedYaml, read_yaml

__all__ = ["access_options"]

_ELSEWHERE: Final = ("ABAC", "Webhook")
_POLICIES: Final = ("audit.k8s.io/v1",)


def access_options(flags: Flags, folder: Path | None) -> dict[str, Any]:
    """Who may ask what, of a server that keeps its data in a folder, or in memory.

    Raises: `Unusable` for values that mean nothing, and files that cannot be read.
    """
    return {
        "authorization_mode": _modes(flags),
        "anonymous_auth": flags.is_on("anonymous-auth", default=True),
        "tokens": _tokens(flags),
        "service_account_issuer": _issuers(flags),
        "service_account_signing_key": _signing_key(flags, folder),
        "service_account_keys": _keys(flags),
        "api_audiences": flags.items("api-audiences"),
        "audit_log": flags.text("audit-log-path") or None,
        "audit_policy": _policy(flags),
        "front_proxy": _front_proxy(flags),
    }


def _modes(flags: Flags) -> list[str]:
    if not flags.all("authorization-mode"):
        return ["RBAC"]
    modes = flags.items("authorization-mode")
    if not modes:
        raise Unusable("at least one authorization-mode must be passed")
    for mode in modes:
        if mode in _ELSEWHERE:
            raise Unusable(f"authorization-mode {mode} is not available here; there are {', '.join(MODES)}")
        if mode not in MODES:
            raise Unusable(f"authorization-mode {go_quoted(mode)} is not a valid mode")
    if len(set(modes)) < len(modes):
        told = " ".join(map(go_quoted, modes))
        raise Unusable(f"authorization-mode [{told}] has mode specified more than once")
    return modes


def _tokens(flags: Flags) -> dict[str, User]:
    path = flags.text("token-auth-file")
    if not path:
        return {}
    read_file(path)
    try:
        return read_token_file(path)
    except ValueError as error:
        raise Unusable(f"--token-auth-file {error}") from None


def _issuers(flags: Flags) -> list[str]:
    found: list[str] = []
    for issuer in flags.all("service-account-issuer"):
        if not issuer:
            raise Unusable("service-account-issuer should not be an empty string")
        if ":" in issuer and not _is_url(issuer):
            raise Unusable(f"service-account-issuer {go_quoted(issuer)} contained a ':' but was not a valid URL")
        if issuer in found:
            raise Unusable(f"service-account-issuer {go_quoted(issuer)} is already specified")
        found.append(issuer)
    return found


def _is_url(text: str) -> bool:
    try:
        return bool(urlsplit(text).scheme)
    except ValueError:
        return False


def _signing_key(flags: Flags, folder: Path | None) -> bytes | None:
    """The key of tokens: the given one, else one that is kept beside the data, so that tokens outlive the process."""
    path = flags.text("service-account-signing-key-file")
    if path:
        return _usable(path, "service-account-signing-key-file", "PRIVATE KEY")
    if folder is None:
        return None
    file = folder / "service-account.pem"
    if not file.exists():
        write_private(file, new_signing_key())
    return _usable(file, "service-account-signing-key-file", "PRIVATE KEY")


def _keys(flags: Flags) -> list[bytes]:
    return [_usable(path, "service-account-key-file") for path in flags.all("service-account-key-file")]


def _usable(path: str | Path, flag: str, needed: str = "") -> bytes:
    """The keys in a file, once it is clear that they can be used."""
    pem = read_file(path)
    try:
        if needed.encode() not in pem:
            raise ValueError("data does not contain a valid RSA or ECDSA private key")
        public_keys(pem)
    except (TypeError, ValueError) as error:
        # What is wrong with a key may quote it.
        why = str(error) if "key" in str(error) and len(str(error)) < 100 else "it cannot be read as PEM"
        raise Unusable(f"--{flag} {path}: {why}") from None
    return pem


def _policy(flags: Flags) -> Mapping[str, Any] | None:
    path = flags.text("audit-policy-file")
    if not path:
        return None
    try:
        policy, _ = read_yaml(read_file(path))
    except MalformedYaml as error:
        raise Unusable(f"--audit-policy-file {path}: {error}") from None
    if not isinstance(policy, dict) or policy.get("kind") != "Policy" or policy.get("apiVersion") not in _POLICIES:
        raise Unusable(f"--audit-policy-file {path} must be a Policy of {', '.join(_POLICIES)}")
    if not policy.get("rules"):
        raise Unusable(f"loaded illegal policy with 0 rules: from file {path}")
    try:
        check_policy(policy)
    except ValueError as error:
        raise Unusable(f"--audit-policy-file {path}: {error}") from None
    return policy


def _front_proxy(flags: Flags) -> FrontProxy | None:
    path = flags.text("requestheader-client-ca-file")
    if not path:
        return None
    authority, names = read_file(path), flags.items("requestheader-allowed-names")
    found = _certificates(path, authority)
    clients = flags.text("client-ca-file")
    if clients and not names and found & _certificates(clients, read_file(clients)):
        raise Unusable(
            "--requestheader-client-ca-file and --client-ca-file contain overlapping certificates; "
            "--requestheader-allowed-names must be specified to ensure regular client certificates cannot set "
            "authenticating proxy headers for arbitrary users"
        )
    return FrontProxy(
        authority,
        allowed_names=names,
        name_headers=flags.items("requestheader-username-headers"),
        uid_headers=flags.items("requestheader-uid-headers"),
        group_headers=flags.items("requestheader-group-headers"),
        extra_prefixes=flags.items("requestheader-extra-headers-prefix"),
    )


def _certificates(path: str, pem: bytes) -> set[x509.Certificate]:
    try:
        return set(x509.load_pem_x509_certificates(pem))
    except ValueError:
        raise Unusable(f"unable to load client CA file: {path} has no certificates (PEM)") from None
