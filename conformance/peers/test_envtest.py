"""Tests in Go start the server by envtest: with the stand-ins of its binaries, and with the real ones."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from conformance.peers.go_programs import GoPrograms
from conformance.peers.go_suites import SUITES, GoSuites
from conformance.peers.logged import logged
from tests.real import require_binaries
from tools.built import run


@pytest.fixture
def assets(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The folder in which envtest finds kube-apiserver, etcd and kubectl."""
    binaries = require_binaries()
    if request.config.getoption("--server") == "real":
        return binaries.kube_apiserver.parent
    if request.config.getoption("--server") != "http":
        pytest.skip("envtest needs a server that listens")
    folder = tmp_path / "assets"
    folder.mkdir()
    (folder / "kubectl").symlink_to(binaries.kubectl)
    run([sys.executable, "-m", "kubewright_apiserver", "--write-assets", folder], tmp_path)
    return folder


async def test_envtest_starts_uses_and_stops_the_server(programs: GoPrograms, assets: Path, tmp_path: Path):
    command = (programs.program("environment.test"), "-test.v", "-test.timeout=5m")
    known = {"KUBEBUILDER_ASSETS": str(assets), "DEFINITIONS": str(programs.definitions)}
    async with logged(*command, kubeconfig=None, folder=tmp_path, **known) as tests:
        code = await tests.code(within=300)

    assert code == 0, str(tests)
    assert len([line for line in tests.lines if line.startswith("--- PASS")]) == 6


# There are no webhooks yet.
_SKIPPED = "should reject create request for webhook that rejects all requests"


@pytest.mark.parametrize("package", SUITES)
async def test_controller_runtime_passes_its_own_tests(suites: GoSuites, assets: Path, tmp_path: Path, package: str):
    program, folder = suites.suite(package)
    command = (program, "-ginkgo.no-color", "-ginkgo.skip", _SKIPPED, "-test.timeout=10m")
    known = {"KUBEBUILDER_ASSETS": str(assets), "TMPDIR": str(tmp_path)}
    async with logged(*command, kubeconfig=None, folder=folder, **known) as tests:
        code = await tests.code(within=600)

    assert code == 0, str(tests)
    assert tests.told("SUCCESS!", " 0 Failed ")
