"""The servers that the suite runs on, and for each test a client or a raw ``api`` in a namespace of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from conformance.exchange import Api, normalised
from conformance.golden import Golden
from kubewright import Client, Config, Metadata
from kubewright.client import HttpTransport
from kubewright.kinds.core_v1 import Namespace
from kubewright.testing import RealControlPlane
from tests.real import require_binaries


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--record`` keeps the real server's answers as what every server must give."""
    parser.addoption("--record", action="store_true", help="record the answers of the real server in golden/")


def pytest_configure(config: pytest.Config) -> None:
    """Let asyncio's own leak pass: a TLS handshake that a restarting server cuts off leaves its socket to the collector."""
    config.addinivalue_line("filterwarnings", "default::pytest.PytestUnraisableExceptionWarning")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def plane() -> AsyncIterator[RealControlPlane]:
    """A real kube-apiserver with everything that is GA or beta."""
    async with RealControlPlane(binaries=require_binaries(), runtime_config="api/ga=true,api/beta=true") as plane:
        yield plane


@pytest_asyncio.fixture
async def client(plane: RealControlPlane) -> AsyncIterator[Client]:
    """A client whose default namespace is new and its test's own."""
    async with Client(Config.from_kubeconfig(plane.kubeconfig)) as admin:
        namespace = await admin.create(Namespace(metadata=Metadata(generate_name="conformance-")))
        yield admin.using(namespace=namespace.name)


@pytest_asyncio.fixture
async def api(client: Client, plane: RealControlPlane, request: pytest.FixtureRequest) -> AsyncIterator[Api]:
    """Raw requests whose answers must be those that the real server gave."""
    transport = HttpTransport(Config.from_kubeconfig(plane.kubeconfig))
    api = Api(transport.send, client.namespace, plane)
    try:
        yield api
    finally:
        await transport.aclose()
    exchanges = normalised(api.exchanges, client.namespace)
    golden = Golden(request.node.path.stem.removeprefix("test_"))
    if request.config.getoption("--record"):
        golden.record(request.node.name, exchanges)
    assert exchanges == golden.expected(request.node.name)
