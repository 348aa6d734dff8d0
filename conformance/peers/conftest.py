"""The peers: installed by ``make peers``, and skipped without."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from conformance.conftest import Chosen
from conformance.exchange import Api
from conformance.objects import crd
from conformance.peers.account import Accounts
from conformance.peers.defined import define
from conformance.peers.go_programs import GoPrograms, Unfetched
from conformance.peers.go_suites import GoSuites
from conformance.peers.peer import PYTHON, Peer
from kubewright import Client, Metadata, Unstructured
from kubewright.kinds.core_v1 import ConfigMap

CRATE = Path(__file__).parent / "kube_rs"
Widget = Unstructured.of("peers.example.com/v1", "Widget", plural="widgets")


@pytest_asyncio.fixture
async def peer(server: Chosen, client: Client, tmp_path: Path) -> Peer:
    """Starts peers in a namespace with the ConfigMaps x and y, on a server that has widgets."""
    if server.kubeconfig is None:
        pytest.skip("peers need a server that listens")
    if not PYTHON.exists():
        pytest.skip("the peers are not installed: `make peers` does it")
    await define(client, crd("widgets", "peers.example.com", subresources={"status": {}}))
    for name in ("x", "y"):
        await client.create(ConfigMap(metadata=Metadata(name=name)))
    return Peer(server.kubeconfig, client.namespace, tmp_path)


@pytest_asyncio.fixture
async def accounts(server: Chosen, client: Client, tmp_path: Path) -> AsyncIterator[Accounts]:
    """Makes the service accounts that peers run as."""
    if server.kubeconfig is None:
        pytest.skip("peers need a server that listens")
    accounts = Accounts(Api(server.transport.send, client.namespace), server.kubeconfig, tmp_path)
    yield accounts
    await accounts.end()


@pytest.fixture(scope="session")
def go(request: pytest.FixtureRequest) -> None:
    """That there is Go, and a server for what is built with it."""
    if request.config.getoption("--server") not in ("http", "real"):
        pytest.skip("peers need a server that listens")
    if shutil.which("go") is None:
        pytest.skip("controller-runtime needs Go, which is not installed")


@pytest.fixture(scope="session")
def programs(go: None) -> GoPrograms:
    """The programs of controller-runtime, built if need be, which takes minutes."""
    try:
        return GoPrograms()
    except Unfetched as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def suites(go: None) -> GoSuites:
    """The tests that controller-runtime has of itself, built if need be, which takes minutes."""
    try:
        return GoSuites()
    except Unfetched as error:
        pytest.skip(str(error))


def _cargo(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["cargo", *words], cwd=CRATE, capture_output=True, text=True, check=False)


@pytest.fixture
def kube_rs(peer: Peer) -> Path:
    """The program that lists and watches with kube-rs, built if need be; after ``peer``, which may skip."""
    if shutil.which("cargo") is None:
        pytest.skip("kube-rs needs cargo, which is not installed")
    fetched = _cargo("fetch")
    if fetched.returncode:
        pytest.skip(f"the crates of kube-rs cannot be fetched: {fetched.stderr.strip().splitlines()[-1]}")
    built = _cargo("build", "--quiet")
    assert built.returncode == 0, built.stderr
    return CRATE / "target/debug/kube-rs-peer"
