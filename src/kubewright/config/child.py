"""One child process from start to end, for exec plugins: no zombie, no open pipe and no grandchild is left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from kubewright.config.secret import Secretive

__all__ = ["Outcome", "run_child"]

_STDOUT, _STDERR = 1, 2
_MOST_OUTPUT: Final = 1 << 20
_MOST_ERRORS: Final = 1 << 12


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Outcome(Secretive):
    """How a child ended: its exit code (negative: the signal), its output, and the last part of its errors."""

    code: int
    stdout: bytes
    stderr: bytes


async def run_child(
    command: Sequence[str], env: Mapping[str, str], *, interactive: bool, time_limit: timedelta
) -> Outcome:
    """Run the command to its end.

    An interactive child shares our terminal (standard input and errors); any other has a session of its own, and
    when time runs out or the caller is cancelled it is killed with all its children.

    Raises ``OSError`` if the command cannot be started and ``TimeoutError`` when the time limit has passed.
    """
    loop = asyncio.get_running_loop()
    # Not create_subprocess_exec: its Process cannot be closed, and waits for grandchildren that hold our pipes.
    transport, child = await loop.subprocess_exec(
        _Child,
        *command,
        env=dict(env),
        stdin=None if interactive else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=None if interactive else subprocess.PIPE,
        start_new_session=not interactive,
    )
    try:
        async with asyncio.timeout(time_limit.total_seconds()):
            await child.finished
    finally:
        try:
            await _end(transport, child, group=not interactive)
        finally:
            transport.close()
    return Outcome(transport.get_returncode() or 0, bytes(child.stdout), bytes(child.stderr))


async def _end(transport: asyncio.SubprocessTransport, child: _Child, *, group: bool) -> None:
    if transport.get_returncode() is None:
        kill = os.killpg if group else os.kill
        with suppress(ProcessLookupError, PermissionError):
            kill(transport.get_pid(), signal.SIGKILL)
    await child.exited


class _Child(asyncio.SubprocessProtocol):
    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = loop.create_future()
        """Done when the process has been reaped."""
        self.finished: asyncio.Future[None] = loop.create_future()
        """Done when, besides, all that it wrote has been read."""
        self.stdout = bytearray()
        self.stderr = bytearray()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == _STDOUT:
            self.stdout += data[: _MOST_OUTPUT - len(self.stdout)]
        elif fd == _STDERR:
            self.stderr += data
            del self.stderr[:-_MOST_ERRORS]

    def process_exited(self) -> None:
        if not self.exited.done():
            self.exited.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.finished.done():
            self.finished.set_result(None)
