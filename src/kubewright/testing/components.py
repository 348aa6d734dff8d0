"""Starts each part of a control plane with its identity and its flags, and knows when it is ready.

``RealControlPlane`` decides which parts there are; ``Launcher`` runs them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewright.testing.binaries import Binaries, BinariesNotFound
from kubewright.testing.flags import (
    ETCD_SOCKET,
    api_server_flags,
    controller_manager_flags,
    etcd_flags,
    merged,
    scheduler_flags,
)
from kubewright.testing.launcher import Launcher

if TYPE_CHECKING:
    from kubewright.testing.identities import Identities

__all__ = ["Components"]

_API_SERVER: Final = "kube-apiserver"
_CONTROLLER_MANAGER: Final = "kube-controller-manager"
_SCHEDULER: Final = "kube-scheduler"
# The API server calls itself ready before it has made the default namespace, which every test expects.
_API_SERVER_PATHS: Final = ("/readyz", "/api/v1/namespaces/default")


@dataclass(frozen=True, kw_only=True, slots=True)
class Components:
    """The processes of one control plane, started in the order of the methods."""

    binaries: Binaries
    launcher: Launcher
    identities: Identities

    async def start_etcd(self) -> None:
        """Returns when etcd takes connections on its socket."""
        self._etcd_folder.mkdir()
        await self.launcher.start_at_file(
            "etcd",
            [self.binaries.etcd, *etcd_flags()],
            cwd=self._etcd_folder,
            file=self._etcd_folder / ETCD_SOCKET,
        )

    async def start_api_server(self, flags: Sequence[str], *, port: int | None = None) -> int:
        """The port at which the API server is ready: ``port``, or a free one."""
        return await self.launcher.start_at_port(
            _API_SERVER,
            lambda port: [self.binaries.kube_apiserver, *merged(api_server_flags(self.identities, port=port), flags)],
            # etcd's socket is named relative to its folder, so no long path can break it.
            cwd=self._etcd_folder,
            context=self.identities.client_context(),
            paths=_API_SERVER_PATHS,
            port=port,
        )

    def kill_api_server(self) -> None:
        """Kills the API server; nothing happens if it is not running."""
        # Told to end, it would wait ten seconds and more for the watches of others.
        self.launcher.kill(_API_SERVER)

    async def start_controller_manager(self, url: str, flags: Sequence[str]) -> None:
        """Returns when the controller manager is healthy."""
        binary = _present(self.binaries.kube_controller_manager, _CONTROLLER_MANAGER)
        kubeconfig = self.identities.kubeconfig(url, "system:kube-controller-manager")
        await self.launcher.start_at_port(
            _CONTROLLER_MANAGER,
            lambda port: [
                binary,
                *merged(controller_manager_flags(self.identities, port=port, kubeconfig=kubeconfig), flags),
            ],
            cwd=self.launcher.folder,
            context=self.identities.client_context(),
            paths=["/healthz"],
        )

    async def start_scheduler(self, url: str, flags: Sequence[str]) -> None:
        """Returns when the scheduler has read what it schedules by."""
        binary = _present(self.binaries.kube_scheduler, _SCHEDULER)
        kubeconfig = self.identities.kubeconfig(url, "system:kube-scheduler")
        await self.launcher.start_at_port(
            _SCHEDULER,
            lambda port: [binary, *merged(scheduler_flags(self.identities, port=port, kubeconfig=kubeconfig), flags)],
            cwd=self.launcher.folder,
            context=self.identities.client_context(),
            paths=["/readyz"],
        )

    @property
    def _etcd_folder(self) -> Path:
        return self.launcher.folder / "etcd"


def _present(binary: Path | None, name: str) -> Path:
    if binary is None:
        raise BinariesNotFound(f"The binaries given have no {name}; run `make real` and leave `binaries` out")
    return binary
