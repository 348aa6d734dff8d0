"""The commands of each README as written, on a cluster of ``kubewright up`` and on a real API server with our loops."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kubewright.testing import BinariesNotFound, RealControlPlane, find_binaries

HERE = Path(__file__).parent
EXAMPLES = ["nginx", "podbugger", "podset"]
PLANE = (
    "import sys; from kubewright.controlplane import control_plane; from kubewright.operator.settings import Settings; "
)
PLANE += "control_plane(nodes=2).run(Settings(kubeconfig=sys.argv[1], listen='off', leader_election=False))"


def blocks(example: str) -> list[str]:
    """The shell blocks of its README: the cluster, the operator, and what a person does."""
    text = (HERE / example / "README.md").read_text()
    return re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of the example, so that nothing is left behind in it."""
    return Path(shutil.copytree(HERE / request.param, tmp_path / request.param))


def environment(kubectl: Path) -> dict[str, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), str(kubectl.parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "HOME": "/nonexistent"}


@contextmanager
def in_background(*command: str, folder: Path, env: dict[str, str], says: str) -> Iterator[None]:
    """A command that runs beside the block, once it has said that; ended by Ctrl-C, as a person does."""
    log = folder / f"{len(list(folder.glob('*.log')))}.log"
    with log.open("wb") as out:
        child = subprocess.Popen(
            command, cwd=folder, env=env, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        wait = f"timeout 60 bash -c 'until grep -q \"{says}\" {log}; do sleep 0.1; done'"
        subprocess.run(["bash", "-c", wait], check=True)
        yield
    except BaseException:
        sys.stdout.write(log.read_text())
        raise
    finally:
        os.killpg(child.pid, signal.SIGINT)
        child.wait(timeout=30)


def play(folder: Path, env: dict[str, str]) -> str:
    """What the operator's and the person's commands print."""
    _, operator, person = blocks(folder.name)
    with in_background("bash", "-ec", operator, folder=folder, env=env, says="works"):
        done = subprocess.run(
            ["bash", "-exc", person], cwd=folder, env=env, capture_output=True, text=True, timeout=240
        )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


TOLD = {
    "podset": ["ScaledUp", "created 3 pods", "Progressing", "5 of 5 pods are ready"],
    "podbugger": ["Equipped", "web has bugger-shell (busybox)", "1 of 1 pods have bugger-shell"],
    "nginx": ["created Deployment instance", "OperandReady", "pods are ready"],
}


@pytest.fixture
def kubectl() -> Path:
    if os.environ.get("KUBEWRIGHT_REAL") == "no":
        pytest.skip("make conformance runs this, with kubectl")
    try:
        return find_binaries().kubectl
    except BinariesNotFound as error:
        if os.environ.get("CI") and shutil.which("go"):
            pytest.fail(f"CI has Go, so it must have kubectl. {error}", pytrace=False)
        pytest.skip(str(error))


@pytest.mark.parametrize("folder", EXAMPLES, indirect=True)
def test_the_commands_of_a_readme_work_on_a_cluster_of_ours(folder: Path, kubectl: Path) -> None:
    env = environment(kubectl)
    up = blocks(folder.name)[0]

    with in_background("bash", "-ec", up, folder=folder, env=env, says="is ready"):
        printed = play(folder, env)

    assert [text for text in TOLD[folder.name] if text not in printed] == []


@pytest.fixture
async def real_cluster(folder: Path, kubectl: Path) -> AsyncIterator[dict[str, str]]:
    """A real API server; its kubeconfig stands where the README says."""
    async with RealControlPlane(binaries=find_binaries()) as plane:
        shutil.copy(plane.kubeconfig, folder / "cluster.yaml")
        yield environment(kubectl)


@pytest.mark.parametrize("folder", EXAMPLES, indirect=True)
async def test_the_commands_of_a_readme_work_on_a_real_server(folder: Path, real_cluster: dict[str, str]) -> None:
    def run() -> str:
        loops = (sys.executable, "-c", PLANE, "cluster.yaml")
        with in_background(*loops, folder=folder, env=real_cluster, says="controller scheduler works"):
            return play(folder, real_cluster)

    printed = await asyncio.to_thread(run)

    assert [text for text in TOLD[folder.name] if text not in printed] == []
