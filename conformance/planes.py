"""Real servers that cases run on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from kubewright.testing import RealControlPlane
from tests.real import require_binaries

__all__ = ["real_plane"]


@asynccontextmanager
async def real_plane(
    request: pytest.FixtureRequest, disable_admission_plugins: Sequence[str] | None = None
) -> AsyncIterator[RealControlPlane | None]:
    """A real kube-apiserver with everything that is GA or beta, if the real one was chosen; else None."""
    if request.config.getoption("--server") != "real":
        yield None
        return
    async with RealControlPlane(
        binaries=require_binaries(),
        runtime_config="api/ga=true,api/beta=true",
        disable_admission_plugins=disable_admission_plugins,
    ) as plane:
        yield plane
