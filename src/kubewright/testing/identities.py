"""The keys, certificates and kubeconfigs of one control plane, as files that only their owner can read.

``flags`` names these files to the binaries; ``RealControlPlane`` hands out the kubeconfigs.
"""

from __future__ import annotations

import base64
import os
import re
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import yaml

from kubewright.testing.certificates import Authority, KeyPair, signing_key_pair

__all__ = ["Identities"]

_ADMIN: Final = "kubernetes-admin"
# Every authorizer of Kubernetes lets this group do everything.
_ADMIN_GROUPS: Final = ("system:masters",)

_SERVER_HOSTS: Final = (
    "127.0.0.1",
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "10.0.0.1",
)


class Identities:
    """An authority of its own, a server certificate, a token-signing key, and any number of users.

    ``folder`` must exist; nothing is written outside it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._authority = Authority("kubewright-real-control-plane")
        self._users = 0
        self.ca_file: Path
        self.ca_key_file: Path
        self.server_certificate_file: Path
        self.server_key_file: Path
        self.token_public_file: Path
        self.token_key_file: Path
        self.ca_file, self.ca_key_file = self._write_pair("ca", self._authority.pair)
        server = self._authority.issue_server("kube-apiserver", _SERVER_HOSTS)
        self.server_certificate_file, self.server_key_file = self._write_pair("server", server)
        self.token_public_file, self.token_key_file = self._write_pair("service-account", signing_key_pair())
        self._admin_files = self._write_pair("admin", self._authority.issue_client(_ADMIN, _ADMIN_GROUPS))

    def kubeconfig(self, url: str, user: str, groups: Sequence[str] = ()) -> Path:
        """A kubeconfig for the server at ``url`` with a fresh client certificate embedded."""
        self._users += 1
        pair = self._authority.issue_client(user, groups)
        path = self._folder / f"{self._users}-{re.sub(r'[^A-Za-z0-9.-]', '-', user)}.kubeconfig"
        _write_private(path, yaml.safe_dump(self._document(url, user, pair), sort_keys=False).encode())
        return path

    def admin_kubeconfig(self, url: str) -> Path:
        """A kubeconfig of the administrator, who may do everything."""
        return self.kubeconfig(url, _ADMIN, _ADMIN_GROUPS)

    def client_context(self) -> ssl.SSLContext:
        """A TLS context that trusts this authority alone and speaks for the administrator."""
        context = ssl.create_default_context(cafile=str(self.ca_file))
        context.load_cert_chain(*self._admin_files)
        return context

    def _document(self, url: str, user: str, pair: KeyPair) -> dict[str, object]:
        cluster = {"server": url, "certificate-authority-data": _base64(self._authority.pair.public)}
        credentials = {"client-certificate-data": _base64(pair.public), "client-key-data": _base64(pair.private)}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "real", "cluster": cluster}],
            "users": [{"name": user, "user": credentials}],
            "contexts": [{"name": "real", "context": {"cluster": "real", "user": user}}],
            "current-context": "real",
        }

    def _write_pair(self, name: str, pair: KeyPair) -> tuple[Path, Path]:
        public, private = self._folder / f"{name}.crt", self._folder / f"{name}.key"
        _write_private(public, pair.public)
        _write_private(private, pair.private)
        return public, private


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _write_private(path: Path, content: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
