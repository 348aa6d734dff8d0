"""The same operator in several frameworks, each as a process beside a cluster with two nodes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

__all__ = ["FRAMEWORKS", "Framework", "beside", "cluster"]

HERE = Path(__file__).parent
ROOT = HERE.parent
BIN = Path(sys.executable).parent

Framework: TypeAlias = Callable[[str], list[str]]
"""Of an example's name the command that runs it, in its folder ``peers``."""


def kubewright(example: str) -> list[str]:
    """Ours; needs nothing."""
    return [str(BIN / "kubewright"), "run", f"kubewright_{example}:operator", "--install-crds", "true"]


def kopf(example: str) -> list[str]:
    """In its own environment."""
    python = str(ROOT / ".venv-peers/bin/python")
    return [python, "-m", "kopf", "run", "--standalone", "--all-namespaces", f"kopf_{example}.py"]


def controller_runtime(example: str) -> list[str]:
    """Built from Go, and kept."""
    sys.path.insert(0, str(ROOT))
    from tools.built import built, run

    package = HERE / example / "peers/controller_runtime"

    def build(folder: Path) -> None:
        command = ["go", "build", "-mod=readonly", "-o", str(folder / "program"), "."]
        run(command, package, CGO_ENABLED="0", GOWORK="off")

    sources = [HERE / "go.mod", HERE / "go.sum", *sorted(package.glob("*.*"))]
    return [str(built(example, sources, build) / "program")]


_ASKED = pytest.mark.skipif(not os.environ.get("KUBEWRIGHT_PEERS"), reason="peers run under `make peers`")
_GO = pytest.mark.skipif(shutil.which("go") is None, reason="there is no Go")
FRAMEWORKS = [
    pytest.param(kubewright, id="kubewright"),
    pytest.param(kopf, id="kopf", marks=_ASKED),
    pytest.param(controller_runtime, id="controller_runtime", marks=[_ASKED, _GO]),
]
"""Values of a test's parameter ``framework``."""


@contextmanager
def beside(command: list[str], folder: Path, log: Path, **environment: str) -> Iterator[None]:
    """The command runs meanwhile; what it said is shown if something fails."""
    with log.open("wb") as out:
        env = {**os.environ, **environment}
        child = subprocess.Popen(command, cwd=folder, env=env, stdout=out, stderr=subprocess.STDOUT)
    try:
        yield
    except BaseException:
        sys.stdout.write(log.read_text())
        raise
    finally:
        child.terminate()
        child.wait(timeout=30)


@contextmanager
def cluster(crd: Path, folder: Path) -> Iterator[Path]:
    """The kubeconfig of a cluster with two nodes and the hand-written CRD."""
    file, log = folder / "cluster.yaml", folder / "up.log"
    up = [str(BIN / "kubewright"), "up", "--nodes", "2", "--kubeconfig", str(file), "--manifests", str(crd)]
    with beside(up, folder, log):
        wait = f"timeout 60 bash -c 'until grep -q \"is ready\" {log}; do sleep 0.1; done'"
        subprocess.run(["bash", "-c", wait], check=True)
        yield file
