"""The contestants of the loop's benchmarks: builds those that must be built, once, and says how each is started.

Everything built goes to the cache folder, beside the real Kubernetes binaries: ``python -m benchmarks.loop_peers``.
"""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from tools.built import built, run

__all__ = ["CONTROLLER_RUNTIME", "KOPF", "KUBEWRIGHT", "KUBE_RS", "UVLOOP", "commands", "versions"]

CONTROLLER_RUNTIME, KUBE_RS, KOPF = "controller-runtime", "kube-rs", "kopf"
KUBEWRIGHT, UVLOOP = "kubewright", "kubewright, uvloop"

_HERE = Path(__file__).parent
_PEERS = _HERE / "peers"
_KOPF = ("kopf==1.45.2", "iso8601==2.1.0", "python-json-logger==4.2.0")


def commands() -> dict[str, list[str]]:
    """How each contestant is started, by name; the yardstick first. What is missing is built; kube-rs needs cargo."""
    found = {CONTROLLER_RUNTIME: [str(_controller_runtime())]}
    if shutil.which("cargo") is not None:
        found[KUBE_RS] = [str(_kube_rs())]
    found[KOPF] = [str(_kopf()), str(_PEERS / "kopf_operator.py")]
    ours = [sys.executable, str(_PEERS / "kubewright_operator.py")]
    found[KUBEWRIGHT] = ours
    if find_spec("uvloop") is not None:
        found[UVLOOP] = [*ours, "--uvloop"]
    return found


def versions() -> dict[str, str]:
    """What is measured, from where it is pinned."""
    modules = (_PEERS / "controller_runtime/go.mod").read_text().split()
    crates = (_PEERS / "kube_rs/Cargo.toml").read_text()
    return {
        CONTROLLER_RUNTIME: modules[modules.index("sigs.k8s.io/controller-runtime") + 1].removeprefix("v"),
        KUBE_RS: crates.partition('kube = { version = "=')[2].partition('"')[0],
        KOPF: _KOPF[0].partition("==")[2],
    }


def _controller_runtime() -> Path:
    source = _PEERS / "controller_runtime"

    def build(folder: Path) -> None:
        command = ["go", "build", "-mod=readonly", "-trimpath", "-ldflags", "-s -w", "-o", str(folder / "program"), "."]
        # Without cgo no C compiler is needed.
        run(command, source, CGO_ENABLED="0", GOWORK="off")

    return built(CONTROLLER_RUNTIME, sorted(source.glob("*.*")), build) / "program"


def _kube_rs() -> Path:
    source = _PEERS / "kube_rs"

    def build(folder: Path) -> None:
        # Cargo writes beside its sources, which is no place for what is made.
        copied = folder / "source"
        shutil.copytree(source, copied, dirs_exist_ok=True)
        run(["cargo", "build", "--release", "--quiet", "--jobs", "2"], copied, CARGO_TARGET_DIR=str(folder / "target"))

    sources = [source / "Cargo.toml", *sorted(source.glob("src/*.rs"))]
    return built(KUBE_RS, sources, build) / "target/release/kube-rs"


def _kopf() -> Path:
    """Alone in its environment: kopf imports any other client that it finds, which costs it half a second."""

    def build(folder: Path) -> None:
        run([sys.executable, "-m", "venv", "--clear", str(folder)], _HERE)
        constraints = str(_HERE.parent / "constraints.txt")
        pip = [str(folder / "bin/pip"), "install", "--quiet", "--disable-pip-version-check"]
        run([*pip, "--constraint", constraints, *_KOPF], _HERE)

    return built(KOPF, [Path(__file__)], build) / "bin/python"


if __name__ == "__main__":
    for name, command in commands().items():
        print(name, *command)
