"""An API server in a process of its own, for as long as a command runs: a blocked operator cannot freeze it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

from kubewright.errors import ConfigError

__all__ = ["embedded_process"]

_PACKAGE: Final = "kubewright_apiserver"
_PATIENCE: Final = 10.0


@contextmanager
def embedded_process(
    *,
    data: str | None = None,
    manifests: Sequence[str] = (),
    kubeconfig: Path | None = None,
    flags: Sequence[str] = (),
) -> Iterator[Path]:
    """An API server that runs inside the block; gives the path of its kubeconfig (readable by you alone).

    Without ``kubeconfig`` that is a file of its own, gone at the end. ``flags`` are kube-apiserver's. If the server
    ends by itself, this process is told to end as by SIGTERM, and ``ConfigError`` is raised at the end of the block.
    """
    if find_spec(_PACKAGE) is None:
        raise ConfigError("kubewright-apiserver is not installed; pip install 'kubewright[embedded]'")
    with tempfile.TemporaryDirectory(prefix="kubewright-") as folder, _signals_raising():
        kubeconfig = kubeconfig or Path(folder) / "kubeconfig"
        # Not the current folder: a file there may have the name of a module.
        command = [sys.executable, "-P", "-m", _PACKAGE, "--exit-with-stdin", "--secure-port=0"]
        command += [f"--write-kubeconfig={kubeconfig}", f"--data={data or ':memory:'}"]
        command += [f"--manifests={path}" for path in manifests]
        command += flags
        # A session of its own, so that Ctrl-C ends the operator first and then the server under it.
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        with _Server(child):
            yield kubeconfig


class _Server:
    """The server's process: it is ready at the start of the block, and gone at its end."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self._child = child
        self._is_told = threading.Event()
        self._attending = threading.Thread(target=self._attend, daemon=True)

    def __enter__(self) -> None:
        assert self._child.stdout is not None
        try:
            line = self._child.stdout.readline()
        except BaseException:
            self._end()
            raise
        if not line.startswith(b"serving at "):
            self._end()
            raise ConfigError("the embedded API server did not start; what it said is above")
        self._attending.start()

    def __exit__(self, *_: object) -> None:
        try:
            # Whatever went wrong otherwise came from that.
            self._check()
        finally:
            self._end()

    def _check(self) -> None:
        """Raise if it has ended by itself."""
        code = self._child.poll()
        if code is not None and not self._is_told.is_set():
            how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
            raise ConfigError(f"the embedded API server ended by itself ({how}); what it said is above")

    def _attend(self) -> None:
        """Pass on what it says; and end this process if it ends."""
        assert self._child.stdout is not None
        for line in self._child.stdout:
            sys.stdout.buffer.write(line)
            sys.stdout.flush()
        self._child.wait()
        if not self._is_told.is_set():
            os.kill(os.getpid(), signal.SIGTERM)

    def _end(self) -> None:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._is_told.set()
        self._child.stdin.close()
        try:
            self._child.wait(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        if self._attending.is_alive():
            self._attending.join()
        self._child.stdout.close()


@contextmanager
def _signals_raising() -> Iterator[None]:
    """Let a signal before the operator takes signals over, or after, end what is underway in order."""
    before = {number: signal.signal(number, _leave) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(0)
