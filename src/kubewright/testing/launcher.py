"""Starts the processes of a control plane one by one and waits until each answers.

``RealControlPlane`` says what to start; ``ProcessGroup`` sees to it that nothing is left behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
import ssl
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

import aiohttp

from kubewright.errors import KubewrightError
from kubewright.testing.process_group import ProcessGroup

__all__ = ["Launcher", "StartFailed"]

_POLL_SECONDS: Final = 0.05
_PROBE_SECONDS: Final = 5.0
_PORT_ATTEMPTS: Final = 5
_PORT_TAKEN: Final = "address already in use"
_TAIL_LINES: Final = 20


class StartFailed(KubewrightError):
    """A process of the control plane did not start; the message ends with its log and tells where the rest is."""


class _Exited(Exception):
    """A process ended while it, or another one, was being waited for."""


class Launcher:
    """A temporary folder and the processes that run in it."""

    def __init__(self, *, time_limit: timedelta) -> None:
        self.folder: Path = Path(tempfile.mkdtemp(prefix="kubewright-"))
        self.logs: Path = self.folder / "logs"
        self.logs.mkdir()
        self._time_limit = time_limit
        self._group = ProcessGroup(self.folder)
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    async def start_at_file(self, name: str, command: Sequence[str | Path], *, cwd: Path, file: Path) -> None:
        """Starts ``name`` and returns once ``file`` exists."""
        self._run(name, command, cwd)
        async with self._telling_why(name):
            while not _exists(file):
                await self._pause()

    async def start_at_port(
        self,
        name: str,
        command: Callable[[int], Sequence[str | Path]],
        *,
        cwd: Path,
        context: ssl.SSLContext,
        paths: Sequence[str],
        port: int | None = None,
    ) -> int:
        """The port at which ``name`` answers 200 to every one of ``paths``.

        A free port is chosen unless ``port`` is given; if another program takes it meanwhile, another one is tried.
        """
        async with self._telling_why(name):
            for _ in range(_PORT_ATTEMPTS):
                chosen = port or _free_port()
                self._run(name, command(chosen), cwd)
                try:
                    await self._wait_for_answers([f"https://127.0.0.1:{chosen}{path}" for path in paths], context)
                except _Exited:
                    if port or _PORT_TAKEN not in self._tail(name):
                        raise
                else:
                    return chosen
            raise _Exited

    def kill(self, name: str) -> None:
        """Kills ``name`` and waits for its end; nothing happens if it is not running."""
        process = self._running.pop(name, None)
        if process is not None:
            process.kill()
            process.wait()

    def close(self, *, keep_logs: bool = False) -> None:
        """Kills all processes and removes the folder, or all of it but the logs."""
        self._group.kill()
        self._running.clear()
        if not keep_logs:
            shutil.rmtree(self.folder)
            return
        for entry in self.folder.iterdir():
            if entry.is_dir() and entry != self.logs:
                shutil.rmtree(entry)
            elif not entry.is_dir():
                entry.unlink()

    def _run(self, name: str, command: Sequence[str | Path], cwd: Path) -> None:
        self._running[name] = self._group.start(command, log=self._log(name), cwd=cwd)

    async def _wait_for_answers(self, urls: Sequence[str], context: ssl.SSLContext) -> None:
        connector = aiohttp.TCPConnector(ssl=context)
        timeout = aiohttp.ClientTimeout(total=_PROBE_SECONDS)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
            for url in urls:
                while not await _answers(session, url):
                    await self._pause()

    async def _pause(self) -> None:
        if any(process.poll() is not None for process in self._running.values()):
            raise _Exited
        await asyncio.sleep(_POLL_SECONDS)

    @contextlib.asynccontextmanager
    async def _telling_why(self, name: str) -> AsyncIterator[None]:
        limit = self._time_limit.total_seconds()
        try:
            async with asyncio.timeout(limit):
                yield
        except (_Exited, TimeoutError) as error:
            culprit = next((other for other, process in self._running.items() if process.poll() is not None), name)
            code = self._running[culprit].returncode
            what = f"did not answer within {limit:g} s" if code is None else f"ended with exit code {code}"
            raise StartFailed(
                f"{culprit} {what}; its log is in {self._log(culprit)} and ends\n{self._tail(culprit)}"
            ) from error

    def _log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def _tail(self, name: str) -> str:
        lines = self._log(name).read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-_TAIL_LINES:])


async def _answers(session: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with session.get(url) as response:
            return response.status == 200
    except (aiohttp.ClientError, OSError):
        return False


def _exists(file: Path) -> bool:
    return file.exists()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
