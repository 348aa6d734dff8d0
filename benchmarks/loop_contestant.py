"""``Contestant``: an operator as a process of its own, which tells what it does as lines of JSON."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from benchmarks.processes import cpu_seconds, environment, memory

__all__ = ["Contestant", "Said", "running"]

_PATIENCE = 600.0
_FAREWELL = 20.0


class Said(msgspec.Struct):
    """A line: what happened, when by the monotonic clock, and the CPU its process had taken by then; nanoseconds."""

    what: str
    at: int
    cpu: int
    text: str = ""


class Contestant:
    """A running operator. Made by ``running``."""

    def __init__(self, process: asyncio.subprocess.Process, began: int) -> None:
        self._process = process
        self._news = asyncio.Condition()
        self.began: int = began
        """When it was started, by the monotonic clock, in nanoseconds."""
        self.lines: list[Said] = []

    async def listen(self) -> None:
        """Take down what it says, until it ends."""
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            async with self._news:
                self.lines.append(msgspec.json.decode(line, type=Said))
                self._news.notify_all()

    async def heard(self, what: str, *, within: float = _PATIENCE) -> Said:
        """The first line that says this, now or later."""
        async with asyncio.timeout(within), self._news:
            while True:
                for said in self.lines:
                    if said.what == what:
                        return said
                await self._news.wait()

    def cpu(self) -> float:
        """Seconds of CPU that it took so far."""
        return cpu_seconds(self._process.pid)

    def memory(self) -> int:
        """Bytes that it has in memory."""
        return memory(self._process.pid)


@asynccontextmanager
async def running(command: Sequence[str], *words: str, kubeconfig: Path) -> AsyncIterator[Contestant]:
    """A contestant while it runs; it is terminated at the end."""
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryDirectory() as home:
        began = time.monotonic_ns()
        process = await asyncio.create_subprocess_exec(
            *command,
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            env=environment(KUBECONFIG=str(kubeconfig), HOME=home),
        )
        contestant = Contestant(process, began)
        listening = asyncio.create_task(contestant.listen())
        try:
            yield contestant
        except BaseException as error:
            errors.seek(0)
            error.add_note(f"{command[0]} said: {errors.read()[-4000:].decode(errors='replace')}")
            raise
        finally:
            await _end(process)
            await listening


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), _FAREWELL)
    except TimeoutError:
        process.kill()
        await process.wait()
