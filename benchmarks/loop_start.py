"""From a process's start to its first reconcile: how long, and how much memory? And what does importing cost?"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence

from benchmarks.comparison import Goal, Line
from benchmarks.loop_cluster import THINGS, Cluster, Request, cluster, thing
from benchmarks.loop_contestant import running
from benchmarks.loop_peers import KOPF, KUBEWRIGHT, UVLOOP
from benchmarks.processes import environment

__all__ = ["QUESTION", "measure"]

QUESTION = "How soon does an operator watch, how much memory has it then, and what does its import cost?"

_AIOHTTP = "aiohttp"
_CHILD = """
import json, sys, time
began = time.process_time()
for name in sys.argv[1:]:
    __import__(name)
cpu = time.process_time() - began
with open("/proc/self/status") as status:
    resident = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
print(json.dumps([cpu * 1e3, resident / 1024]))
"""
_Figures = dict[str, tuple[float, float]]


async def measure(commands: Mapping[str, Sequence[str]], *, runs: int, quick: bool) -> list[Line]:
    """Each round starts every contestant once, in turn."""
    async with cluster() as server:
        await server.send(Request("POST", THINGS, thing("thing", "text")))
        if not quick:
            # Not counted: it compiles modules and fills the disk's cache.
            await _started(server, commands)
            _imported(commands)
        started = [await _started(server, commands) for _ in range(runs)]
    imported = [_imported(commands) for _ in range(runs)]
    return [
        _line("process start → first reconcile", "s", started, 0, Goal(1.5)),
        _line("memory then", "MiB", started, 1, Goal(1.2)),
        _line("import", "CPU ms", imported, 0, Goal(1.25)),
        _line("memory after import", "MiB", imported, 1, Goal(1.25)),
    ]


async def _started(server: Cluster, commands: Mapping[str, Sequence[str]]) -> _Figures:
    found: _Figures = {}
    for name, command in commands.items():
        async with running(command, "reconcile", "1", kubeconfig=server.kubeconfig) as contestant:
            first = await contestant.heard("first")
            resident = contestant.memory()
            await contestant.heard("all")
        found[name] = (first.at - contestant.began) / 1e9, resident / 2**20
    return found


def _imported(commands: Mapping[str, Sequence[str]]) -> _Figures:
    found = {_AIOHTTP: _import(sys.executable, "aiohttp")}
    if KOPF in commands:
        found[KOPF] = _import(commands[KOPF][0], "kopf")
    found[KUBEWRIGHT] = _import(sys.executable, "kubewright")
    found[f"{KUBEWRIGHT}, all an operator needs"] = _import(sys.executable, "kubewright", "kubewright.operator.process")
    return found


def _import(python: str, *modules: str) -> tuple[float, float]:
    command = [python, "-c", _CHILD, *modules]
    done = subprocess.run(command, env=environment(), check=True, stdout=subprocess.PIPE, text=True)
    cpu, resident = json.loads(done.stdout)
    return cpu, resident


def _line(what: str, unit: str, rounds: list[_Figures], index: int, goal: Goal) -> Line:
    found = {name: [figures[name][index] for figures in rounds] for name in rounds[0]}
    return Line(what, unit, found, {name: [goal] for name in (KUBEWRIGHT, UVLOOP) if name in found})
