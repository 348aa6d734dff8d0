"""What does a request cost the server, and how many can it answer?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from typing import NamedTuple

from benchmarks.api_servers import MEMORY, REAL, SQLITE, starting
from benchmarks.comparison import Goal, Line
from benchmarks.load import Cost, Load, Request, loading
from benchmarks.objects import config_map, pod

__all__ = ["QUESTION", "RUNS", "measure"]

QUESTION = "What does a request cost the API server, and how many does it answer in a second?"
RUNS = 5

_ALONE = "kube-apiserver alone"
_MERGE, _APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
_MAPS = "/api/v1/namespaces/work/configmaps"
_APPLIED = "/api/v1/namespaces/applied/configmaps"
_LISTED = "/api/v1/namespaces/listed/configmaps"
_PODS = "/api/v1/namespaces/pods/pods"
_LISTED_MAPS, _LISTED_PODS = 1_000, 200
_AT_ONCE = (1, 32)


class _Verb(NamedTuple):
    """Makes the request of a number in a round; ``divisor`` makes fewer of what takes long."""

    name: str
    request: Callable[[str, int], Request]
    cpu: float | None = None
    rate: float | None = None
    divisor: int = 1


def _create(turn: str, index: int) -> Request:
    return Request.of("POST", _MAPS, config_map(f"map-{turn}-{index}"))


def _create_pod(turn: str, index: int) -> Request:
    return Request.of("POST", "/api/v1/namespaces/work/pods", pod(f"pod-{turn}-{index}"))


def _get(turn: str, index: int) -> Request:
    return Request("GET", f"{_MAPS}/map-{turn}-{index}")


def _update(turn: str, index: int) -> Request:
    name = f"map-{turn}-{index}"
    return Request.of("PUT", f"{_MAPS}/{name}", config_map(name, "updated"))


def _patch(turn: str, index: int) -> Request:
    return Request.of("PATCH", f"{_MAPS}/map-{turn}-{index}", {"data": {"changing": "patched"}}, _MERGE)


def _patch_status(turn: str, index: int) -> Request:
    condition = {"type": "Ready", "status": "True", "message": f"{turn}-{index}"}
    status = {"phase": "Running", "podIP": "10.4.0.9", "conditions": [condition]}
    return Request.of("PATCH", f"{_PODS}/pod-{index % _LISTED_PODS}/status", {"status": status}, _MERGE)


def _apply(turn: str, index: int) -> Request:
    name = f"map-{index}"
    path = f"{_APPLIED}/{name}?fieldManager=applier"
    return Request.of("PATCH", path, config_map(name, f"applied in {turn}"), _APPLY)


def _delete(turn: str, index: int) -> Request:
    return Request("DELETE", f"{_MAPS}/map-{turn}-{index}")


# In this order: what is created is read, changed and deleted by those that follow.
_VERBS = (
    _Verb("create", _create, cpu=0.4, rate=1.0),
    _Verb("create a pod", _create_pod, cpu=0.4, rate=1.0),
    _Verb("get", _get, cpu=0.3, rate=1.0),
    _Verb("update", _update, cpu=0.4, rate=1.0),
    _Verb("merge patch", _patch, cpu=0.4, rate=1.0),
    _Verb("status patch of a pod", _patch_status, cpu=0.4, rate=1.0),
    _Verb("server-side apply", _apply, cpu=0.4, rate=0.5),
    _Verb("list of 1,000", lambda turn, index: Request("GET", _LISTED), cpu=0.3, rate=1.0, divisor=20),
    _Verb("list of 200 pods", lambda turn, index: Request("GET", _PODS), cpu=0.3, rate=1.0, divisor=10),
    _Verb("delete", _delete),
)
_Costs = dict[tuple[str, int], dict[str, list[Cost]]]


async def measure(*, runs: int, quick: bool) -> list[Line]:
    """Servers take turns, verb by verb, so that a busy moment hits them all."""
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(start()) for start in starting().values()]
        loads = [await stack.enter_async_context(loading(server)) for server in servers]
        count = 40 if quick else 400
        for load in loads:
            await _prepare(load, count)
        await _round(loads, "warm", 40)
        rounds = [await _round(loads, f"r{turn}", count) for turn in range(runs)]
    return [line for verb in _VERBS for at_once in _AT_ONCE for line in _lines(verb, at_once, rounds)]


async def _prepare(load: Load, count: int) -> None:
    namespaces = [{"metadata": {"name": name}} for name in ("work", "applied", "listed", "pods")]
    await load.cost(Request.of("POST", "/api/v1/namespaces", namespace) for namespace in namespaces)
    maps = [Request.of("POST", _LISTED, config_map(f"map-{index}")) for index in range(_LISTED_MAPS)]
    pods = [Request.of("POST", _PODS, pod(f"pod-{index}")) for index in range(_LISTED_PODS)]
    applied = [_apply("preparation", index) for index in range(count)]
    await load.cost([*maps, *pods, *applied], at_once=8)


async def _round(loads: Sequence[Load], turn: str, count: int) -> dict[tuple[str, int], dict[str, Cost]]:
    found: dict[tuple[str, int], dict[str, Cost]] = {}
    for verb in _VERBS:
        for at_once in _AT_ONCE:
            number = max(at_once, count // verb.divisor)
            requests = [verb.request(f"{turn}-{at_once}", index) for index in range(number)]
            found[verb.name, at_once] = {load.server.name: await load.cost(requests, at_once=at_once) for load in loads}
    return found


def _lines(verb: _Verb, at_once: int, rounds: list[dict[tuple[str, int], dict[str, Cost]]]) -> list[Line]:
    costs = [found[verb.name, at_once] for found in rounds]
    cpu = {REAL: [cost[REAL].total * 1e3 for cost in costs]}
    cpu[_ALONE] = [cost[REAL].cpu["kube-apiserver"] * 1e3 for cost in costs]
    cpu |= {name: [cost[name].total * 1e3 for cost in costs] for name in (MEMORY, SQLITE)}
    rate = {name: [1 / cost[name].wall for cost in costs] for name in (REAL, MEMORY, SQLITE)}
    what = f"{verb.name}, {at_once} at once"
    goal_of_rate = verb.rate if at_once > 1 else None
    return [
        Line(what, "CPU ms a request", cpu, _goals(verb.cpu)),
        Line(what, "a second", rate, _goals(goal_of_rate, is_least=True)),
    ]


def _goals(bound: float | None, *, is_least: bool = False) -> dict[str, list[Goal]]:
    return {} if bound is None else {name: [Goal(bound, is_least=is_least)] for name in (MEMORY, SQLITE)}
