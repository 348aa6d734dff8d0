"""The same is done to our control loops and to Kubernetes' own, and the same is there in the end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from conformance.choreography.scripts import SCRIPTS, Script
from conformance.choreography.stages import our_stage, real_cluster, real_stage
from conformance.choreography.told import told
from conformance.choreography.troubles import TROUBLES
from conformance.exchange import differences
from conformance.golden import Golden
from kubewright import Client
from kubewright.testing import run_virtual
from tests.real import require_binaries

RECORDED = ("recorded", Path(__file__).parent)
ALL = SCRIPTS | TROUBLES


async def played(script: Script) -> dict[str, list[Any]]:
    async with our_stage() as stage:
        await script(stage)
        return await told(stage.client)


@pytest.fixture
def only_once(request: pytest.FixtureRequest) -> str:
    """The server, unless it is one on which the same would be tried again."""
    server: str = request.config.getoption("--server")
    if server in ("sqlite", "http"):
        pytest.skip("the loops are played once, on the server in memory")
    return server


@pytest.mark.parametrize("name", list(ALL))
def test_our_loops_leave_what_kubernetes_own_leave(name: str, only_once: str):
    if only_once == "real":
        pytest.skip("the real loops are played by another test")

    found = run_virtual(played(ALL[name]))

    differing = differences(found, Golden(*RECORDED).expected(name))
    assert not differing, "\n".join(differing)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kubernetes(request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    """Kubernetes' own loops."""
    if request.config.getoption("--server") != "real":
        pytest.skip("Kubernetes' own loops run on the real server only")
    require_binaries()
    async with real_cluster() as client:
        yield client


# They take ten minutes, nearly all of it waiting: two clusters play half of them each.
PLAYED = [
    pytest.param(name, marks=pytest.mark.xdist_group(f"choreography-{index % 2}")) for index, name in enumerate(ALL)
]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", PLAYED)
async def test_kubernetes_own_loops_leave_what_was_recorded(
    name: str, kubernetes: Client, request: pytest.FixtureRequest
):
    stage = await real_stage(kubernetes)
    await ALL[name](stage)

    found = await told(stage.client)

    golden = Golden(*RECORDED)
    if request.config.getoption("--record"):
        golden.record(name, found)
    differing = differences(found, golden.expected(name))
    assert not differing, "\n".join(differing)
