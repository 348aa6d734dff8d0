"""An API server in a process of its own, for as long as a command runs: a blocked operator cannot freeze it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from kubewright.errors import ConfigError

__all__ = ["embedded_process"]

_PACKAGE = "kubewright_apiserver"


@contextmanager
def embedded_process(*, data: str | None = None, manifests: Sequence[str] = ()) -> Iterator[Path]:
    """An API server that runs inside the block; gives the path of its kubeconfig (readable by you alone)."""
    if find_spec(_PACKAGE) is None:
        raise ConfigError("kubewright-apiserver is not installed; pip install 'kubewright[embedded]'")
    with tempfile.TemporaryDirectory(prefix="kubewright-") as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        # Not the current folder: a file there may have the name of a module.
        command = [sys.executable, "-P", "-m", _PACKAGE, "--exit-with-stdin", "--secure-port=0"]
        command += [f"--write-kubeconfig={kubeconfig}", f"--data={data or ':memory:'}"]
        command += [f"--manifests={path}" for path in manifests]
        # A session of its own, so that Ctrl-C ends the operator first and then the server under it.
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            if not child.stdout.readline().startswith(b"serving at "):
                raise ConfigError("the embedded API server did not start; what it said is above")
            yield kubeconfig
        finally:
            child.stdin.close()
            try:
                child.wait(timeout=10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            child.stdout.close()
