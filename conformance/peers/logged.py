"""``Logged``: a program of somebody else's while it runs, told by the lines that it writes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

__all__ = ["Logged", "logged"]

_PATIENCE = 60.0
_LONGEST_LINE = 1 << 20
_SHOWN_LINES, _SHOWN_WIDTH = 40, 400


class Logged:
    """A process and what it has written so far, to standard output and error alike."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._more = asyncio.Condition()
        self._reading = asyncio.create_task(self._read())
        self.lines: list[str] = []

    def __str__(self) -> str:
        return "\n".join(line[:_SHOWN_WIDTH] for line in self.lines[-_SHOWN_LINES:])

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            self.lines.append(line.decode("utf-8", "replace").rstrip())
            async with self._more:
                self._more.notify_all()

    def told(self, *parts: str) -> str | None:
        """The first line that has all these parts in it, if there is one."""
        return next((line for line in self.lines if all(part in line for part in parts)), None)

    async def wait_for(self, *parts: str, within: float = _PATIENCE) -> str:
        """The first line, of any time, that has all these parts in it."""
        waiting = asyncio.create_task(self._wait_for(parts))
        done, _ = await asyncio.wait((waiting, self._reading), timeout=within, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        found = self.told(*parts)
        what = "was not told" if not done else "will not be told: the program has ended"
        assert found is not None, f"{parts} {what}\n{self}"
        return found

    async def _wait_for(self, parts: tuple[str, ...]) -> None:
        async with self._more:
            await self._more.wait_for(lambda: self.told(*parts) is not None)

    async def kill(self) -> None:
        """End it without warning."""
        if self._process.returncode is None:
            self._process.kill()
        await self._ended()

    async def terminate(self) -> int:
        """Ask it to end; the code that it ends with."""
        self._process.terminate()
        return await self._ended()

    async def code(self, within: float = _PATIENCE) -> int:
        """The code that it ends with."""
        return await self._ended(within)

    async def _ended(self, within: float = _PATIENCE) -> int:
        async with asyncio.timeout(within):
            await self._reading
            return await self._process.wait()


@asynccontextmanager
async def logged(
    *command: str | Path, kubeconfig: Path | None, folder: Path, **environment: str
) -> AsyncIterator[Logged]:
    """A program that finds its server by a kubeconfig, with a home of its own; killed at the end."""
    known = {"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder)}
    if kubeconfig is not None:
        known["KUBECONFIG"] = str(kubeconfig)
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=known | environment,
        cwd=folder,
        limit=_LONGEST_LINE,
    )
    program = Logged(process)
    try:
        yield program
    finally:
        await program.kill()
