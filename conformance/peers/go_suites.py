"""controller-runtime's own tests of itself, which start an API server by envtest, built once from its module."""

from __future__ import annotations

import subprocess
from pathlib import Path
from subprocess import CalledProcessError

from conformance.peers.go_programs import MODULE, Unfetched
from tools.built import built, run

__all__ = ["SUITES", "GoSuites"]

SUITES = (
    "builder",
    "cache",
    "client",
    "cluster",
    "controller",
    "controller/controllerutil",
    "envtest",
    "internal/recorder",
    "metrics/filters",
    "source",
)
"""The packages whose tests run; the others need no API server, or need it to call webhooks."""


class GoSuites:
    """Where the suites are.

    Raises: `Unfetched` without a network, if what they are built from is not there.
    """

    def __init__(self) -> None:
        self._folder = built("controller-runtime-suites", [Path(__file__), MODULE / "go.mod"], _build)
        self._module = _source()

    def suite(self, package: str) -> tuple[Path, Path]:
        """The program of one package's tests, and the folder that they run in."""
        return self._folder / _name(package), self._module / "pkg" / package


def _name(package: str) -> str:
    return f"{package.replace('/', '-')}.test"


def _source() -> Path:
    command = ["go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/controller-runtime"]
    found = subprocess.run(command, cwd=MODULE, capture_output=True, text=True, check=True)
    return Path(found.stdout.strip())


def _build(folder: Path) -> None:
    # There, and not from our module, because only its own pins what tests alone import.
    source = _source()
    try:
        for package in SUITES:
            command = ["go", "test", "-c", "-vet=off", "-trimpath", "-ldflags", "-s -w"]
            command += ["-o", str(folder / _name(package)), f"./pkg/{package}"]
            run(command, source, CGO_ENABLED="0", GOWORK="off")
    except CalledProcessError as error:
        raise Unfetched(f"the tests of controller-runtime cannot be built: {error}") from error
