"""The flags of etcd, kube-apiserver, kube-controller-manager and kube-scheduler.

``components`` starts the binaries with them; here is why each flag is as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kubewright.testing.identities import Identities

__all__ = ["ETCD_SOCKET", "api_server_flags", "controller_manager_flags", "etcd_flags", "merged", "scheduler_flags"]

ETCD_SOCKET: Final = "client:1"
"""File name of etcd's Unix socket in its working folder; etcd insists on the form host:port."""

_PEER_SOCKET: Final = "peer:1"
_SERVICE_RANGE: Final = "10.0.0.0/24"
_ISSUER: Final = "https://kubernetes.default.svc.cluster.local"


def merged(defaults: Sequence[str], flags: Sequence[str]) -> list[str]:
    """``flags`` with those ``defaults`` that they do not set themselves.

    Kubernetes appends repeated list flags instead of replacing them, so a default must go, not only come first.
    """
    given = {flag.partition("=")[0] for flag in flags}
    return [*(flag for flag in defaults if flag.partition("=")[0] not in given), *flags]


def etcd_flags() -> list[str]:
    """Flags for an etcd in its working folder: Unix sockets, so no port can be taken, and no waiting for the disk."""
    return [
        "--name=etcd",
        "--data-dir=data",
        "--unsafe-no-fsync",
        "--log-level=warn",
        f"--listen-client-urls=unix://{ETCD_SOCKET}",
        f"--advertise-client-urls=unix://{ETCD_SOCKET}",
        f"--listen-peer-urls=unix://{_PEER_SOCKET}",
        f"--initial-advertise-peer-urls=unix://{_PEER_SOCKET}",
        f"--initial-cluster=etcd=unix://{_PEER_SOCKET}",
    ]


def api_server_flags(identities: Identities, *, port: int) -> list[str]:
    """Flags for a kube-apiserver on loopback with RBAC and client certificates, in etcd's working folder."""
    return [
        *_serving_flags(identities, port),
        "--advertise-address=127.0.0.1",
        "--allow-privileged=true",
        "--authorization-mode=RBAC",
        f"--client-ca-file={identities.ca_file}",
        # Endpoints may not hold a loopback address: the reconciler would log an error every ten seconds.
        "--endpoint-reconciler-type=none",
        f"--etcd-servers=unix://{ETCD_SOCKET}",
        "--profiling=false",
        f"--service-account-issuer={_ISSUER}",
        f"--service-account-key-file={identities.token_public_file}",
        f"--service-account-signing-key-file={identities.token_key_file}",
        f"--service-cluster-ip-range={_SERVICE_RANGE}",
    ]


def controller_manager_flags(identities: Identities, *, port: int, kubeconfig: Path) -> list[str]:
    """Flags for a kube-controller-manager whose controllers each use their own service account, as in production."""
    return [
        *_client_flags(identities, port, kubeconfig),
        f"--cluster-signing-cert-file={identities.ca_file}",
        f"--cluster-signing-key-file={identities.ca_key_file}",
        f"--root-ca-file={identities.ca_file}",
        f"--service-account-private-key-file={identities.token_key_file}",
        "--use-service-account-credentials=true",
    ]


def scheduler_flags(identities: Identities, *, port: int, kubeconfig: Path) -> list[str]:
    """Flags for a kube-scheduler with its default profile."""
    return _client_flags(identities, port, kubeconfig)


def _serving_flags(identities: Identities, port: int) -> list[str]:
    return [
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={identities.server_certificate_file}",
        f"--tls-private-key-file={identities.server_key_file}",
    ]


def _client_flags(identities: Identities, port: int, kubeconfig: Path) -> list[str]:
    return [
        *_serving_flags(identities, port),
        "--authentication-skip-lookup=true",
        # The production limits of 20 to 50 requests a second would make tests wait.
        "--kube-api-burst=400",
        "--kube-api-qps=200",
        f"--kubeconfig={kubeconfig}",
        "--leader-elect=false",
        "--profiling=false",
    ]
