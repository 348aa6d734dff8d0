"""Builds the real Kubernetes binaries, pinned by the Go modules beside this file, into the cache folder.

Tests and conformance find them there through ``kubewright.testing.find_binaries``. Only the standard library is used,
so that any Python can run it: ``python tools/real/build.py [--oracles] [NAME ...]``.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import fcntl
import hashlib
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

VERSION: Final = "1.36.3"
"""Kubernetes' version; ``kubewright.testing`` looks in the folder of the same version."""

_HERE: Final = Path(__file__).resolve().parent
_MAJOR, _MINOR, _ = VERSION.split(".")
_BUILD: Final = "k8s.io/component-base/version"
_KUBERNETES_LDFLAGS: Final = (
    f"-s -w -X {_BUILD}.gitMajor={_MAJOR} -X {_BUILD}.gitMinor={_MINOR}"
    f" -X {_BUILD}.gitVersion=v{VERSION} -X {_BUILD}.gitTreeState=clean"
)
_HEARTBEAT_SECONDS: Final = 15.0
_started: Final = time.monotonic()


class BuildFailed(Exception):
    """A binary could not be built; ``exit_code`` is 2 when Go itself is missing or too old."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclasses.dataclass(frozen=True)
class Target:
    """One binary: the package it is built from, and the module that pins the package's version."""

    name: str
    module: str
    package: str
    ldflags: str = "-s -w"
    is_test: bool = False
    """Built by ``go test -c`` because the program is a test suite."""

    def stamp(self) -> str:
        """A digest of everything that decides what the binary contains."""
        digest = hashlib.sha256()
        for part in (VERSION, self.package, self.ldflags, sys.platform, platform.machine()):
            digest.update(part.encode() + b"\0")
        for name in ("go.mod", "go.sum"):
            digest.update((_HERE / self.module / name).read_bytes() + b"\0")
        return digest.hexdigest()

    def command(self, go: str, output: Path) -> list[str]:
        """The command that writes the binary to ``output``."""
        verb = ["test", "-c", "-vet=off"] if self.is_test else ["build"]
        return [go, *verb, "-mod=readonly", "-trimpath", "-ldflags", self.ldflags, "-o", str(output), self.package]


def _kubernetes(name: str) -> Target:
    return Target(name, "kubernetes", f"k8s.io/kubernetes/cmd/{name}", _KUBERNETES_LDFLAGS)


def _pinned(module: str, dependency: str) -> str:
    text = (_HERE / module / "go.mod").read_text(encoding="utf-8")
    found = re.search(rf"^\s*(?:require )?{re.escape(dependency)} (v\S+)", text, re.MULTILINE)
    if found is None:
        raise BuildFailed(f"{module}/go.mod does not require {dependency}")
    return found[1]


def _targets() -> tuple[Target, ...]:
    return (
        Target("etcd", "etcd", "go.etcd.io/etcd/server/v3"),
        *map(_kubernetes, ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")),
    )


def _oracles() -> tuple[Target, ...]:
    helm, tools = "helm.sh/helm/v4", "sigs.k8s.io/controller-tools"
    helm_version, tools_version = _pinned("oracles/helm", helm), _pinned("oracles/controller-tools", tools)
    return (
        Target("helm", "oracles/helm", f"{helm}/cmd/helm", f"-s -w -X {helm}/internal/version.version={helm_version}"),
        Target(
            "controller-gen",
            "oracles/controller-tools",
            f"{tools}/cmd/controller-gen",
            f"-s -w -X {tools}/pkg/version.version={tools_version}",
        ),
        Target("e2e.test", "kubernetes", "k8s.io/kubernetes/test/e2e", _KUBERNETES_LDFLAGS, is_test=True),
    )


def cache_folder(environ: Mapping[str, str]) -> Path:
    """The folder that the binaries belong in; it may not exist yet."""
    own = environ.get("KUBEWRIGHT_CACHE")
    shared = environ.get("XDG_CACHE_HOME")
    root = Path(own) if own else (Path(shared) if shared else Path.home() / ".cache") / "kubewright"
    return root / "real" / VERSION


def _stamp_file(folder: Path, target: Target) -> Path:
    return folder / f".{target.name}.stamp"


def _is_current(folder: Path, target: Target) -> bool:
    try:
        written = _stamp_file(folder, target).read_text(encoding="utf-8")
    except OSError:
        return False
    return written == target.stamp() and os.access(folder / target.name, os.X_OK)


def _say(text: str) -> None:
    print(f"[{time.monotonic() - _started:6.1f} s] {text}", flush=True)


def _environment() -> dict[str, str]:
    # Without cgo no C compiler is needed, and the binaries run on any machine of this architecture.
    return os.environ | {"CGO_ENABLED": "0", "GOWORK": "off"}


def _version_pair(text: str) -> tuple[int, int]:
    found = re.search(r"(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _find_go(module: Path) -> str:
    wanted = re.search(r"^go (\S+)", (module / "go.mod").read_text(encoding="utf-8"), re.MULTILINE)
    needed = wanted[1] if wanted else "1.26"
    remedy = f"Install Go {needed} or newer from https://go.dev/dl/ and put its bin folder on PATH."
    go = shutil.which("go")
    if go is None:
        raise BuildFailed(f"Go is not installed, and Kubernetes {VERSION} is built from its Go sources.\n{remedy}", 2)
    asked = subprocess.run(
        [go, "env", "GOVERSION"], cwd=module, env=_environment(), capture_output=True, text=True, check=False
    )
    if asked.returncode or _version_pair(asked.stdout) < _version_pair(needed):
        said = (asked.stdout + asked.stderr).strip()
        raise BuildFailed(f"Go at {go} is too old to build Kubernetes {VERSION}: it says {said!r}.\n{remedy}", 2)
    return go


def _run_to_end(command: Sequence[str], cwd: Path, name: str) -> None:
    with subprocess.Popen(command, cwd=cwd, env=_environment()) as process:
        try:
            while True:
                try:
                    code = process.wait(timeout=_HEARTBEAT_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    _say(f"{name}: still building")
        except BaseException:
            process.terminate()
            raise
    if code:
        raise BuildFailed(f"{name} could not be built: `{' '.join(command[:2])}` in {cwd} exited with {code}")


def _build(go: str, folder: Path, target: Target) -> None:
    _say(f"{target.name}: building {target.package}")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix=".build-", dir=folder) as scratch:
        output = Path(scratch) / target.name
        _run_to_end(target.command(go, output), _HERE / target.module, target.name)
        megabytes = output.stat().st_size / 1e6
        # The old stamp goes first: killed between the next lines, the binary is built again.
        _stamp_file(folder, target).unlink(missing_ok=True)
        output.replace(folder / target.name)
        _stamp_file(folder, target).write_text(target.stamp(), encoding="utf-8")
    _say(f"{target.name}: built in {time.monotonic() - began:.1f} s, {megabytes:.0f} MB")


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("waiting for another build to end")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build(targets: Sequence[Target], folder: Path) -> None:
    """Builds those targets that are not in ``folder`` as pinned; nothing half-built ever stands under its own name."""
    if all(_is_current(folder, target) for target in targets):
        return
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        for left_by_a_killed_build in folder.glob(".build-*"):
            shutil.rmtree(left_by_a_killed_build, ignore_errors=True)
        for target in targets:
            if not _is_current(folder, target):
                _build(_find_go(_HERE / target.module), folder, target)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=f"Build etcd and Kubernetes {VERSION} into the cache folder.")
    parser.add_argument("--oracles", action="store_true", help="build helm, controller-gen and e2e.test as well")
    parser.add_argument("--print-folder", action="store_true", help="print the cache folder and build nothing")
    parser.add_argument("names", nargs="*", metavar="NAME", help="build these only")
    return parser.parse_args(arguments)


def _chosen(names: Sequence[str], *, oracles: bool) -> Sequence[Target]:
    if not names:
        return (*_targets(), *_oracles()) if oracles else _targets()
    known = {target.name: target for target in (*_targets(), *_oracles())}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise BuildFailed(f"unknown binaries: {', '.join(unknown)}; known are {', '.join(known)}", 2)
    return [known[name] for name in names]


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 when all is there, 1 when a build failed, 2 when Go is missing or too old."""
    options = _parse(arguments)
    folder = cache_folder(os.environ)
    if options.print_folder:
        print(folder)
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        chosen = _chosen(options.names, oracles=options.oracles)
        build(chosen, folder)
    except BuildFailed as error:
        print(error, file=sys.stderr)
        return error.exit_code
    _say(f"{', '.join(target.name for target in chosen)}: ready in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
