"""The embedded API server for tests: in this process, without a socket, by the test's clock."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kubewright.api import now

if TYPE_CHECKING:
    from kubewright_apiserver import ApiServer
    from kubewright_apiserver.kubelets import Kubelet

__all__ = ["embedded_server"]


@asynccontextmanager
async def embedded_server(
    *,
    seed: int = 0,
    manifests: Sequence[str | Path] = (),
    kubelet: Kubelet | None = None,
    enable_admission_plugins: Sequence[str] = (),
) -> AsyncIterator[ApiServer]:
    """An API server in this process without a socket, by kubewright's clock: in virtual time if the test is.

    ``kubelet`` is who has logs and runs commands, such as a ``kubewright.controlplane.kubelet_door.KubeletDoor``.
    ``enable_admission_plugins`` are on beside the default ones: ``ServiceAccount`` is not, for want of a loop that
    makes the accounts.
    Needs the distribution ``kubewright-apiserver`` (``pip install kubewright[embedded]``).
    """
    from kubewright_apiserver import ApiServer

    dice = random.Random(f"{seed}/server")
    server = ApiServer(
        listens=False,
        clock=now,
        dice=dice,
        manifests=manifests,
        kubelet=kubelet,
        enable_admission_plugins=enable_admission_plugins,
    )
    async with server:
        yield server
