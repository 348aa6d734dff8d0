"""The real control plane that tests share: one a session, and the rule when its binaries are missing.

A conftest takes part by ``from tests.real import pytest_collection_modifyitems, real_control_plane``.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kubewright.testing import Binaries, BinariesNotFound, RealControlPlane, find_binaries

__all__ = ["pytest_collection_modifyitems", "real_control_plane", "require_binaries"]


def require_binaries(*, controller_manager: bool = False, scheduler: bool = False) -> Binaries:
    """The real binaries; without them the test is skipped, but fails in CI where Go could have built them.

    `make test` needs no cluster and uses none, also where there is one to be had: that is for `make conformance`.
    """
    if os.environ.get("KUBEWRIGHT_REAL") == "no":
        pytest.skip("make conformance runs this, on the real binaries")
    try:
        return find_binaries(controller_manager=controller_manager, scheduler=scheduler)
    except BinariesNotFound as error:
        if os.environ.get("CI") and shutil.which("go"):
            pytest.fail(f"CI has Go, so it must test on the real control plane. {error}", pytrace=False)
        pytest.skip(str(error))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def real_control_plane() -> AsyncIterator[RealControlPlane]:
    """A running real control plane shared by the whole session: keep to a namespace of your own, and never stop it."""
    async with RealControlPlane(binaries=require_binaries()) as plane:
        yield plane


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts every test on the shared control plane into one group, so that ``--dist loadgroup`` starts it once."""
    for item in items:
        if isinstance(item, pytest.Function) and "real_control_plane" in item.fixturenames:
            item.add_marker(pytest.mark.xdist_group("real"))
