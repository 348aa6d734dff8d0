"""What does it cost to hold many pods in memory, and to follow their changes?"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from benchmarks.comparison import Goal, Line
from benchmarks.loop_cluster import Cluster, cluster
from benchmarks.loop_contestant import running
from benchmarks.loop_peers import KUBEWRIGHT, UVLOOP
from benchmarks.loop_pods import add_pods, updates

__all__ = ["QUESTION", "measure"]

QUESTION = "What does it cost to hold pods of 6.6 KB in memory, and to follow their changes?"

_SIZES, _QUICK_SIZES = (10_000, 50_000), (500,)
_UPDATES, _QUICK_UPDATES = 5_000, 100
_BUSY = 4
"""Updates under way at once, so that the server has time for its watchers."""
_REST = 2.0
"""Seconds after which collectors and allocators are done with what they do in the background."""


class _Figures(NamedTuple):
    wall: float
    cpu: float
    resident: float
    per_pod: float
    per_event: float


async def measure(commands: Mapping[str, Sequence[str]], *, runs: int, quick: bool) -> list[Line]:
    """The pods are made once and stay; contestants take turns. The most pods are measured once."""
    sizes, changes = (_QUICK_SIZES, _QUICK_UPDATES) if quick else (_SIZES, _UPDATES)
    lines: list[Line] = []
    async with cluster() as server:
        empty = {name: await _empty(server, command) for name, command in commands.items()}
        there = 0
        for size in sizes:
            await add_pods(server, there, size)
            there = size
            rounds = [
                {name: await _once(server, command, size, changes, empty[name]) for name, command in commands.items()}
                for _ in range(runs if size == sizes[0] else 1)
            ]
            lines += _lines(f"{size:,} pods", rounds)
    return lines


async def _empty(server: Cluster, command: Sequence[str]) -> int:
    """Bytes of memory with no pod in it, which kopf never tells to have found: it is given a second."""
    async with running(command, "informer", "0", "0", kubeconfig=server.kubeconfig) as contestant:
        await contestant.heard("starting")
        await asyncio.sleep(_REST)
        return contestant.memory()


async def _once(server: Cluster, command: Sequence[str], size: int, changes: int, empty: int) -> _Figures:
    async with running(command, "informer", str(size), str(changes), kubeconfig=server.kubeconfig) as contestant:
        starting, synced = await contestant.heard("starting"), await contestant.heard("synced")
        await asyncio.sleep(_REST)
        resident, before = contestant.memory(), contestant.cpu()
        await server.send_all(updates(changes, str(synced.at)), at_once=_BUSY)
        await contestant.heard("updated")
        await asyncio.sleep(_REST)
        per_event = (contestant.cpu() - before) / changes
    wall, cpu = (synced.at - starting.at) / 1e9, (synced.cpu - starting.cpu) / 1e9
    return _Figures(wall, cpu, resident / 2**20, (resident - empty) / size / 2**10, per_event * 1e6)


def _lines(where: str, rounds: list[dict[str, _Figures]]) -> list[Line]:
    def line(what: str, unit: str, field: str, bound: float | None = None) -> Line:
        found = {name: [getattr(figures[name], field) for figures in rounds] for name in rounds[0]}
        goals = {name: [Goal(bound)] for name in (KUBEWRIGHT, UVLOOP) if name in found} if bound else {}
        return Line(f"{where}, {what}", unit, found, goals)

    return [
        line("sync", "s", "wall", 1.5),
        line("sync", "CPU s", "cpu", 0.9),
        line("memory", "MiB", "resident"),
        line("memory of each", "KiB", "per_pod", 0.4),
        line("an update", "CPU µs", "per_event", 0.8),
    ]
