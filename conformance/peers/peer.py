"""``Peer``: somebody else's client as a process of its own, which tells what it sees as lines of JSON."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

__all__ = ["PYTHON", "Peer", "Told"]

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"
PYTHON = ROOT / ".venv-peers/bin/python"
_PATIENCE = 60


class Told:
    """What a process tells, in order."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.lines: list[Any] = []

    async def next(self) -> Any:
        """The next line; None at the end."""
        assert self._process.stdout is not None
        async with asyncio.timeout(_PATIENCE):
            line = await self._process.stdout.readline()
        if not line:
            return None
        self.lines.append(json.loads(line))
        return self.lines[-1]

    async def wait_for(self, *wanted: Any) -> None:
        """Return once each of these lines was told, at whatever time."""
        while any(line not in self.lines for line in wanted):
            missing = [line for line in wanted if line not in self.lines]
            try:
                told = await self.next()
            except TimeoutError:
                raise AssertionError(f"not told: {missing}; told: {self.lines}") from None
            assert told is not None, f"ended without telling {missing}; told: {self.lines}\n{await self.errors()}"

    async def errors(self) -> str:
        """What it wrote to standard error, once it has ended."""
        assert self._process.stderr is not None
        return (await self._process.stderr.read()).decode("utf-8", "replace")

    async def code(self) -> int:
        """The code that it ends with."""
        return await self._process.wait()


class Peer:
    """Starts clients with the kubeconfig of the server, in the namespace of the case."""

    def __init__(self, kubeconfig: Path, namespace: str, folder: Path) -> None:
        self.namespace = namespace
        self._environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "KUBECONFIG": str(kubeconfig)}

    async def run(self, program: str) -> list[Any]:
        """All that a program of ``programs/`` tells until it ends."""
        async with self.running(PYTHON, PROGRAMS / program, self.namespace) as told:
            while await told.next() is not None:
                pass
            errors = await told.errors()
            assert await told.code() == 0, errors
        return told.lines

    @asynccontextmanager
    async def running(self, *command: str | Path) -> AsyncIterator[Told]:
        """A command while it runs; it is terminated at the end."""
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self._environment,
        )
        try:
            yield Told(process)
        finally:
            if process.returncode is None:
                process.terminate()
            await process.communicate()
