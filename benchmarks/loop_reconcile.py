"""What does it cost to reconcile many objects, and to find all well after a restart?"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from benchmarks.comparison import Goal, Line
from benchmarks.loop_cluster import THINGS, Cluster, Request, cluster, thing
from benchmarks.loop_contestant import Contestant, running
from benchmarks.loop_peers import KOPF, KUBEWRIGHT, UVLOOP

__all__ = ["QUESTION", "measure"]

QUESTION = "What does it cost to reconcile 2,000 custom resources, each with a ConfigMap and a status?"

_SIZE, _QUICK_SIZE = 2_000, 50
_WRITES = ("POST", "PUT", "PATCH", "APPLY", "DELETE")
_SENTINEL = "sentinel"
"""One object that is there before: when it is reconciled, the operator watches."""

_Requests = Counter[tuple[str, str]]


class _Phase(NamedTuple):
    wall: float
    cpu: float
    writes: float
    """Of the operator for each object."""
    gets: float


class _Figures(NamedTuple):
    created: _Phase
    changed: _Phase
    resident: float
    restarted: _Phase


async def measure(commands: Mapping[str, Sequence[str]], *, runs: int, quick: bool) -> list[Line]:
    """Contestants take turns; each begins with an empty server."""
    size = _QUICK_SIZE if quick else _SIZE
    async with cluster() as server:
        rounds = [{name: await _once(server, command, size) for name, command in commands.items()} for _ in range(runs)]
    return _lines(rounds)


async def _once(server: Cluster, command: Sequence[str], size: int) -> _Figures:
    await server.clean()
    await server.send(Request("POST", THINGS, thing(_SENTINEL, "first")))
    names = [f"thing-{index:05}" for index in range(size)]
    count = str(size + 1)
    async with running(command, "reconcile", count, kubeconfig=server.kubeconfig) as contestant:
        await contestant.heard("first")
        await server.wait_quiet()
        created = await _phase(server, contestant, "first", [_creation(name) for name in names])
        changed = await _phase(server, contestant, "second", [_change(name) for name in names])
        resident = contestant.memory() / 2**20
    before = await server.wait_quiet()
    async with running(command, "reconcile", count, kubeconfig=server.kubeconfig) as contestant:
        done = await contestant.heard("all")
        after = await server.wait_quiet()
    wall, cpu = (done.at - contestant.began) / 1e9, done.cpu / 1e9
    return _Figures(created, changed, resident, _Phase(wall, cpu, *_per_object(after - before, size)))


def _creation(name: str) -> Request:
    return Request("POST", THINGS, thing(name, "first"))


def _change(name: str) -> Request:
    return Request("PATCH", f"{THINGS}/{name}", {"spec": {"text": "second"}})


async def _phase(server: Cluster, contestant: Contestant, text: str, requests: list[Request]) -> _Phase:
    """Send these requests, and wait until the status of every object tells of it, and then for quiet."""
    names = {f"thing-{index:05}" for index in range(len(requests))}
    done = asyncio.create_task(server.wait_done(text, names))
    before, cpu = await server.requests(), contestant.cpu()
    began = asyncio.get_running_loop().time()
    await server.send_all(requests)
    wall = await done / 1e9 - began
    after = await server.wait_quiet()
    cpu = contestant.cpu() - cpu
    after["things", requests[0].method] -= len(requests)
    return _Phase(wall, cpu, *_per_object(after - before, len(requests)))


def _per_object(requests: _Requests, size: int) -> tuple[float, float]:
    """Writes and gets for each object."""
    writes = sum(count for (_, verb), count in requests.items() if verb in _WRITES)
    gets = sum(count for (_, verb), count in requests.items() if verb == "GET")
    return writes / size, gets / size


def _lines(rounds: list[dict[str, _Figures]]) -> list[Line]:
    def line(what: str, unit: str, phase: str, field: str, *goals: Goal) -> Line:
        found = {name: [_figure(figures[name], phase, field) for figures in rounds] for name in rounds[0]}
        return Line(what, unit, found, {name: list(goals) for name in (KUBEWRIGHT, UVLOOP) if name in found})

    writes, none = Goal(2.0, is_absolute=True), Goal(0.0, is_absolute=True)
    lines = []
    for phase, what in (("created", "created → all done"), ("changed", "changed → all done")):
        lines += [
            line(what, "s", phase, "wall", Goal(1.1)),
            line(what, "CPU s", phase, "cpu", Goal(0.7)),
            *_beside_kopf(line(what, "CPU s", phase, "cpu", Goal(0.16))),
            line(what, "writes of each", phase, "writes", writes),
            line(what, "gets of each", phase, "gets", none),
        ]
    restart = "restarted when converged"
    return [
        *lines,
        line(restart, "s", "restarted", "wall", Goal(0.8)),
        line(restart, "CPU s", "restarted", "cpu"),
        line(restart, "needless writes of each", "restarted", "writes", none),
        line(restart, "gets of each", "restarted", "gets", none),
        line("memory", "MiB", "resident", ""),
    ]


def _beside_kopf(line: Line) -> list[Line]:
    """The same figures with kopf as the yardstick, if it takes part."""
    if KOPF not in line.rounds:
        return []
    names = [KOPF, *line.goals]
    return [Line(f"{line.what}, beside kopf", line.unit, {name: line.rounds[name] for name in names}, line.goals)]


def _figure(figures: _Figures, phase: str, field: str) -> float:
    found: float = getattr(getattr(figures, phase), field) if field else getattr(figures, phase)
    return found
