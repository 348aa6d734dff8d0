"""Processes that never outlive the Python that started them.

``RealControlPlane`` runs etcd and the Kubernetes binaries in one such group.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

__all__ = ["ProcessGroup"]

# The guard reads a pipe that only this Python holds open: it ends when Python ends, even by SIGKILL, which no atexit
# hook would see. A killed guard cannot remove anything, so the folder goes first.
_GUARD: Final = 'read -r _; rm -rf -- "$1"; kill -KILL 0'


class ProcessGroup:
    """Processes and a folder that go when ``kill`` is called, or when this Python ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "guard", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, command: Sequence[str | Path], *, log: Path, cwd: Path) -> subprocess.Popen[bytes]:
        """A running process whose output is appended to ``log``."""
        with log.open("ab") as output:
            process = subprocess.Popen(
                command,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=self._guard.pid,
            )
        self._processes.append(process)
        return process

    def kill(self) -> None:
        """Kills every process of the group at once and waits for their end; a second call does nothing."""
        if self._guard.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._guard.pid, signal.SIGKILL)
        for process in (*self._processes, self._guard):
            process.wait()
        if self._guard.stdin is not None:
            self._guard.stdin.close()
