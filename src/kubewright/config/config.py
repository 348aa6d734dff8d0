"""Where the API server is and as whom to talk to it: from kubeconfig files or a pod's service account."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kubewright.config.address import parts_of, redacted
from kubewright.config.credentials import Anonymous, Credentials, TokenFile
from kubewright.config.identity import credentials_of, impersonation_of, tls_of
from kubewright.config.impersonation import Impersonation
from kubewright.config.kubeconfig import Kubeconfig
from kubewright.config.proxy import checked_proxy, proxy_for
from kubewright.config.secret import Secretive
from kubewright.config.section import Section, is_readable
from kubewright.config.tls import TlsConfig, TlsContext
from kubewright.errors import ConfigError

__all__ = ["ACCOUNT", "Config"]

_logger = logging.getLogger(__name__)
ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a pod finds its service account."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Config(Secretive):
    """Where the API server is and as whom to talk to it.

    ``Config.load()`` finds what kubectl would find. A config built by hand means exactly what it says: no proxy of the
    environment is added.
    """

    server: str
    """Address without a trailing slash, for example ``https://host:6443`` or ``https://host/prefix``."""
    namespace: str = "default"
    tls: TlsConfig = field(default_factory=TlsConfig)
    credentials: Credentials = field(default_factory=Anonymous)
    proxy: str | None = None
    impersonate: Impersonation | None = None
    context: str | None = None
    """Name of the kubeconfig's context, for messages."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "server", _checked_server(self.server))

    def __repr__(self) -> str:
        proxy = redacted(self.proxy) if self.proxy else None
        return (
            f"Config(server={self.server!r}, namespace={self.namespace!r}, tls={self.tls!r}, "
            f"credentials={self.credentials!r}, proxy={proxy!r}, impersonate={self.impersonate!r}, "
            f"context={self.context!r})"
        )

    def tls_context(self) -> TlsContext:
        """What gives the ``ssl.SSLContext`` for each new connection."""
        return TlsContext(self.server, self.tls, self.credentials)

    @classmethod
    def load(
        cls,
        *,
        kubeconfig: str | Path | None = None,
        context: str | None = None,
        environ: Mapping[str, str] = os.environ,
        home: Path | None = None,
        account: Path = ACCOUNT,
    ) -> Config:
        """The configuration that kubectl would use.

        That is ``kubeconfig`` if given; else the files in $KUBECONFIG; else ``~/.kube/config``; else, if there is no
        such file or nothing in it, the service account of the pod we run in.

        Raises ``ConfigError``, naming every place looked at if there is nothing anywhere.
        """
        if kubeconfig is not None:
            return cls.from_kubeconfig(kubeconfig, context=context, environ=environ)
        listed = [_expanded(part) for part in environ.get("KUBECONFIG", "").split(os.pathsep) if part]
        usual = _usual_file(environ, home)
        # An unreadable file that nobody named is none of ours: a pod may run as anybody in an image made for root.
        found, _ = _read(listed or [path for path in usual if os.access(path, os.R_OK)])
        if not found.is_empty:
            return cls._selected(found, context, environ)
        if context is None and _is_in_cluster(environ):
            return cls.in_cluster(account, environ=environ)
        raise _nothing_found(listed, usual, context)

    @classmethod
    def from_kubeconfig(
        cls,
        paths: str | Path | Sequence[str | Path],
        *,
        context: str | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> Config:
        """The configuration in one file, or in several merged as kubectl does; of several, some may be missing."""
        several = [paths] if isinstance(paths, str | Path) else list(paths)
        found, missing = _read([_expanded(path) for path in several])
        if len(missing) == len(several):
            raise ConfigError(f"there is no kubeconfig at {', '.join(missing) or 'no path at all'}; check the path")
        return cls._selected(found, context, environ)

    @classmethod
    def from_dict(
        cls,
        kubeconfig: Mapping[str, Any],
        *,
        context: str | None = None,
        folder: Path | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> Config:
        """The configuration in a parsed kubeconfig; relative paths in it start from ``folder``, else from here."""
        content = Kubeconfig.of(kubeconfig, "the given kubeconfig", folder or Path())
        return cls._selected(content, context, environ)

    @classmethod
    def in_cluster(cls, root: Path = ACCOUNT, *, environ: Mapping[str, str] = os.environ) -> Config:
        """The service account of the pod we run in; its token and CA are read again when they change."""
        if not _is_in_cluster(environ):
            raise ConfigError(
                "not inside a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; "
                "give a kubeconfig, or run in a pod"
            )
        for name in ("token", "ca.crt"):
            if not is_readable(root / name):
                raise ConfigError(
                    f"this pod has no service account: {root / name} is not there, or not readable; "
                    "check automountServiceAccountToken of the pod and its account"
                )
        host, port = environ["KUBERNETES_SERVICE_HOST"], environ["KUBERNETES_SERVICE_PORT"]
        server = f"https://{f'[{host}]' if ':' in host else host}:{port}"
        return cls(
            server=server,
            namespace=_namespace_in(root / "namespace"),
            tls=TlsConfig(ca_file=root / "ca.crt", origin=f"the service account in {root}"),
            credentials=TokenFile(root / "token"),
            proxy=proxy_for(server, environ),
        )

    @classmethod
    def _selected(cls, kubeconfig: Kubeconfig, context: str | None, environ: Mapping[str, str]) -> Config:
        chosen = kubeconfig.select(context)
        server = _server_of(chosen.cluster)
        proxy = chosen.cluster.text("proxy-url")
        chosen.cluster.flag("disable-compression")
        return cls(
            server=server,
            namespace=chosen.namespace,
            tls=tls_of(chosen.cluster, chosen.user),
            credentials=_credentials(chosen.user, chosen.cluster, environ),
            proxy=checked_proxy(proxy, _field(chosen.cluster, "proxy-url")) if proxy else proxy_for(server, environ),
            impersonate=impersonation_of(chosen.user),
            context=chosen.context,
        )


def _credentials(user: Section, cluster: Section, environ: Mapping[str, str]) -> Credentials:
    """The user's credentials; nobody's for a server without TLS, as with kubectl: anyone on the way could read them."""
    credentials = credentials_of(user, cluster, environ)
    if cluster.text("server").lower().startswith("https:") or type(credentials) is Anonymous:
        return credentials
    _logger.warning("%s: not sending the credentials of %s, because the server has no TLS", user.origin, user.name)
    return Anonymous()


def _server_of(cluster: Section) -> str:
    if not cluster.text("server"):
        raise cluster.error("server", "is missing")
    try:
        return _checked_server(cluster.text("server"))
    except ConfigError as error:
        raise ConfigError(f"{_field(cluster, 'server')}: {error}") from None


def _checked_server(server: str) -> str:
    """The address without a trailing slash, query or fragment, which mean nothing to Kubernetes."""
    parts = parts_of(server)
    if parts is None or parts.scheme not in ("http", "https"):
        raise ConfigError(f"{redacted(server)} is no address of an API server; write https://host:port")
    if "@" in parts.netloc:
        raise ConfigError(f"{redacted(server)} holds a user name or password; move it to the kubeconfig's user")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _field(section: Section, key: str) -> str:
    return f"{section.name}.{key} in {section.origin}"


def _read(paths: Sequence[Path]) -> tuple[Kubeconfig, list[str]]:
    """What is in the files that are there, merged, and the names of those that are not."""
    found, missing = [], []
    for path in dict.fromkeys(paths):
        try:
            found.append(Kubeconfig.read(path))
        except FileNotFoundError:
            missing.append(str(path))
    return Kubeconfig.merged(found), missing


def _expanded(path: str | Path) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def _usual_file(environ: Mapping[str, str], home: Path | None) -> list[Path]:
    """``~/.kube/config``, or nothing for a user without a home, as containers have them."""
    try:
        folder = home or (Path(environ["HOME"]) if environ.get("HOME") else Path.home())
    except RuntimeError:
        return []
    return [folder / ".kube" / "config"]


def _nothing_found(listed: Sequence[Path], usual: Sequence[Path], context: str | None) -> ConfigError:
    if listed:
        files = [f"$KUBECONFIG: {', '.join(map(str, listed))} (not there, or empty)"]
    else:
        names = ", ".join(map(str, usual)) or "~/.kube/config"
        files = ["$KUBECONFIG (not set)", f"{names} (not there, not readable, or empty)"]
    account = "the account of a pod (not asked: it has no contexts)" if context else "the account of a pod (not in one)"
    return ConfigError(
        f"no configuration for a cluster found; looked at {'; '.join([*files, account])}. "
        "Set KUBECONFIG or give kubeconfig= the path of a kubeconfig, or run in a pod with a service account"
    )


def _is_in_cluster(environ: Mapping[str, str]) -> bool:
    return bool(environ.get("KUBERNETES_SERVICE_HOST") and environ.get("KUBERNETES_SERVICE_PORT"))


def _namespace_in(file: Path) -> str:
    try:
        return file.read_text("utf-8").strip() or "default"
    except OSError:
        return "default"
