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

__all__ = ["embedded_server"]


@asynccontextmanager
async def embedded_server(*, seed: int = 0, manifests: Sequence[str | Path] = ()) -> AsyncIterator[ApiServer]:
    """An API server in this process without a socket, by kubewright's clock: in virtual time if the test is.

    Needs the distribution ``kubewright-apiserver`` (``pip install kubewright[embedded]``).
    """
    from kubewright_apiserver import ApiServer

    dice = random.Random(f"{seed}/server")
    async with ApiServer(listens=False, clock=now, dice=dice, manifests=manifests) as server:
        yield server
