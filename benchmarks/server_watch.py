"""How many changes reach many watchers, and how soon?"""

from __future__ import annotations

from contextlib import AsyncExitStack
from statistics import quantiles
from typing import NamedTuple

from benchmarks.api_servers import MEMORY, REAL, SQLITE, ApiServer, starting
from benchmarks.comparison import Goal, Line
from benchmarks.load import Request, loading
from benchmarks.objects import config_map
from benchmarks.watchers import Deliveries, watching

__all__ = ["QUESTION", "RUNS", "measure"]

QUESTION = "How many changes reach 50 watchers, and how soon?"
RUNS = 5

_MAPS = "/api/v1/namespaces/default/configmaps"
_WATCHES, _WRITERS = 50, 8
_PAUSE = 0.02
"""Seconds between writes where the wait is asked for; 2,500 deliveries a second."""


class _Fanout(NamedTuple):
    full: Deliveries
    full_cpu: float
    """Seconds of CPU of the server for each delivery."""
    paced: Deliveries


async def measure(*, runs: int, quick: bool) -> list[Line]:
    """Servers take turns."""
    writes = 40 if quick else 400
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(start()) for start in starting().values()]
        for server in servers:
            await _prepare(server)
            _fanout(server, 40)
        rounds = [{server.name: _fanout(server, writes) for server in servers} for _ in range(runs)]
    return _lines(rounds)


async def _prepare(server: ApiServer) -> None:
    async with loading(server) as load:
        await load.cost(Request.of("POST", _MAPS, config_map(f"map-{index}")) for index in range(_WRITERS))


def _fanout(server: ApiServer, writes: int) -> _Fanout:
    objects = [f"{_MAPS}/map-{index}" for index in range(_WRITERS)]
    with watching(server, f"{_MAPS}?watch=true", objects, watches=_WATCHES) as watchers:
        # Not counted: every watch has begun when it has seen these.
        watchers.run(_WRITERS)
        before = sum(server.cpu().values())
        full = watchers.run(writes)
        cpu = (sum(server.cpu().values()) - before) / len(full.waits)
        return _Fanout(full, cpu, watchers.run(writes // 2, pause=_PAUSE))


def _lines(rounds: list[dict[str, _Fanout]]) -> list[Line]:
    names = (REAL, MEMORY, SQLITE)
    rate = {name: [len(found[name].full.waits) / found[name].full.wall for found in rounds] for name in names}
    cpu = {name: [found[name].full_cpu * 1e6 for found in rounds] for name in names}
    under_load = f"{_WRITERS} writes under way"
    return [
        Line(f"deliveries, {under_load}", "a second", rate, _goals(Goal(3, is_least=True))),
        Line(f"delivery, {under_load}", "server's CPU µs", cpu),
        *_waits(under_load, {name: [found[name].full for found in rounds] for name in names}),
        *_waits(f"{1 / _PAUSE:.0f} writes a second", {name: [found[name].paced for found in rounds] for name in names}),
    ]


def _waits(when: str, deliveries: dict[str, list[Deliveries]]) -> list[Line]:
    def percentile(percent: int) -> dict[str, list[float]]:
        return {
            name: [quantiles(delivered.waits, n=100)[percent - 1] * 1e3 for delivered in rounds]
            for name, rounds in deliveries.items()
        }

    return [
        Line(f"wait, {when}, p50", "ms", percentile(50)),
        Line(f"wait, {when}, p99", "ms", percentile(99), _goals(Goal(1))),
    ]


def _goals(goal: Goal) -> dict[str, list[Goal]]:
    return {MEMORY: [goal], SQLITE: [goal]}
