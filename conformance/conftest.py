"""The servers that the suite runs on, and a client in a namespace of its own for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from kubewright import Client, Config, Metadata
from kubewright.kinds.core_v1 import Namespace
from kubewright.testing import RealControlPlane
from tests.real import require_binaries


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
