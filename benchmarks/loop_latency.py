"""How soon after a change is answered is reconcile entered?"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from typing import NamedTuple

from benchmarks.comparison import Goal, Line
from benchmarks.loop_cluster import THINGS, Cluster, Request, cluster, thing
from benchmarks.loop_contestant import Contestant, running
from benchmarks.loop_peers import KUBEWRIGHT, UVLOOP
from benchmarks.processes import environment

__all__ = ["QUESTION", "measure"]

QUESTION = "How soon after a change is answered is reconcile entered?"

_PROBES, _QUICK_PROBES = 400, 20
_PAUSE = 0.05
"""Seconds between the changes that are timed."""
_THINGS, _RATE = 100, 200.0
"""How many other objects change, and how often a second altogether, when the operator is busy."""
_REST = 2.0
_RESOLUTION = 0.1
"""Milliseconds: less, or even before the answer, says nothing."""


class _Waits(NamedTuple):
    half: float
    most: float
    """Milliseconds that 50 and 99 of 100 changes waited at most."""
    cpu: float
    """Percent of a core."""


async def measure(commands: Mapping[str, Sequence[str]], *, runs: int, quick: bool) -> list[Line]:
    """Contestants take turns; each is asked when nothing else happens, and when much does."""
    probes = _QUICK_PROBES if quick else _PROBES
    async with cluster() as server:
        await server.send(Request("POST", THINGS, thing("probe", "first")))
        noise = [Request("POST", THINGS, thing(f"noise-{index:03}", "first")) for index in range(_THINGS)]
        await server.send_all(noise)
        rounds = [
            {name: await _once(server, command, probes) for name, command in commands.items()} for _ in range(runs)
        ]
    return [*_lines("idle", [_first(found) for found in rounds]), *_lines("busy", [_second(found) for found in rounds])]


def _first(found: dict[str, tuple[_Waits, _Waits]]) -> dict[str, _Waits]:
    return {name: idle for name, (idle, _) in found.items()}


def _second(found: dict[str, tuple[_Waits, _Waits]]) -> dict[str, _Waits]:
    return {name: busy for name, (_, busy) in found.items()}


async def _once(server: Cluster, command: Sequence[str], probes: int) -> tuple[_Waits, _Waits]:
    async with running(command, "latency", kubeconfig=server.kubeconfig) as contestant:
        await contestant.heard("entered")
        await asyncio.sleep(_REST)
        idle = await _waits(server, contestant, "idle", probes)
        with _changing(server.kubeconfig):
            await asyncio.sleep(_REST)
            busy = await _waits(server, contestant, "busy", probes)
    return idle, busy


async def _waits(server: Cluster, contestant: Contestant, prefix: str, probes: int) -> _Waits:
    answered: list[int] = []
    before, began = contestant.cpu(), time.monotonic()
    for number in range(probes):
        await asyncio.sleep(_PAUSE)
        await server.send(Request("PATCH", f"{THINGS}/probe", {"spec": {"text": f"{prefix} {number}"}}))
        answered.append(time.monotonic_ns())
    cpu = (contestant.cpu() - before) / (time.monotonic() - began)
    await asyncio.sleep(_REST)
    waits = _paired(answered, contestant, prefix)
    percentiles = quantiles(waits, n=100)
    return _Waits(percentiles[49], percentiles[98], cpu * 100)


def _paired(answered: list[int], contestant: Contestant, prefix: str) -> list[float]:
    """How long each change waited, in milliseconds: until it, or one that came after it, was seen."""
    seen: dict[int, int] = {}
    for said in contestant.lines:
        kind, _, number = said.text.partition(" ")
        if said.what == "entered" and kind == prefix:
            seen.setdefault(int(number), said.at)
    numbers = sorted(seen)
    waits = [(seen[numbers[bisect_left(numbers, number)]] - at) / 1e6 for number, at in enumerate(answered)]
    return [max(wait, _RESOLUTION) for wait in waits]


@contextmanager
def _changing(kubeconfig: Path) -> Iterator[None]:
    """Other objects change meanwhile; another process does it, so that ours is free to take the time."""
    command = [sys.executable, "-m", "benchmarks.loop_changes", str(kubeconfig), str(_THINGS), str(_RATE)]
    folder, pipe = Path(__file__).parent.parent, subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, env=environment(), stdin=pipe, stdout=pipe, text=True) as process:
        yield
        rate, _ = process.communicate()
    if not 0.9 * _RATE < float(rate) < 1.1 * _RATE:
        sys.stderr.write(f"only {float(rate):.0f} changes a second were made\n")


def _lines(when: str, rounds: list[dict[str, _Waits]]) -> list[Line]:
    def line(what: str, unit: str, field: str, *goals: Goal) -> Line:
        found = {name: [getattr(waits[name], field) for waits in rounds] for name in rounds[0]}
        return Line(
            f"{when}, {what}", unit, found, {name: list(goals) for name in (KUBEWRIGHT, UVLOOP) if name in found}
        )

    return [
        line("p50", "ms", "half"),
        line("p99", "ms", "most", Goal(2.0, is_absolute=True), Goal(1.0)),
        line("operator", "% of a core", "cpu", Goal(0.7)),
    ]
