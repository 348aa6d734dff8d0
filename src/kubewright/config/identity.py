"""From a kubeconfig's cluster and user to TLS, credentials and impersonation, with kubectl's precedence."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast, get_args

from kubewright.config.credentials import Anonymous, BearerToken, Credentials, Password, TokenFile
from kubewright.config.exec_plugin import API_VERSIONS, ExecPlugin, InteractiveMode, PluginCommand
from kubewright.config.impersonation import Impersonation
from kubewright.config.oidc import Oidc, OidcClient
from kubewright.config.section import Section, is_readable
from kubewright.config.tls import TlsConfig
from kubewright.errors import ConfigError, CredentialError

__all__ = ["credentials_of", "impersonation_of", "tls_of"]

_SUCCESSORS: Final = {
    "gcp": "gke-gcloud-auth-plugin",
    "azure": "kubelogin",
    "openstack": "client-keystone-auth",
}
_EXEC_EXTENSION: Final = "client.authentication.k8s.io/exec"


def tls_of(cluster: Section, user: Section) -> TlsConfig:
    """How to trust the cluster, with the user's client certificate."""
    return TlsConfig(
        ca_data=cluster.data("certificate-authority-data"),
        ca_file=_existing(cluster, "certificate-authority"),
        cert_data=user.data("client-certificate-data"),
        cert_file=_existing(user, "client-certificate"),
        key_data=user.data("client-key-data"),
        key_file=_existing(user, "client-key"),
        insecure=cluster.flag("insecure-skip-tls-verify"),
        server_name=cluster.text("tls-server-name") or None,
        origin=f"{cluster.name} with {user.name} in {user.origin}",
    )


def impersonation_of(user: Section) -> Impersonation | None:
    """Whom the user acts as, or None."""
    extra = user.section("as-user-extra")
    found = Impersonation(
        user.text("as"),
        user.text("as-uid"),
        user.texts("as-groups"),
        {str(key): extra.texts(key) for key in extra.values},
    )
    if found.user:
        return found
    if found.uid or found.groups or found.extra:
        raise user.error("as", "is missing: as-uid, as-groups and as-user-extra need it")
    return None


def credentials_of(user: Section, cluster: Section, environ: Mapping[str, str] = os.environ) -> Credentials:
    """Who the user is: a token wins over a password, both win over an exec plugin and an auth-provider.

    A token file wins over a token, which is used while the file cannot be read. A client certificate in the kubeconfig
    wins over an exec plugin too.
    """
    try:
        return _chosen(user, cluster, environ)
    except CredentialError as error:
        raise ConfigError(f"{user.origin}: {error}") from None


def _chosen(user: Section, cluster: Section, environ: Mapping[str, str]) -> Credentials:
    fixed = _fixed(user)
    exec_section, provider = user.section("exec"), user.section("auth-provider")
    if exec_section.values and provider.values:
        raise user.error("exec", "and auth-provider exclude each other; remove one")
    obtained: Credentials | None = None
    if provider.values:
        obtained = _oidc(provider, environ)
    elif exec_section.values:
        plugin = _plugin(exec_section, cluster)
        has_certificate = user.text("client-certificate") or user.text("client-certificate-data")
        obtained = ExecPlugin(plugin, environ=environ) if not has_certificate else None
    return fixed or obtained or Anonymous()


def _fixed(user: Section) -> Credentials | None:
    token, file = user.text("token"), user.path("tokenFile")
    username, password = user.text("username"), user.text("password")
    if (token or file) and (username or password):
        raise user.error("token", "and username exclude each other; remove one")
    if file is not None:
        return TokenFile(file, fallback=token or None)
    if token:
        return BearerToken(token, source=user.name)
    return Password(username, password) if username or password else None


def _existing(section: Section, key: str) -> Path | None:
    """The path of a file that is there; one that its ``-data`` twin makes superfluous need not be."""
    path = section.path(key)
    if path is not None and not section.text(f"{key}-data") and not is_readable(path):
        raise section.error(key, f"names {path}, which is not there, not a file, or not readable")
    return path


def _plugin(section: Section, cluster: Section) -> PluginCommand:
    version = section.text("apiVersion")
    if version not in API_VERSIONS:
        raise section.error("apiVersion", f"is {version!r}, but must be one of {', '.join(API_VERSIONS)}")
    command = section.text("command")
    if not command:
        raise section.error("command", "is missing")
    env = {item.text("name"): item.text("value") for item in section.sections("env")}
    if "" in env:
        raise section.error("env", "has an entry without a name")
    return PluginCommand(
        # A bare name is looked up on PATH.
        command=str(section.path("command")) if os.sep in command else command,
        api_version=version,
        args=section.texts("args"),
        env=env,
        interactive_mode=_interactive_mode(section, version),
        install_hint=section.text("installHint"),
        cluster=_told(cluster) if section.flag("provideClusterInfo") else None,
    )


def _interactive_mode(section: Section, version: str) -> InteractiveMode:
    default = "IfAvailable" if version.endswith("/v1beta1") else ""
    mode = section.text("interactiveMode") or default
    modes = get_args(InteractiveMode)
    if mode not in modes:
        raise section.error("interactiveMode", f"must be one of {', '.join(modes)} ({version} requires it)")
    return cast(InteractiveMode, mode)


def _told(cluster: Section) -> dict[str, Any]:
    """What an exec plugin is told about the cluster: its fields in the kubeconfig's own spelling, without files."""
    told: dict[str, Any] = {"server": cluster.text("server")}
    for key in ("tls-server-name", "insecure-skip-tls-verify", "proxy-url", "disable-compression"):
        if cluster.values.get(key):
            told[key] = cluster.values[key]
    authority = tls_of(cluster, Section({}, "", cluster.origin, cluster.folder)).authority()
    if authority:
        told["certificate-authority-data"] = b64encode(authority).decode("ascii")
    extension = cluster.named("extensions", "extension").get(_EXEC_EXTENSION)
    if extension is not None:
        told["config"] = extension.values
    return told


def _oidc(provider: Section, environ: Mapping[str, str]) -> Oidc:
    name = provider.text("name")
    if name != "oidc":
        successor = _SUCCESSORS.get(name)
        remedy = f"use its exec plugin {successor}" if successor else "use an exec plugin"
        raise provider.error("name", f"is {name!r}, which Kubernetes removed or never had: {remedy}")
    config = provider.section("config")
    for key in ("idp-issuer-url", "client-id"):
        if not config.text(key):
            raise config.error(key, "is missing")
    tls = TlsConfig(
        ca_data=config.data("idp-certificate-authority-data"),
        ca_file=_existing(config, "idp-certificate-authority"),
        origin=f"{config.name} in {config.origin}",
    )
    client = OidcClient(
        issuer=config.text("idp-issuer-url"),
        client_id=config.text("client-id"),
        client_secret=config.text("client-secret"),
        tls=tls,
    )
    return Oidc(client, id_token=config.text("id-token"), refresh_token=config.text("refresh-token"), environ=environ)
