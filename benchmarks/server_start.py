"""How soon is an API server ready, and how much memory does it take when it is empty?"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.api_servers import MEMORY, REAL, SQLITE, starting
from benchmarks.comparison import Goal, Line
from benchmarks.load import Request, loading
from benchmarks.processes import age, environment

__all__ = ["QUESTION", "RUNS", "measure"]

QUESTION = "How soon is an API server ready, and how much memory does it take when it is empty?"
RUNS = 5

_INSIDE = "ours, without a process"
_READY, _AGAIN, _CPU = "ready", "ready, a second one in the same process", "until ready"
_RESIDENT = "memory when empty"
# Servers of one Python that has imported them already: the first one reads what all share.
_CHILD = """
import asyncio, json, os, time
from benchmarks.processes import memory
from kubewright_apiserver import ApiServer

async def started():
    began, busy = time.perf_counter(), time.process_time()
    async with ApiServer(listens=False) as server:
        status, _, _ = await server.handle("GET", "/readyz", [], b"")
        assert status == 200
        return time.perf_counter() - began, time.process_time() - busy, memory(os.getpid())

print(json.dumps([asyncio.run(started()) for _ in range(2)]))
"""
_Figures = dict[str, dict[str, float]]


async def measure(*, runs: int, quick: bool) -> list[Line]:
    """Each round starts every server once, in turn."""
    if not quick:
        # Not counted: it compiles modules and fills the disk's cache.
        await _round()
    rounds = [await _round() for _ in range(runs)]
    names = (REAL, MEMORY, SQLITE, _INSIDE)
    ready = {name: [found[name][_READY] * 1e3 for found in rounds] for name in names}
    again = {name: [found[name].get(_AGAIN, found[name][_READY]) * 1e3 for found in rounds] for name in (REAL, _INSIDE)}
    cpu = {name: [found[name][_CPU] * 1e3 for found in rounds] for name in names}
    resident = {name: [found[name][_RESIDENT] / 2**20 for found in rounds] for name in names}
    soon = {name: [Goal(0.1), Goal(500, is_absolute=True)] for name in (MEMORY, SQLITE)}
    at_once = {_INSIDE: [Goal(50, is_absolute=True)]}
    return [
        Line(_READY, "ms", ready, {**soon, **at_once}),
        Line(_AGAIN, "ms", again, at_once),
        Line(_CPU, "CPU ms", cpu),
        Line(_RESIDENT, "MiB", resident, {name: [Goal(0.2)] for name in (MEMORY, SQLITE)}),
    ]


async def _round() -> _Figures:
    found: _Figures = {}
    for name, start in starting().items():
        began = time.perf_counter()
        async with start() as server, loading(server) as load:
            await load.cost([Request("GET", "/readyz")])
            # Of the real one, certificates are made before: its time begins with its first process.
            seconds = max(map(age, server.processes.values())) if name == REAL else time.perf_counter() - began
            found[name] = {_READY: seconds, _CPU: sum(server.cpu().values()), _RESIDENT: server.memory()}
    found[_INSIDE] = _inside()
    return found


def _inside() -> dict[str, float]:
    command, folder = [sys.executable, "-c", _CHILD], Path(__file__).parent.parent
    done = subprocess.run(command, cwd=folder, env=environment(), check=True, stdout=subprocess.PIPE, text=True)
    (first, cpu, resident), (second, _, _) = json.loads(done.stdout)
    return {_READY: first, _AGAIN: second, _CPU: cpu, _RESIDENT: resident}
