"""Does a request cost more when much is stored?"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack

from benchmarks.api_servers import MEMORY, ours
from benchmarks.comparison import Goal, Line
from benchmarks.load import Load, Request, loading
from benchmarks.objects import config_map

__all__ = ["QUESTION", "RUNS", "measure"]

QUESTION = "Does a request cost our API server more when much is stored? ConfigMaps of 1 KB, a hundred a namespace."
RUNS = 5

_SIZES, _QUICK_SIZES = (100, 10_000, 100_000), (100, 1_000)
_MOST = Goal(1.3)
_MERGE, _APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
_MAPS = "/api/v1/namespaces/filled-0000/configmaps"
# Before all other keys, where an ordered list has the most to move.
_NEW = "/api/v1/namespaces/filled-0000-new/configmaps"


def _create(turn: str, index: int) -> Request:
    return Request.of("POST", _NEW, config_map(f"map-{turn}-{index}"))


def _get(turn: str, index: int) -> Request:
    return Request("GET", f"{_NEW}/map-{turn}-{index}")


def _update(turn: str, index: int) -> Request:
    name = f"map-{turn}-{index}"
    return Request.of("PUT", f"{_NEW}/{name}", config_map(name, "updated"))


def _patch(turn: str, index: int) -> Request:
    return Request.of("PATCH", f"{_NEW}/map-{turn}-{index}", {"data": {"changing": "patched"}}, _MERGE)


def _apply(turn: str, index: int) -> Request:
    name = f"map-{turn}-{index}"
    path = f"{_NEW}/{name}?fieldManager=applier&force=true"
    return Request.of("PATCH", path, config_map(name, "applied"), _APPLY)


def _list(turn: str, index: int) -> Request:
    return Request("GET", _MAPS)


def _delete(turn: str, index: int) -> Request:
    return Request("DELETE", f"{_NEW}/map-{turn}-{index}")


# In this order: what is created is read, changed and deleted by those that follow.
_VERBS: dict[str, Callable[[str, int], Request]] = {
    "create": _create,
    "get": _get,
    "update": _update,
    "merge patch": _patch,
    "server-side apply": _apply,
    "list of one namespace": _list,
    "delete": _delete,
}


async def measure(*, runs: int, quick: bool) -> list[Line]:
    """Servers that hold little and much take turns, verb by verb."""
    sizes, count = (_QUICK_SIZES, 40) if quick else (_SIZES, 400)
    async with AsyncExitStack() as stack:
        loads: dict[str, Load] = {}
        for size in sizes:
            server = await stack.enter_async_context(ours(MEMORY, objects=size))
            loads[f"{size:,} stored"] = await stack.enter_async_context(loading(server))
        for load in loads.values():
            await load.cost([Request.of("POST", "/api/v1/namespaces", {"metadata": {"name": "filled-0000-new"}})])
        await _round(loads, "warm", 40)
        rounds = [await _round(loads, f"r{turn}", count) for turn in range(runs)]
    goals = {name: [_MOST] for name in list(loads)[1:]}
    return [Line(verb, "CPU ms a request", _figures(rounds, verb, list(loads)), goals) for verb in _VERBS]


async def _round(loads: dict[str, Load], turn: str, count: int) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for verb, request in _VERBS.items():
        requests = [request(turn, index) for index in range(count)]
        found[verb] = {name: (await load.cost(requests)).total for name, load in loads.items()}
    return found


def _figures(rounds: list[dict[str, dict[str, float]]], verb: str, names: list[str]) -> dict[str, list[float]]:
    return {name: [found[verb][name] * 1e3 for found in rounds] for name in names}
